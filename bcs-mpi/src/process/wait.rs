//! Waiting inside a call: lends the core, and at MPI_THREAD_MULTIPLE lets go of the lock between two looks.
//!
//! Of several threads that wait at once, one at a time sleeps on the rank's wait word in NIC memory, as that
//! word has one sleeper; the others sleep here, and it wakes them when it has been woken.

use super::deliver::tell_of_hang;
use super::exit;
use super::guard::Guard;
use super::progress::Waiter;
use super::state::Process;
use super::watch::Hang;
use crate::error::{MpiError, MpiResult};
use mds::Primitive;
use nic_emu::memory::numbers::RequestId;
use nic_emu::nic_thread::Finding;
use nic_emu::policy::SLEEPS as SLEEP_TIMES;
use nic_emu::port::{Port, SOME_REQUESTS, Waiting, Waits};
use nic_emu::status::{Room, WaitingFor};
use nic_emu::waiting::Pause;
use std::sync::{Condvar, Mutex, PoisonError};

/// Whether some thread sleeps on the wait word.
static SLEEPS: Mutex<bool> = Mutex::new(false);
static WOKEN: Condvar = Condvar::new();

impl Guard {
    /// Waits until `ready`, which may let go of the lock itself, answers something, which may be anything;
    /// `what` is what a hang report says of this wait.
    ///
    /// # Errors
    /// What `ready` fails with, and what the NIC does.
    #[inline]
    pub fn wait<T>(
        &mut self,
        what: &WaitingFor,
        ready: impl FnMut(&mut Guard) -> MpiResult<Option<T>>,
    ) -> MpiResult<T> {
        self.look_and_wait(None, |_| *what, ready)
    }

    /// Waits as [`Self::wait`] for what requests of this rank bring: the NIC wakes it.
    ///
    /// # Errors
    /// As [`Self::wait`].
    #[inline]
    pub fn wait_for_some<T>(
        &mut self,
        what: &WaitingFor,
        ready: impl FnMut(&mut Guard) -> MpiResult<Option<T>>,
    ) -> MpiResult<T> {
        self.look_and_wait(Some(SOME_REQUESTS), |_| *what, ready)
    }

    /// Does what a call does that waits for all that it posts: so it stays until that is complete, if nothing
    /// else is under way.
    #[inline]
    pub fn staying<T>(&mut self, call: impl FnOnce(&mut Guard) -> T) -> T {
        if !self.port.has_writes() {
            return call(self);
        }
        let stays = self.port.requests().is_empty() && !self.is_shared();
        self.port.stay_for_all(stays);
        let result = call(self);
        self.port.stay_for_all(false);
        result
    }

    /// Waits until the port lacks nothing for what is to be posted next; `what` is what a hang report says of
    /// the call. Operations that are under way go on meanwhile, and other threads of the process: what takes
    /// the room may wait for them.
    ///
    /// # Errors
    /// As [`Self::wait`].
    #[inline(always)]
    pub fn make_room(
        &mut self,
        what: impl FnOnce() -> WaitingFor,
        lacks: impl Fn(&mut Port) -> Option<Room>,
    ) -> MpiResult {
        match lacks(&mut self.port) {
            None => Ok(()),
            Some(room) => self.wait_for_room(room, &what(), lacks),
        }
    }

    #[cold]
    #[inline(never)]
    fn wait_for_room(
        &mut self,
        room: Room,
        what: &WaitingFor,
        lacks: impl Fn(&mut Port) -> Option<Room>,
    ) -> MpiResult {
        self.progress.makers_of_room += 1;
        let mut lacking = Ok(Some(room));
        // Room of one kind may be there and of another still be lacking: that is another wait.
        while let Ok(Some(room)) = lacking {
            lacking = self.wait(&WaitingFor { room, ..*what }, |process| {
                let lacking = lacks(&mut process.port);
                Ok((lacking != Some(room)).then_some(lacking))
            });
        }
        self.progress.makers_of_room -= 1;
        lacking.map(drop)
    }

    /// Waits as [`Self::wait`] until this request of the NIC, which `ready` looks at and takes, is complete;
    /// `call` waits for it, and for `requests` in all.
    ///
    /// # Errors
    /// As [`Self::wait`].
    #[inline]
    pub fn wait_for<T>(
        &mut self,
        request: RequestId,
        (call, requests): (Primitive, usize),
        ready: impl FnMut(&mut Guard) -> MpiResult<Option<T>>,
    ) -> MpiResult<T> {
        let what = |port: &Port| port.waiting_for(request, call.index() as u32, requests as u32);
        self.look_and_wait(Some(request), what, ready)
    }

