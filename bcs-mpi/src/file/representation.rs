//! Data representations (MPI-5.0, §14.5): types and elements in the form that they have in a file.

use super::direction::Direction;
use crate::attributes::callback;
use crate::constants::*;
use crate::datatype::external32;
use crate::error::{MpiError, MpiResult, Problem, answered};
use crate::object::datatype::basic::Basic;
use crate::object::datatype::buffer::Elements;
use crate::object::datatype::constructor::Constructor;
use crate::object::datatype::table::predefined_type;
use crate::object::datatype::{Layout, Type};
use crate::object::file::representation::{Convert, MOST_NAME, REGISTERED, Registered, Representation};
use crate::process::Guard;
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// MPI_Register_datarep, MPI_Register_datarep_c.
///
/// # Errors
/// The name is too long, or there is such a representation already.
pub fn register(
    name: String,
    (read, write): (Convert, Convert),
    extent: MPI_Datarep_extent_function,
    extra_state: *mut c_void,
) -> MpiResult {
    if name.is_empty() || name.len() >= MOST_NAME as usize {
        let allowed = format!("it must have 1 to {} bytes", MOST_NAME - 1);
        return Err(MpiError::argument(
            MPI_ERR_ARG,
            "datarep",
            format!("a name of {} bytes", name.len()),
            allowed,
        ));
    }
    if Representation::named(&name).is_some() {
        let allowed = "there is a data representation of this name; give another one";
        return Err(MpiError::argument(MPI_ERR_DUP_DATAREP, "datarep", format!("\"{name}\""), allowed));
    }
    let registered = Registered { name: name.into(), read, write, extent, extra_state: extra_state as usize };
    REGISTERED.lock().push(Arc::new(registered));
    Ok(())
}

/// Whether the elements of an access are in the file as they are in memory.
pub(super) fn is_as_in_memory(representation: &Representation, direction: Direction) -> bool {
    match representation {
        Representation::Native(_) => true,
        Representation::External32 => false,
        Representation::Registered(one) => {
            let convert = if direction == Direction::Read { one.read } else { one.write };
            one.is_plain() || matches!(convert, Convert::None)
        }
    }
}

/// Bytes of a predefined datatype in a file.
fn bytes_of(
    process: &mut Guard,
    datatype: &'static Datatype,
    representation: &Representation,
) -> MpiResult<i64> {
    match representation {
        Representation::Native(_) => Ok(datatype.size as i64),
        Representation::External32 => {
            let of = predefined_type(datatype.handle);
            Ok(of.and_then(|of| external32::size(of, 1)).unwrap_or(datatype.size as i64))
        }
        Representation::Registered(one) if one.is_plain() => Ok(datatype.size as i64),
        Representation::Registered(one) => {
            let (mut extent, one) = (0, one.clone());
            // SAFETY: the program gave this function and its state for this; no lock is held.
            let told =
                process.without_lock(|| unsafe { (one.extent)(datatype.handle, &mut extent, one.state()) });
            answered(told)?;
            if extent < 0 {
                return Err(conversion(&one.name, format!("said that {} has {extent} bytes", datatype.name)));
            }
            Ok(extent as i64)
        }
    }
}

#[cold]
fn conversion(name: &str, what: String) -> MpiError {
    let allowed = "its functions have to answer what is";
    MpiError::argument(MPI_ERR_CONVERSION, "datarep", format!("\"{name}\", which {what}"), allowed)
}

/// Bytes of `count` elements of a type in a file; none when they are too many to count.
pub(super) fn size(
    process: &mut Guard,
    of: &Type,
    count: i64,
    representation: &Representation,
) -> MpiResult<Option<i64>> {
    if let Representation::External32 = representation {
        return Ok(external32::size(of, count));
    }
    let (mut known, mut bytes) = (HashMap::new(), Some(0i64));
    for (Basic { datatype, .. }, elements) in of.runs(1) {
        let each = match (known.get(&datatype), predefined_datatype(datatype)) {
            (Some(each), _) => *each,
            (None, Some(datatype)) => bytes_of(process, datatype, representation)?,
            (None, None) => 0,
        };
        known.insert(datatype, each);
        bytes = bytes.and_then(|bytes| bytes.checked_add(elements.checked_mul(each)?));
    }
    Ok(bytes.and_then(|bytes| bytes.checked_mul(count)))
}

