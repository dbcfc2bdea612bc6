//! The NIC threads (paper, §4.1): a file each, run in the order of the microphases by whoever is
//! the NIC processor.
//!
//! | file | holds |
//! |---|---|
//! | `strobe_sender`, `strobe_receiver` | SS and SR: a slice, microphase by microphase (`microphase`) |
//! | `buffer_sender`, `buffer_receiver` | BS and BR: what ranks posted, and which message meets which receive |
//! | `dma_helper` | DH: transfers, and what each slice grants them |
//! | `collective_helper`, `reduce_helper` | CH and RH: barriers, broadcasts, boards; reductions |
//! | `nic_thread`, `slice_work` | what a NIC thread is; what the threads hand on to each other within a slice |
//! | `eligible` | what a slice may schedule |
//! | `reduction` | how and in which order contributions are combined |
//! | `collective_arrivals` | how BR takes descriptors of collectives |
//! | `collective_list` | which members have reached which collective; `collective_at_once`: those that need no list |
//! | `breach` | how a communicator is broken by collectives that do not fit |
//! | `completer` | how the threads publish completions |
//! | `processor` | who runs the threads: the holder of the run token |

pub mod breach;
pub mod buffer_receiver;
pub mod buffer_sender;
pub(crate) mod collective_arrivals;
pub(crate) mod collective_at_once;
pub(crate) mod collective_helper;
pub(crate) mod collective_list;
pub mod completer;
pub mod dma_helper;
pub mod eligible;
pub(crate) mod microphase;
pub(crate) mod nic_thread;
pub mod processor;
pub(crate) mod reduce_helper;
pub(crate) mod reduction;
pub(crate) mod slice_work;
pub(crate) mod strobe_receiver;
pub mod strobe_sender;
