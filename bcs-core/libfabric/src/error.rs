//! What keeps a process from using libfabric: each error names the call, the object and the value, and says
//! what to do.

use super::order::SignalOrder;

/// The version of libfabric, as it numbers itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LibraryVersion {
    /// The major version.
    pub major: u16,
    /// The minor version.
    pub minor: u16,
}

impl std::fmt::Display for LibraryVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Why libfabric, or a provider of it, cannot be used here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OfiError {
    /// The library is not there, or cannot be loaded.
    #[error(
        "libfabric cannot be loaded: {reason}; where it is not there, install it on every node (Debian and Ubuntu: apt-get install libfabric1; Fedora: dnf install libfabric), or take another network, such as tcp"
    )]
    Missing {
        /// What the system's loader says.
        reason: String,
    },
    /// The library is too old.
    #[error("libfabric {found} is too old: {wanted} or later is needed on every node")]
    TooOld {
        /// The version that is installed.
        found: LibraryVersion,
        /// The oldest that can be used.
        wanted: LibraryVersion,
    },
    /// A provider that is named is not there, or none has a network card to offer.
    #[error(
        "libfabric {version} offers no provider {wanted} with one-sided writes here; it offers {offered}: name one of them, in quotes where it has a ';', as in --network 'ofi:tcp;ofi_rxm', or take another network"
    )]
    NoProvider {
        /// The version of libfabric.
        version: LibraryVersion,
        /// What was asked for.
        wanted: String,
        /// What is there.
        offered: String,
    },
    /// A provider is there, and does not do what is needed.
    #[error("the provider {provider} of libfabric cannot be used: {why}")]
    Unfit {
        /// The provider.
        provider: String,
        /// What it lacks.
        why: String,
    },
    /// A provider does not promise the order that was asked for.
    #[error(
        "the provider {provider} of libfabric does not promise the order {order:?}; leave it to the provider"
    )]
    NoOrder {
        /// The provider.
        provider: String,
        /// The order.
        order: SignalOrder,
    },
    /// A call of the library failed.
    #[error("libfabric's {call} failed for {object}: {reason}")]
    Call {
        /// The call.
        call: &'static str,
        /// What it was to work on.
        object: String,
        /// What the library says.
        reason: String,
    },
}
