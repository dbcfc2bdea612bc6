//! The contexts of a communicator's collectives, and whether the communicator is broken.

use crate::error::MpiResult;
use nic_emu::contexts::Context;
use nic_emu::port::{Port, PortError};

/// The context of a communicator's collectives, and those of what it was made in: an intercommunicator's
/// hidden intracommunicator in that, and this, if a persistent request has it for itself, in the
/// program's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contexts {
    pub(crate) own: Context,
    pub(crate) above: [Option<Context>; 2],
}

impl Contexts {
    /// That the communicator is not broken, nor what it was made in.
    ///
    /// # Errors
    /// It is; it is broken itself then.
    pub(crate) fn check_whole(&self, port: &mut Port) -> MpiResult {
        port.check_whole(self.own)?;
        for above in self.above.into_iter().flatten() {
            if let Err(PortError::Broken(report)) = port.check_whole(above) {
                port.break_context(self.own, &report)?;
                port.check_whole(self.own)?;
            }
        }
        Ok(())
    }
}
