//! The conformance suite over each provider that loads on this machine, all nodes driven by one thread; and
//! links coming up and going down.
//!
//! | file | holds |
//! |---|---|
//! | `bed` | clusters of nodes in this process |
//! | `promises` | the suite, for each provider, order and kind of registration |
//! | `order` | the halves of a link on a model of a network that uses every freedom it has |
//! | `links` | links that come up, break, end; memory that is refused; nodes that do not keep the rules |
//! | `refusals` | providers and libraries that are not there |

mod bed;
mod links;
mod order;
mod promises;
mod refusals;

use super::*;
use bed::{
    MappedFabric, NETWORK, OfiFabrics, PATIENCE, all_reach_all, drive_until, is_there, options, start,
};
