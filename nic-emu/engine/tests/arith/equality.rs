//! Native arithmetic and SoftFloat agree bit for bit, on every operation, type, length and alignment.

use nic_engine::arithmetic::{Arithmetic, ElementType, ReduceOp, combine};
use proptest::prelude::*;

use super::oracle;
use super::values::{Kind, Seed, fields, seeds, supports, vector};

fn supported() -> impl Iterator<Item = (ReduceOp, ElementType)> {
    ReduceOp::ALL
        .into_iter()
        .flat_map(|op| ElementType::ALL.into_iter().map(move |element| (op, element)))
        .filter(|&(op, element)| supports(op, element))
}

/// `left op right` in place, in the middle of a buffer that starts `offset` bytes after an aligned address.
fn in_place(
    op: ReduceOp,
    element: ElementType,
    left: &[u8],
    right: &[u8],
    offset: usize,
    by: Arithmetic,
) -> Vec<u8> {
    const GUARD: u8 = 0xa5;
    let mut buffer = vec![GUARD; offset + right.len() + 32];
    buffer[offset..offset + right.len()].copy_from_slice(right);
    let mut shifted = vec![0; (offset + 3) % 16];
    let skip = shifted.len();
    shifted.extend_from_slice(left);
    combine(op, element, &shifted[skip..], &mut buffer[offset..offset + right.len()], by).unwrap();
    assert!(buffer[..offset].iter().all(|&byte| byte == GUARD), "{op:?} {element:?} wrote before the vector");
    assert!(
        buffer[offset + right.len()..].iter().all(|&byte| byte == GUARD),
        "{op:?} {element:?} wrote behind the vector"
    );
    buffer[offset..offset + right.len()].to_vec()
}

fn pair_of_vectors(element: ElementType, left: &[Seed], right: &[Seed]) -> (Vec<u8>, Vec<u8>) {
    let count = left.len().min(right.len()) / 2 * 2;
    (vector(element, &left[..count]), vector(element, &right[..count]))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Lengths go beyond twice the widest block (64 lanes of one byte), so blocks and rests are both met.
    #[test]
    fn native_equals_softfloat_on_every_operation_and_type(
        left in seeds(140), right in seeds(140), equal in any::<bool>(), offset in 0_usize..16,
    ) {
        let right = if equal { &left } else { &right };
        for (op, element) in supported() {
            let (left, right) = pair_of_vectors(element, &left, right);
            let native = in_place(op, element, &left, &right, offset, Arithmetic::Native);
            let soft = in_place(op, element, &left, &right, offset, Arithmetic::SoftFloat);
            prop_assert_eq!(&native, &soft, "{:?} {:?}: {:02x?} with {:02x?}", op, element, left, right);
        }
    }

    #[test]
    fn results_are_those_of_a_plain_oracle(left in seeds(70), right in seeds(70)) {
        use ReduceOp as R;
        for (op, element) in supported() {
            let &[(_, kind)] = fields(element) else { continue };
            if matches!(op, R::Replace | R::NoOp) {
                continue;
            }
            let signed = matches!(
                element, ElementType::I8 | ElementType::I16 | ElementType::I32 | ElementType::I64
            );
            let size = element.size();
            let (left, right) = pair_of_vectors(element, &left, &right);
            let result = in_place(op, element, &left, &right, 0, Arithmetic::Native);
            let number = |bytes: &[u8]| {
                let mut wide = [0; 8];
                wide[..size].copy_from_slice(bytes);
                u64::from_le_bytes(wide)
            };
            for i in (0..left.len()).step_by(size) {
                let (x, y) = (number(&left[i..i + size]), number(&right[i..i + size]));
                let expected = match kind {
                    Kind::Integer(_) => oracle::integer(op, signed, size, x, y),
                    _ => oracle::float(op, kind, x, y),
                };
                let found = number(&result[i..i + size]);
                prop_assert_eq!(
                    found, expected & (u64::MAX >> (64 - 8 * size)), "{:?} {:?}: {:x} with {:x}", op, element, x, y
                );
            }
        }
    }
}

#[test]
fn every_length_around_the_vector_width_is_right() {
    let material: Vec<Seed> = (0..400_u64)
        .map(|i| {
            let bits = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            ((bits >> 56) as u8, bits)
        })
        .collect();
    for (op, element) in supported() {
        for count in (0..=36).chain(60..=68).chain(126..=130) {
            let left = vector(element, &material[..2 * count]);
            let right = vector(element, &material[100..100 + 2 * count]);
            for offset in [0, 1, 7, 8] {
                let native = in_place(op, element, &left, &right, offset, Arithmetic::Native);
                let soft = in_place(op, element, &left, &right, offset, Arithmetic::SoftFloat);
                assert_eq!(native, soft, "{op:?} of {count} {element:?} at offset {offset}");
            }
        }
    }
}

/// All special values and every 41st pattern, each with each: some 2.5 million pairs a format and operation.
#[test]
fn sixteen_bit_formats_agree_on_a_grid_of_all_pairs() {
    for (element, kind) in [(ElementType::F16, Kind::F16), (ElementType::Bf16, Kind::Bf16)] {
        let mut values: Vec<u16> = (0..=u16::MAX).step_by(41).collect();
        values.extend(kind.specials().iter().map(|&bits| bits as u16));
        let left: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        for op in [ReduceOp::Max, ReduceOp::Min, ReduceOp::Sum, ReduceOp::Prod] {
            for &value in &values {
                let right = value.to_le_bytes().repeat(values.len());
                let mut native = right.clone();
                combine(op, element, &left, &mut native, Arithmetic::Native).unwrap();
                let mut soft = right.clone();
                combine(op, element, &left, &mut soft, Arithmetic::SoftFloat).unwrap();
                assert!(native == soft, "{op:?} of {element:?} values with {value:04x}");
            }
        }
    }
}

/// Specials with specials and with a coarse grid, against exact arithmetic and a search for the nearest
/// value.
#[test]
fn sixteen_bit_results_are_correctly_rounded() {
    for (element, kind) in [(ElementType::F16, Kind::F16), (ElementType::Bf16, Kind::Bf16)] {
        let mut values: Vec<u64> = (0..=u64::from(u16::MAX)).step_by(211).collect();
        values.extend(kind.specials());
        for op in [ReduceOp::Max, ReduceOp::Min, ReduceOp::Sum, ReduceOp::Prod] {
            for &x in &values {
                for &y in &values {
                    let mut result = (y as u16).to_le_bytes();
                    combine(op, element, &(x as u16).to_le_bytes(), &mut result, Arithmetic::Native).unwrap();
                    let found = u64::from(u16::from_le_bytes(result));
                    assert_eq!(
                        found,
                        oracle::float(op, kind, x, y),
                        "{op:?} of {element:?} {x:04x} and {y:04x}"
                    );
                }
            }
        }
    }
}
