//! Local accounts: as whom a remote user's jobs run, and what a local user is called.

use super::jobs::Owner;
use std::ffi::{CStr, CString};
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

/// The most that one entry of the user database may take, in bytes.
const ENTRY_BYTES_LIMIT: usize = 1 << 20;

/// Why a user is not known.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// There is no such account.
    #[error("user '{0}' has no account on the machine manager's host; create one, or use another credential")]
    Unknown(String),
    /// The user database cannot be read.
    #[error("cannot look up user '{name}': {error}")]
    Database {
        /// The user.
        name: String,
        /// Why.
        error: io::Error,
    },
}

/// The account of a name. Blocks: the user database may be on another machine.
///
/// # Errors
/// There is none, or the database cannot be read.
pub fn by_name(name: &str) -> Result<Owner, AccountError> {
    let unknown = || AccountError::Unknown(name.to_owned());
    let text = CString::new(name).map_err(|_| unknown())?;
    look_up(|entry, buffer, length, found| {
        // SAFETY: the name ends with 0; the rest is as `look_up` promises.
        unsafe { libc::getpwnam_r(text.as_ptr(), entry, buffer, length, found) }
    })
    .map_err(|error| AccountError::Database { name: name.to_owned(), error })?
    .ok_or_else(unknown)
}

/// A local user, whose number and group the kernel has proved: with its name, if it has one. Blocks, as
/// above.
pub fn by_number(uid: u32, gid: u32) -> Owner {
    let found = look_up(|entry, buffer, length, found| {
        // SAFETY: as `look_up` promises.
        unsafe { libc::getpwuid_r(uid, entry, buffer, length, found) }
    });
    // A user without a name, or a database that does not answer, is no obstacle: what counts is the number.
    let name = found.ok().flatten().map_or_else(|| uid.to_string(), |owner| owner.name);
    Owner { uid, gid, name }
}

/// Calls one of the functions of the user database, which get an entry to fill in, a buffer with its length,
/// and where to say what was found.
fn look_up(
    call: impl Fn(*mut libc::passwd, *mut libc::c_char, usize, *mut *mut libc::passwd) -> libc::c_int,
) -> io::Result<Option<Owner>> {
    let mut buffer: Vec<libc::c_char> = vec![0; 1024];
    loop {
        let mut entry = MaybeUninit::<libc::passwd>::uninit();
        let mut found = ptr::null_mut();
        match call(entry.as_mut_ptr(), buffer.as_mut_ptr(), buffer.len(), &mut found) {
            0 if found.is_null() => return Ok(None),
            0 => {
                // SAFETY: the entry was found, so it is filled in, and its name lies in the buffer and ends
                // with 0.
                let (entry, name) = unsafe {
                    let entry = entry.assume_init();
                    (entry, CStr::from_ptr(entry.pw_name))
                };
                let name = name.to_string_lossy().into_owned();
                return Ok(Some(Owner { uid: entry.pw_uid, gid: entry.pw_gid, name }));
            }
            libc::ERANGE if buffer.len() < ENTRY_BYTES_LIMIT => buffer.resize(buffer.len() * 2, 0),
            libc::EINTR => {}
            error => return Err(io::Error::from_raw_os_error(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_of_a_name_is_that_of_its_number_and_a_name_without_one_is_refused() {
        let root = by_name("root").unwrap();
        assert_eq!((root.uid, root.gid), (0, 0));
        assert_eq!(by_number(0, 0), root);
        for name in ["no-such-user-here", "a\0b", ""] {
            assert!(matches!(by_name(name), Err(AccountError::Unknown(_))), "{name:?}");
        }
        assert_eq!(
            by_number(4_000_000_000, 7),
            Owner { uid: 4_000_000_000, gid: 7, name: "4000000000".into() }
        );
    }
}
