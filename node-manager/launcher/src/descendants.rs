//! Finding and killing what a job has left: every process below one that adopts orphans.
//!
//! The launcher and `storm` are child subreapers. A process whose ancestors are all gone becomes their
//! child, wherever it went (a shell's background job, a daemon that forked twice). So killing one's
//! children until there are none kills all descendants, and a process id cannot be reused while its
//! owner is our unreaped child.
//!
//! A control group kills a job in one write. A node manager makes each launcher in one, where it can
//! (`daemon::groups`). Here, below `storm` and within a launcher, there is none: whoever starts `storm` has
//! no group to make others in.

#![expect(clippy::disallowed_methods, reason = "waiting for the kernel takes real time")]

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};
use std::fs::{self, File};
use std::io::{self, Read};
use std::time::{Duration, Instant};

/// How long to wait for processes that were killed. Only the kernel can hold one longer (a dead
/// network file system), and then nothing can be done about it from here.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a process without an environment may be about to get one. Past this it was started with none.
const EXECUTION: Duration = Duration::from_millis(100);

/// Makes this process the one that adopts the orphans among its descendants.
pub fn adopt_orphans() -> io::Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

/// The children of this process that have not been waited for.
pub fn children() -> Vec<Pid> {
    some_children(usize::MAX)
}

/// So many of them, or all if there are fewer; a few more of a process of several threads. The kernel makes
/// no longer list than is read.
pub fn some_children(count: usize) -> Vec<Pid> {
    children_listed(count).unwrap_or_else(children_scanned)
}

/// As the kernel lists them, thread by thread; `None` where it was built without that list.
fn children_listed(count: usize) -> Option<Vec<Pid>> {
    /// Of the highest number, with a space.
    const DIGITS: u64 = 8;
    let bytes = DIGITS.saturating_mul(count as u64);
    let mut found = Vec::new();
    for thread in fs::read_dir("/proc/self/task").ok()?.flatten() {
        let mut list = String::new();
        let read = File::open(thread.path().join("children"))
            .and_then(|file| file.take(bytes).read_to_string(&mut list));
        // A thread may end between the two looks, and then has no children.
        match read {
            Ok(_) => {
                // Each is followed by a space, but for one that was cut.
                let whole = list.rfind(' ').map_or("", |end| &list[..end]);
                found.extend(whole.split_ascii_whitespace().filter_map(parse_pid));
            }
            Err(_) if thread.path().exists() => return None,
            Err(_) => {}
        }
    }
    Some(found)
}

/// By looking at the parent of every process.
fn children_scanned() -> Vec<Pid> {
    let me = rustix::process::getpid();
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    processes
        .flatten()
        .filter_map(|entry| {
            let pid = parse_pid(entry.file_name().to_str()?)?;
            let status = fs::read_to_string(entry.path().join("stat")).ok()?;
            // The name of the program stands in brackets and may hold anything; the state and the
            // parent follow it.
            let parent = status.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?;
            (parse_pid(parent)? == me).then_some(pid)
        })
        .collect()
}

fn parse_pid(text: &str) -> Option<Pid> {
    text.parse().ok().and_then(Pid::from_raw)
}

/// Kills every descendant of which `ours` says that it may be killed, and waits for their ends.
/// Gives back how many are left that could not be killed within some seconds.
pub fn kill_all(ours: impl Fn(Pid) -> bool) -> usize {
    let deadline = Instant::now() + PATIENCE;
    let mut empty_looks = 0;
    loop {
        reap_ended();
        let children = children();
        if children.is_empty() {
            return 0;
        }
        let left: Vec<Pid> = children.into_iter().filter(|pid| ours(*pid)).collect();
        if Instant::now() >= deadline {
            return left.len();
        }
        if left.is_empty() {
            // One that ended while it was looked at has no environment to be known by, and has left us its
            // children. The kernel's list of children may miss some while others end.
            empty_looks = if reap_ended() == 0 { empty_looks + 1 } else { 0 };
            match empty_looks {
                2.. => return 0,
                _ => continue,
            }
        }
        empty_looks = 0;
        for pid in &left {
            // Ranks lead a group; their shells' children go with it. Refused for groups that do not
            // exist and for processes of other users, which then stay in the count.
            let _ = rustix::process::kill_process_group(*pid, Signal::KILL);
            let _ = rustix::process::kill_process(*pid, Signal::KILL);
        }
        for pid in left {
            wait_for_end(pid, deadline);
        }
    }
}

