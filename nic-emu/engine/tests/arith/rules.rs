//! The rules that users rely on, by example, and what is refused.

use nic_engine::arithmetic::{ArithError, Arithmetic, ElementType, ReduceOp, combine};

use super::values::supports;

const BOTH: [Arithmetic; 2] = [Arithmetic::Native, Arithmetic::SoftFloat];

fn one<const N: usize>(op: ReduceOp, element: ElementType, left: [u8; N], right: [u8; N]) -> [u8; N] {
    let [native, soft] = BOTH.map(|by| {
        let mut result = right;
        combine(op, element, &left, &mut result, by).unwrap();
        result
    });
    assert_eq!(native, soft);
    native
}

fn f64s(op: ReduceOp, left: f64, right: f64) -> u64 {
    u64::from_le_bytes(one(op, ElementType::F64, left.to_le_bytes(), right.to_le_bytes()))
}

/// A `struct { double value; int index; }` with its padding.
fn located(value: f64, index: i32, padding: u8) -> [u8; 16] {
    let mut bytes = [padding; 16];
    bytes[..8].copy_from_slice(&value.to_le_bytes());
    bytes[8..12].copy_from_slice(&index.to_le_bytes());
    bytes
}

#[test]
fn a_nan_in_the_data_is_never_hidden() {
    let nan = f64::from_bits(0x7ff0_0000_0000_0123);
    let quiet = 0x7ff8_0000_0000_0123;
    let other = f64::from_bits(0xfff8_0000_0000_0456);
    for op in [ReduceOp::Max, ReduceOp::Min, ReduceOp::Sum, ReduceOp::Prod] {
        assert_eq!(f64s(op, nan, 1.0), quiet, "{op:?}");
        assert_eq!(f64s(op, f64::INFINITY, nan), quiet, "{op:?}");
        assert_eq!(f64s(op, nan, other), quiet, "{op:?}: the left NaN comes out");
        assert_eq!(f64s(op, other, nan), other.to_bits(), "{op:?}: the left NaN comes out");
    }
}

#[test]
fn an_invalid_operation_gives_the_default_nan() {
    assert_eq!(f64s(ReduceOp::Sum, f64::INFINITY, f64::NEG_INFINITY), 0xfff8_0000_0000_0000);
    assert_eq!(f64s(ReduceOp::Prod, 0.0, f64::INFINITY), 0xfff8_0000_0000_0000);
}

#[test]
fn negative_zero_is_less_than_zero() {
    for (left, right) in [(0.0, -0.0), (-0.0, 0.0)] {
        assert_eq!(f64s(ReduceOp::Max, left, right), 0.0_f64.to_bits());
        assert_eq!(f64s(ReduceOp::Min, left, right), (-0.0_f64).to_bits());
    }
}

#[test]
fn subnormals_count() {
    let tiny = f64::from_bits(1);
    assert_eq!(f64s(ReduceOp::Sum, tiny, tiny), 2);
    assert_eq!(f64s(ReduceOp::Prod, tiny, 4.0), 4);
    assert_eq!(f64s(ReduceOp::Max, tiny, 0.0), 1);
}

#[test]
fn the_left_operand_is_the_lower_ranks() {
    // The only trace of order in a sum is which NaN comes out; in one-sided operations it is everything.
    let (left, right) = (1_i32.to_le_bytes(), 2_i32.to_le_bytes());
    assert_eq!(one(ReduceOp::Replace, ElementType::I32, left, right), left);
    assert_eq!(one(ReduceOp::NoOp, ElementType::I32, left, right), right);
}

#[test]
fn equal_extremes_give_the_smaller_index() {
    for op in [ReduceOp::Maxloc, ReduceOp::Minloc] {
        for (left, right) in [(3, 7), (7, 3)] {
            let result = one(op, ElementType::F64I32, located(1.5, left, 1), located(1.5, right, 2));
            assert_eq!(result, located(1.5, 3, 2), "{op:?}");
            let (zero, index) = if op == ReduceOp::Maxloc { (0.0, 3) } else { (-0.0, 3) };
            let result = one(op, ElementType::F64I32, located(-0.0, left, 1), located(0.0, right, 2));
            assert_eq!(result, located(zero, index, 2), "{op:?}: zeros are equal");
            let result =
                one(op, ElementType::F64I32, located(f64::NAN, left, 1), located(f64::NAN, right, 2));
            assert_eq!(result, located(f64::NAN, 3, 2), "{op:?}: NaNs are as good as each other");
        }
    }
}

