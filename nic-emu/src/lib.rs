//! The emulated NIC of one job on one node (paper, §3 and §4; design §4).
//!
//! An engine without I/O over NIC memory: ranks post descriptors in rings, whoever holds the run token is the
//! NIC processor and runs slices, completions come back in request slots. It opens no socket and reads no clock.
//!
//! - A rank uses a [`port`]: it posts, polls, waits and lends its core.
//! - The program launcher uses a [`host`]: it makes the memory, runs the NIC thread, reads reports.
//! - The paper's NIC threads are the modules of their names, run by the [`processor`] in the order of the
//!   [`microphase`]s.

pub mod arith;
pub mod doorbell;
pub mod ring;
pub mod sync;
pub mod token;

macro_rules! engine_modules {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => { $($(#[$doc])* #[cfg(not(loom))] pub mod $name;)* };
}

engine_modules!(
    abort,
    board,
    buffer_receiver,
    buffer_sender,
    channel,
    collective,
    collective_helper,
    collective_list,
    completer,
    descriptor,
    dma_helper,
    global,
    hang,
    host,
    matching,
    memory,
    microphase,
    nic_thread,
    outstanding,
    policy,
    pool,
    port,
    processor,
    queue,
    reduce_helper,
    request,
    slab,
    slice,
    status,
    strobe_receiver,
    strobe_sender,
    transfer,
    waiting,
);
