//! Access to the process: one global value behind the library's lock.
//!
//! [`enter`] gives a [`Guard`] over the [`Process`]; every call begins with it. Below MPI_THREAD_MULTIPLE
//! calls never overlap and the lock is not taken: entering is one compare. With it, the lock is held while a
//! call looks or posts, and let go while it waits ([`Guard::wait`]), so that other threads of the process
//! post and make progress meanwhile. No guard is held while a program's function (an error handler, an
//! attribute's callback) runs.
//!
//! Where requests have been freed while they were active, every call ends with a look at them: the message of
//! a receive is in the program's memory when a call has told that it must have come. Where a tool listens for
//! events, every call ends with their delivery, when the lock is free. The word that every call compares says
//! that there is such an end, so it costs nothing where there is none.

use super::deliver::{deliver, look_at_slices};
use super::state::Process;
use crate::constants::MPI_Comm;
use crate::error::{MpiError, MpiResult, Problem};
use crate::object::request::{Request, State};
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where the process is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum LifePhase {
    /// Before MPI_Init, and in it.
    Uninitialised = 0,
    /// Between MPI_Init and MPI_Finalize; calls do not overlap.
    Active = 1,
    /// The same at MPI_THREAD_MULTIPLE: calls may overlap.
    Concurrent = 2,
    /// After MPI_Finalize.
    Finalised = 3,
}

/// Beside the phase: there are requests that the program has freed while they were active.
const ABANDONED: u32 = 1 << 31;

/// Beside it, too: a tool listens for events.
const LISTENED: u32 = 1 << 30;

struct Library {
    /// The [`LifePhase`], [`ABANDONED`] and [`LISTENED`].
    phase: AtomicU32,
    lock: Mutex<()>,
    /// The lock that a guard holds.
    held: UnsafeCell<Option<MutexGuard<'static, ()>>>,
    process: UnsafeCell<MaybeUninit<Process>>,
}

// SAFETY: `process` is reached through a `Guard` alone. Guards exist only in the phases Active (where MPI's
// thread level promises that calls do not overlap) and Concurrent (where a guard holds the lock), both
// entered after `process` was written. `held` is touched by who holds the lock alone.
unsafe impl Sync for Library {}

static LIBRARY: Library = Library {
    phase: AtomicU32::new(LifePhase::Uninitialised as u32),
    lock: Mutex::new(()),
    held: UnsafeCell::new(None),
    process: UnsafeCell::new(MaybeUninit::uninit()),
};

/// Access to the process, with the lock where one is needed. A thread has one at a time.
///
/// It is one word. Every call begins by making one, and if that were stored and copied in memory, it would
/// wait for all stores before.
pub struct Guard {
    /// [`LOCKED`], [`HAS_END`].
    state: u32,
    /// Who has taken the lock gives it back.
    of_thread: PhantomData<MutexGuard<'static, ()>>,
}

/// This guard holds the lock.
const LOCKED: u32 = 1;

/// There may be something to do when the call ends: abandoned requests to look at, events to deliver.
const HAS_END: u32 = 2;

/// The process, for the time of a call.
///
/// # Errors
/// Before MPI_Init and after MPI_Finalize.
#[inline(always)]
pub fn enter() -> MpiResult<Guard> {
    if LIBRARY.phase.load(Ordering::Acquire) == LifePhase::Active as u32 {
        return Ok(Guard { state: 0, of_thread: PhantomData });
    }
    // A new result: the compiler would join both ways in memory otherwise.
    let guard = enter_otherwise()?;
    Ok(guard)
}

#[cold]
#[inline(never)]
fn enter_otherwise() -> MpiResult<Guard> {
    let guard = || Guard { state: HAS_END, of_thread: PhantomData };
    match phase() {
        LifePhase::Active => Ok(guard()),
        LifePhase::Concurrent => {
            let mut guard = guard();
            guard.lock();
            Ok(guard)
        }
        LifePhase::Finalised => Err(MpiError::new(Problem::Finalised)),
        LifePhase::Uninitialised => Err(MpiError::new(Problem::NotInitialised)),
    }
}

/// Where the process is in its life.
pub fn phase() -> LifePhase {
    match LIBRARY.phase.load(Ordering::Acquire) & !(ABANDONED | LISTENED) {
        0 => LifePhase::Uninitialised,
        1 => LifePhase::Active,
        2 => LifePhase::Concurrent,
        _ => LifePhase::Finalised,
    }
}

/// Makes this the process, which calls find once it is [activated](activate).
///
/// # Safety
/// The phase must be Uninitialised, and no other thread do the same.
pub(crate) unsafe fn put(process: Process) {
    // SAFETY: no guard exists in that phase, and nobody else writes it.
    unsafe { (*LIBRARY.process.get()).write(process) };
}

