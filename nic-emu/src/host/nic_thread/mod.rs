//! The NIC thread: the program launcher's share in running the NIC (design §4, "Who is the processor").
//!
//! Ranks that wait run the NIC themselves. The NIC thread is for when they do not: it ticks while the job has work that nobody runs, so that
//! ranks that compute get their overlap; moves bytes whose both ends compute; looks for deadlocks; and sleeps when there is nothing to do. Of a
//! job on several nodes it also drives this node's part in the global slices: the network is its alone.
//!
//! | file | holds |
//! |---|---|
//! | `one_node` | the thread of a job on one node |
//! | `several_nodes` | the thread of a job on several nodes |
//! | `mover` | bytes whose both ends compute |
//! | `backoff` | how long a NIC thread waits for whoever has the run token |

mod backoff;
mod mover;
mod one_node;
mod several_nodes;

use crate::host::waiting;
use crate::host::wake_pipe::WakePipe;
use crate::matching::hang::{HangReport, LOOK_PERIOD};
use crate::memory::{Corrupt, NicMemory};
use bcs_core::{Driven, NodeId};
use one_node::Ticker;
use rustix::fd::OwnedFd;
use several_nodes::NodeDriver;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long the thread sleeps when there is no work: also how often it looks for a deadlock.
const IDLE_SLEEP: Duration = LOOK_PERIOD;

/// What the NIC thread found that ends the job.
#[derive(Clone, Debug)]
pub enum Finding {
    /// All ranks wait, and nothing pending can match.
    Deadlock(HangReport),
    /// A slice failed: NIC memory is corrupt.
    Slice(Corrupt),
    /// Another node of the job cannot be reached any more. Somebody else may know why.
    Unreachable {
        /// The node's number in the job.
        node: NodeId,
        /// What happened to the link to it.
        reason: String,
    },
    /// The ranks ask for what cannot be done, as mismatched collectives, or the job's network fails: what the NIC says of it, in lines.
    Told(String),
}

/// The exit status of a job that a finding ends.
pub const FINDING_STATUS: u8 = 125;

impl fmt::Display for Finding {
    /// As the user reads it, in lines.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::Deadlock(report) => {
                f.write_str(
                    "deadlock: every rank that is in MPI waits, and nothing that is pending can ever match\n",
                )?;
                report.fmt(f)
            }
            Finding::Slice(error) => write!(f, "the NIC of the job had to stop: {error}"),
            Finding::Unreachable { node, reason } => {
                write!(f, "{node} of the job cannot be reached any more ({reason}): its ranks are lost")
            }
            Finding::Told(text) => f.write_str(text),
        }
    }
}

struct Shared {
    memory: Arc<NicMemory>,
    alarm: Arc<OwnedFd>,
    /// Of a job on several nodes.
    pipe: Option<Arc<WakePipe>>,
    stop: AtomicBool,
    finding: Mutex<Option<Finding>>,
}

/// What a job on several nodes has beside its NIC memory.
pub struct Network {
    /// The primitives: its members are the job's nodes, its memory is as [`crate::global::GlobalLayout`] says.
    pub fabric: Box<dyn Driven>,
    /// How ranks wake the thread.
    pub pipe: Arc<WakePipe>,
}

impl Shared {
    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    fn report(&self, finding: Finding) {
        // When the job is being ended ranks leave, with messages of theirs under way: that is no reason
        // for its end. Memory that is corrupt may say anything.
        let is_being_ended = self.memory.header().abort.is_said();
        if is_being_ended && !matches!(finding, Finding::Slice(_)) {
            return;
        }
        // The first is why the job ends.
        self.finding.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get_or_insert(finding);
        // The launcher has the alarm in its poll set; a counter at its limit is as good as one more.
        let _ = rustix::io::write(&*self.alarm, &1u64.to_ne_bytes());
    }
}

/// Does work of the thread. A panic in it is a finding like others: nobody else would tell, and the ranks would wait for ever for a NIC that
/// nobody runs.
fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Finding> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message");
        Finding::Told(format!(
            "the NIC of the job had to stop: its thread panicked ({text}); a process of the job wrote outside its own memory, or BCS-MPI has a \
             fault: please report it with the line of the panic above"
        ))
    })
}

/// The running thread.
pub struct NicThread {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

impl NicThread {
    /// Starts the thread; with `core`, on that core for good, where it polls instead of ticking; with a network, as one node of several.
    pub fn start(
        memory: Arc<NicMemory>,
        core: Option<usize>,
        alarm: Arc<OwnedFd>,
        network: Option<Network>,
    ) -> std::io::Result<Self> {
        let pipe = network.as_ref().map(|network| network.pipe.clone());
        let stop = AtomicBool::new(false);
        let shared = Arc::new(Shared { memory, alarm, pipe, stop, finding: Mutex::new(None) });
        let of_thread = shared.clone();
        // The network's cryptography wants more of a stack than the NIC.
        let stack_bytes = if network.is_some() { 2 << 20 } else { 256 << 10 };
        let thread =
            std::thread::Builder::new().name("bcs-nic".into()).stack_size(stack_bytes).spawn(move || {
                if let Some(core) = core {
                    let mut set = rustix::thread::CpuSet::new();
                    set.set(core);
                    // Refused (no such core in this cpuset): the thread runs where it may, and ticks are as good as before.
                    let _ = rustix::thread::sched_setaffinity(None, &set);
                }
                let run = || match network {
                    None => Ticker::new(&of_thread, core.is_some()).run(),
                    Some(Network { fabric, pipe }) => {
                        NodeDriver::new(&of_thread, core.is_some(), fabric, &pipe).run();
                        Ok(())
                    }
                };
                if let Err(finding) = caught(run).unwrap_or_else(Err) {
                    of_thread.report(finding);
                }
            })?;
        Ok(Self { shared, thread })
    }

    /// What it found.
    pub fn finding(&self) -> Option<Finding> {
        self.shared.finding.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    /// Ends it.
    pub fn stop(self) {
        self.shared.stop.store(true, Ordering::Release);
        let pipe = self.shared.pipe.as_ref().map(|pipe| pipe.writer());
        waiting::wake_nic_thread(&self.shared.memory, pipe);
        let ended = self.thread.join();
        debug_assert!(ended.is_ok(), "a panic of the thread is caught in it");
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::memory::Layout;
    use crate::memory::abort;
    use rustix::event::{EventfdFlags, eventfd};

    #[test]
    fn what_is_found_when_the_job_is_being_ended_is_not_why_it_ends() {
        let memory = Arc::new(NicMemory::create_private(Layout::new(1, 1, [0; 2]).unwrap(), 0, 1).unwrap());
        let alarm = Arc::new(eventfd(0, EventfdFlags::NONBLOCK).unwrap());
        let of_job = || Shared {
            memory: memory.clone(),
            alarm: alarm.clone(),
            pipe: None,
            stop: AtomicBool::new(false),
            finding: Mutex::new(None),
        };
        let died = || Finding::Told("rank 1 has died".into());
        let before = of_job();
        before.report(died());
        assert!(before.finding.lock().unwrap().is_some());
        abort::say(&memory, 1, 3, "MPI_Abort");
        let after = of_job();
        after.report(died());
        assert!(after.finding.lock().unwrap().is_none());
    }
}
