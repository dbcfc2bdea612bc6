//! How closely the datatypes of point-to-point messages are compared: what a user asks of the MPI library
//! (MPI-5.0, §3.3.1).

use std::fmt;
use std::str::FromStr;

/// What of the types of a message and of its receive is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub enum TypeCheck {
    /// Nothing: the receive gets the bytes.
    #[default]
    Off,
    /// What the elements are: integers, floating point or complex numbers, and how long each. Bytes match
    /// anything, as many programs send what they like as bytes; and whose integers they are, C's or
    /// Fortran's, signed or not, is all one.
    Kinds,
    /// The standard's rule: both are sequences of the same basic types, and bytes match bytes alone.
    Strict,
}

/// A text that is no [`TypeCheck`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("say kinds, strict or off")]
pub struct NoTypeCheck;

impl TypeCheck {
    /// The environment variable by which a rank is told.
    pub const VARIABLE: &'static str = "BCS_CHECK_TYPES";
}

impl FromStr for TypeCheck {
    type Err = NoTypeCheck;

    fn from_str(text: &str) -> Result<Self, NoTypeCheck> {
        let all = [Self::Off, Self::Kinds, Self::Strict];
        all.into_iter().find(|check| check.to_string() == text.trim()).ok_or(NoTypeCheck)
    }
}

impl fmt::Display for TypeCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "off",
            Self::Kinds => "kinds",
            Self::Strict => "strict",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read_back_and_nothing_else() {
        for check in [TypeCheck::Off, TypeCheck::Kinds, TypeCheck::Strict] {
            assert_eq!(check.to_string().parse(), Ok(check));
        }
        for bad in ["", "on", "Strict", "kind"] {
            assert_eq!(bad.parse::<TypeCheck>(), Err(NoTypeCheck), "{bad}");
        }
    }
}
