//! external32: the portable form of packed data (MPI-5.0, §14.5.2): big-endian, IEEE 754, sizes that do not
//! depend on the machine.
//!
//! A message is packed chunk by chunk into a buffer that stays in the cache, and its basic elements are
//! converted from there, equal ones together; the other way likewise.

use super::extended::{narrow, widen};
use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::object::datatype::basic::Basic;
use crate::object::datatype::cursor::Layout;
use crate::object::datatype::typemap::Type;

/// Bytes of memory form that are converted at a time; a multiple of all elements' sizes is not needed.
const CHUNK: usize = 4096;

/// How an element is converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Conversion {
    /// Numbers of that many bytes each, turned round.
    Swapped(usize),
    /// An integer of 8 bytes that has 4 there; whether it has a sign.
    Long(bool),
    /// A character of 4 bytes that has 2 there.
    Wide,
    /// Numbers of the 80-bit format in 16 bytes, which are of the 128-bit format there.
    Extended,
}

fn form(basic: &Basic) -> Conversion {
    match basic.datatype {
        MPI_LONG => Conversion::Long(true),
        MPI_UNSIGNED_LONG => Conversion::Long(false),
        MPI_WCHAR => Conversion::Wide,
        MPI_LONG_DOUBLE | MPI_C_LONG_DOUBLE_COMPLEX | MPI_CXX_LONG_DOUBLE_COMPLEX => Conversion::Extended,
        datatype => match predefined_datatype(datatype).map(|known| known.class) {
            Some(Class::Complex) => Conversion::Swapped(basic.bytes as usize / 2),
            _ => Conversion::Swapped(basic.bytes as usize),
        },
    }
}

/// Bytes of an element in external32.
fn external_bytes(basic: &Basic) -> usize {
    match form(basic) {
        Conversion::Long(_) => 4,
        Conversion::Wide => 2,
        Conversion::Swapped(_) | Conversion::Extended => basic.bytes as usize,
    }
}

#[cold]
fn out_of_range(basic: &Basic, value: impl std::fmt::Display, bytes: usize) -> MpiError {
    let name = predefined_datatype(basic.datatype).map_or("datatype", |known| known.name);
    let allowed =
        format!("an element of {name} has {bytes} bytes in external32; use a type that keeps its size");
    MpiError::argument(MPI_ERR_CONVERSION, "inbuf", format!("a buffer with the value {value}"), allowed)
}

/// Turns numbers of `IN` bytes into as many of `OUT` bytes.
fn each<const IN: usize, const OUT: usize>(
    from: &[u8],
    to: &mut [u8],
    convert: impl Fn([u8; IN]) -> MpiResult<[u8; OUT]>,
) -> MpiResult {
    for (from, to) in from.as_chunks().0.iter().zip(to.as_chunks_mut().0) {
        *to = convert(*from)?;
    }
    Ok(())
}

/// Turns elements of the memory form into external32.
fn write(basic: &Basic, memory: &[u8], external: &mut [u8]) -> MpiResult {
    match form(basic) {
        Conversion::Swapped(bytes) => swap(memory, external, bytes),
        Conversion::Long(true) => each(memory, external, |from| {
            let value = i64::from_ne_bytes(from);
            Ok(i32::try_from(value).map_err(|_| out_of_range(basic, value, 4))?.to_be_bytes())
        }),
        Conversion::Long(false) => each(memory, external, |from| {
            let value = u64::from_ne_bytes(from);
            Ok(u32::try_from(value).map_err(|_| out_of_range(basic, value, 4))?.to_be_bytes())
        }),
        Conversion::Wide => each(memory, external, |from| {
            let value = u32::from_ne_bytes(from);
            Ok(u16::try_from(value).map_err(|_| out_of_range(basic, value, 2))?.to_be_bytes())
        }),
        Conversion::Extended => each(memory, external, |from: [u8; 16]| {
            let mut number = [0; 10];
            number.copy_from_slice(&from[..10]);
            Ok(widen(number).to_be_bytes())
        }),
    }
}

