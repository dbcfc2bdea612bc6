//! The algorithms that a user wants for collectives: of a job (`storm run --collective`, [`VARIABLE`]),
//! or of a communicator (the hint [`HINT`]).
//!
//! What is wanted is taken where it can be: an algorithm that uses what members of one node share is none
//! between nodes.

use super::policy::{Collective, TABLE};
use std::fmt;

/// The environment variable by which ranks are told.
pub const VARIABLE: &str = "BCS_COLLECTIVE";

/// The key of a communicator's info object.
pub const HINT: &str = "bcs_collective";

/// At most one algorithm for each collective.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted([Option<u8>; TABLE.len()]);

/// A text that names no algorithm.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoWay {
    /// Not of that form.
    #[error("'{0}' is not COLLECTIVE=ALGORITHM, as allreduce=shares")]
    Form(String),
    /// A collective that has one algorithm, or is none.
    #[error("'{0}' is no collective with several algorithms: there are {1}")]
    Collective(String, String),
    /// An algorithm that it does not have.
    #[error("{0} has no algorithm '{1}': there are {2}")]
    Algorithm(&'static str, String, String),
}

impl Wanted {
    /// What a text says, as "allreduce=shares,bcast=binomial".
    ///
    /// # Errors
    /// It names something that there is not.
    pub fn parse(text: &str) -> Result<Self, NoWay> {
        let mut wanted = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (collective, algorithm) = part.split_once('=').ok_or_else(|| NoWay::Form(part.into()))?;
            let row = TABLE.iter().find(|(_, name, _)| *name == collective.trim());
            let Some(&(collective, name, ways)) = row else {
                let names: Vec<&str> = TABLE.iter().map(|(_, name, _)| *name).collect();
                return Err(NoWay::Collective(collective.into(), names.join(", ")));
            };
            let Some(way) = ways.iter().position(|way| way.name == algorithm.trim()) else {
                let names: Vec<&str> = ways.iter().map(|way| way.name).collect();
                return Err(NoWay::Algorithm(name, algorithm.into(), names.join(", ")));
            };
            wanted.0[collective as usize] = Some(way as u8);
        }
        Ok(wanted)
    }

    /// The way of a collective.
    pub fn way(&self, collective: Collective) -> Option<usize> {
        self.0[collective as usize].map(usize::from)
    }

    /// This, and for what it does not say the other.
    pub fn or(&self, other: &Self) -> Self {
        let mut both = *self;
        for (way, other) in both.0.iter_mut().zip(other.0) {
            *way = way.or(other);
        }
        both
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        for (collective, name, ways) in TABLE {
            if let Some(way) = self.way(*collective) {
                write!(f, "{comma}{name}={}", ways[way].name)?;
                comma = ",";
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_is_said_again_as_it_was() {
        for text in ["", "allreduce=shares", "bcast=binomial,scan=direct"] {
            assert_eq!(Wanted::parse(text).unwrap().to_string(), text);
        }
        let both =
            Wanted::parse("bcast=nic").unwrap().or(&Wanted::parse("bcast=binomial,scan=board").unwrap());
        assert_eq!(both.to_string(), "bcast=nic,scan=board");
    }

    #[test]
    fn every_algorithm_can_be_wanted() {
        for (collective, name, ways) in TABLE {
            for (number, way) in ways.iter().enumerate() {
                let wanted = Wanted::parse(&format!(" {name} = {} ,", way.name)).unwrap();
                assert_eq!(wanted.way(*collective), Some(number));
            }
        }
    }

    #[test]
    fn wrong_names_are_answered_with_the_right_ones() {
        let told = |text: &str| Wanted::parse(text).unwrap_err().to_string();
        assert!(told("allreduce").contains("COLLECTIVE=ALGORITHM"));
        assert!(told("barrier=tree").contains("allreduce"));
        assert!(told("allreduce=rings").contains("shares"));
    }
}
