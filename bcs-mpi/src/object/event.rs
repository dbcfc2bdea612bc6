//! Events of the tool interface (MPI-5.0, §15.3.8): what happens, who listens, and what has happened and is
//! not delivered yet.
//!
//! What happens is noted where it happens, with the library's lock held, and delivered when the call ends and
//! the lock is free (`process::deliver`). Between the two it waits in a queue, which has room for so many
//! ([`Events::room`]). What finds no room is lost, and counted for those who would have been told.
//!
//! Who notes something asks [`is_listened`] first: one load and one branch where nobody listens.

use crate::constants::*;
use crate::info::Pairs;
use crate::lasting::Lasting;
use mds::Primitive;
use nic_emu::port::now_ns;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering};

/// A kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The NIC has begun a slice, or several, since this process looked last.
    SliceBegun,
    /// A receive of this process has got its message.
    MessageMatched,
    /// A collective operation is complete in this process.
    CollectiveComplete,
    /// This process waits, as all ranks of its job do, for what never comes; the job is about to be ended.
    HangFound,
}

impl EventKind {
    /// All of them, in the order of their indices.
    pub const ALL: [Self; 4] =
        [Self::SliceBegun, Self::MessageMatched, Self::CollectiveComplete, Self::HangFound];
}

/// Something that happens.
#[derive(Clone, Copy, Debug)]
pub enum Happening {
    /// [`EventKind::SliceBegun`].
    SliceBegun {
        /// The slice that has begun last.
        slice: u64,
        /// How many have begun since this process looked last.
        passed: u64,
    },
    /// [`EventKind::MessageMatched`].
    MessageMatched {
        /// The receive's communicator.
        comm: MPI_Comm,
        /// The sender's rank there.
        source: c_int,
        /// The message's tag.
        tag: c_int,
        /// Bytes received.
        bytes: u64,
    },
    /// [`EventKind::CollectiveComplete`].
    CollectiveComplete {
        /// The call that has started it.
        call: Primitive,
        /// Its communicator.
        comm: MPI_Comm,
    },
    /// [`EventKind::HangFound`].
    HangFound {
        /// The slice that has begun last.
        slice: u64,
    },
}

impl Happening {
    /// Its kind.
    pub fn kind(&self) -> EventKind {
        match self {
            Self::SliceBegun { .. } => EventKind::SliceBegun,
            Self::MessageMatched { .. } => EventKind::MessageMatched,
            Self::CollectiveComplete { .. } => EventKind::CollectiveComplete,
            Self::HangFound { .. } => EventKind::HangFound,
        }
    }

    /// Whether it is about a communicator.
    fn is_of(&self, bound: MPI_Comm) -> bool {
        match self {
            Self::MessageMatched { comm, .. } | Self::CollectiveComplete { comm, .. } => *comm == bound,
            Self::SliceBegun { .. } | Self::HangFound { .. } => true,
        }
    }
}

/// A function of a tool, and what it is called with.
#[derive(Clone, Debug)]
pub struct Callback {
    /// What it may do: a level of safety.
    pub safety: MPI_T_cb_safety,
    /// The function.
    pub function: MPI_T_event_cb_function,
    /// What the tool wants it to be given: an address, which nothing here follows.
    pub user_data: usize,
    /// The hints that the tool has given.
    pub hints: Pairs,
}

/// A registration for events of one kind.
#[derive(Debug)]
pub struct Registration {
    /// Which events.
    pub kind: EventKind,
    /// Of which communicator, of kinds that are about one.
    pub bound: Option<MPI_Comm>,
    /// The hints that the tool has given.
    pub hints: Pairs,
    /// The tool's functions, at most one of each level of safety, the one with the fewest promises first.
    pub callbacks: Vec<Callback>,
    /// What is told of events that are lost.
    pub dropped_handler: Option<MPI_T_event_dropped_cb_function>,
    /// Events that were lost since it was told last.
    pub dropped: u64,
}

/// An event that has happened, for one registration.
#[derive(Clone, Copy, Debug)]
pub struct Instance {
    /// Whose.
    pub registration: usize,
    /// What has happened.
    pub happening: Happening,
    /// When, in nanoseconds of the source's clock.
    pub time_ns: u64,
}

/// What is to be called, once a registration is freed whose function is running.
#[derive(Clone, Copy, Debug)]
pub struct Freed {
    /// The registration.
    pub registration: usize,
    /// The function.
    pub function: MPI_T_event_free_cb_function,
    /// What it is given.
    pub user_data: usize,
}

