//! One end of a link, as a process of its node has it.

use super::fault::{FaultKind, LinkFault};
use super::keys::{Cipher, LinkSecrets, RenewalLimits};
use super::layout::LinkLayout;
use super::lock::is_process_alive;
use super::receiving::Place;
use super::records::{Appender, Sender, Taker};
use super::signal::SignalWords;
use super::state::{
    CLOSE, CLOSE_AT_ONCE, CLOSE_SEALED, PHASE_ACCEPTED, PHASE_DIALLED, PHASE_FREE, Shared, Side,
};
use super::{receiving, sending};
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// How often a record is tried again while another process has the right to append.
const LOCK_TRIES: u32 = 200;

/// What is done to the frames of a link.
#[derive(Debug)]
pub enum Protection {
    /// They are sealed with AES-128-GCM.
    Sealed(LinkSecrets),
    /// Nothing: the network between the nodes is trusted. The other end has proved who it is when the link
    /// came up, and no more.
    Plain,
}

/// When a close is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseWhen {
    /// Behind all records that are queued.
    Sent,
    /// As the next frame; what is queued is not sent any more.
    AtOnce,
}

/// The locks of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LinkLock {
    /// Who appends records.
    Append,
    /// Who seals and sends.
    Send,
    /// Who receives and opens.
    Receive,
    /// Who takes records.
    Take,
}

impl LinkLock {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Append, Self::Send, Self::Receive, Self::Take];
}

/// One end of a link: what a process has of it. Several processes of a node may each have one of the same
/// link. A forked child attaches anew, because locks are held in the name of a process.
#[derive(Debug)]
pub struct LinkEnd {
    shared: Shared,
    process: u32,
    limits: RenewalLimits,
    /// What this process has expanded of the secrets, by direction.
    outgoing: Option<Cipher>,
    incoming: Option<Cipher>,
    /// Where the other end says how far it has written, if it writes into this memory.
    pub(crate) signal: Option<NonNull<SignalWords>>,
}

// SAFETY: what is behind the addresses is made for many processes, so for many threads, too.
unsafe impl Send for LinkEnd {}

impl LinkEnd {
    /// The end whose state lies at an address: zeros, where no process has opened it yet.
    ///
    /// # Safety
    /// [`LinkLayout::bytes`] from there on can be read and written as long as the end is used, and what is
    /// borrowed from it; they begin at a page; and processes that share them use them as a link of this
    /// layout and for nothing else.
    pub unsafe fn attach(memory: NonNull<u8>, layout: LinkLayout) -> Self {
        // SAFETY: as the caller vouches.
        let shared = unsafe { Shared::new(memory, layout) };
        let limits = RenewalLimits::default();
        Self { shared, process: std::process::id(), limits, outgoing: None, incoming: None, signal: None }
    }

    /// Opens the link over a connection whose handshake is complete, on behalf of all processes that share
    /// it. A link is opened once.
    ///
    /// # Errors
    /// It has been opened before, or has ended.
    pub fn open(&mut self, side: Side, protection: Protection) -> Result<(), LinkFault> {
        self.shared.check()?;
        let state = self.shared.state();
        let phase = state.general.phase.load(Acquire);
        if phase != PHASE_FREE {
            return Err(self.shared.fail(FaultKind::Memory, phase.into()));
        }
        if let Protection::Sealed(secrets) = protection {
            state.sending.keys.install(&secrets.outgoing);
            state.receiving.keys.install(&secrets.incoming);
            state.general.sealed.store(1, Relaxed);
        }
        let phase = match side {
            Side::Acceptor => PHASE_ACCEPTED,
            Side::Dialler => PHASE_DIALLED,
        };
        state.general.phase.store(phase, Release);
        Ok(())
    }

    /// Whether the other end has greeted: it has the keys, and rings of the same size.
    pub fn is_up(&self) -> bool {
        self.shared.state().receiving.greeted.load(Acquire) != 0
    }

    /// The layout.
    pub fn layout(&self) -> LinkLayout {
        self.shared.layout
    }

    // Hot calls.

    /// Appends a record of these parts. False when there is no room for it, or another process appends just
    /// now: then the link is to be driven.
    ///
    /// # Errors
    /// The link has ended.
    ///
    /// # Panics
    /// The record is longer than [`LinkLayout::record_bytes`].
    #[inline]
    pub fn append(&self, parts: &[&[u8]]) -> Result<bool, LinkFault> {
        match self.appender()? {
            Some(mut appender) => appender.push(parts),
            None => Ok(false),
        }
    }

    /// [`LinkEnd::append`] that tries for a while again if another process appends just now: that gives the
    /// right back at once, unless it has lost its core.
    ///
    /// # Errors
    /// As [`LinkEnd::append`].
    ///
    /// # Panics
    /// As [`LinkEnd::append`].
    pub fn append_beside_others(&self, parts: &[&[u8]]) -> Result<bool, LinkFault> {
        for _ in 0..LOCK_TRIES {
            if self.append(parts)? {
                return Ok(true);
            }
            if self.holder(LinkLock::Append).is_none() {
                break;
            }
            std::hint::spin_loop();
        }
        self.append(parts)
    }

