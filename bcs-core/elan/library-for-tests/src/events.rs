//! Events: each is begun, complete, and over once it was found complete.

use crate::card::fault;
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// The events that are not over.
#[derive(Debug, Default)]
struct Events {
    /// By number, from 1: whether it is complete.
    complete: HashMap<usize, bool>,
    last: usize,
}

static EVENTS: LazyLock<Mutex<Events>> = LazyLock::new(Mutex::default);

fn events() -> MutexGuard<'static, Events> {
    EVENTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A new event: its number.
pub fn begin() -> usize {
    let mut events = events();
    events.last += 1;
    let number = events.last;
    events.complete.insert(number, false);
    number
}

/// An operation has ended.
pub fn complete(number: usize) {
    events().complete.insert(number, true);
}

/// Whether an event is complete; then it is over.
pub fn poll(number: usize) -> bool {
    let mut events = events();
    match events.complete.get(&number) {
        Some(false) => false,
        Some(true) => events.complete.remove(&number).is_some(),
        None => fault("an event was polled that is over"),
    }
}
