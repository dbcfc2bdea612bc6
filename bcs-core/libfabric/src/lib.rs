//! libfabric, found at run time: which provider is there and what it promises, an endpoint of it, registered
//! memory, and one-sided writes.
//!
//! Nothing of libfabric is needed by a build or an installation; what this package knows of it is its ABI.
//! The networks of jobs are built on it (`bcs-ofi`), and so are the writes between the buffers of two
//! programs (`nic-emu`): any process that has memory of its own to register opens an endpoint of its own.
//!
//! | file | holds |
//! |---|---|
//! | `abi` | what libfabric's structures look like |
//! | `library` | libfabric, found at run time |
//! | `handlers` | a program's handlers of signals, kept while it is loaded |
//! | `offer` | what a provider promises, and which one is taken |
//! | `order` | what makes a signal follow its data |
//! | `domain`, `endpoint` | an endpoint, and what it belongs to |
//! | `region` | registered memory |
//! | `operations` | writes under way |
//! | `error` | why libfabric cannot be used |

mod abi;
mod domain;
mod endpoint;
mod error;
mod handlers;
mod library;
mod offer;
mod operations;
mod order;
mod region;

pub use abi::FiAddr;
pub use endpoint::{Completion, Endpoint, Means, Piece, RemoteWrite};
pub use error::{LibraryVersion, OfiError};
pub use offer::{HARDWARE, MemoryMode, Offer, Promises};
pub use order::SignalOrder;
pub use region::{Access, MemoryRegistrar, Region};
