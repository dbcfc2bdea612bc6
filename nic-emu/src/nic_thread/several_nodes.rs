//! The NIC thread of a job on several nodes: it drives this node's part in the global slices (`crate::global`).
//!
//! It is the only one with a hand on the network. While something is under way it polls, giving its core away between two looks; when all
//! has been quiet for a while it sleeps until a packet arrives, a rank wakes it ([`crate::wake_pipe`]), or something is due.

use super::mover::Mover;
use super::{Finding, IDLE_SLEEP, Shared};
use crate::global::{GlobalError, GlobalLayout, GlobalNic, Polled};
use crate::memory::NicMemory;
use crate::port::now_ns;
use crate::processor::Processor;
use crate::token::Holder;
use crate::waiting;
use crate::wake_pipe::WakePipe;
use bcs_core::Driven;
use rustix::fd::AsFd;
use std::time::Duration;

/// How long all is quiet before the thread sleeps, in nanoseconds: some round trips of a near network, so that it seldom sleeps while an answer is on its way.
const QUIET_NS: u64 = 200_000;
/// How long leaving the network may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// The loop of the thread.
pub(super) struct NodeDriver<'a> {
    shared: &'a Shared,
    memory: &'a NicMemory,
    nic: GlobalNic<Box<dyn Driven>>,
    mover: Mover<'a>,
    pipe: &'a WakePipe,
    polls: bool,
}

impl<'a> NodeDriver<'a> {
    pub(super) fn new(shared: &'a Shared, polls: bool, fabric: Box<dyn Driven>, pipe: &'a WakePipe) -> Self {
        let memory = &*shared.memory;
        let (_, nodes) = memory.node();
        let nic = GlobalNic::new(shared.memory.clone(), fabric, GlobalLayout::new(nodes));
        Self { shared, memory, nic, mover: Mover::new(shared), pipe, polls }
    }

    pub(super) fn run(mut self) {
        if let Err(finding) = self.drive() {
            self.shared.report(finding);
            self.linger();
        }
        self.nic.fabric_mut().leave(PATIENCE);
    }

    /// Drives this node's part, until the launcher ends it.
    fn drive(&mut self) -> Result<(), Finding> {
        let mut moved_at = now_ns();
        while !self.shared.is_over() {
            if self.look()? {
                moved_at = now_ns();
            } else if self.polls || now_ns().saturating_sub(moved_at) < QUIET_NS {
                rustix::thread::sched_yield();
            } else {
                self.sleep()?;
            }
        }
        Ok(())
    }

    /// Slices are over for this node, but not its part in the network: the others are to hear from it who is dead, and not to take it for dead, too.
    fn linger(&mut self) {
        while !self.shared.is_over() {
            // Who cannot take part any more has nothing left to do but to wait for its end.
            let _ = self.nic.fabric_mut().progress();
            let asleep = self.pipe.announce_sleep(self.memory);
            let timeout = self.nic.fabric().timeout().unwrap_or(IDLE_SLEEP).min(IDLE_SLEEP);
            if self.shared.is_over() || asleep.wait(self.nic.fabric().as_fd(), timeout).is_err() {
                return;
            }
        }
    }

    /// Does what can be done now. True if something was, or somebody else is at it.
    fn look(&mut self) -> Result<bool, Finding> {
        let moved = match self.nic.poll(now_ns()) {
            Err(error) => return Err(self.found(&error)),
            Ok(Polled::Busy) => return Ok(true),
            Ok(Polled::Done { moved, touched }) => {
                touched.iter().for_each(|touched| waiting::wake_touched(self.memory, touched));
                moved
            }
        };
        if self.memory.header().slice.transfers.get() != 0 {
            let processor = Processor::new(self.memory, Holder::NIC_THREAD);
            self.mover.move_bytes(&processor).map_err(|error| Finding::Told(error.to_string()))?;
        }
        Ok(moved)
    }

    /// What an error of the global slices is to the launcher.
    fn found(&self, error: &GlobalError) -> Finding {
        let fabric = self.nic.fabric();
        match *error {
            // A node that the others hold for dead has lost them all.
            GlobalError::NodeDied { node: died } => {
                let dead = fabric.dead();
                let mut lost = [died].into_iter().chain(dead.iter());
                let node = lost.find(|node| *node != fabric.node()).unwrap_or(died);
                let reason =
                    fabric.why_lost(node).unwrap_or_else(|| "other nodes hold it for dead".to_owned());
                Finding::Unreachable { node, reason }
            }
            ref error => Finding::Told(error.to_string()),
        }
    }

    fn sleep(&mut self) -> Result<(), Finding> {
        let asleep = self.pipe.announce_sleep(self.memory);
        // What was posted before the announcement nobody rings for.
        if self.look()? {
            return Ok(());
        }
        let due = self.nic.next_ns().map(|due| Duration::from_nanos(due.saturating_sub(now_ns())));
        let timeout =
            [due, self.nic.fabric().timeout()].into_iter().flatten().fold(IDLE_SLEEP, Duration::min);
        asleep.wait(self.nic.fabric().as_fd(), timeout).map_err(|error| {
            Finding::Told(format!(
                "the NIC thread cannot wait for the job's network: {error}; start the job again"
            ))
        })
    }
}