#[test]
fn the_extreme_takes_its_index_along_and_padding_stays() {
    let (low, high, nan) = (located(-2.0, 9, 1), located(2.0, 4, 2), located(f64::NAN, 5, 3));
    assert_eq!(one(ReduceOp::Maxloc, ElementType::F64I32, low, high), located(2.0, 4, 2));
    assert_eq!(one(ReduceOp::Maxloc, ElementType::F64I32, high, low), located(2.0, 4, 1));
    assert_eq!(one(ReduceOp::Minloc, ElementType::F64I32, low, high), located(-2.0, 9, 2));
    assert_eq!(one(ReduceOp::Minloc, ElementType::F64I32, high, low), located(-2.0, 9, 1));
    for op in [ReduceOp::Maxloc, ReduceOp::Minloc] {
        assert_eq!(one(op, ElementType::F64I32, nan, low), located(f64::NAN, 5, 1), "{op:?}");
        assert_eq!(one(op, ElementType::F64I32, low, nan), located(f64::NAN, 5, 3), "{op:?}");
    }
    assert_eq!(one(ReduceOp::Replace, ElementType::F64I32, low, high), located(-2.0, 9, 2));
}

#[test]
fn integer_pairs_are_located_too() {
    let pair = |value: i16, index: i32| {
        let mut bytes = [0xee; 8];
        bytes[..2].copy_from_slice(&value.to_le_bytes());
        bytes[4..].copy_from_slice(&index.to_le_bytes());
        bytes
    };
    assert_eq!(one(ReduceOp::Maxloc, ElementType::I16I32, pair(-5, 1), pair(5, 2)), pair(5, 2));
    assert_eq!(one(ReduceOp::Minloc, ElementType::I16I32, pair(-5, 1), pair(5, 2)), pair(-5, 1));
    assert_eq!(one(ReduceOp::Minloc, ElementType::I16I32, pair(5, 8), pair(5, 2)), pair(5, 2));
}

#[test]
fn complex_numbers_multiply() {
    let complex = |real: f32, imaginary: f32| {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&real.to_le_bytes());
        bytes[4..].copy_from_slice(&imaginary.to_le_bytes());
        bytes
    };
    let result = one(ReduceOp::Prod, ElementType::ComplexF32, complex(1.0, 2.0), complex(3.0, 4.0));
    assert_eq!(result, complex(-5.0, 10.0));
    let result = one(ReduceOp::Sum, ElementType::ComplexF32, complex(1.0, 2.0), complex(3.0, 4.0));
    assert_eq!(result, complex(4.0, 6.0));
}

#[test]
fn any_non_zero_is_true() {
    for (left, right) in [(0_i32, 0_i32), (0, 7), (-3, 0), (-3, 7)] {
        let logical =
            |op| i32::from_le_bytes(one(op, ElementType::I32, left.to_le_bytes(), right.to_le_bytes()));
        assert_eq!(logical(ReduceOp::Land), i32::from(left != 0 && right != 0));
        assert_eq!(logical(ReduceOp::Lor), i32::from(left != 0 || right != 0));
        assert_eq!(logical(ReduceOp::Lxor), i32::from((left != 0) != (right != 0)));
    }
}

#[test]
fn what_the_standard_does_not_define_is_refused_and_nothing_written() {
    for op in ReduceOp::ALL {
        for element in ElementType::ALL {
            for by in BOTH {
                let left = vec![1; 4 * element.size()];
                let mut right = vec![2; 4 * element.size()];
                let outcome = combine(op, element, &left, &mut right, by);
                if supports(op, element) {
                    assert_eq!(outcome, Ok(()), "{op:?} of {element:?}");
                } else {
                    assert_eq!(outcome, Err(ArithError::Unsupported { op, element }));
                    assert!(right.iter().all(|&byte| byte == 2), "{op:?} of {element:?} wrote");
                }
            }
        }
    }
    assert!(!supports(ReduceOp::Band, ElementType::F64));
    assert!(!supports(ReduceOp::Max, ElementType::ComplexF64));
    assert!(!supports(ReduceOp::Sum, ElementType::Byte));
    assert!(!supports(ReduceOp::Sum, ElementType::F64I32));
    assert!(!supports(ReduceOp::Maxloc, ElementType::F64));
    assert!(!supports(ReduceOp::Land, ElementType::F32));
}

#[test]
fn vectors_that_do_not_fit_are_refused() {
    let (op, element) = (ReduceOp::Sum, ElementType::F64);
    let mut right = [0; 16];
    assert_eq!(
        combine(op, element, &[0; 8], &mut right, Arithmetic::Native),
        Err(ArithError::LengthMismatch { op, expected: 8, found: 16 })
    );
    assert_eq!(
        combine(op, element, &[0; 12], &mut [0; 12], Arithmetic::Native),
        Err(ArithError::PartialElement { element, length: 12 })
    );
}

#[test]
fn discriminants_survive_the_way_through_a_descriptor() {
    for value in 0..=u8::MAX {
        let element = ElementType::numbered(value).map(|element| element as u8);
        assert_eq!(element, (value < 22).then_some(value));
        let op = ReduceOp::numbered(value).map(|op| op as u8);
        assert_eq!(op, (value < 14).then_some(value));
    }
    assert_eq!(ElementType::ALL.len(), 22);
    assert_eq!(ReduceOp::ALL.len(), 14);
}