/// A call of a tool's function, to be made without any lock.
#[derive(Clone, Copy, Debug)]
pub enum Call {
    /// An event, which is readable under this number meanwhile.
    Event(usize, usize, MPI_T_event_cb_function, MPI_T_cb_safety, usize),
    /// Events were lost: so many.
    Dropped(u64, usize, MPI_T_event_dropped_cb_function, usize),
    /// A registration is freed.
    Freed(Freed),
}

/// All registrations, and what is to be delivered to them.
#[derive(Debug)]
pub struct Events {
    /// By handle.
    pub registrations: BTreeMap<usize, Registration>,
    /// Events that wait for delivery, the oldest first.
    queue: VecDeque<Instance>,
    /// How many may wait.
    pub room: usize,
    /// Events that were lost so far, of all registrations.
    pub dropped: u64,
    /// Events whose functions are running, by handle.
    running: BTreeMap<usize, Instance>,
    /// Registrations that were freed, and whose functions are still running.
    freed: Vec<Freed>,
    /// The next handle. None is given twice.
    next: usize,
}

/// How many events may wait for delivery, unless a tool says otherwise.
const DEFAULT_ROOM: usize = 1024;

/// The least number that is a handle of an event or of a registration: above all those of variables and
/// sessions.
const FIRST_HANDLE: usize = 1 << 32;

/// The events of this process. Locked after the process where both are.
pub static EVENTS: Lasting<Events> = Lasting::new(Events {
    registrations: BTreeMap::new(),
    queue: VecDeque::new(),
    room: DEFAULT_ROOM,
    dropped: 0,
    running: BTreeMap::new(),
    freed: Vec::new(),
    next: FIRST_HANDLE,
});

/// The kinds for which a function is registered, a bit each.
static LISTENED: AtomicU32 = AtomicU32::new(0);

/// Whether somebody listens for events of a kind.
#[inline(always)]
pub fn is_listened(kind: EventKind) -> bool {
    LISTENED.load(Ordering::Relaxed) & 1 << kind as u32 != 0
}

/// Notes something for those who listen for it.
#[cold]
pub fn note(happening: Happening) {
    EVENTS.lock().note(happening);
}

impl Events {
    fn note(&mut self, happening: Happening) {
        let time_ns = now_ns();
        let Self { registrations, queue, room, dropped, .. } = self;
        for (&registration, of) in registrations.iter_mut() {
            let is_for = of.kind == happening.kind()
                && !of.callbacks.is_empty()
                && of.bound.is_none_or(|bound| happening.is_of(bound));
            if is_for && queue.len() < *room {
                queue.push_back(Instance { registration, happening, time_ns });
            } else if is_for {
                of.dropped += 1;
                *dropped += 1;
            }
        }
    }

    /// A handle that was never given before.
    fn handle(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }

    /// Adds a registration; answers its handle.
    pub fn add(&mut self, registration: Registration) -> usize {
        let handle = self.handle();
        self.registrations.insert(handle, registration);
        handle
    }

    /// Registers a function, instead of the one of its level, if there is one; or takes that away. Answers
    /// whether anybody listens for anything now.
    pub fn register(&mut self, handle: usize, safety: MPI_T_cb_safety, callback: Option<Callback>) -> bool {
        if let Some(registration) = self.registrations.get_mut(&handle) {
            registration.callbacks.retain(|known| known.safety != safety);
            registration.callbacks.extend(callback);
            registration.callbacks.sort_by_key(|callback| callback.safety);
        }
        self.update()
    }

    /// Frees a registration: its events that wait are none any more. Answers what is to be called for it, if
    /// something is and none of its functions runs, and whether anybody listens for anything now.
    pub fn free(
        &mut self,
        registration: usize,
        function: Option<MPI_T_event_free_cb_function>,
        user_data: usize,
    ) -> (Option<Freed>, bool) {
        self.registrations.remove(&registration);
        self.queue.retain(|instance| instance.registration != registration);
        let mut freed = function.map(|function| Freed { registration, function, user_data });
        if self.is_running(registration) {
            self.freed.extend(freed.take());
        }
        (freed, self.update())
    }

    /// Frees all registrations.
    pub fn clear(&mut self) {
        self.registrations.clear();
        self.queue.clear();
        self.update();
    }

    fn update(&mut self) -> bool {
        let listening = self.registrations.values().filter(|of| !of.callbacks.is_empty());
        let kinds = listening.fold(0, |kinds, of| kinds | 1 << of.kind as u32);
        LISTENED.store(kinds, Ordering::Relaxed);
        kinds != 0
    }

    fn is_running(&self, registration: usize) -> bool {
        self.running.values().any(|instance| instance.registration == registration)
    }

    /// How many events wait for delivery.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// The event of a handle, as long as a function that was told of it runs.
    pub fn instance(&self, handle: usize) -> Option<&Instance> {
        self.running.get(&handle)
    }

