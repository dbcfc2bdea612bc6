//! Info objects: hints, keys with values (MPI-5.0, chapter 10).

use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::handle::Table;
use crate::host;
use crate::kind::Kind;
use crate::lasting::Lasting;
use std::ffi::c_int;

/// What an info object is: keys with values, in the order in which they were set.
pub type Pairs = Vec<(String, String)>;

/// The info objects of this process.
pub(crate) static INFOS: Lasting<Table<Pairs>> = Lasting::new(Table::new(Kind::Info));

/// The keys and values of an info object that may be changed.
fn pairs_of(infos: &mut Table<Pairs>, info: MPI_Info) -> MpiResult<&mut Pairs> {
    if info == MPI_INFO_ENV {
        let allowed = "it can be neither changed nor freed; MPI_Info_dup makes a copy of it";
        return Err(MpiError::argument(MPI_ERR_INFO, "info", "MPI_INFO_ENV", allowed));
    }
    infos.named_mut("info", info.0)
}

/// What `look` sees in an info object.
fn read<T>(info: MPI_Info, look: impl FnOnce(&Pairs) -> T) -> MpiResult<T> {
    if info == MPI_INFO_ENV {
        return Ok(look(&environment()));
    }
    INFOS.lock().named("info", info.0).map(look)
}

/// What MPI_INFO_ENV and MPI_Info_create_env say: how the program was started.
fn environment() -> Pairs {
    let mut pairs = Vec::new();
    let mut add = |key: &str, value: String| pairs.push((key.to_owned(), value));
    let arguments: Vec<String> = std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect();
    if let Some((command, rest)) = arguments.split_first() {
        add("command", command.clone());
        add("argv", rest.join(" "));
    }
    if let Ok(size) = std::env::var("BCS_SIZE") {
        add("maxprocs", size);
    }
    add("host", host::name());
    add("arch", rustix::system::uname().machine().to_string_lossy().into_owned());
    if let Ok(directory) = std::env::current_dir() {
        add("wdir", directory.to_string_lossy().into_owned());
    }
    pairs
}

fn checked_key(key: &str) -> MpiResult {
    if key.is_empty() || key.len() >= MPI_MAX_INFO_KEY as usize {
        let allowed = format!("it must have 1 to {} bytes", MPI_MAX_INFO_KEY - 1);
        return Err(MpiError::argument(MPI_ERR_INFO_KEY, "key", format!("of {} bytes", key.len()), allowed));
    }
    Ok(())
}

/// Checks the hints of a call that needs none: MPI_INFO_NULL or an info object.
///
/// # Errors
/// No such info object.
pub fn check(info: MPI_Info) -> MpiResult {
    if info == MPI_INFO_NULL { Ok(()) } else { read(info, |_| ()) }
}

/// The keys and values of an info object; none of MPI_INFO_NULL.
///
/// # Errors
/// No such info object.
pub(crate) fn pairs(info: MPI_Info) -> MpiResult<Pairs> {
    if info == MPI_INFO_NULL { Ok(Vec::new()) } else { read(info, Pairs::clone) }
}

/// A new info object with these keys and values.
pub(crate) fn of_pairs(pairs: Pairs) -> MPI_Info {
    MPI_Info(INFOS.lock().insert(pairs))
}

/// MPI_Info_create.
pub fn create() -> MPI_Info {
    of_pairs(Vec::new())
}

/// MPI_Info_create_env.
pub fn create_env() -> MPI_Info {
    of_pairs(environment())
}

/// MPI_Abi_get_info: what of the ABI an implementation chooses, as sizes in bytes.
pub fn create_abi() -> MPI_Info {
    let sizes = [
        ("mpi_aint_size", size_of::<MPI_Aint>()),
        ("mpi_count_size", size_of::<MPI_Count>()),
        ("mpi_offset_size", size_of::<MPI_Offset>()),
    ];
    of_pairs(sizes.map(|(key, size)| (key.to_owned(), size.to_string())).into())
}

/// MPI_Info_dup.
///
/// # Errors
/// No such info object.
pub fn dup(info: MPI_Info) -> MpiResult<MPI_Info> {
    read(info, Pairs::clone).map(of_pairs)
}

/// MPI_Info_free.
///
/// # Errors
/// No such info object.
pub fn free(info: &mut MPI_Info) -> MpiResult {
    let mut infos = INFOS.lock();
    pairs_of(&mut infos, *info)?;
    // It was found above.
    let _ = infos.remove(info.0);
    *info = MPI_INFO_NULL;
    Ok(())
}

/// MPI_Info_set.
///
/// # Errors
/// No such info object, or a key or value that is too long.
pub fn set(info: MPI_Info, key: String, value: String) -> MpiResult {
    let mut infos = INFOS.lock();
    let pairs = pairs_of(&mut infos, info)?;
    checked_key(&key)?;
    if value.len() >= MPI_MAX_INFO_VAL as usize {
        let (bytes, most) = (value.len(), MPI_MAX_INFO_VAL - 1);
        let (value, allowed) = (format!("of {bytes} bytes"), format!("it must have at most {most} bytes"));
        return Err(MpiError::argument(MPI_ERR_INFO_VALUE, "value", value, allowed));
    }
    match pairs.iter_mut().find(|(of, _)| *of == key) {
        Some((_, old)) => *old = value,
        None => pairs.push((key, value)),
    }
    Ok(())
}

/// MPI_Info_delete.
///
/// # Errors
/// No such info object or key.
pub fn delete(info: MPI_Info, key: &str) -> MpiResult {
    let mut infos = INFOS.lock();
    let pairs = pairs_of(&mut infos, info)?;
    checked_key(key)?;
    let Some(at) = pairs.iter().position(|(of, _)| of == key) else {
        let (value, allowed) = (format!("'{key}'"), "the info object has no such key");
        return Err(MpiError::argument(MPI_ERR_INFO_NOKEY, "key", value, allowed));
    };
    pairs.remove(at);
    Ok(())
}

/// The value of a key, if it is set: MPI_Info_get_string, MPI_Info_get and MPI_Info_get_valuelen.
///
/// # Errors
/// No such info object, or a key that is too long.
pub fn get(info: MPI_Info, key: &str) -> MpiResult<Option<String>> {
    let found =
        read(info, |pairs| pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone()))?;
    checked_key(key)?;
    Ok(found)
}

/// MPI_Info_get_nkeys.
///
/// # Errors
/// No such info object.
pub fn count(info: MPI_Info) -> MpiResult<c_int> {
    read(info, |pairs| pairs.len() as c_int)
}

/// MPI_Info_get_nthkey.
///
/// # Errors
/// No such info object, or fewer keys than that.
pub fn nth_key(info: MPI_Info, n: c_int) -> MpiResult<String> {
    read(info, |pairs| match usize::try_from(n).ok().and_then(|n| pairs.get(n)) {
        Some((key, _)) => Ok(key.clone()),
        None => {
            let allowed = format!("the info object has {} keys, numbered from 0", pairs.len());
            Err(MpiError::argument(MPI_ERR_ARG, "n", n, allowed))
        }
    })?
}
