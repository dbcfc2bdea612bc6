//! Processes that a launcher has left when it ended.
//!
//! The node manager adopts orphans, and so does every launcher. A living launcher has adopted its own, so
//! whatever is a child of the node manager and no launcher was left by a launcher that is gone, whatever it
//! did to its environment or its session. It is killed.
//!
//! Where jobs have control groups ([`super::groups`]), these are the remains that are to be reaped. Where
//! they have none, processes that fork, or are nested, faster than they are found can outlast the search.

use super::limits::{STRAYS, STRAYS_AT_ONCE};
use program_launcher::descendants;
use rustix::process::{Pid, Signal, WaitOptions};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::time::Duration;
use tokio::time::Instant;

/// The time between two looks: the kernel frees memory between a process's death and its end.
const BETWEEN: Duration = Duration::from_millis(2);

/// The children of the node manager that are not strays.
#[derive(Debug)]
pub struct Children {
    /// Those that this process had before it managed anything: of a shell that has replaced itself with it.
    earlier: Vec<Pid>,
    launchers: RefCell<BTreeSet<i32>>,
}

impl Children {
    /// Makes this process the one that adopts the orphans among its descendants.
    ///
    /// # Errors
    /// The kernel refuses that.
    pub fn adopt() -> io::Result<Self> {
        let earlier = descendants::children();
        descendants::adopt_orphans()?;
        Ok(Self { earlier, launchers: RefCell::default() })
    }

    /// A launcher was started.
    pub fn add(&self, launcher: Pid) {
        self.launchers.borrow_mut().insert(launcher.as_raw_pid());
    }

    /// A launcher has ended and was waited for: its number may come again.
    pub fn remove(&self, launcher: Pid) {
        self.launchers.borrow_mut().remove(&launcher.as_raw_pid());
    }

    /// Kills all strays and waits until they are gone. Gives back how many are still there after some
    /// seconds.
    pub async fn kill_strays(&self) -> usize {
        let deadline = Instant::now() + STRAYS;
        let mut is_clear = false;
        loop {
            // A process that ends while the kernel lists them can hide another: what was not seen twice is
            // not there.
            match self.sweep() {
                0 if is_clear => return 0,
                0 => is_clear = true,
                left if Instant::now() >= deadline => return left,
                left => {
                    is_clear = false;
                    match left >= STRAYS_AT_ONCE {
                        true => tokio::task::yield_now().await,
                        false => tokio::time::sleep(BETWEEN).await,
                    }
                }
            }
        }
    }

    /// Kills the strays that there are now, [`STRAYS_AT_ONCE`] or a few more of them, and gives back how many
    /// there were. Those that have ended count: their children may have come to us since the look.
    fn sweep(&self) -> usize {
        let launchers = self.launchers.borrow();
        let is_stray = |pid: &Pid| !self.earlier.contains(pid) && !launchers.contains(&pid.as_raw_pid());
        let mut count = 0;
        // Among so many there is a stray, if there is any.
        let looked_at = launchers.len() + self.earlier.len() + STRAYS_AT_ONCE;
        for pid in descendants::some_children(looked_at).into_iter().filter(is_stray) {
            count += 1;
            let _ = rustix::process::kill_process_group(pid, Signal::KILL);
            let _ = rustix::process::kill_process(pid, Signal::KILL);
            let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
        }
        count
    }
}