/// Calls find the process from now on.
///
/// # Safety
/// It must have been [put] there.
pub(crate) unsafe fn activate(concurrent: bool) {
    let phase = if concurrent { LifePhase::Concurrent } else { LifePhase::Active };
    enter_phase(phase);
}

/// Calls do not find the process any more.
pub(crate) fn deactivate() {
    enter_phase(LifePhase::Finalised);
}

/// Enters a phase. Who listens for events goes on.
fn enter_phase(phase: LifePhase) {
    let next = |flags: u32| Some(phase as u32 | flags & LISTENED);
    // The closure never refuses.
    let _ = LIBRARY.phase.fetch_update(Ordering::Release, Ordering::Relaxed, next);
}

/// Whether calls end with a delivery of events from now on.
pub(crate) fn listen(listens: bool) {
    if listens {
        LIBRARY.phase.fetch_or(LISTENED, Ordering::Relaxed);
    } else {
        LIBRARY.phase.fetch_and(!LISTENED, Ordering::Relaxed);
    }
}

impl Deref for Guard {
    type Target = Process;

    #[inline(always)]
    fn deref(&self) -> &Process {
        // SAFETY: a guard exists, so the process was written and is this guard's: see `Library`.
        unsafe { (*LIBRARY.process.get()).assume_init_ref() }
    }
}

impl DerefMut for Guard {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Process {
        // SAFETY: as above.
        unsafe { (*LIBRARY.process.get()).assume_init_mut() }
    }
}

impl Drop for Guard {
    #[inline(always)]
    fn drop(&mut self) {
        if self.state != 0 {
            self.leave();
        }
    }
}

impl Guard {
    /// Takes over what is under way and the program cannot wait for.
    pub(crate) fn abandon(&mut self, state: State, comm: MPI_Comm) {
        self.requests.abandoned.push(Request { state, comm });
        LIBRARY.phase.fetch_or(ABANDONED, Ordering::Relaxed);
    }

    /// Lets abandoned requests go that are complete; answers whether all are. Every call does so at its end.
    ///
    /// # Errors
    /// What ends the job; the request stays.
    pub(crate) fn reap(&mut self) -> MpiResult<bool> {
        let (mut parts, requests) = self.parts_and_requests();
        let mut result = Ok(());
        requests.abandoned.retain_mut(|request| match request.state.look(&mut parts) {
            Ok(finished) => finished.is_none(),
            Err(error) => {
                result = Err(error);
                true
            }
        });
        let all = requests.abandoned.is_empty();
        if all {
            LIBRARY.phase.fetch_and(!ABANDONED, Ordering::Relaxed);
        }
        result.map(|()| all)
    }

    /// The same guard of a call that neither looks at abandoned requests nor delivers events when it ends:
    /// one of the tool interface, or one that holds another lock.
    pub(crate) fn without_end(mut self) -> Self {
        self.state &= !HAS_END;
        self
    }

    #[cold]
    #[inline(never)]
    fn leave(&mut self) {
        let has_end = self.state & HAS_END != 0;
        let flags = if has_end { LIBRARY.phase.load(Ordering::Relaxed) } else { 0 };
        if flags & ABANDONED != 0 {
            // What fails stays, and fails again for who waits for all of them.
            let _ = self.reap();
        }
        if flags & LISTENED != 0 {
            look_at_slices(self.port.memory());
        }
        self.unlock();
        if flags & LISTENED != 0 {
            deliver();
        }
    }

    /// Whether other threads of the process may be waiting for this one to let go of the lock.
    #[inline]
    pub fn is_shared(&self) -> bool {
        self.state & LOCKED != 0
    }

    /// Takes the lock, which this guard does not hold.
    pub(super) fn lock(&mut self) {
        // A panic in another thread ends the process (see the C edge), so a poisoned lock protects nothing
        // that is used again.
        let lock = LIBRARY.lock.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the lock is held.
        unsafe { *LIBRARY.held.get() = Some(lock) };
        self.state |= LOCKED;
    }

    /// Lets go of the lock, if this guard holds it; answers whether it did.
    pub(super) fn unlock(&mut self) -> bool {
        let held = self.is_shared();
        if held {
            self.state &= !LOCKED;
            // SAFETY: the lock is held until what this takes is dropped.
            drop(unsafe { (*LIBRARY.held.get()).take() });
        }
        held
    }

    /// Calls a function of the program, with the lock let go.
    pub(crate) fn without_lock<R>(&mut self, function: impl FnOnce() -> R) -> R {
        let held = self.unlock();
        let result = function();
        if held {
            self.lock();
        }
        result
    }
}
