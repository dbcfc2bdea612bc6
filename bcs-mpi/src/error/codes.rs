//! Error codes and their strings (MPI-5.0, §9.4, §9.5).
//!
//! A code that a call returns is `slot << 7 | class`: the class, and which of the last messages tells what
//! happened, so that MPI_Error_string gives the values of this very error. The slots are a ring; a code whose
//! slot was used again still has its class. Classes and codes that a program adds lie above
//! `MPI_ERR_LASTCODE`.

use super::{MpiError, MpiResult, Problem};
use crate::constants::{MPI_ERR_ARG, MPI_ERR_LASTCODE, MPI_SUCCESS, error_class};
use crate::lasting::Lasting;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::MutexGuard;

const CLASS_BITS: u32 = 7;
const CLASS_MASK: c_int = (1 << CLASS_BITS) - 1;
/// Messages that are kept. Slot 0 means "no message": the code is the class itself.
const SLOTS: usize = 127;

const _: () = assert!(((SLOTS as c_int) << CLASS_BITS) + CLASS_MASK <= MPI_ERR_LASTCODE);

struct Added {
    /// Of a code its class; of a class itself.
    class: c_int,
    text: Option<String>,
}

static CODES: Lasting<CodeTable> = Lasting::new(CodeTable::EMPTY);

/// The error codes of this process, for the time of a call.
pub fn codes() -> MutexGuard<'static, CodeTable> {
    CODES.lock()
}

/// The error codes of a process.
pub struct CodeTable {
    recent: Vec<(c_int, String)>,
    next: usize,
    added: BTreeMap<c_int, Added>,
    /// The largest code that was added, or `MPI_ERR_LASTCODE`: the attribute MPI_LASTUSEDCODE points here.
    pub last_used: c_int,
}

impl CodeTable {
    const EMPTY: Self =
        Self { recent: Vec::new(), next: 0, added: BTreeMap::new(), last_used: MPI_ERR_LASTCODE };

    /// The code for an error, whose message is kept for [`Self::text`].
    #[cold]
    pub fn code(&mut self, problem: &Problem, message: &str) -> c_int {
        match problem {
            Problem::Raised { code, .. } => return *code,
            // Programs compare what these calls answer with the class (MPI-5.0, §3.7.5); the statuses tell
            // more.
            Problem::InStatus { .. } => return problem.class(),
            _ => {}
        }
        let class = problem.class();
        if !(0..=CLASS_MASK).contains(&class) {
            return class;
        }
        let entry = (class, message.to_owned());
        if self.recent.len() < SLOTS {
            self.recent.push(entry);
        } else {
            self.recent[self.next] = entry;
        }
        let slot = self.next + 1;
        self.next = (self.next + 1) % SLOTS;
        (slot as c_int) << CLASS_BITS | class
    }

    /// The class of a code.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for what is no code.
    pub fn class(&self, code: c_int) -> MpiResult<c_int> {
        if let Some(added) = self.added.get(&code) {
            return Ok(added.class);
        }
        if error_class(code).is_some() {
            return Ok(code);
        }
        let class = code & CLASS_MASK;
        if (0..=MPI_ERR_LASTCODE).contains(&code) && error_class(class).is_some() {
            return Ok(class);
        }
        Err(unknown("errorcode", code))
    }

    /// The string of a code.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for what is no code.
    pub fn text(&self, code: c_int) -> MpiResult<String> {
        if let Some(added) = self.added.get(&code) {
            return Ok(added.text.clone().unwrap_or_default());
        }
        let class = self.class(code)?;
        if code != class
            && let Some((of, message)) = self.recent.get((code >> CLASS_BITS) as usize - 1)
            && *of == class
        {
            let name = error_class(class).map_or("", |known| known.name);
            return Ok(format!("{name}: {message}"));
        }
        Ok(error_class(class).map_or_else(String::new, |known| format!("{}: {}", known.name, known.meaning)))
    }

    /// MPI_Add_error_class.
    pub fn add_class(&mut self) -> c_int {
        self.add(None)
    }

    /// Adds a code of a class, or a class, whose class is itself.
    fn add(&mut self, class: Option<c_int>) -> c_int {
        self.last_used += 1;
        let code = self.last_used;
        self.added.insert(code, Added { class: class.unwrap_or(code), text: None });
        code
    }

