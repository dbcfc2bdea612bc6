//! The state of the rank that this process is.

use super::launch::Place;
use super::progress::Progress;
use super::watch::Watch;
use crate::constants::MPI_Comm;
use crate::error::MpiResult;
use crate::handle::Table;
use crate::object::Communicator;
use crate::object::attached_buffer::AttachedBuffers;
use crate::object::communicators::Communicators;
use crate::object::datatype::Datatypes;
use crate::object::file::Files;
use crate::object::group::Kept;
use crate::object::request::{Parts, Requests};
use crate::object::window::Windows;
use nic_emu::port::Port;

/// The rank that this process is.
pub struct Process {
    /// Its port to the NIC.
    pub port: Port,
    /// Where it is in the job.
    pub place: Place,
    /// Communicators.
    pub communicators: Communicators,
    /// Datatypes.
    pub datatypes: Datatypes,
    /// Groups.
    pub groups: Table<Kept>,
    /// Windows.
    pub windows: Windows,
    /// Open files.
    pub files: Files,
    /// Requests.
    pub requests: Requests,
    /// Operations of several steps that are under way.
    pub(crate) progress: Progress,
    /// The buffers of buffered sends.
    pub attached: AttachedBuffers,
    /// Of a process that looks for deadlocks itself, or whose tool wants to know of them.
    pub(crate) watch: Option<Watch>,
}

impl Process {
    /// The parts that operations of requests work with, and the requests.
    #[inline(always)]
    pub(crate) fn parts_and_requests(&mut self) -> (Parts<'_>, &mut Requests) {
        let Self { port, communicators, attached, requests, .. } = self;
        (Parts { port, communicators, attached }, requests)
    }

    /// The communicator of an argument `comm`.
    ///
    /// # Errors
    /// It names none.
    #[inline]
    pub fn communicator(&self, handle: MPI_Comm) -> MpiResult<&Communicator> {
        self.communicators.named("comm", handle)
    }

    /// The communicator of an argument `comm`, to be changed.
    ///
    /// # Errors
    /// It names none.
    #[inline]
    pub fn communicator_mut(&mut self, handle: MPI_Comm) -> MpiResult<&mut Communicator> {
        self.communicators.named_mut(handle)
    }

    /// The communicator of an argument of this name, which has to be an intracommunicator.
    ///
    /// # Errors
    /// It names none, or an intercommunicator.
    pub fn intracommunicator(&self, argument: &'static str, handle: MPI_Comm) -> MpiResult<&Communicator> {
        self.communicators.of_kind(false, argument, handle)
    }

    /// The communicator of an argument of this name, which has to be an intercommunicator.
    ///
    /// # Errors
    /// It names none, or an intracommunicator.
    pub fn intercommunicator(&self, argument: &'static str, handle: MPI_Comm) -> MpiResult<&Communicator> {
        self.communicators.of_kind(true, argument, handle)
    }
}
