//! Ranges of ports as administrators write them: `7411-7999`, one port, or `any`.
//!
//! Invariant: a range that was read holds at least one port, and none that only root may take, because a
//! job's network is its user's.

use crate::units::as_text;
use rkyv::{Archive, Deserialize, Serialize};
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// The first port that everybody may take.
const FIRST_FREE: u16 = 1024;

/// Where networks listen: at the first of these ports that is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Archive, Serialize, Deserialize)]
pub struct PortRange {
    first: u16,
    last: u16,
}

/// Why a text is no range of ports.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no range of ports: write as in 7411-7999, from {FIRST_FREE} to 65535, or any")]
pub struct PortRangeError(String);

impl PortRange {
    /// Whatever port the system gives.
    pub const ANY: Self = Self { first: 0, last: 0 };

    /// The ports to try, in this order; 0 is any.
    pub fn ports(self) -> RangeInclusive<u16> {
        self.first..=self.last
    }
}

impl FromStr for PortRange {
    type Err = PortRangeError;

    fn from_str(text: &str) -> Result<Self, PortRangeError> {
        if text.trim() == "any" {
            return Ok(Self::ANY);
        }
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (first.trim().parse(), last.trim().parse()) {
            (Ok(first), Ok(last)) if (FIRST_FREE..=last).contains(&first) => Ok(Self { first, last }),
            _ => Err(PortRangeError(text.to_owned())),
        }
    }
}

impl fmt::Display for PortRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ANY => f.write_str("any"),
            Self { first, last } if first == last => write!(f, "{first}"),
            Self { first, last } => write!(f, "{first}-{last}"),
        }
    }
}

as_text!(PortRange);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_they_are_written() {
        for (text, ports) in [("7411-7999", 7411..=7999), ("65535", 65535..=65535), ("any", 0..=0)] {
            let range: PortRange = text.parse().unwrap();
            assert_eq!((range.ports(), range.to_string()), (ports, text.to_owned()));
        }
        assert_eq!(" 7411 - 7412 ".parse::<PortRange>().unwrap().to_string(), "7411-7412");
    }

    #[test]
    fn what_holds_no_port_that_a_user_may_take_is_refused() {
        for text in ["", "0", "-", "7412-7411", "1023-1030", "7411-65536", "7411-7412-7413", "all"] {
            let error = text.parse::<PortRange>().unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("'{text}' is no range")) && error.contains("7411-7999"),
                "{error}"
            );
        }
    }
}