    /// MPI_Add_error_code.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for what is no class.
    pub fn add_code(&mut self, class: c_int) -> MpiResult<c_int> {
        let known =
            error_class(class).is_some() || self.added.get(&class).is_some_and(|added| added.class == class);
        if !known {
            return Err(unknown("errorclass", class));
        }
        Ok(self.add(Some(class)))
    }

    /// MPI_Add_error_string; none takes the string away (MPI_Remove_error_string).
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for what the program has not added, and for MPI_SUCCESS.
    pub fn set_text(&mut self, code: c_int, text: Option<String>) -> MpiResult {
        self.added.get_mut(&code).ok_or_else(|| unknown("errorcode", code))?.text = text;
        Ok(())
    }

    /// MPI_Remove_error_code and MPI_Remove_error_class.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for what the program has not added, what still has a string, or a class that still has
    /// codes.
    pub fn remove(&mut self, code: c_int, is_class: bool) -> MpiResult {
        let argument = if is_class { "errorclass" } else { "errorcode" };
        let added = self.added.get(&code).filter(|added| (added.class == code) == is_class);
        let added = added.ok_or_else(|| unknown(argument, code))?;
        let before = if added.text.is_some() {
            "its string must be removed before it (MPI_Remove_error_string)"
        } else if is_class && self.added.iter().any(|(other, added)| *other != code && added.class == code) {
            "codes of this class must be removed before it"
        } else {
            self.added.remove(&code);
            self.last_used = self.added.last_key_value().map_or(MPI_ERR_LASTCODE, |(last, _)| *last);
            return Ok(());
        };
        Err(MpiError::argument(MPI_ERR_ARG, argument, code, before))
    }
}

#[cold]
fn unknown(argument: &'static str, value: c_int) -> MpiError {
    let allowed = format!("it must be one that a call returned or the program added ({MPI_SUCCESS}..)");
    MpiError::argument(MPI_ERR_ARG, argument, value, allowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constants::{MPI_ERR_RANK, MPI_ERR_TAG};

    fn tag(value: c_int) -> Problem {
        Problem::Tag { argument: "tag", value, also: "" }
    }

    #[test]
    fn a_code_has_the_class_and_the_message_of_its_error() {
        let mut codes = CodeTable::EMPTY;
        let first = codes.code(&tag(-5), "MPI_Send: bad -5");
        let second = codes.code(&tag(-6), "MPI_Send: bad -6");
        assert_ne!(first, second);
        assert_eq!(codes.class(first).unwrap(), MPI_ERR_TAG);
        assert_eq!(codes.text(first).unwrap(), "MPI_ERR_TAG: MPI_Send: bad -5");
        assert_eq!(codes.text(second).unwrap(), "MPI_ERR_TAG: MPI_Send: bad -6");
        for _ in 0..SLOTS {
            codes.code(&Problem::Code(MPI_ERR_RANK), "later");
        }
        assert_eq!(codes.class(first).unwrap(), MPI_ERR_TAG);
        assert_eq!(codes.text(first).unwrap(), "MPI_ERR_TAG: wrong tag");
    }

    #[test]
    fn added_classes_and_codes_have_their_own_strings() {
        let mut codes = CodeTable::EMPTY;
        let class = codes.add_class();
        let code = codes.add_code(class).unwrap();
        assert!(class > MPI_ERR_LASTCODE && codes.last_used == code);
        codes.set_text(code, Some("no fuel".into())).unwrap();
        assert_eq!((codes.class(code).unwrap(), codes.text(code).unwrap().as_str()), (class, "no fuel"));
        assert_eq!(codes.text(class).unwrap(), "");
        assert!(codes.remove(class, true).is_err() && codes.remove(class, false).is_err());
        assert!(codes.remove(code, false).is_err(), "it has a string");
        codes.set_text(code, None).unwrap();
        codes.remove(code, false).unwrap();
        codes.remove(class, true).unwrap();
        assert!(codes.class(code).is_err() && codes.add_code(class).is_err());
        assert!(codes.set_text(MPI_ERR_TAG, None).is_err());
    }

    #[test]
    fn what_is_no_code_is_refused() {
        let codes = CodeTable::EMPTY;
        for wrong in [-1, c_int::MIN, c_int::MAX, MPI_ERR_LASTCODE + 1, 99] {
            assert!(codes.class(wrong).is_err(), "{wrong}");
        }
        assert_eq!(codes.class(MPI_SUCCESS).unwrap(), MPI_SUCCESS);
    }
}
