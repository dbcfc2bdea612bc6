//! This process on the network: libelan's state, and what the card does for it.
//!
//! Invariants: operations of the card read and write memory of the window only, which libelan has allocated
//! and which stays as long as the process; an event that was found complete is never named again; a state is
//! used by one thread at a time, because libelan is not made for several (GASNet holds a lock around each
//! call).

use crate::libelan::{ELAN3_SLOT_BYTES, Event, Libelan, NicLibrary, State};
use crate::library::{Library, LoadError};
use bcs_fabric::Condition;
use std::ffi::{CString, c_int};
use std::ops::Range;
use std::ptr::NonNull;

/// Why the card cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CardError {
    /// A library.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The capability.
    #[error(
        "libelan does not take the capability '{capability}'; it reads N3C17-17-17N0-15R1b: node, contexts, nodes, rails"
    )]
    Capability {
        /// What was given.
        capability: String,
    },
    /// There is no state.
    #[error(
        "libelan makes no state for this process: it has no capability; start it under RMS or Slurm, or give it one"
    )]
    NoCapability,
    /// Memory.
    #[error(
        "libelan allocates no {bytes} bytes that the card can reach; make rings smaller, or raise LIBELAN_ALLOC_SIZE"
    )]
    Memory {
        /// How much was wanted.
        bytes: usize,
    },
    /// An operation did not begin.
    #[error("the card did not begin a {operation} of {bytes} bytes to processes {lowest} to {highest}")]
    Refused {
        /// Which.
        operation: &'static str,
        /// Its length.
        bytes: usize,
        /// The lowest process that it names.
        lowest: u32,
        /// The highest.
        highest: u32,
    },
}

/// An operation of the card under way.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Transfer(NonNull<Event>);

// SAFETY: an event is polled by whichever thread has the card, one at a time.
unsafe impl Send for Transfer {}

/// A conditional under way, with the place of its answer. One that never ends keeps its place for ever: the
/// card may still write there.
#[derive(Debug)]
pub(crate) struct Question {
    transfer: Option<Transfer>,
    answer: NonNull<c_int>,
}

// SAFETY: as of `Transfer`; the place of the answer is this value's alone.
unsafe impl Send for Question {}

/// The card.
#[derive(Debug)]
pub(crate) struct Card {
    libelan: Libelan,
    nic: Option<NicLibrary>,
    state: NonNull<State>,
}

// SAFETY: a state is bound to no thread; who has the card is the only one to use it.
unsafe impl Send for Card {}

impl Card {
    /// Opens the libraries, and attaches. Nothing comes in before [`Card::enable`].
    ///
    /// # Errors
    /// A library is not there or lacks a function, or there is no capability.
    pub fn open(
        library: &str,
        nic_library: Option<&str>,
        capability: Option<&str>,
    ) -> Result<Self, CardError> {
        let libelan = Libelan::load(&Library::open(library)?)?;
        let nic = nic_library.map(|name| NicLibrary::load(&Library::open(name)?)).transpose()?;
        if let Some(text) = capability {
            let refused = || CardError::Capability { capability: text.to_owned() };
            let text = CString::new(text).map_err(|_| refused())?.into_raw();
            // SAFETY: a text that ends with a zero, of which libelan may change the bytes.
            let taken = unsafe { (libelan.elan_generateCapability)(text) };
            // SAFETY: it was made by `into_raw`, and nobody else has it.
            drop(unsafe { CString::from_raw(text) });
            if taken < 0 {
                return Err(refused());
            }
        }
        // SAFETY: no argument but flags, of which none is set.
        let state = NonNull::new(unsafe { (libelan.elan_init)(0) }).ok_or(CardError::NoCapability)?;
        // SAFETY: the state was just made.
        unsafe { (libelan.elan_attach)(state.as_ptr()) };
        Ok(Self { libelan, nic, state })
    }

    /// The state, for what only the library for tests can do.
    #[cfg(test)]
    pub fn state(&self) -> *mut State {
        self.state.as_ptr()
    }

    /// Whether the card's broadcast and conditional can be called.
    pub fn has_nic_library(&self) -> bool {
        self.nic.is_some()
    }

    /// Allocates memory that the card can reach, at a multiple of 64, and zeroes it.
    ///
    /// # Errors
    /// There is not so much.
    pub fn allocate(&self, bytes: usize) -> Result<NonNull<u8>, CardError> {
        const ALIGN: c_int = 64;
        let state = self.state.as_ptr();
        // SAFETY: the state is attached.
        let memory = unsafe { (self.libelan.elan_allocMain)(state, ALIGN, bytes) };
        let memory = NonNull::new(memory.cast::<u8>()).ok_or(CardError::Memory { bytes })?;
        // SAFETY: the range was just allocated.
        if unsafe { (self.libelan.elan_addressable)(state, memory.as_ptr().cast(), bytes) } == 0 {
            return Err(CardError::Memory { bytes });
        }
        // SAFETY: as above, and nobody else knows of it.
        unsafe { memory.as_ptr().write_bytes(0, bytes) };
        Ok(memory)
    }

    /// Lets packets in.
    pub fn enable(&self) {
        // SAFETY: the state is attached.
        unsafe { (self.libelan.elan_enable_network)(self.state.as_ptr()) };
    }

    /// The card's address of memory that was allocated.
    pub fn address_of(&self, memory: NonNull<u8>) -> u64 {
        // SAFETY: the state is attached; the translation looks at the address only.
        let address = unsafe { (self.libelan.elan_main2elan)(self.state.as_ptr(), memory.as_ptr().cast()) };
        // SAFETY: it looks at the kind of the card only.
        let slot_bytes = unsafe { (self.libelan.elan_queueMaxSlotSize)(self.state.as_ptr()) };
        // Addresses of Elan3 have 32 bits, and the register above them holds anything.
        if slot_bytes == ELAN3_SLOT_BYTES { address & u64::from(u32::MAX) } else { address }
    }

