//! The table of performance variables (MPI-5.0, §15.3.7). A variable is a line of it.
//!
//! What grows (a counter, an aggregate, a timer) a session sees from when it has started it; what is
//! (a level, a size, a share, a state) it sees as it is. The most of a level is watched from a start on.
//!
//! What MMDS records is recorded from when on a variable of it is first started, if the job does not record
//! it anyway; what EMDS records is there where the job records it (`storm run --emds`), and 0 elsewhere.

use super::category::Category;
use super::enumeration::Names;
use super::reading::Reading;
use super::value::{Form, Value};
use crate::constants::*;
use crate::object::collective::Collective;
use crate::object::event::EVENTS;
use crate::process::monitor;
use mds::emds::Scope;
use mds::{EmdsRing, GlobalRecord, LocalRecord, Metric, Primitive};
use nic_emu::doorbell::RingKind;
use nic_emu::memory::NicMemory;
use std::ffi::c_int;
use std::sync::LazyLock;

/// A performance variable.
pub struct Performance {
    /// Its name.
    pub name: String,
    /// What it means.
    pub about: String,
    /// Its category.
    pub category: Category,
    /// Whom it is for.
    pub verbosity: c_int,
    /// Its class.
    pub class: c_int,
    /// What handles are bound to.
    pub bind: c_int,
    /// The names of its values, if they have names.
    pub names: Option<Names>,
    /// Whether it is read in the process, and not in NIC memory or in what is recorded.
    pub needs_process: bool,
    /// Whether MMDS has to record for it.
    pub needs_mmds: bool,
    /// What it is now.
    pub read: Read,
    /// Has a most of a level be watched anew, from what is now.
    pub watch: Option<fn(&Reading)>,
}

/// How a variable is read.
pub type Read = Box<dyn Fn(&Reading) -> Value + Send + Sync>;

impl Performance {
    /// What its value is.
    pub fn form(&self) -> Form {
        match self.class {
            MPI_T_PVAR_CLASS_STATE => Form::Number,
            MPI_T_PVAR_CLASS_PERCENTAGE => Form::Share,
            _ => Form::Whole,
        }
    }

    /// Whether it grows, so that a session sees what has come since it has started it.
    pub fn grows(&self) -> bool {
        [MPI_T_PVAR_CLASS_COUNTER, MPI_T_PVAR_CLASS_AGGREGATE, MPI_T_PVAR_CLASS_TIMER].contains(&self.class)
    }

    /// Whether it can be neither started nor stopped, nor written: it is what it is.
    pub fn is_continuous(&self) -> bool {
        !self.grows() && self.watch.is_none()
    }
}

/// The sum of a metric over all slices that EMDS has recorded, and their number.
fn emds(memory: &NicMemory, metric: Metric) -> (u64, u64) {
    let sum = match metric.scope() {
        Scope::Local => EmdsRing::<LocalRecord>::open(memory.emds_local()).and_then(|ring| ring.sum(metric)),
        Scope::Global => {
            EmdsRing::<GlobalRecord>::open(memory.emds_global()).and_then(|ring| ring.sum(metric))
        }
    };
    // Memory that holds no ring: nothing is recorded.
    sum.unwrap_or_default()
}

fn share(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { part.min(of) as f64 / of as f64 }
}

/// A line of the table: a variable of a class, which is read so.
fn line(
    (class, category): (c_int, Category),
    name: impl Into<String>,
    about: impl Into<String>,
    read: impl Fn(&Reading) -> Value + Send + Sync + 'static,
) -> Performance {
    Performance {
        name: name.into(),
        about: about.into(),
        category,
        verbosity: MPI_T_VERBOSITY_USER_DETAIL,
        class,
        bind: MPI_T_BIND_NO_OBJECT,
        names: None,
        needs_process: false,
        needs_mmds: false,
        read: Box::new(read),
        watch: None,
    }
}

/// The same of a number that is not negative.
fn whole(
    of: (c_int, Category),
    name: impl Into<String>,
    about: impl Into<String>,
    read: impl Fn(&Reading) -> u64 + Send + Sync + 'static,
) -> Performance {
    line(of, name, about, move |at| Value::Whole(read(at)))
}

/// What is read in the process.
fn of_process(variable: Performance) -> Performance {
    Performance { needs_process: true, ..variable }
}

/// What MMDS records.
fn recorded(
    class: c_int,
    name: String,
    about: String,
    read: impl Fn() -> u64 + Send + Sync + 'static,
) -> Performance {
    Performance { needs_mmds: true, ..whole((class, Category::Calls), name, about, move |_| read()) }
}

