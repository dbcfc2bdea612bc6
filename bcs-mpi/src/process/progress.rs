//! The operations of several steps that are under way in this process.
//!
//! Invariant: a future that is being polled is in no list, so no other thread polls it, even while it runs a
//! function of the program and the library's lock is free.

use crate::constants::MPI_Comm;
use crate::error::MpiResult;
use crate::object::request::{End, State, Status, Steps, UnderWay};
use mds::Primitive;
use nic_emu::memory::numbers::RequestId;
use nic_emu::port::Awaits;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;

/// A member that has arrived and waits for its release.
#[derive(Clone, Copy, Debug)]
pub struct Waiter {
    pub(crate) request: RequestId,
    pub(crate) awaits: Awaits,
}

/// An operation that is under way.
pub(super) struct Task {
    pub(super) future: Pin<Box<dyn Future<Output = MpiResult<Status>>>>,
    pub(super) end: End,
    /// As [`Steps::collective`].
    pub(super) collective: Option<(Primitive, MPI_Comm)>,
}

/// The operations of this process that are under way.
#[derive(Default)]
pub struct Progress {
    pub(super) tasks: VecDeque<Task>,
    /// Messages were posted that somebody should move while the program computes.
    pub(crate) has_posted: bool,
    /// Waits for room that lie in each other: an operation that is advanced by one may have to post, too.
    pub(crate) makers_of_room: u32,
    /// What the operation that was polled last waits for, if that is the NIC.
    pub(crate) awaited: Option<Waiter>,
    /// Exchanges and others that wait for what nobody wakes a rank for.
    pub(crate) unwoken: u32,
    /// Something has come in one since the last look.
    pub(crate) has_flowed: bool,
    /// Calls in a row that did not wait, and found nothing.
    pub(super) vain_looks: u32,
    /// Each exchange under way, and each that members are about to agree on, has one.
    pub(crate) lane_slots: Arc<()>,
}

impl Progress {
    /// Adds an operation, which is advanced when the process is; answers what its request waits for.
    pub fn add(&mut self, Steps { what, lasting, future, collective }: Steps) -> State {
        let end = End::default();
        self.tasks.push_back(Task { future, end: end.clone(), collective });
        State::Steps(Box::new(UnderWay { end, what, lasting }))
    }

    /// How many operations are under way.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// True when there is no operation under way.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }
}
