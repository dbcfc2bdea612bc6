//! What variables are read from: NIC memory, and this process, as far as they are there.

use crate::constants::{MPI_Comm, MPI_T_BIND_MPI_COMM, MPI_T_BIND_MPI_WIN, MPI_Win};
use crate::environment::init::may_overlap_unlocked;
use crate::object::Communicator;
use crate::object::window::Window;
use crate::process::exit::EXIT;
use crate::process::{self, Guard};
use bcs_core::LocalRank;
use nic_emu::memory::NicMemory;
use nic_emu::port::Port;
use nic_emu::unexpected::UnexpectedPool;
use std::ffi::c_int;

/// What a variable is read from. The process is this one's until it is dropped.
pub struct Reading {
    /// NIC memory, which stays when MPI is finalised, and this rank's place in it.
    memory: Option<(&'static NicMemory, LocalRank)>,
    /// The process, while it is a rank.
    pub(super) process: Option<Guard>,
    /// The process is another thread's, which may be in MPI: only NIC memory can be read.
    pub(super) is_elsewhere: bool,
    /// The object that the handle is bound to, if it is.
    pub(super) object: usize,
}

impl Reading {
    /// What there is now.
    pub fn now() -> Self {
        let is_elsewhere = may_overlap_unlocked();
        Self {
            memory: EXIT.get().map(|exit| (&*exit.memory, exit.local_rank)),
            process: if is_elsewhere { None } else { process::enter().ok().map(Guard::without_end) },
            is_elsewhere,
            object: 0,
        }
    }

    /// The same for a handle that is bound to this object.
    pub fn of(object: usize) -> Self {
        Self { object, ..Self::now() }
    }

    /// Whether there is an object of this kind with the handle that is bound.
    pub fn has_object(&self, bind: c_int) -> bool {
        match bind {
            MPI_T_BIND_MPI_COMM => self.communicator().is_some(),
            MPI_T_BIND_MPI_WIN => self.window().is_some(),
            _ => true,
        }
    }

    /// What is read in NIC memory; 0 where there is none yet.
    pub fn nic(&self, read: impl Fn(&NicMemory) -> u64) -> u64 {
        self.memory.map_or(0, |(memory, _)| read(memory))
    }

    /// The same, where there is one.
    pub fn known(&self, read: impl Fn(&NicMemory) -> u64) -> Option<u64> {
        self.memory.map(|(memory, _)| read(memory))
    }

    /// What is read of this rank's pool of messages that came before their receives.
    pub fn pool(&self, read: impl Fn(&UnexpectedPool<'_>) -> u64) -> u64 {
        let pool = self.memory.and_then(|(memory, rank)| UnexpectedPool::of(memory, rank).ok());
        pool.map_or(0, |pool| read(&pool))
    }

    /// Does something to that pool that only the processor may do.
    pub fn with_pool(&self, act: impl FnOnce(&UnexpectedPool<'_>)) {
        let Some(process) = &self.process else { return };
        let rank = process.port.local_rank();
        process.port.processor().with_token(
            || {
                std::thread::yield_now();
                true
            },
            |memory| UnexpectedPool::of(memory, rank).map(|pool| act(&pool)),
        );
    }

    /// What is read of this rank's port; 0 while there is none.
    pub fn port(&self, read: impl Fn(&Port) -> u64) -> u64 {
        self.process.as_ref().map_or(0, |process| read(&process.port))
    }

    /// The communicator that is bound.
    pub fn communicator(&self) -> Option<&Communicator> {
        self.process.as_ref()?.communicators.get(MPI_Comm(self.object)).ok()
    }

    /// The window that is bound.
    pub fn window(&self) -> Option<&Window> {
        self.process.as_ref()?.windows.named(MPI_Win(self.object)).ok()
    }
}
