//! Names of files, as programs give them (MPI-5.0, §14.2.1): any bytes but 0, which the system alone reads.
//! In front of one may stand what ROMIO calls a type of file system (`ufs:data`): it is passed over, as all
//! are accessed alike. A name that really begins so is reached by its directory (`./ufs:data`).

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The types of file systems that ROMIO knows by such a name.
const TYPES: [&[u8]; 10] = [
    b"ufs:",
    b"nfs:",
    b"xfs:",
    b"lustre:",
    b"gpfs:",
    b"panfs:",
    b"pvfs2:",
    b"bglockless:",
    b"testfs:",
    b"daos:",
];

/// The name of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileName(Box<OsStr>);

impl FileName {
    /// The name that a program gives by these bytes.
    pub fn new(given: &[u8]) -> Self {
        let name = TYPES.iter().find_map(|of| given.strip_prefix(*of)).unwrap_or(given);
        Self(OsStr::from_bytes(name).into())
    }

    /// What the system is told.
    pub fn path(&self) -> &Path {
        Path::new(&self.0)
    }

    /// Whether it is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// For people: what is no UTF-8 is replaced.
impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_bytes_that_programs_give_but_for_the_type_of_a_file_system() {
        for (given, name) in [
            (&b"data"[..], &b"data"[..]),
            (b"nu_\xff", b"nu_\xff"),
            (b"ufs:/scratch/data", b"/scratch/data"),
            (b"nfs:ufs:data", b"ufs:data"),
            (b"./ufs:data", b"./ufs:data"),
            (b"other:data", b"other:data"),
            (b"", b""),
        ] {
            assert_eq!(FileName::new(given).path().as_os_str().as_bytes(), name);
        }
        assert_eq!(FileName::new(b"nu_\xff").to_string(), "nu_\u{fffd}");
        assert_ne!(FileName::new(b"nu_\xff"), FileName::new(b"nu_\xfe"));
    }
}
