//! The functions of Quadrics' libelan that the fabric calls, and those of a NIC library.
//!
//! libelan's header and manual are not public. A function stands here only if public programs call it in a
//! way that shows its arguments, and no structure of libelan is ever looked into: all are opaque. Sources:
//!
//! | source | is | where |
//! |---|---|---|
//! | edb | Quadrics' own debugger of Elan programs | `parallel.c` in `edb` of Quadrics' elan4lib |
//! | GASNet | GASNet's elan conduit | `elan-conduit`: `gasnet_core.c`, `gasnet_core_internal.h`, `gasnet_core_reqrep.c`, `gasnet_extended.c` |
//! | MPICH | MPICH's nemesis module elan | its `init_elan` and `MPID_nem_elan_recv` |
//! | ARMCI | ARMCI on Quadrics | `armci_init_connections`, `armci_getbflag` and around them |
//! | LA-MPI | Los Alamos MPI's path over Elan3 | the class `Broadcaster`; `src/queue/Communicator.cc` |
//! | NewMadeleine | its driver qsnet | `nm_qsnet_init` |
//!
//! Widths are those of the last versions (1.4.8 and later): sizes are `size_t` there. Before, they were
//! `int`, which is the same register on 64-bit hosts.

use crate::library::functions;
use std::ffi::{c_char, c_int, c_long, c_uint, c_void};

/// libelan's `ELAN_STATE`: this process on the network.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct State {
    _opaque: [u8; 0],
}

/// libelan's `ELAN_EVENT`: an operation under way.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Event {
    _opaque: [u8; 0],
}

/// The largest slot of a queue on Elan3, in bytes, by which edb tells Elan3 from Elan4.
pub(crate) const ELAN3_SLOT_BYTES: c_int = 320;

functions! {
    /// libelan.
    Libelan {
        /// Takes a capability from a text such as `N3C17-17-17N0-15R1b`: this is node 3 of the nodes 0 to 15,
        /// with the hardware context 17 of the contexts 17 to 17. What `R1b` says no source tells; all write
        /// it. Negative when the text is none. Source: MPICH (`init_elan`), NewMadeleine (`nm_qsnet_init`).
        elan_generateCapability: fn(text: *mut c_char) -> c_int;
        /// Makes the state of this process from the capability that RMS, Slurm or
        /// `elan_generateCapability` has left. Null when there is none. Source: edb (`elan_init(0)`), Open
        /// MPI's test programs for its ptl elan.
        elan_init: fn(flags: usize) -> *mut State;
        /// Attaches to the network, with the inputter blocked: nothing comes in yet. What it returns is not
        /// documented, and not looked at. Source: edb.
        elan_attach: fn(state: *mut State);
        /// Lets packets in. Source: edb, MPICH, Open MPI's btl elan.
        elan_enable_network: fn(state: *mut State);
        /// Memory that the card can read and write. Processes that allocate the same in the same order have
        /// it at the same address of the card. Null when there is none. Source: GASNet (`gasnetc_initbufs`);
        /// LA-MPI relies on the addresses (`Communicator::getMcastBuf`).
        elan_allocMain: fn(state: *mut State, align: c_int, bytes: usize) -> *mut c_void;
        /// Whether the card can reach memory of this process. Source: GASNet.
        elan_addressable: fn(state: *mut State, address: *mut c_void, bytes: usize) -> c_int;
        /// The card's address of memory of this process: 32 bits on Elan3, 64 on Elan4. Source: edb, GASNet.
        elan_main2elan: fn(state: *mut State, address: *mut c_void) -> u64;
        /// The address in this process that stands for an address of the card. Source: edb, which so names
        /// memory of other processes whose main address is another one.
        elan_elan2main: fn(state: *mut State, address: u64) -> *mut c_void;
        /// The largest slot of a queue: 320 bytes on Elan3, 2048 on Elan4. Source: edb, GASNet.
        elan_queueMaxSlotSize: fn(state: *mut State) -> c_int;
        /// Begins to write memory of another process. The destination is named by the address in *this*
        /// process that stands for it. The source stays as it is until the event is complete, at least if it
        /// is longer than 64 bytes; then all bytes are in the memory of the other process. Puts have no order
        /// among themselves. Source: GASNet (`gasnete_put_nb_bulk`; a long active message waits for its put
        /// before it goes into a queue), ARMCI (`MY_PUT`).
        elan_put: fn(
            state: *mut State, source: *mut c_void, destination: *mut c_void, bytes: usize, process: c_uint
        ) -> *mut Event;
        /// Begins to read memory of another process, which is named as for `elan_put`. Source: edb, ARMCI.
        elan_get: fn(
            state: *mut State, source: *mut c_void, destination: *mut c_void, bytes: usize, process: c_uint
        ) -> *mut Event;
        /// Whether an event is complete, looked at so many times more; if so, the event is over, and not to
        /// be named again. Source: GASNet (`GASNETC_ELAN_POLLITERS`), MPICH, ARMCI; that it is over then,
        /// GASNet says of the events of tports.
        elan_poll: fn(event: *mut Event, tries: c_long) -> c_int;
    }
}

functions! {
    /// A NIC library: the two operations of the card that the paper builds on, of any process, one-sided.
    ///
    /// libelan offers both to groups only, in calls that all members make and that wait for all
    /// (`elan_hbcast`, `elan_hgsync`); below it they are descriptors and packets of the card, for which no
    /// public source is complete. So a site brings them in a library of this interface
    /// (`include/bcs_elan_nic.h`); without one, the fabric does with puts.
    NicLibrary {
        /// Begins to write memory of a contiguous range of processes, at the same address of the card in all,
        /// in one act: all have it, or none. Named as for `elan_put`; complete when all have it. Broadcasts
        /// of one process are in order. Source: paper, §2.2 (ordered, reliable multicasts); LA-MPI for the
        /// range (`elan3_addbcastvp`), the common address and the completion
        /// (`Broadcaster::init_segment_dma`).
        bcs_elan_broadcast: fn(
            state: *mut State, source: *mut c_void, destination: *mut c_void, bytes: usize,
            lowest: c_uint, highest: c_uint
        ) -> *mut Event;
        /// Begins to ask a contiguous range of processes whether a word of 64 bits, at the same address of
        /// the card in all, compares so with a value: 0 at least, 1 below, 2 equal, 3 not equal. When the
        /// event is complete, the answer is 1 if it does in all, and else 0. Source: paper, §2.1 (a single
        /// value whatever the number of nodes) and §2.2 (network conditionals).
        bcs_elan_conditional: fn(
            state: *mut State, variable: *mut c_void, condition: c_int, value: u64,
            lowest: c_uint, highest: c_uint, answer: *mut c_int
        ) -> *mut Event;
    }
}