    /// Waits as [`Self::wait_for_some`] for this request of the NIC alone.
    ///
    /// # Errors
    /// As [`Self::wait`].
    #[inline]
    pub fn wait_for_one<T>(
        &mut self,
        request: RequestId,
        what: &WaitingFor,
        ready: impl FnMut(&mut Guard) -> MpiResult<Option<T>>,
    ) -> MpiResult<T> {
        self.look_and_wait(Some(request), |_| *what, ready)
    }

    #[inline]
    fn look_and_wait<T>(
        &mut self,
        request: Option<RequestId>,
        what: impl Fn(&Port) -> WaitingFor,
        mut ready: impl FnMut(&mut Guard) -> MpiResult<Option<T>>,
    ) -> MpiResult<T> {
        if let Some(done) = ready(self)? {
            return Ok(done);
        }
        let is_for_some = request.is_none_or(|request| request == SOME_REQUESTS);
        // An operation may reach one collective after the other: its rank is patient once with each.
        let mut last = None;
        while is_for_some && self.be_patient(&mut last)? {
            self.advance()?;
            if let Some(done) = ready(self)? {
                return Ok(done);
            }
        }
        self.wait_until(request, what, |process| {
            process.advance()?;
            let done = ready(process)?;
            if done.is_none() && is_for_some {
                process.be_patient(&mut last)?;
            }
            Ok(done)
        })
    }

    /// Waits a little for the collective that the operation has reached; false if it has reached none since
    /// `last`.
    #[inline]
    fn be_patient(&mut self, last: &mut Option<RequestId>) -> MpiResult<bool> {
        // Where there are other operations under way, it is not known whose it is.
        let awaited = self.progress.awaited.take().filter(|_| self.progress.tasks.len() <= 1);
        let Some(Waiter { request, awaits }) = awaited else { return Ok(false) };
        if last.replace(request) == Some(request) {
            return Ok(false);
        }
        let shared = self.is_shared();
        let passed = self.port.pass(awaits)?;
        self.port.be_patient(request, awaits, passed, shared)?;
        Ok(true)
    }

    #[cold]
    #[inline(never)]
    fn pause_unlocked(&mut self, waiting: &mut Waiting) -> Pause {
        // Who goes to sleep has the lock from its last look to the announcement.
        if waiting.may_sleep() {
            return waiting.pause();
        }
        self.unlock();
        let pause = waiting.pause();
        self.lock();
        pause
    }

    /// Where no launcher does: looks whether this process waits for what never comes, now and then, and ends
    /// it if so. A tool that wants to know of a hang is told before.
    #[cold]
    #[inline(never)]
    fn look_for_deadlock(&mut self) {
        let Process { watch: Some(watch), port, .. } = &mut **self else { return };
        let Some(hang) = watch.look(port) else { return };
        let slice = port.memory().control().slice.get();
        self.without_lock(|| tell_of_hang(slice));
        match hang {
            Hang::Told => self.port.memory().header().hang_news.take_note(),
            Hang::Found(report) => exit::end_told(&Finding::Deadlock(report).to_string()),
        }
    }
}

impl Waits for Guard {
    type Error = MpiError;

    #[inline]
    fn port(&mut self) -> &mut Port {
        &mut self.port
    }

    /// Where something has come in an exchange, what is waited for now is another thing.
    #[inline]
    fn has_flowed(&mut self) -> bool {
        std::mem::take(&mut self.progress.has_flowed)
    }

    fn is_woken(&self) -> bool {
        self.progress.unwoken == 0
    }

    #[inline]
    fn pause(&mut self, waiting: &mut Waiting) -> Pause {
        if self.is_shared() {
            return self.pause_unlocked(waiting);
        }
        let pause = waiting.pause();
        if self.watch.is_some() {
            self.look_for_deadlock();
        }
        pause
    }

    fn without_port(&mut self, rest: impl FnOnce()) {
        self.without_lock(rest);
    }

    fn in_turn<T>(&mut self, sleep: impl FnOnce(&mut Self) -> MpiResult<Option<T>>) -> MpiResult<Option<T>> {
        if !self.is_shared() {
            return sleep(self);
        }
        let mut sleeps = SLEEPS.lock().unwrap_or_else(PoisonError::into_inner);
        if *sleeps {
            self.unlock();
            // Woken or timed out: the caller looks in both cases.
            drop(WOKEN.wait_timeout(sleeps, *SLEEP_TIMES.start()));
            self.lock();
            return Ok(None);
        }
        *sleeps = true;
        drop(sleeps);
        let _turn = Turn;
        sleep(self)
    }
}

/// A thread's turn to sleep on the wait word.
struct Turn;

impl Drop for Turn {
    fn drop(&mut self) {
        *SLEEPS.lock().unwrap_or_else(PoisonError::into_inner) = false;
        WOKEN.notify_all();
    }
}
