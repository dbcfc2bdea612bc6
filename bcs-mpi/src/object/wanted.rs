//! The algorithms that a user wants for collectives: of a job (`storm run --collective`, [`VARIABLE`]),
//! or of a communicator (the hint [`HINT`]).
//!
//! What is wanted is taken where it can be: an algorithm that uses what members of one node share is none
//! between nodes.

use super::collective::Collective;
use crate::lasting::Lasting;
use std::fmt;

/// The environment variable by which ranks are told.
pub const VARIABLE: &str = "BCS_COLLECTIVE";

/// The key of a communicator's info object.
pub const HINT: &str = "bcs_collective";

/// What a tool wants, which the job of a process that has not started takes over.
pub(crate) static OF_TOOL: Lasting<Wanted> = Lasting::new(Wanted([None; Collective::ALL.len()]));

/// At most one algorithm for each collective.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted([Option<u8>; Collective::ALL.len()]);

impl Wanted {
    /// What a text says, as "allreduce=shares,bcast=binomial".
    ///
    /// # Errors
    /// It names something that there is not: which, and what there is.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut wanted = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let Some((collective, called)) = part.split_once('=') else {
                return Err(format!("'{part}' is not COLLECTIVE=ALGORITHM, as allreduce=shares"));
            };
            let known = Collective::ALL.iter().find(|known| known.name() == collective.trim());
            let Some(&collective) = known else {
                let names = Collective::ALL.iter().map(|known| known.name()).collect::<Vec<_>>().join(", ");
                let needed = "no collective with several algorithms";
                return Err(format!("'{collective}' is {needed}: there are {names}"));
            };
            let names = collective.algorithm_names();
            let Some(number) = names.iter().position(|name| *name == called.trim()) else {
                let (name, names) = (collective.name(), names.join(", "));
                return Err(format!("{name} has no algorithm '{called}': there are {names}"));
            };
            wanted.0[collective as usize] = Some(number as u8);
        }
        Ok(wanted)
    }

    /// The number of the algorithm of a collective.
    pub fn algorithm(&self, collective: Collective) -> Option<usize> {
        self.0[collective as usize].map(usize::from)
    }

    /// Wants an algorithm of a collective, or none.
    pub fn set(&mut self, collective: Collective, algorithm: Option<usize>) {
        self.0[collective as usize] = algorithm.map(|number| number as u8);
    }

    /// What members compare of it: FNV-1a of its places and numbers.
    pub fn hash(&self) -> u32 {
        let bytes = self.0.iter().map(|algorithm| algorithm.map_or(0, |number| number + 1));
        bytes.fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
    }

    /// This, and for what it does not say the other.
    pub fn or(&self, other: &Self) -> Self {
        let mut both = *self;
        for (algorithm, other) in both.0.iter_mut().zip(other.0) {
            *algorithm = algorithm.or(other);
        }
        both
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        for &collective in Collective::ALL {
            if let Some(number) = self.algorithm(collective) {
                write!(f, "{comma}{}={}", collective.name(), collective.algorithm_names()[number])?;
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
        for &collective in Collective::ALL {
            for (number, algorithm) in collective.algorithm_names().iter().enumerate() {
                let wanted = Wanted::parse(&format!(" {} = {algorithm} ,", collective.name())).unwrap();
                assert_eq!(wanted.algorithm(collective), Some(number));
            }
        }
    }

    #[test]
    fn wrong_names_are_answered_with_the_right_ones() {
        let told = |text: &str| Wanted::parse(text).unwrap_err();
        assert!(told("allreduce").contains("COLLECTIVE=ALGORITHM"));
        assert!(told("wait=tree").contains("allreduce"));
        assert!(told("barrier=tree").contains("dissemination"));
        assert!(told("allreduce=rings").contains("shares"));
    }
}
