//! The table of control variables (MPI-5.0, §15.3.6). A variable is a line of it.
//!
//! What the whole job goes by is told by its launcher, and is constant. How this rank waits and moves bytes
//! is its own, and may be changed at any time between MPI_Init and MPI_Finalize, each variable within limits
//! that keep the rank going, however slowly. Algorithms of collectives are wanted by all members alike.

use super::category::Category;
use super::enumeration::Names;
use super::value::Form;
use crate::constants::*;
use crate::object::collective::Collective;
use nic_emu::channel::Policy;
use nic_emu::descriptor::INLINE_BYTES;
use nic_emu::memory::NicMemory;
use nic_emu::policy::{BUFFER_WRITE_BYTES, WaitPolicy};
use nic_emu::slab::{BUFFERED_BYTES, SLAB_BYTES};
use std::ffi::c_int;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

/// A control variable.
pub struct Control {
    /// Its name.
    pub name: String,
    /// What it means.
    pub about: String,
    /// Its category.
    pub category: Category,
    /// Whom it is for.
    pub verbosity: c_int,
    /// What its value is.
    pub form: Form,
    /// The names of its values, if they have names.
    pub names: Option<Names>,
    /// How it is read and written.
    pub access: Access,
}

/// How a control variable is read and written.
#[derive(Clone)]
pub enum Access {
    /// It is the same for ever.
    Constant(u64),
    /// The job's launcher has set it.
    Job(fn(&NicMemory) -> u64),
    /// A number of how this rank waits, within limits.
    Waiting(Place<WaitPolicy, u32>),
    /// Bytes that decide how this rank's messages move, within limits.
    Channel(Place<Policy, u64>),
    /// How many events may wait for delivery, within limits.
    EventRoom(RangeInclusive<u64>),
    /// The algorithm that is wanted for the job.
    OfJob(Collective),
    /// The algorithm that is wanted in the communicator to which a handle is bound.
    OfCommunicator(Collective),
}

/// A number in a structure, and its limits.
#[derive(Clone)]
pub struct Place<S, T> {
    /// Where it is.
    pub place: fn(&mut S) -> &mut T,
    /// To read it.
    pub read: fn(&S) -> T,
    /// What it may be.
    pub limits: RangeInclusive<T>,
}

impl Access {
    /// What handles for the variable are bound to.
    pub fn bind(&self) -> c_int {
        if matches!(self, Self::OfCommunicator(_)) { MPI_T_BIND_MPI_COMM } else { MPI_T_BIND_NO_OBJECT }
    }

    /// Whether it is read and written in the process.
    pub(super) fn needs_process(&self) -> bool {
        !matches!(self, Self::Constant(_) | Self::Job(_) | Self::EventRoom(_))
    }

    /// Who has to write it.
    pub fn scope(&self) -> c_int {
        match self {
            Self::Constant(_) | Self::Job(_) => MPI_T_SCOPE_CONSTANT,
            Self::Waiting(_) | Self::Channel(_) | Self::EventRoom(_) => MPI_T_SCOPE_LOCAL,
            Self::OfJob(_) => MPI_T_SCOPE_ALL_EQ,
            Self::OfCommunicator(_) => MPI_T_SCOPE_GROUP_EQ,
        }
    }
}

macro_rules! place {
    ($field:ident, $limits:expr) => {
        Place { place: |of| &mut of.$field, read: |of| of.$field, limits: $limits }
    };
}

/// Looks and yields at most: some ten milliseconds of looks.
const MOST_LOOKS: u32 = 1 << 20;

/// Waits that others' slices have ended, at most: they multiply looks.
const MOST_TRUST: u32 = 1 << 10;

/// Bytes of what moves at once at most.
const MOST_AT_ONCE: u64 = 1 << 30;

