//! Why a job was not launched.

use crate::preflight::PreflightError;
use crate::program::ProgramError;
use crate::verdict::STATUS_USAGE;
use std::io;
use thiserror::Error;

/// Why a job was not launched.
#[derive(Debug, Error)]
pub enum LaunchError {
    /// A program cannot be started.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The machine refuses the job.
    #[error(transparent)]
    Preflight(#[from] PreflightError),
    /// The system refused something that every job needs.
    #[error("cannot {what}: {error}; the machine is short of processes, descriptors or memory")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the kernel said.
        error: io::Error,
    },
}

impl LaunchError {
    /// The exit status of `storm run` for it.
    pub fn status(&self) -> u8 {
        match self {
            Self::Program(error) => error.status(),
            Self::Preflight(_) | Self::System { .. } => STATUS_USAGE,
        }
    }
}