/// Turns elements of external32 into the memory form.
fn read(basic: &Basic, external: &[u8], memory: &mut [u8]) -> MpiResult {
    match form(basic) {
        Conversion::Swapped(bytes) => swap(external, memory, bytes),
        Conversion::Long(true) => {
            each(external, memory, |from| Ok(i64::from(i32::from_be_bytes(from)).to_ne_bytes()))
        }
        Conversion::Long(false) => {
            each(external, memory, |from| Ok(u64::from(u32::from_be_bytes(from)).to_ne_bytes()))
        }
        Conversion::Wide => {
            each(external, memory, |from| Ok(u32::from(u16::from_be_bytes(from)).to_ne_bytes()))
        }
        Conversion::Extended => each(external, memory, |from| {
            let mut to = [0; 16];
            to[..10].copy_from_slice(&narrow(u128::from_be_bytes(from)));
            Ok(to)
        }),
    }
}

/// Copies numbers, the bytes of each turned round.
fn swap(from: &[u8], to: &mut [u8], bytes: usize) -> MpiResult {
    fn numbers<const BYTES: usize>(from: &[u8], to: &mut [u8]) -> MpiResult {
        each(from, to, |mut number: [u8; BYTES]| {
            number.reverse();
            Ok(number)
        })
    }
    match bytes {
        1 => to.copy_from_slice(from),
        2 => numbers::<2>(from, to)?,
        4 => numbers::<4>(from, to)?,
        8 => numbers::<8>(from, to)?,
        _ => numbers::<16>(from, to)?,
    }
    Ok(())
}

/// Bytes of `count` elements of a type in external32; none when they are too many to count.
pub fn size(of: &Type, count: i64) -> Option<i64> {
    let mut bytes = 0i64;
    for (basic, elements) in of.runs(1) {
        bytes = bytes.checked_add(elements.checked_mul(external_bytes(&basic) as i64)?)?;
    }
    bytes.checked_mul(count)
}

/// Has `convert` convert `count` elements of a type, equal ones together: in memory form they have room in a
/// buffer; in external32 they have so many bytes.
fn chunks(
    of: &Type,
    count: i64,
    mut convert: impl FnMut(&Basic, &mut [u8], usize) -> MpiResult,
) -> MpiResult {
    let mut buffer = [0u8; CHUNK];
    for (basic, mut left) in of.runs(count) {
        let (inside, outside) = (basic.bytes as usize, external_bytes(&basic));
        while left > 0 {
            let now = left.min((CHUNK / inside) as i64) as usize;
            convert(&basic, &mut buffer[..now * inside], now * outside)?;
            left -= now as i64;
        }
    }
    Ok(())
}

/// Packs `count` elements of a type. `to` has room for [`size`] bytes.
///
/// # Safety
/// `memory` must be readable wherever the layout, which is the type's with that count, has bytes.
///
/// # Errors
/// A value that external32 cannot hold.
pub unsafe fn pack(
    of: &Type,
    count: i64,
    layout: &Layout,
    memory: *const u8,
    mut to: &mut [u8],
) -> MpiResult {
    let mut cursor = layout.cursor();
    chunks(of, count, |basic, chunk, outside| {
        // SAFETY: the caller's promise.
        unsafe { cursor.pack(memory, chunk.as_mut_ptr(), chunk.len()) };
        let (head, rest) = std::mem::take(&mut to).split_at_mut(outside);
        to = rest;
        write(basic, chunk, head)
    })
}

/// Unpacks `count` elements of a type from [`size`] bytes.
///
/// # Safety
/// `memory` must be writable wherever the layout, which is the type's with that count, has bytes.
///
/// # Errors
/// There are none.
pub unsafe fn unpack(of: &Type, count: i64, layout: &Layout, from: &[u8], memory: *mut u8) -> MpiResult {
    // SAFETY: the caller's promise.
    unsafe { unpack_some(of, count, layout, from, memory) }.map(drop)
}