/// All control variables.
pub static TABLE: LazyLock<Vec<Control>> = LazyLock::new(|| {
    use Category::{Channels, Collectives, Events, Slices, Waiting};
    let (users, tuners) = (MPI_T_VERBOSITY_USER_BASIC, MPI_T_VERBOSITY_TUNER_DETAIL);
    let whole = |category, verbosity, name: &str, access, about: &str| Control {
        name: name.to_owned(),
        about: about.to_owned(),
        category,
        verbosity,
        form: Form::Whole,
        names: None,
        access,
    };
    let named = |names, variable: Control| Control { form: Form::Number, names: Some(names), ..variable };
    let waits = |name, place, about| whole(Waiting, tuners, name, Access::Waiting(place), about);
    let moves = |name, place, about| whole(Channels, tuners, name, Access::Channel(place), about);
    let fixed =
        |name, bytes: usize, about| whole(Channels, tuners, name, Access::Constant(bytes as u64), about);
    let job = |category, name, read, about| whole(category, users, name, Access::Job(read), about);
    let looks = 0..=MOST_LOOKS;
    #[rustfmt::skip]
    let mut all = vec![
        named(Names::SliceModes, job(Slices, "slice_mode", |m| (m.header().slice_period_ns.get() != 0).into(), "whether slices start when there is work, or on a beat")),
        job(Slices, "slice_period_ns", |m| m.header().slice_period_ns.get(), "length of a fixed slice in ns; 0 for elastic slices"),
        named(Names::Arithmetics, job(Collectives, "arithmetic", |m| (m.header().arithmetic.get() != 0).into(), "what computes reductions on the NIC")),
        job(Waiting, "cores", |m| m.header().cores.get().into(), "cores that the ranks of this node share"),
        waits("wait_polls", place!(polls, looks.clone()), "looks before the core is yielded for the first time; 0 where ranks share cores"),
        waits("wait_watches", place!(watches, looks.clone()), "looks at the awaited request alone between two looks at everything"),
        waits("wait_patience", place!(patience, looks.clone()), "looks that find another rank's work before this one runs it"),
        waits("wait_trust", place!(trust, 0..=MOST_TRUST), "times wait_watches for which a rank that has just posted leaves the NIC to others at most"),
        waits("wait_bystanding", place!(bystanding, looks.clone()), "wait_patience of a rank that waits for no message, and whose posts have been taken"),
        waits("wait_claim_yields", place!(claim_yields, looks.clone()), "yields after which a rank that waits for a message of one other posts a receive for it"),
        waits("wait_yields", place!(yields, looks.clone()), "yields before the rank may sleep"),
        waits("wait_meeting_looks", place!(meeting_looks, looks.clone()), "looks at its own request that a rank takes after it has arrived at a collective"),
        waits("wait_lane_looks", place!(lane_looks, looks), "looks at lanes that a member of a large collective takes before it waits as for anything else"),
        fixed("inline_bytes", INLINE_BYTES, "bytes of a message up to which it travels in its descriptor"),
        fixed("slab_bytes", SLAB_BYTES, "bytes of a slab, in which a message waits that its sender does not wait for"),
        fixed("buffered_bytes", BUFFERED_BYTES, "bytes of a message up to which it may wait in slabs"),
        fixed("buffer_write_bytes", BUFFER_WRITE_BYTES as usize, "bytes of a message from which on a network card writes it from buffer to buffer"),
        moves("attach_bytes", place!(attach_bytes, 4096..=MOST_AT_ONCE), "bytes that one call of cross-memory attach moves at most"),
        moves("left_bytes", place!(left_bytes, 0..=MOST_AT_ONCE), "bytes of a message that its sender leaves to a receiver that waits, while it receives itself, at most"),
        moves("step_bytes", place!(step_bytes, 4096..=MOST_AT_ONCE), "bytes that a wait moves before it looks at everything again"),
        whole(Events, users, "event_room", Access::EventRoom(0..=1 << 20), "how many events may wait for delivery; more are dropped"),
    ];
    for &collective in Collective::ALL {
        let name = collective.name();
        let about = "the algorithm that is wanted for";
        let of_job = whole(
            Collectives,
            users,
            &format!("{name}_algorithm"),
            Access::OfJob(collective),
            &format!("{about} {name}, where a communicator wants none; can be set before MPI_Init"),
        );
        let of_communicator = whole(
            Collectives,
            users,
            &format!("comm_{name}_algorithm"),
            Access::OfCommunicator(collective),
            &format!("{about} {name} of the communicator"),
        );
        all.extend([of_job, of_communicator].map(|variable| named(Names::Algorithms(collective), variable)));
    }
    all
});