    /// The next function to be called: of events, as they happened; then of those that were lost, after them.
    pub fn next_call(&mut self) -> Option<Call> {
        if let Some(index) = self.freed.iter().position(|freed| !self.is_running(freed.registration)) {
            return Some(Call::Freed(self.freed.swap_remove(index)));
        }
        while let Some(instance) = self.queue.pop_front() {
            // Nothing is asked of the functions: the one that promises least is good enough.
            let of = self.registrations.get(&instance.registration);
            let Some(Callback { safety, function, user_data, .. }) = of.and_then(|of| of.callbacks.first())
            else {
                continue;
            };
            let (safety, function, user_data) = (*safety, *function, *user_data);
            let handle = self.handle();
            self.running.insert(handle, instance);
            return Some(Call::Event(handle, instance.registration, function, safety, user_data));
        }
        self.registrations.iter_mut().find_map(|(&registration, of)| {
            let handler = of.dropped_handler.filter(|_| of.dropped > 0)?;
            let user_data = of.callbacks.first().map_or(0, |callback| callback.user_data);
            Some(Call::Dropped(std::mem::take(&mut of.dropped), registration, handler, user_data))
        })
    }

    /// The function of an event has returned: the event is gone.
    pub fn end(&mut self, handle: usize) {
        self.running.remove(&handle);
    }
}

impl Freed {
    /// Calls the function. No lock is held.
    ///
    /// # Safety
    /// It must be what the tool has registered.
    pub unsafe fn call(self) {
        let registration = MPI_T_event_registration(self.registration);
        // SAFETY: the tool's function, and what it wants to be given.
        unsafe {
            (self.function)(
                registration,
                MPI_T_CB_REQUIRE_NONE,
                std::ptr::with_exposed_provenance_mut(self.user_data),
            )
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::c_void;

    unsafe extern "C" fn nothing(
        _: MPI_T_event_instance,
        _: MPI_T_event_registration,
        _: MPI_T_cb_safety,
        _: *mut c_void,
    ) {
    }

    unsafe extern "C" fn no_drop(
        _: MPI_Count,
        _: MPI_T_event_registration,
        _: c_int,
        _: MPI_T_cb_safety,
        _: *mut c_void,
    ) {
    }

    fn events(room: usize) -> (Events, usize) {
        let mut events = Events {
            registrations: BTreeMap::new(),
            queue: VecDeque::new(),
            room,
            dropped: 0,
            running: BTreeMap::new(),
            freed: Vec::new(),
            next: FIRST_HANDLE,
        };
        let callback =
            Callback { safety: MPI_T_CB_REQUIRE_NONE, function: nothing, user_data: 0, hints: Vec::new() };
        let handle = events.add(Registration {
            kind: EventKind::SliceBegun,
            bound: None,
            hints: Vec::new(),
            callbacks: vec![callback],
            dropped_handler: Some(no_drop),
            dropped: 0,
        });
        (events, handle)
    }

    #[test]
    fn events_without_room_are_counted_and_told_after_those_that_had_some() {
        let (mut events, handle) = events(2);
        for slice in 1..=5 {
            events.note(Happening::SliceBegun { slice, passed: 1 });
            events.note(Happening::HangFound { slice });
        }
        assert_eq!((events.waiting(), events.dropped), (2, 3));
        for expected in 1..=2 {
            let Some(Call::Event(number, of, ..)) = events.next_call() else { panic!("no event") };
            let happening = events.instance(number).expect("it runs").happening;
            assert!(matches!(happening, Happening::SliceBegun { slice, .. } if slice == expected));
            assert_eq!(of, handle);
            events.end(number);
            assert!(events.instance(number).is_none());
        }
        assert!(matches!(events.next_call(), Some(Call::Dropped(3, of, ..)) if of == handle));
        assert!(events.next_call().is_none());
    }

    #[test]
    fn a_registration_that_is_freed_by_its_own_function_is_told_so_when_that_has_returned() {
        unsafe extern "C" fn freed(_: MPI_T_event_registration, _: MPI_T_cb_safety, _: *mut c_void) {}
        let (mut events, handle) = events(2);
        events.note(Happening::SliceBegun { slice: 1, passed: 1 });
        events.note(Happening::SliceBegun { slice: 2, passed: 1 });
        let Some(Call::Event(number, ..)) = events.next_call() else { panic!("no event") };
        assert!(events.free(handle, Some(freed), 7).0.is_none());
        assert!(events.next_call().is_none(), "its function runs, and its other event is none any more");
        events.end(number);
        assert!(matches!(events.next_call(), Some(Call::Freed(Freed { user_data: 7, .. }))));
        assert!(events.next_call().is_none());
    }
}
