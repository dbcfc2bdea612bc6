//! The thread itself: started with the job, ended with it.

use super::finding::{Finding, caught};
use super::one_node::Ticker;
use super::several_nodes::NodeDriver;
use super::shared::Shared;
use crate::host::waiting;
use crate::host::wake_pipe::WakePipe;
use crate::memory::NicMemory;
use bcs_core::NodeSet;
use bcs_fabric::DrivenRoad;
use rustix::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// What a job on several nodes has beside its NIC memory.
pub struct Network {
    /// The primitives: its members are the job's nodes, its memory is as [`crate::global::GlobalLayout`]
    /// says.
    pub fabric: Box<dyn DrivenRoad>,
    /// How ranks wake the thread.
    pub pipe: Arc<WakePipe>,
}

/// The running thread.
pub struct NicThread {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

impl NicThread {
    /// Starts the thread; with `core`, on that core for good, where it polls instead of ticking; with a
    /// network, as one node of several.
    pub fn start(
        memory: Arc<NicMemory>,
        core: Option<usize>,
        alarm: Arc<OwnedFd>,
        network: Option<Network>,
    ) -> std::io::Result<Self> {
        let pipe = network.as_ref().map(|network| network.pipe.clone());
        let stop = AtomicBool::new(false);
        let shared = Arc::new(Shared {
            memory,
            alarm,
            pipe,
            stop,
            finding: Mutex::new(None),
            stopped: Mutex::default(),
        });
        let of_thread = shared.clone();
        // The network's cryptography wants more of a stack than the NIC.
        let stack_bytes = if network.is_some() { 2 << 20 } else { 256 << 10 };
        let thread =
            std::thread::Builder::new().name("bcs-nic".into()).stack_size(stack_bytes).spawn(move || {
                if let Some(core) = core {
                    let mut set = rustix::thread::CpuSet::new();
                    set.set(core);
                    // Refused (no such core in this cpuset): the thread runs where it may, and ticks are as
                    // good as before.
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

    /// Other nodes of the job that say nothing while their hosts answer, when it looked last.
    pub fn stopped(&self) -> NodeSet {
        self.shared.stopped.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
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
