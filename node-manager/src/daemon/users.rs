//! Who a job runs as on this node.
//!
//! The machine manager has proved who the user is, by number; what this node knows of that number is asked of
//! its own user database. The invariant: a job that is not the node manager's own user's runs only where the
//! node manager is root, and only as a user that is known here.

use super::spawn::Identity;
use bcs_protocol::node::User;
use std::ffi::{CStr, CString, c_char};
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

/// Where a user database says nothing about it, an entry may be so long, in bytes.
const ENTRY_BYTES: usize = 64 << 10;

/// The most groups that Linux lets a process have.
const MAX_GROUPS: usize = 65_536;

/// Why a job cannot run as its user here.
#[derive(Debug, thiserror::Error)]
pub enum UserError {
    /// We cannot become somebody else.
    #[error(
        "the node manager of {host} runs as user {own} and cannot start a job of user {uid}; run it as root, or submit the job as user {own}"
    )]
    NotRoot {
        /// This node.
        host: String,
        /// Who we are.
        own: u32,
        /// Whose job it is.
        uid: u32,
    },
    /// The node does not know the user.
    #[error(
        "user {uid} is not known on {host}; give it an account there, with the same number as on all nodes"
    )]
    Unknown {
        /// This node.
        host: String,
        /// The number.
        uid: u32,
    },
    /// The user database cannot be asked.
    #[error(
        "cannot look up {what} of user {uid} on {host}: {error}; see whether its user database (getent passwd {uid}) answers"
    )]
    Lookup {
        /// What was asked.
        what: &'static str,
        /// This node.
        host: String,
        /// The number.
        uid: u32,
        /// What the system said.
        error: io::Error,
    },
}

/// Who the launcher has to become to run as this user: nobody else, if that is who we are without being root.
/// May wait for a user database.
///
/// # Errors
/// The job cannot run here.
pub fn identity(user: &User, host: &str) -> Result<Option<Identity>, UserError> {
    let own = rustix::process::geteuid();
    let host = || host.to_owned();
    let User { uid, gid } = *user;
    if !own.is_root() {
        return match uid == own.as_raw() {
            true => Ok(None),
            false => Err(UserError::NotRoot { host: host(), own: own.as_raw(), uid }),
        };
    }
    let lookup = |what| move |error| UserError::Lookup { what, host: host(), uid, error };
    let name =
        name(uid).map_err(lookup("the name"))?.ok_or_else(|| UserError::Unknown { host: host(), uid })?;
    let groups = groups(&name, gid).map_err(lookup("the groups"))?;
    Ok(Some(Identity { uid, gid, groups }))
}

/// The name of a user, if there is one of this number.
fn name(uid: u32) -> io::Result<Option<CString>> {
    let mut buffer: Vec<c_char> = vec![0; ENTRY_BYTES];
    let mut entry = MaybeUninit::<libc::passwd>::uninit();
    let mut found: *mut libc::passwd = ptr::null_mut();
    // SAFETY: the entry and the buffer, whose length is given, live through the call; what is found points
    // into them, and its name is a string in the buffer.
    unsafe {
        match libc::getpwuid_r(uid, entry.as_mut_ptr(), buffer.as_mut_ptr(), buffer.len(), &mut found) {
            0 if found.is_null() => Ok(None),
            0 => Ok(Some(CStr::from_ptr((*found).pw_name).to_owned())),
            // What some databases say for "not there".
            libc::ENOENT | libc::ESRCH | libc::EBADF | libc::EPERM => Ok(None),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }
}

/// All groups of a user, this one included.
fn groups(name: &CStr, gid: u32) -> io::Result<Vec<u32>> {
    let mut groups: Vec<libc::gid_t> = vec![0; MAX_GROUPS];
    let mut count = MAX_GROUPS as libc::c_int;
    // SAFETY: the array has as many places as `count` says.
    if unsafe { libc::getgrouplist(name.as_ptr(), gid, groups.as_mut_ptr(), &mut count) } < 0 {
        return Err(io::Error::other("more groups than a process can have"));
    }
    groups.truncate(usize::try_from(count).unwrap_or(0));
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Beyond all numbers that anybody gives out.
    const NOBODY_AT_ALL: u32 = 4_000_000_017;

    #[test]
    fn user_that_is_not_known_here_is_refused_with_what_to_do() {
        let user = User { uid: NOBODY_AT_ALL, gid: 1 };
        let refused = identity(&user, "n7").unwrap_err().to_string();
        match rustix::process::geteuid().is_root() {
            true => assert_eq!(
                refused,
                "user 4000000017 is not known on n7; give it an account there, with the same number as on all nodes"
            ),
            false => assert!(
                refused.contains("cannot start a job of user 4000000017; run it as root"),
                "{refused}"
            ),
        }
    }

    #[test]
    fn groups_of_a_user_hold_its_main_one() {
        let root = name(0).unwrap().unwrap();
        assert!(groups(&root, 4711).unwrap().contains(&4711));
    }
}
