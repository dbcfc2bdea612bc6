//! The loop of a wait: progress, a look at what is waited for, a pause. There is one loop, for a port, and
//! for a process that has a port and more to do between two looks ([`Waits`]).
//!
//! A rank polls first, then yields, then sleeps ([`crate::policy::WAITS`]). A rank that may sleep asks
//! [`Port::should_sleep`]; if so it announces that it sleeps, does one more step of its wait and looks once
//! more at what it waits for, and sleeps if nothing has come of that and [`Port::may_stay_asleep`].

use super::error::PortError;
use super::lending::Waiting;
use super::rank_port::Port;
use crate::host::waiting::Pause;
use crate::memory::RequestId;
use crate::memory::status::WaitingFor;

/// Who waits: a port, or who has one.
pub trait Waits: Sized {
    /// Why a wait ends before what is waited for has come.
    type Error: From<PortError>;

    /// The port.
    fn port(&mut self) -> &mut Port;

    /// Whether something has come since this was asked, so that the rest is expected soon.
    #[inline]
    fn has_flowed(&mut self) -> bool {
        false
    }

    /// Whether whoever completes what is waited for wakes this rank.
    fn is_woken(&self) -> bool {
        true
    }

    /// Pauses between two looks.
    #[inline]
    fn pause(&mut self, waiting: &mut Waiting) -> Pause {
        waiting.pause()
    }

    /// Does that while other threads may use the port.
    fn without_port(&mut self, rest: impl FnOnce()) {
        rest();
    }

    /// Goes to sleep, as one thread at a time does: another one rests meanwhile.
    ///
    /// # Errors
    /// Those of `sleep`.
    fn in_turn<T>(
        &mut self,
        sleep: impl FnOnce(&mut Self) -> Result<Option<T>, Self::Error>,
    ) -> Result<Option<T>, Self::Error> {
        sleep(self)
    }

    /// Waits until `ready` answers something, lending the core meanwhile; for this request, if that is given,
    /// which `ready` takes: between looks at everything else it is looked at alone. `what` is what a hang
    /// report says of this wait.
    ///
    /// # Errors
    /// What `ready` fails with, and what the NIC does.
    #[inline]
    fn wait_until<T>(
        &mut self,
        request: Option<RequestId>,
        what: impl Fn(&Port) -> WaitingFor,
        mut ready: impl FnMut(&mut Self) -> Result<Option<T>, Self::Error>,
    ) -> Result<T, Self::Error> {
        let mut waiting = self.port().begin_wait(request);
        let result = loop {
            match self.port().wait_step(&mut waiting, &what) {
                Ok(false) if self.pause(&mut waiting) == Pause::MaySleep => {
                    break wait_long(self, waiting, what, ready);
                }
                Ok(_) => {}
                Err(error) => break Err(error.into()),
            }
            match ready(self) {
                Ok(Some(done)) => break Ok(done),
                Ok(None) if self.has_flowed() => waiting.restart(),
                Ok(None) => {}
                Err(error) => break Err(error),
            }
        };
        self.port().end_wait();
        result
    }
}

/// Goes on with a wait that may sleep. It is given all by value, so that shorter waits need no place for it
/// in memory.
#[cold]
#[inline(never)]
fn wait_long<W: Waits, T>(
    waiter: &mut W,
    mut waiting: Waiting,
    what: impl Fn(&Port) -> WaitingFor,
    mut ready: impl FnMut(&mut W) -> Result<Option<T>, W::Error>,
) -> Result<T, W::Error> {
    let mut pause = Pause::MaySleep;
    loop {
        if pause == Pause::MaySleep
            && let Some(done) = rest(waiter, &mut waiting, &what, &mut ready)?
        {
            return Ok(done);
        }
        if let Some(done) = ready(waiter)? {
            return Ok(done);
        }
        if waiter.has_flowed() {
            waiting.restart();
        }
        pause = match waiter.port().wait_step(&mut waiting, &what)? {
            true => Pause::LookAgain,
            false => waiter.pause(&mut waiting),
        };
    }
}

/// A wait that may sleep: gives the core away for a while, unless what it waits for has come.
fn rest<W: Waits, T>(
    waiter: &mut W,
    waiting: &mut Waiting,
    what: &impl Fn(&Port) -> WaitingFor,
    ready: &mut impl FnMut(&mut W) -> Result<Option<T>, W::Error>,
) -> Result<Option<T>, W::Error> {
    let is_woken = waiter.is_woken();
    if !waiter.port().should_sleep(waiting, is_woken) {
        waiter.without_port(rustix::thread::sched_yield);
        return Ok(None);
    }
    waiter.in_turn(|waiter| {
        let is_woken = waiter.is_woken();
        let asleep = waiter.port().announce_sleep(waiting, is_woken);
        let stepped = waiter.port().wait_step(waiting, what)?;
        let done = ready(waiter)?;
        if done.is_none() && !stepped && waiter.port().may_stay_asleep() {
            match waiter.port().leaves_links(waiting) {
                true => waiter.port().leave_unsent(),
                false if waiter.port().is_carried_here() => {}
                false => waiter.port().hand_over_links(),
            }
            let longest = waiting.longest_sleep();
            waiter.without_port(|| asleep.sleep(longest));
        }
        Ok(done)
    })
}

impl Waits for Port {
    type Error = PortError;

    #[inline]
    fn port(&mut self) -> &mut Port {
        self
    }
}

impl Port {
    /// [`Self::wait_for`] what is no request.
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn wait<T>(
        &mut self,
        what: &WaitingFor,
        ready: impl FnMut(&mut Port) -> Result<Option<T>, PortError>,
    ) -> Result<T, PortError> {
        self.wait_for(None, what, ready)
    }

    /// Looks, and waits ([`Waits::wait_until`]) if that finds nothing.
    ///
    /// # Errors
    /// What `ready` fails with, and what the NIC does.
    #[inline]
    pub fn wait_for<T>(
        &mut self,
        request: Option<RequestId>,
        what: &WaitingFor,
        mut ready: impl FnMut(&mut Port) -> Result<Option<T>, PortError>,
    ) -> Result<T, PortError> {
        match ready(self)? {
            Some(done) => Ok(done),
            None => self.wait_until(request, |_| *what, ready),
        }
    }
}