/// The same of fewer bytes: as many basic elements as these are; answers their bytes in memory.
///
/// # Safety
/// As [`unpack`].
///
/// # Errors
/// There are none.
pub unsafe fn unpack_some(
    of: &Type,
    count: i64,
    layout: &Layout,
    mut from: &[u8],
    memory: *mut u8,
) -> MpiResult<usize> {
    let (mut cursor, mut done) = (layout.cursor(), false);
    chunks(of, count, |basic, chunk, outside| {
        let each = external_bytes(basic);
        let whole = from.len().min(outside) / each * each;
        if done || whole == 0 {
            done = true;
            return Ok(());
        }
        done = whole < outside;
        let chunk = &mut chunk[..whole / each * basic.bytes as usize];
        let (head, rest) = from.split_at(whole);
        from = rest;
        read(basic, head, chunk)?;
        // SAFETY: the caller's promise.
        unsafe { cursor.unpack(chunk.as_ptr(), chunk.len(), memory) };
        Ok(())
    })?;
    Ok(cursor.position())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::datatype::table::predefined_type;

    fn packed<T>(datatype: MPI_Datatype, values: &[T]) -> Vec<u8> {
        let of = predefined_type(datatype).unwrap();
        let count = (size_of_val(values) as i64) / of.extent();
        let mut to = vec![0; size(of, count).unwrap() as usize];
        // SAFETY: the values are there.
        unsafe { pack(of, count, &of.layout(count), values.as_ptr().cast(), &mut to) }.unwrap();
        to
    }

    #[test]
    fn known_values_have_their_known_bytes() {
        assert_eq!(packed(MPI_INT, &[1i32, -2]), [0, 0, 0, 1, 0xff, 0xff, 0xff, 0xfe]);
        assert_eq!(packed(MPI_LONG, &[0x0102_0304i64, -1]), [1, 2, 3, 4, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(packed(MPI_UNSIGNED_LONG, &[0xfffffffeu64]), [0xff, 0xff, 0xff, 0xfe]);
        assert_eq!(packed(MPI_LONG_LONG, &[1i64]), [0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(packed(MPI_DOUBLE, &[1.0f64]), [0x3f, 0xf0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(packed(MPI_C_FLOAT_COMPLEX, &[1.0f32, -2.0]), [0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0]);
        assert_eq!(packed(MPI_C_BOOL, &[1u8, 0]), [1, 0]);
        assert_eq!(packed(MPI_WCHAR, &[0x20acu32]), [0x20, 0xac]);
        assert_eq!(packed(MPI_CHARACTER, b"ab"), *b"ab");
        // A short, padding, an int.
        assert_eq!(packed(MPI_SHORT_INT, &[7i32, 9]), [0, 7, 0, 0, 0, 9]);
        let one = (0x3fff_8000_0000_0000_0000u128).to_le_bytes();
        let mut expected = [0; 16];
        expected[..2].copy_from_slice(&[0x3f, 0xff]);
        assert_eq!(packed(MPI_LONG_DOUBLE, &one), expected);
    }

    #[test]
    fn every_predefined_datatype_comes_back_as_it_was() {
        for datatype in DATATYPES.iter().filter(|of| of.class != Class::Null) {
            let of = predefined_type(datatype.handle).unwrap();
            let count = 1000;
            let bytes = (of.extent() * count) as usize;
            // Small numbers in every format: two low bytes, and of `long double` the value 1 scaled.
            let mut memory = vec![0u8; bytes];
            for (i, element) in memory.chunks_mut(of.extent() as usize).enumerate() {
                element[0] = i as u8;
                if datatype.name.contains("LONG_DOUBLE") {
                    let parts = if datatype.class == Class::Pair { 1 } else { datatype.size / 16 };
                    for part in element.chunks_mut(16).take(parts) {
                        part[7..10].copy_from_slice(&[0x80, 0xff, 0x3f]);
                    }
                }
            }
            let mut external = vec![0; size(of, count).unwrap() as usize];
            let mut back = vec![0u8; bytes];
            let layout = of.layout(count);
            // SAFETY: both have the elements.
            let native = unsafe {
                pack(of, count, &layout, memory.as_ptr(), &mut external).unwrap();
                unpack(of, count, &layout, &external, back.as_mut_ptr()).unwrap();
                (layout.pack(memory.as_ptr()), layout.pack(back.as_ptr()))
            };
            assert!(native.0 == native.1, "{}", datatype.name);
        }
    }
}
