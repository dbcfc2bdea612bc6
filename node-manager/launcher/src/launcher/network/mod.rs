//! The network of a job on several nodes, whatever carries it.
//!
//! | file | holds |
//! |---|---|
//! | `port` | this node's end, before the others are known |
//! | `at_start` | which links are up before ranks start |
//! | `tcp`, `quic`, `ofi` | how the end of each is made: the table in `bcs-core/src/transport.rs` names them |

mod at_start;
mod ofi;
mod port;
mod quic;
mod tcp;

use crate::launch::JobNetwork;
pub use at_start::{MESHED_NODES, linked_at_start};
use bcs_core::Transport;
use bcs_credentials::Credential;
pub use port::{JobFabric, JobPort};
pub(super) use port::{SILENCE, because};

/// Makes [`bind`] of the table of transports.
macro_rules! ends {
    ($(
        $(#[$doc:meta])*
        $name:ident: $transport:ident $(($($detail:tt)*))?, $seals:literal, $protocol:literal;
    )+) => {
        /// Binds this node's end.
        ///
        /// # Errors
        /// What cannot be had, and why.
        pub fn bind(network: &JobNetwork) -> Result<Box<dyn JobPort>, String> {
            let credential =
                Credential::from_pem(&network.credential).map_err(|error| because("its key", &error))?;
            match &network.transport {
                $(Transport::$transport { .. } => $name::bind(network, credential),)+
            }
        }
    };
}

bcs_core::with_transports!(ends!);