/// All performance variables.
pub static TABLE: LazyLock<Vec<Performance>> = LazyLock::new(|| {
    let mut all = of_this_node();
    all.extend(of_objects());
    for &metric in Metric::ALL {
        let class = if metric.unit() == "ns" { MPI_T_PVAR_CLASS_TIMER } else { MPI_T_PVAR_CLASS_AGGREGATE };
        let unit = if metric.unit().is_empty() { "" } else { ", in " };
        let about =
            format!("{}{unit}{}, of all slices that EMDS has recorded", metric.meaning(), metric.unit());
        let read = move |at: &Reading| at.nic(|memory| emds(memory, metric).0);
        all.push(whole((class, Category::Emds), format!("emds_{}", metric.column()), about, read));
    }
    for &collective in Collective::ALL {
        for (number, algorithm) in collective.algorithm_names().iter().enumerate() {
            let name = format!("{}_by_{algorithm}", collective.name());
            let about = format!("operations of {} that have gone by {algorithm}", collective.name());
            let read = move || monitor::algorithm_count(collective, number);
            let variable = recorded(MPI_T_PVAR_CLASS_COUNTER, name, about, read);
            all.push(Performance { category: Category::Collectives, ..variable });
        }
    }
    let intervals = ["computation", "communication"];
    let meanings = ["between calls that may wait", "in calls that may wait"];
    for (index, (name, meaning)) in intervals.into_iter().zip(meanings).enumerate() {
        let (counter, timer) = (MPI_T_PVAR_CLASS_COUNTER, MPI_T_PVAR_CLASS_TIMER);
        all.push(recorded(counter, format!("{name}_intervals"), format!("intervals {meaning}"), move || {
            monitor::intervals()[index].count
        }));
        all.push(recorded(timer, format!("{name}_time_ns"), format!("time {meaning}, in ns"), move || {
            monitor::intervals()[index].total_ns
        }));
    }
    for &call in Primitive::ALL {
        let name = call.name();
        all.push(recorded(MPI_T_PVAR_CLASS_COUNTER, calls_of(call), format!("calls of {name}"), move || {
            monitor::call(call).count
        }));
        let about = format!("time in {name}, in ns");
        all.push(recorded(MPI_T_PVAR_CLASS_TIMER, format!("time_ns_{name}"), about, move || {
            monitor::call(call).total_ns
        }));
        if call.is_sized() {
            let about = format!("bytes that calls of {name} have named");
            all.push(recorded(MPI_T_PVAR_CLASS_AGGREGATE, format!("bytes_{name}"), about, move || {
                monitor::call(call).bytes
            }));
        }
    }
    all
});

/// The name of the variable that counts a call.
fn calls_of(call: Primitive) -> String {
    format!("calls_{}", call.name())
}

/// The index of the variable that counts a call.
pub fn counter_of(call: Primitive) -> c_int {
    static COUNTERS: LazyLock<Vec<c_int>> = LazyLock::new(|| {
        let place = |call: &Primitive| TABLE.iter().position(|variable| variable.name == calls_of(*call));
        Primitive::ALL.iter().map(|call| place(call).map_or(-1, |place| place as c_int)).collect()
    });
    COUNTERS[call.index()]
}

/// What the NIC of this node counts, and what of it is this rank's.
#[rustfmt::skip]
fn of_this_node() -> Vec<Performance> {
    use Category::{Events, Links, Queues, Slices};
    let (counter, level, size) = (MPI_T_PVAR_CLASS_COUNTER, MPI_T_PVAR_CLASS_LEVEL, MPI_T_PVAR_CLASS_SIZE);
    let ring = |name: &str, ring: RingKind, what: &str| {
        let about = format!("{what} that this rank has posted, and the NIC has not taken");
        of_process(whole((level, Queues), name, about, move |at| at.port(|port| port.posted(ring).into())))
    };
    vec![
        whole((counter, Slices), "slices", "slices of this node's NIC", |at| at.nic(|m| m.control().slice.get())),
        whole((counter, Slices), "slices_in_vain", "slices that found descriptors and took none, for want of room", |at| at.nic(|m| m.header().slice.in_vain.get().into())),
        whole((counter, Slices), "messages_scheduled", "messages that slices of this node have matched with their receives", |at| at.nic(|m| m.header().slice.matched.get())),
        whole((level, Slices), "transfers", "transfers of long messages under way on this node", |at| at.nic(|m| m.header().slice.transfers.get().into())),
        whole((level, Slices), "sleepers", "ranks of this node that sleep", |at| at.nic(|m| m.header().attention.sleepers.load(std::sync::atomic::Ordering::Relaxed).into())),
        whole((size, Slices), "nic_memory_bytes", "bytes of address space of this node's NIC memory", |at| at.nic(|m| m.layout().bytes as u64)),
        ring("posted_sends", RingKind::Send, "sends"),
        ring("posted_receives", RingKind::Receive, "receives"),
        ring("posted_collectives", RingKind::Collective, "arrivals at collectives"),
        of_process(whole((level, Queues), "requests", "requests of this rank that the NIC has not completed, or the rank not taken", |at| at.port(|port| port.requests().len().into()))),
        of_process(whole((level, Queues), "operations", "operations of several steps that are under way in this rank", |at| at.process.as_ref().map_or(0, |process| process.progress.len() as u64))),
        whole((level, Queues), "unexpected_messages", "messages that wait in this rank's pool for their receives", |at| at.pool(|pool| pool.usage().messages)),
        whole((level, Queues), "unexpected_bytes", "bytes that these take up", |at| at.pool(|pool| pool.usage().bytes)),
        Performance { watch: Some(|at| at.with_pool(|pool| pool.watch())), needs_process: true, ..whole((MPI_T_PVAR_CLASS_HIGHWATERMARK, Queues), "unexpected_most_bytes", "the most bytes that messages in this rank's pool have taken up", |at| at.pool(|pool| pool.most_watched_bytes())) },
        whole((size, Queues), "unexpected_limit_bytes", "bytes that this rank's pool may take up", |at| at.pool(|pool| pool.limit_bytes())),
        line((MPI_T_PVAR_CLASS_PERCENTAGE, Queues), "unexpected_share", "the share of that limit that is in use", |at| Value::Share(share(at.pool(|pool| pool.usage().bytes), at.pool(|pool| pool.limit_bytes())))),
        whole((counter, Queues), "unexpected_all", "messages that have waited in this rank's pool", |at| at.pool(|pool| pool.messages())),
        whole((counter, Queues), "unexpected_refused", "times that a message found no room in this rank's pool", |at| at.pool(|pool| pool.refused())),
        whole((counter, Links), "records_sent", "records that this node has sent to others", |at| at.nic(|m| { let remote = &m.header().remote; remote.sent.get().wrapping_add(remote.by_ranks.sent.get()) })),
        whole((counter, Links), "records_taken", "records of other nodes that this node has taken", |at| at.nic(|m| { let remote = &m.header().remote; remote.taken.get().wrapping_add(remote.by_ranks.taken.get()) })),
        whole((counter, Links), "messages_written", "messages that ranks of this node have written into buffers on others", |at| at.nic(|m| m.header().remote.by_ranks.written.get())),
        whole((level, Links), "outbound", "descriptors for other nodes that have not left", |at| at.nic(|m| m.header().remote.outbound.get().into())),
        whole((counter, Category::Emds), "emds_slices", "slices that EMDS has recorded", |at| at.nic(|m| emds(m, Metric::Letts).1)),
        whole((level, Events), "events_waiting", "events that wait for delivery", |_| EVENTS.lock().waiting() as u64),
        whole((counter, Events), "events_dropped", "events that found no room to wait", |_| EVENTS.lock().dropped),
    ]
}