/// Reaps the children that have ended. Gives back how many.
fn reap_ended() -> usize {
    std::iter::from_fn(|| rustix::process::wait(WaitOptions::NOHANG).ok().flatten()).count()
}

/// Waits until a child has ended, without reaping it.
fn wait_for_end(pid: Pid, deadline: Instant) {
    let Ok(pidfd) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else { return };
    let timeout = Timespec::try_from(deadline.saturating_duration_since(Instant::now())).ok();
    // Interrupted or out of time: the caller looks at what is left.
    let _ = poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], timeout.as_ref());
}

/// Whether the environment that a process was started with holds this entry.
///
/// While a process executes a new program there is a moment without an environment; that moment is waited
/// out.
pub fn was_started_with(pid: Pid, entry: &[u8]) -> bool {
    let begun = Instant::now();
    loop {
        // Of a process that ends the kernel may give an error, too.
        let environment = fs::read(format!("/proc/{}/environ", pid.as_raw_pid())).unwrap_or_default();
        if !environment.is_empty() {
            return environment.split(|byte| *byte == 0).any(|present| present == entry);
        }
        let patience = match life(pid) {
            Life::Lives => EXECUTION,
            // Its children are still its own.
            Life::Ends => PATIENCE,
            Life::HasEnded => return false,
        };
        if begun.elapsed() >= patience {
            return false;
        }
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// Where a process is in its life, as the kernel tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Lives,
    /// It has given its memory back, and not yet its children.
    Ends,
    /// Reaped or not.
    HasEnded,
}

fn life(pid: Pid) -> Life {
    /// The kernel's flag of a process that ends (`PF_EXITING`).
    const ENDS: u64 = 0x4;
    let Ok(status) = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid())) else {
        return Life::HasEnded;
    };
    // The name of the program stands in brackets and may hold anything; state, parent, group, session,
    // terminal, its group and the flags follow it.
    let mut fields = status.rsplit_once(')').map_or("", |(_, rest)| rest).split_ascii_whitespace();
    match fields.next() {
        None | Some("Z" | "X") => Life::HasEnded,
        Some(_) => {
            let flags = fields.nth(5).and_then(|flags| flags.parse::<u64>().ok()).unwrap_or(0);
            if flags & ENDS == 0 { Life::Lives } else { Life::Ends }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn both_ways_to_list_children_see_a_child() {
        let mut child = Command::new("sleep").arg("30").spawn().unwrap();
        let pid = Pid::from_raw(child.id() as i32).unwrap();
        if let Some(listed) = children_listed(usize::MAX) {
            assert!(listed.contains(&pid));
            assert!(children_listed(1).unwrap().len() <= listed.len());
            assert_eq!(children_listed(0), Some(vec![]));
        }
        assert!(children_scanned().contains(&pid));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn environment_of_a_process_is_told_apart_entry_by_entry_as_soon_as_there_is_the_process() {
        for _ in 0..50 {
            let mut child = Command::new("sleep").arg("30").env("BCS_JOB", "12").spawn().unwrap();
            let pid = Pid::from_raw(child.id() as i32).unwrap();
            assert!(was_started_with(pid, b"BCS_JOB=12"));
            assert!(!was_started_with(pid, b"BCS_JOB=1"));
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    #[test]
    fn process_that_has_ended_or_has_no_environment_was_not_started_with_an_entry() {
        let mut child = Command::new("sleep").arg("30").env_clear().spawn().unwrap();
        let pid = Pid::from_raw(child.id() as i32).unwrap();
        assert!(!was_started_with(pid, b"BCS_JOB=12"));
        assert_eq!(life(pid), Life::Lives);
        child.kill().unwrap();
        wait_for_end(pid, Instant::now() + PATIENCE);
        assert!(life(pid) == Life::HasEnded && !was_started_with(pid, b"BCS_JOB=12"));
        child.wait().unwrap();
        assert!(!was_started_with(pid, b"BCS_JOB=12"));
    }
}
