//! Broken communicators, as a rank sees them ([`crate::threads::breach`]).

use super::error::PortError;
use super::rank_port::Port;
use crate::memory::contexts::Context;
use crate::threads::breach::break_context;
use crate::threads::completer::Completer;

impl Port {
    /// That the communicator of this context is not broken.
    ///
    /// # Errors
    /// It is: the report.
    #[inline]
    pub fn check_whole(&self, context: Context) -> Result<(), PortError> {
        match self.memory.breaches().find(context) {
            None => Ok(()),
            Some(breach) => Err(self.broken(breach)),
        }
    }

    /// The report of a breach, as an error.
    #[cold]
    pub(super) fn broken(&self, breach: u32) -> PortError {
        self.memory
            .breaches()
            .report(breach)
            .map_or_else(PortError::from, |text| PortError::Broken(text.into()))
    }

    /// Breaks a communicator, of which this rank has found that collectives do not fit: the report says how.
    ///
    /// # Errors
    /// The job is being ended; NIC memory is corrupt.
    #[cold]
    pub fn break_context(&mut self, context: Context, report: &str) -> Result<(), PortError> {
        let touched = self.as_processor(|memory| {
            let mut completer = Completer::new(memory, self.pacing);
            break_context(&mut completer, context, report).map(|()| completer.touched)
        })??;
        self.wake(&touched);
        if self.wake_pipe.is_some() {
            self.wake_nic_thread();
        }
        Ok(())
    }

    /// This rank leaves a communicator of this context, of which so many members are on this node.
    pub fn leave_broken(&self, context: Context, members: u16) {
        self.memory.breaches().leave(context, members.into());
    }
}
