//! How a process ends the job, and itself after that: it waits until the record says who was first.

use crate::memory::{LocalRank, NicMemory, abort};

/// How often a process that came second yields its core while the first one writes what it has to say: it
/// ends after that, and its end should not be seen before the first one's reason. Bounded, since the first
/// one may be killed meanwhile.
const YIELDS: u32 = 10_000;

/// Says that a rank ends the job. Only the first to say so is heard; answers whether it was.
pub fn say(memory: &NicMemory, local_rank: LocalRank, code: i32, message: &str) -> bool {
    let is_first = abort::say(memory, local_rank, code, message);
    wait_until_said(memory);
    is_first
}

/// Says what the NIC has found, because of which the job ends. Only the first is heard.
pub fn say_of_nic(memory: &NicMemory, message: &str) {
    abort::say_of_nic(memory, message);
    wait_until_said(memory);
}

fn wait_until_said(memory: &NicMemory) {
    for _ in 0..YIELDS {
        if memory.header().abort.is_said() {
            break;
        }
        rustix::thread::sched_yield();
    }
}