    /// The address in this process that stands for memory of another, by the card's address of it. It is no
    /// memory of this process, except by chance.
    pub fn stand_in(&self, address: u64) -> *mut u8 {
        // SAFETY: the state is attached; the translation looks at the address only.
        unsafe { (self.libelan.elan_elan2main)(self.state.as_ptr(), address) }.cast()
    }

    /// Begins a put.
    ///
    /// # Errors
    /// It does not begin.
    ///
    /// # Safety
    /// The source is allocated from this card, and stays as it is until the transfer has ended. The
    /// destination stands for memory of the process that it has allocated for this.
    pub unsafe fn put(
        &self,
        source: *const u8,
        destination: *mut u8,
        bytes: usize,
        process: u32,
    ) -> Result<Transfer, CardError> {
        let (state, source) = (self.state.as_ptr(), source.cast_mut().cast());
        // SAFETY: by the contract.
        let event = unsafe { (self.libelan.elan_put)(state, source, destination.cast(), bytes, process) };
        begun(event, "put", bytes, process..process + 1)
    }

    /// Begins a get.
    ///
    /// # Errors
    /// It does not begin.
    ///
    /// # Safety
    /// The destination is allocated from this card, and nobody looks at it until the transfer has ended. The
    /// source stands for memory of the process that it has allocated for this.
    pub unsafe fn get(
        &self,
        source: *mut u8,
        destination: *mut u8,
        bytes: usize,
        process: u32,
    ) -> Result<Transfer, CardError> {
        let state = self.state.as_ptr();
        // SAFETY: by the contract.
        let event =
            unsafe { (self.libelan.elan_get)(state, source.cast(), destination.cast(), bytes, process) };
        begun(event, "get", bytes, process..process + 1)
    }

    /// Begins a broadcast to a range of processes; none where there is no NIC library.
    ///
    /// # Errors
    /// It does not begin.
    ///
    /// # Safety
    /// As [`Card::put`], for all processes of the range.
    pub unsafe fn broadcast(
        &self,
        source: *const u8,
        destination: *mut u8,
        bytes: usize,
        processes: Range<u32>,
    ) -> Result<Option<Transfer>, CardError> {
        let Some(nic) = &self.nic else { return Ok(None) };
        let (state, source) = (self.state.as_ptr(), source.cast_mut().cast());
        let (lowest, highest) = (processes.start, processes.end - 1);
        // SAFETY: by the contract.
        let event =
            unsafe { (nic.bcs_elan_broadcast)(state, source, destination.cast(), bytes, lowest, highest) };
        begun(event, "broadcast", bytes, processes).map(Some)
    }

    /// Begins a conditional over a range of processes; none where there is no NIC library.
    ///
    /// # Errors
    /// It does not begin.
    ///
    /// # Safety
    /// The variable stands for an aligned word of each process of the range that it has allocated for this.
    pub unsafe fn ask(
        &self,
        variable: *mut u8,
        condition: Condition,
        value: u64,
        processes: Range<u32>,
    ) -> Result<Option<Question>, CardError> {
        let Some(nic) = &self.nic else { return Ok(None) };
        let condition = match condition {
            Condition::GreaterEqual => 0,
            Condition::Less => 1,
            Condition::Equal => 2,
            Condition::NotEqual => 3,
        };
        let (lowest, highest) = (processes.start, processes.end - 1);
        let answer = NonNull::from(Box::leak(Box::new(0)));
        let mut question = Question { transfer: None, answer };
        // SAFETY: by the contract; the place of the answer is freed only when the event is complete.
        let event = unsafe {
            (nic.bcs_elan_conditional)(
                self.state.as_ptr(),
                variable.cast(),
                condition,
                value,
                lowest,
                highest,
                answer.as_ptr(),
            )
        };
        question.transfer = Some(begun(event, "conditional", 8, processes)?);
        Ok(Some(question))
    }

    /// Whether a transfer has ended; then it is taken.
    pub fn has_ended(&self, transfer: &mut Option<Transfer>) -> bool {
        let Some(Transfer(event)) = transfer else { return true };
        // SAFETY: the event was not found complete before, or it would have been taken.
        let is_complete = unsafe { (self.libelan.elan_poll)(event.as_ptr(), 0) } != 0;
        if is_complete {
            *transfer = None;
            // What the card has written comes before what is read from here on.
            std::sync::atomic::fence(std::sync::atomic::Ordering::Acquire);
        }
        is_complete
    }

    /// The answer to a question, once it is there.
    pub fn answer(&self, question: &mut Question) -> Option<bool> {
        if !self.has_ended(&mut question.transfer) {
            return None;
        }
        // SAFETY: the card has written it, and writes no more.
        Some(unsafe { question.answer.read_volatile() } != 0)
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        if self.transfer.is_none() {
            // SAFETY: it was leaked for this question alone, whose event is complete.
            drop(unsafe { Box::from_raw(self.answer.as_ptr()) });
        }
    }
}

fn begun(
    event: *mut Event,
    operation: &'static str,
    bytes: usize,
    processes: Range<u32>,
) -> Result<Transfer, CardError> {
    let (lowest, highest) = (processes.start, processes.end.saturating_sub(1));
    let refused = CardError::Refused { operation, bytes, lowest, highest };
    NonNull::new(event).map(Transfer).ok_or(refused)
}
