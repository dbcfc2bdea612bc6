//! Hints of communicators (MPI-5.0, §7.4.4): what the program promises, kept and reported back.
//!
//! The library needs none of the promises, and takes them all: messages match as they would without them.
//! One spares work: where persistent collectives are started in the same order by all, they are numbered
//! by their starts, and need no communicators of their own.
//!
//! One more hint is ours: the algorithms of collectives that the program wants ([`HINT`]).

use super::wanted::{HINT, Wanted};
use crate::constants::MPI_Info;
use crate::error::MpiResult;
use crate::info;

/// The standard's assertions, which are "true" or "false".
const ASSERTIONS: [&str; 5] = [
    "mpi_assert_no_any_tag",
    "mpi_assert_no_any_source",
    "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking",
    "mpi_assert_strict_persistent_collective_ordering",
];

/// Which assertions hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    holds: [bool; ASSERTIONS.len()],
    /// Algorithms of collectives that the program wants.
    pub wanted: Wanted,
}

impl Hints {
    /// Takes over the hints of an info object; keys that are none, and values that are neither "true" nor
    /// "false", are ignored, as the standard says.
    pub(crate) fn update(&mut self, pairs: &[(String, String)]) {
        for (holds, name) in self.holds.iter_mut().zip(ASSERTIONS) {
            let said = pairs.iter().find(|(key, _)| key == name).and_then(|(_, value)| value.parse().ok());
            *holds = said.unwrap_or(*holds);
        }
        let wanted = pairs.iter().find(|(key, _)| key == HINT).map(|(_, value)| Wanted::parse(value));
        if let Some(Ok(wanted)) = wanted {
            self.wanted = wanted;
        }
    }

    /// The hints of an info object, or of MPI_INFO_NULL.
    ///
    /// # Errors
    /// No such info object.
    pub fn of(info: MPI_Info) -> MpiResult<Self> {
        let mut hints = Self::default();
        hints.update(&info::pairs(info)?);
        Ok(hints)
    }

    /// Whether all members start persistent collectives in the same order.
    pub fn strict_persistent_order(&self) -> bool {
        self.holds[ASSERTIONS.len() - 1]
    }

    /// All of them, with their values.
    pub(crate) fn pairs(&self) -> Vec<(String, String)> {
        ASSERTIONS
            .iter()
            .zip(self.holds)
            .map(|(name, holds)| ((*name).to_owned(), holds.to_string()))
            .chain((self.wanted != Wanted::default()).then(|| (HINT.to_owned(), self.wanted.to_string())))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_keep_what_is_said_and_ignore_what_is_none() {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let mut hints = Hints::default();
        hints.update(&[
            pair("mpi_assert_no_any_tag", "true"),
            pair("colour", "true"),
            pair(ASSERTIONS[2], "yes"),
        ]);
        hints.update(&[pair(ASSERTIONS[1], "true")]);
        let said: Vec<_> =
            hints.pairs().into_iter().filter(|(_, value)| value == "true").map(|(key, _)| key).collect();
        assert_eq!(said, ASSERTIONS[..2]);
        hints.update(&[pair("mpi_assert_no_any_tag", "false")]);
        assert_eq!(hints.pairs()[0], pair("mpi_assert_no_any_tag", "false"));
    }

    #[test]
    fn algorithms_that_are_wanted_are_kept_and_those_that_there_are_not_ignored() {
        let mut hints = Hints::default();
        assert!(hints.pairs().iter().all(|(key, _)| key != HINT));
        for value in ["allreduce=shares", "allreduce=rings"] {
            hints.update(&[(HINT.to_owned(), value.to_owned())]);
            assert_eq!(hints.pairs().last(), Some(&(HINT.to_owned(), "allreduce=shares".to_owned())));
        }
    }
}