    /// The right to append several records; none while another process has it.
    ///
    /// # Errors
    /// The link has ended, or is being closed.
    #[inline]
    pub fn appender(&self) -> Result<Option<Appender<'_>>, LinkFault> {
        self.check_appending()?;
        Ok(Appender::new(&self.shared, self.process, None))
    }

    /// [`LinkEnd::appender`] that sends a record at once, with its bytes from where they are, if the link has
    /// a socket, these are so many or more, and nothing is in the way. Each such record costs a call to the
    /// system.
    ///
    /// # Errors
    /// As [`LinkEnd::appender`].
    #[inline]
    pub fn appender_to<'a>(
        &'a mut self,
        socket: Option<BorrowedFd<'a>>,
        apart_bytes: usize,
    ) -> Result<Option<Appender<'a>>, LinkFault> {
        self.check_appending()?;
        let process = self.process;
        let (shared, sender) = self.with_sender(socket, apart_bytes);
        Ok(Appender::new(shared, process, sender))
    }

    /// What lies in shared memory, and what long records are sent by.
    fn with_sender<'a>(
        &'a mut self,
        socket: Option<BorrowedFd<'a>>,
        apart_bytes: usize,
    ) -> (&'a Shared, Option<Sender<'a>>) {
        let Self { shared, process, limits, outgoing: expanded, .. } = self;
        let (limits, process) = (*limits, *process);
        (shared, socket.map(|socket| Sender { expanded, limits, process, socket, apart_bytes }))
    }

    /// The right to take records and that to append answers to them, as [`LinkEnd::appender_to`] does; none
    /// when there is nothing to take, or another process has one of the rights.
    ///
    /// # Errors
    /// As [`LinkEnd::appender`].
    #[inline]
    pub fn taker_and_appender<'a>(
        &'a mut self,
        socket: Option<BorrowedFd<'a>>,
        apart_bytes: usize,
    ) -> Result<Option<(Taker<'a>, Appender<'a>)>, LinkFault> {
        self.check_appending()?;
        if !self.has_records() {
            return Ok(None);
        }
        let process = self.process;
        let (shared, sender) = self.with_sender(socket, apart_bytes);
        let Some(taker) = Taker::new(shared, process) else { return Ok(None) };
        Ok(Appender::new(shared, process, sender).map(|appender| (taker, appender)))
    }

    /// Whether records, or the beginning of one, can be taken: one look at shared memory.
    #[inline]
    pub fn has_records(&self) -> bool {
        let state = self.shared.state();
        state.receiving.head.load(Acquire) != state.taking.tail.load(Relaxed)
    }

    /// The position up to which records have come.
    #[inline]
    pub fn received_to(&self) -> u64 {
        self.shared.state().receiving.head.load(Acquire)
    }

    /// The right to take records; none when there are none, or another process has it. Records that came
    /// before a link ended can still be taken.
    #[inline]
    pub fn taker(&self) -> Option<Taker<'_>> {
        self.has_records().then(|| Taker::new(&self.shared, self.process)).flatten()
    }

    /// Drives the link: seals and sends what is queued, and receives and opens what has come, one system call
    /// each at most. What another process is at just now is left to it. True when something has moved.
    ///
    /// # Errors
    /// The link has ended.
    pub fn drive(&mut self, socket: BorrowedFd<'_>) -> Result<bool, LinkFault> {
        let has_sent = self.drive_sending(socket)?;
        Ok(self.drive_receiving(socket)? || has_sent)
    }

    /// The sending half of [`LinkEnd::drive`]: no system call when nothing is queued.
    ///
    /// # Errors
    /// The link has ended.
    #[inline]
    pub fn drive_sending(&mut self, socket: BorrowedFd<'_>) -> Result<bool, LinkFault> {
        self.shared.check()?;
        sending::drive(&self.shared, &mut self.outgoing, self.limits, self.process, socket)
    }

    /// The receiving half of [`LinkEnd::drive`].
    ///
    /// # Errors
    /// The link has ended.
    #[inline]
    pub fn drive_receiving(&mut self, socket: BorrowedFd<'_>) -> Result<bool, LinkFault> {
        // SAFETY: nothing is put anywhere else.
        unsafe { self.drive_receiving_to(socket, &mut |_| None) }
    }

    /// [`LinkEnd::drive_receiving`] that opens the rest of a record where `place` says, and not into the
    /// ring: see [`Place`].
    ///
    /// # Safety
    /// Where `place` answers an address, so many bytes can be written there as long as this call lasts.
    ///
    /// # Errors
    /// The link has ended. Then what lies where the last rest was to go is not what was sent.
    #[inline]
    pub unsafe fn drive_receiving_to(
        &mut self,
        socket: BorrowedFd<'_>,
        place: &mut Place<'_>,
    ) -> Result<bool, LinkFault> {
        self.shared.check()?;
        let (shared, process) = (&self.shared, self.process);
        // SAFETY: the caller's promise.
        unsafe { receiving::drive(shared, &mut self.incoming, self.limits, process, socket, place) }
    }

    /// # Errors
    /// The link has ended, or is being closed.
    #[inline]
    fn check_appending(&self) -> Result<(), LinkFault> {
        self.shared.check()?;
        match self.shared.state().general.closing.load(Relaxed) {
            0 => Ok(()),
            _ => Err(LinkFault::new(FaultKind::Closed, 0)),
        }
    }

    /// Whether [`LinkEnd::drive_sending`] has something to do: somebody who sleeps on the socket is to be
    /// woken when it takes more.
    pub fn has_to_send(&self) -> bool {
        sending::has_work(&self.shared)
    }

    /// Whether the other end, which may be waiting for it, is to be told how much was taken here:
    /// [`LinkEnd::drive_sending`] does.
    #[inline]
    pub fn owes_credit(&self) -> bool {
        sending::owes_credit(&self.shared)
    }

    // What is asked now and then.

    /// How many bytes of records wait that are in no frame yet.
    pub fn queued_bytes(&self) -> u64 {
        let state = self.shared.state();
        let tail = state.sending.tail.load(Acquire);
        state.appending.head.load(Acquire).wrapping_sub(tail)
    }

    /// How many frames were sealed: whoever watches the link sees by it when it has spoken last.
    pub fn frames_sent(&self) -> u64 {
        self.shared.state().sending.keys.sequence.load(Relaxed)
    }

    /// How many frames have come: whoever watches the link sees by it whether the other end lives.
    pub fn frames_received(&self) -> u64 {
        self.shared.state().receiving.keys.sequence.load(Acquire)
    }

    /// A frame is to be sent, whether or not there is something to say.
    pub fn want_frame(&self) {
        self.shared.state().general.wanted.store(1, Relaxed);
    }

    /// Closes the link, with a code that the other end gets to know. The first close counts, but for one at
    /// once, which overtakes one that waits for records.
    pub fn close(&self, code: u8, when: CloseWhen) {
        let closing = &self.shared.state().general.closing;
        let word = CLOSE | u32::from(code);
        let _ = match when {
            CloseWhen::Sent => closing.compare_exchange(0, word, Release, Relaxed),
            CloseWhen::AtOnce => closing.try_update(Release, Relaxed, |before| {
                (before & (CLOSE_AT_ONCE | CLOSE_SEALED) == 0).then_some(word | CLOSE_AT_ONCE)
            }),
        };
    }

    /// Whether the socket has taken all that this end will ever send: its close is the last of it.
    pub fn is_close_sent(&self) -> bool {
        let state = self.shared.state();
        let is_sealed = state.general.closing.load(Acquire) & CLOSE_SEALED != 0;
        is_sealed && state.sending.frame_bytes.load(Acquire) == 0
    }

    /// The code with which the other end has closed, behind all its records.
    pub fn closed_by_peer(&self) -> Option<u8> {
        match self.shared.state().receiving.closed.load(Acquire) {
            0 => None,
            closed => Some(closed as u8),
        }
    }

    /// Why the link has ended, if it has.
    pub fn fault(&self) -> Option<LinkFault> {
        self.shared.check().err()
    }

    /// The process that holds a lock.
    pub fn holder(&self, lock: LinkLock) -> Option<u32> {
        let state = self.shared.state();
        match lock {
            LinkLock::Append => &state.appending.lock,
            LinkLock::Send => &state.sending.lock,
            LinkLock::Receive => &state.receiving.lock,
            LinkLock::Take => &state.taking.lock,
        }
        .holder()
    }

    /// A lock whose holder has died, and the holder: nobody will ever get that lock, so the job is to be
    /// ended. It asks the system, so it is for whoever finds that nothing moves.
    pub fn dead_holder(&self) -> Option<(LinkLock, u32)> {
        let mut held = LinkLock::ALL.into_iter().filter_map(|lock| Some((lock, self.holder(lock)?)));
        held.find(|(_, process)| !is_process_alive(*process))
    }

    /// Takes the link down, for all processes: its secrets are overwritten, and every later call answers that
    /// it has ended.
    pub fn wipe(&mut self) {
        self.shared.fail(FaultKind::Closed, 0);
        let state = self.shared.state();
        state.sending.keys.wipe();
        state.receiving.keys.wipe();
        (self.outgoing, self.incoming) = (None, None);
    }

    /// Makes the link free again, to be opened over another connection. It is for its owner, while no other
    /// process has it.
    pub fn reset(&mut self) {
        self.shared.free();
        (self.outgoing, self.incoming) = (None, None);
    }

    pub(crate) fn process(&self) -> u32 {
        self.process
    }

    pub(crate) fn shared_state(&self) -> &Shared {
        &self.shared
    }

    /// What lies in shared memory, as a test looks at it.
    #[cfg(test)]
    pub(crate) fn shared(&self) -> Shared {
        self.shared
    }

    /// Other limits, so that a test need not send 16 million frames.
    #[cfg(test)]
    pub(crate) fn limit_keys(&mut self, limits: RenewalLimits) {
        self.limits = limits;
    }
}