/// A type as it is in a file: basic elements have the bytes that they have there, one behind the other.
/// Displacements in bytes stay; those in extents count extents there.
///
/// # Errors
/// It reaches too far, or a function of the program fails.
pub(super) fn in_file(
    process: &mut Guard,
    of: &Arc<Type>,
    representation: &Representation,
) -> MpiResult<Arc<Type>> {
    if representation.is_native() {
        return Ok(of.clone());
    }
    let mut made: HashMap<*const Type, Arc<Type>> = HashMap::new();
    let mut wanted = vec![of.clone()];
    while let Some(top) = wanted.last().cloned() {
        let key = Arc::as_ptr(&top);
        if made.contains_key(&key) {
            wanted.pop();
            continue;
        }
        let too_large = |_| MpiError::new(Problem::TypeTooLarge);
        if let Some(datatype) = top.as_predefined() {
            let bytes = bytes_of(process, datatype, representation)?;
            let there = match bytes == top.size() && bytes == top.extent() {
                true => top,
                false => {
                    let byte = predefined_type(MPI_BYTE).into_iter().cloned().collect();
                    Type::new(Constructor::Contiguous { count: bytes }, byte, true).map_err(too_large)?
                }
            };
            made.insert(key, there);
            continue;
        }
        let before = wanted.len();
        wanted.extend(top.components.iter().filter(|of| !made.contains_key(&Arc::as_ptr(of))).cloned());
        if wanted.len() == before {
            let components = top.components.iter().map(|of| made[&Arc::as_ptr(of)].clone()).collect();
            let there = Type::new(top.constructor.clone(), components, top.large).map_err(too_large)?;
            made.insert(key, there);
        }
    }
    Ok(made[&Arc::as_ptr(of)].clone())
}

/// Converts elements of memory to what they are in a file.
///
/// # Errors
/// A value cannot be converted, or a function of the program fails.
pub(super) fn write(
    process: &mut Guard,
    representation: &Representation,
    of: &Type,
    elements: Elements<*mut c_void>,
    external: &mut [u8],
) -> MpiResult {
    match representation {
        Representation::External32 => {
            let layout = of.layout(elements.count);
            // SAFETY: the promise of `Elements::new`.
            let packed =
                unsafe { external32::pack(of, elements.count, &layout, elements.buffer.cast(), external) };
            packed.map_err(name_buffer)
        }
        Representation::Registered(one) => call(process, one, one.write, elements, external),
        Representation::Native(_) => Ok(()),
    }
}

/// The error of a value that external32 cannot hold, which names the buffer of this call.
fn name_buffer(error: MpiError) -> MpiError {
    match error.problem() {
        Problem::Argument { class, value, allowed, .. } => {
            MpiError::argument(*class, "buf", value.clone(), allowed.clone())
        }
        _ => error,
    }
}

/// Converts what has been read of a file to elements of memory; answers the bytes of memory.
///
/// # Errors
/// A function of the program fails.
pub(super) fn read(
    process: &mut Guard,
    representation: &Representation,
    of: &Type,
    elements: Elements<*mut c_void>,
    external: &mut [u8],
) -> MpiResult<u64> {
    match representation {
        Representation::External32 => {
            let layout: Layout = of.layout(elements.count);
            // SAFETY: the promise of `Elements::new`.
            let read = unsafe {
                external32::unpack_some(of, elements.count, &layout, external, elements.buffer.cast())?
            };
            Ok(read as u64)
        }
        Representation::Registered(one) => {
            let each = size(process, of, 1, representation)?.unwrap_or(0).max(1) as usize;
            let count = (external.len() / each) as i64;
            if count > 0 {
                call(process, one, one.read, Elements { count, ..elements }, external)?;
            }
            Ok((count * of.size()) as u64)
        }
        Representation::Native(_) => Ok(external.len() as u64),
    }
}

/// A conversion function with counts of this type.
type ConversionFunction<Count> =
    unsafe extern "C" fn(*mut c_void, MPI_Datatype, Count, *mut c_void, MPI_Offset, *mut c_void) -> c_int;

/// Calls a conversion function of the program.
fn call(
    process: &mut Guard,
    one: &Arc<Registered>,
    convert: Convert,
    Elements { buffer, count, datatype }: Elements<*mut c_void>,
    external: &mut [u8],
) -> MpiResult {
    let (file, state) = (external.as_mut_ptr().cast::<c_void>(), one.state());
    let told = match convert {
        Convert::None => return Ok(()),
        Convert::Small(address) => {
            type Function = ConversionFunction<c_int>;
            let count = c_int::try_from(count).map_err(|_| {
                conversion(
                    &one.name,
                    format!("has functions for counts of an int, but {count} elements are accessed"),
                )
            })?;
            // SAFETY: the program gave this function and its state for this; no lock is held. Both buffers
            // have as many elements.
            process.without_lock(|| unsafe {
                callback::<Function>(address)(buffer, datatype, count, file, 0, state)
            })
        }
        Convert::Large(address) => {
            type Function = ConversionFunction<MPI_Count>;
            // SAFETY: as above.
            process.without_lock(|| unsafe {
                callback::<Function>(address)(buffer, datatype, count, file, 0, state)
            })
        }
    };
    match answered(told) {
        Ok(()) => Ok(()),
        Err(_) => Err(conversion(&one.name, format!("answered the error {told}"))),
    }
}
