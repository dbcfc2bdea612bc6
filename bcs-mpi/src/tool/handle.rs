//! Handles for performance variables, and sessions of them, as data.

use super::Told;
use super::measure::Measure;
use super::performance::{Performance, TABLE};
use super::reading::Reading;
use super::value::Value;
use crate::constants::{MPI_T_ERR_INVALID_HANDLE, MPI_T_ERR_NOT_ACCESSIBLE};
use std::collections::BTreeMap;

/// A handle for a performance variable.
#[derive(Clone, Copy)]
pub(super) struct Handle {
    /// The variable's place in the table.
    pub(super) place: usize,
    /// The object that it is bound to, if it is.
    pub(super) object: usize,
    pub(super) measure: Measure,
}

/// A session: its handles.
#[derive(Default)]
pub(super) struct Session {
    pub(super) handles: BTreeMap<usize, Handle>,
}

impl Handle {
    pub(super) fn variable(&self) -> &'static Performance {
        &TABLE[self.place]
    }

    /// What the variable is now.
    pub(super) fn now(&self, reading: &mut Reading) -> Told<Value> {
        reading.object = self.object;
        if self.variable().needs_process && reading.is_elsewhere {
            return Err(MPI_T_ERR_NOT_ACCESSIBLE);
        }
        match reading.has_object(self.variable().bind) {
            true => Ok((self.variable().read)(reading)),
            false => Err(MPI_T_ERR_INVALID_HANDLE),
        }
    }

    /// The handle's value.
    pub(super) fn value(&self, reading: &mut Reading) -> Told<Value> {
        Ok(match self.now(reading)? {
            Value::Whole(now) => Value::Whole(self.measure.value(now)),
            other => other,
        })
    }

    /// Its session sees nothing of before from now on. A most falls to what is now.
    pub(super) fn reset(&mut self, reading: &mut Reading) -> Told {
        let now = self.now(reading)?.whole();
        let value = if self.variable().grows() { 0 } else { now };
        self.measure.set(value, now);
        Ok(())
    }
}