/// What communicators and windows have.
#[rustfmt::skip]
fn of_objects() -> Vec<Performance> {
    use Category::{Collectives, Windows};
    let of_comm = |variable: Performance| Performance { bind: MPI_T_BIND_MPI_COMM, ..of_process(variable) };
    let of_win = |variable: Performance| Performance { bind: MPI_T_BIND_MPI_WIN, ..of_process(variable) };
    vec![
        of_comm(whole((MPI_T_PVAR_CLASS_COUNTER, Collectives), "comm_collectives", "collective operations that this rank has begun in the communicator", |at| at.communicator().map_or(0, |comm| comm.sequence.into()))),
        of_comm(Performance { names: Some(Names::CommunicatorStates), ..line((MPI_T_PVAR_CLASS_STATE, Collectives), "comm_state", "whether collectives of the communicator are possible, or some did not fit", |at| Value::Number(is_broken(at).into())) }),
        of_win(whole((MPI_T_PVAR_CLASS_LEVEL, Windows), "win_operations", "operations on members on other nodes that have not left", |at| at.window().map_or(0, |win| win.asked.values().map(|asked| asked.count as u64).sum()))),
        of_win(whole((MPI_T_PVAR_CLASS_LEVEL, Windows), "win_answers", "answers of members on other nodes that are to come", |at| at.window().map_or(0, |win| win.asked.values().map(|asked| asked.answers.len() as u64).sum()))),
    ]
}

fn is_broken(at: &Reading) -> bool {
    let context = at.communicator().map(|communicator| communicator.context.of_collectives());
    let port = at.process.as_ref().map(|process| &process.port);
    context.zip(port).is_some_and(|(context, port)| port.check_whole(context).is_err())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::control;
    use std::collections::HashSet;

    #[test]
    fn names_are_there_once_in_each_table() {
        let names: HashSet<_> = TABLE.iter().map(|variable| &variable.name).collect();
        assert_eq!(names.len(), TABLE.len());
        let names: HashSet<_> = control::TABLE.iter().map(|variable| &variable.name).collect();
        assert_eq!(names.len(), control::TABLE.len());
        for &call in Primitive::ALL {
            assert_eq!(TABLE[counter_of(call) as usize].name, calls_of(call));
        }
    }

    #[test]
    fn values_are_of_the_types_that_the_standard_allows_for_their_class() {
        let at = Reading::now();
        for variable in TABLE.iter() {
            let form = match (variable.read)(&at) {
                Value::Number(_) => Form::Number,
                Value::Whole(_) => Form::Whole,
                Value::Share(share) => {
                    assert!((0.0..=1.0).contains(&share));
                    Form::Share
                }
            };
            assert_eq!(form, variable.form(), "{}", variable.name);
            assert_eq!(form == Form::Number, variable.names.is_some(), "{}", variable.name);
        }
    }
}
