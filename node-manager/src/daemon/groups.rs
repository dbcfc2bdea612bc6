//! Control groups (cgroup v2): one for each job, in which its launcher is made, so that all that the job ever
//! starts can be counted and killed, however it forks and whatever it does to its parentage.
//!
//! A process is made in its group (`CLONE_INTO_CGROUP`) and never moved, which would wait for every processor
//! of the machine. The groups are made below the node manager's own: under systemd the unit delegates that
//! one to it. Where there is no such hierarchy, or it is not ours to write, jobs run without, and what they
//! leave is looked for process by process ([`super::strays`]).
//!
//! ```text
//!  BASE                  the node manager's own group
//!  ├─ bcs-mpi.daemon     the node manager, where BASE has to be empty to limit what is below it
//!  └─ bcs-mpi.PID.N      a job of the node manager PID: its launcher, ranks, and whatever they start
//! ```
//!
//! The invariant: a group has no process when it is removed, and a job that is over has no group.

use super::limits::{PROCESSES_PER_RANK, STRAYS};
use rustix::fs::{CWD, Mode, OFlags};
use std::cell::Cell;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::Instant;

/// The first word of the names of our groups.
const PREFIX: &str = "bcs-mpi";

/// The time between two looks whether all that was killed is gone.
const BETWEEN: Duration = Duration::from_millis(2);

/// Why jobs have no control groups here.
#[derive(Debug, thiserror::Error)]
pub enum NoGroups {
    /// There is no hierarchy of version 2 that this process is in.
    #[error("there is no hierarchy of cgroup v2 here")]
    NoHierarchy,
    /// The kernel cannot kill a group, or make a process in one.
    #[error("the kernel is older than 5.14, or refuses clone3")]
    Kernel,
    /// It is not ours to write.
    #[error("cannot {what} {}: {error}", path.display())]
    Refused {
        /// What was tried.
        what: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// What the kernel said.
        error: io::Error,
    },
}

/// Where the groups of jobs are made.
#[derive(Debug)]
pub struct Groups {
    base: PathBuf,
    /// Whether processes can be limited.
    is_limiting: bool,
    next: Cell<u64>,
}

/// The group of a job.
#[derive(Debug)]
pub struct Group {
    path: PathBuf,
    directory: OwnedFd,
}

impl Groups {
    /// Looks whether jobs can have groups, and makes it so that their processes can be counted.
    ///
    /// # Errors
    /// They can have none.
    pub fn find() -> Result<Self, NoGroups> {
        let base = own_group().ok_or(NoGroups::NoHierarchy)?;
        if !has_clone3() {
            return Err(NoGroups::Kernel);
        }
        remove_leftovers(&base);
        let mut groups = Self { base, is_limiting: false, next: Cell::new(0) };
        let tried = groups.make(1)?;
        if !tried.path.join("cgroup.kill").exists() {
            return Err(NoGroups::Kernel);
        }
        drop(tried);
        groups.is_limiting = limit_processes(&groups.base);
        Ok(groups)
    }

    /// Whether the processes of a job are limited.
    pub fn is_limiting(&self) -> bool {
        self.is_limiting
    }

    /// Makes the group of a job with so many ranks here.
    ///
    /// # Errors
    /// The kernel refuses that.
    pub fn make(&self, ranks: u64) -> Result<Group, NoGroups> {
        let number = self.next.replace(self.next.get() + 1);
        let path = self.base.join(format!("{PREFIX}.{}.{number}", std::process::id()));
        let refused = |what| {
            let path = path.clone();
            move |error| NoGroups::Refused { what, path, error }
        };
        fs::create_dir(&path).map_err(refused("make the control group"))?;
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let directory = rustix::fs::openat(CWD, &path, flags, Mode::empty())
            .map_err(|error| refused("open the control group")(error.into()))?;
        let group = Group { path: path.clone(), directory };
        if self.is_limiting {
            let limit = (ranks + 1) * PROCESSES_PER_RANK;
            let written = fs::write(group.path.join("pids.max"), limit.to_string());
            written.map_err(refused("limit the processes of the control group"))?;
        }
        Ok(group)
    }
}

impl Group {
    /// Kills all processes of the group, however fast they fork, and removes it. False if some are still
    /// there after some seconds, which only the kernel can hold.
    pub async fn end(self) -> bool {
        let until = Instant::now() + STRAYS;
        loop {
            // Again each time: it costs nothing when there are none.
            let killed = fs::write(self.path.join("cgroup.kill"), "1");
            match killed {
                Ok(()) if !self.is_populated() => return true,
                Ok(()) if Instant::now() < until => tokio::time::sleep(BETWEEN).await,
                Ok(()) => return false,
                Err(error) => {
                    tracing::error!(%error, group = %self.path.display(), "cannot kill a control group");
                    return false;
                }
            }
        }
    }

    fn is_populated(&self) -> bool {
        let events = fs::read_to_string(self.path.join("cgroup.events")).unwrap_or_default();
        !events.lines().any(|line| line == "populated 0")
    }
}

impl AsFd for Group {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir(&self.path) {
            tracing::warn!(%error, group = %self.path.display(), "a control group is left");
        }
    }
}

/// Where the group of this process is, in the file system.
fn own_group() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    mounts.lines().find_map(|line| place(line, Path::new(own)))
}

/// Where a group is, if this line of `mountinfo` shows a hierarchy that it is in: `36 35 0:30 ROOT MOUNT rw,…
/// … - cgroup2 cgroup2 rw`.
fn place(line: &str, group: &Path) -> Option<PathBuf> {
    let (place, kind) = line.split_once(" - ")?;
    let mut fields = place.split(' ').skip(3);
    let (root, mount) = (fields.next()?, fields.next()?);
    let below = group.strip_prefix(root).ok().filter(|_| kind.starts_with("cgroup2 "))?;
    Some(Path::new(mount).join(below))
}

/// Whether processes can be made with `clone3`: a size that no version of its arguments has is refused in
/// another way than the call.
fn has_clone3() -> bool {
    // SAFETY: no arguments are given, and none are read.
    let refused = unsafe { libc::syscall(libc::SYS_clone3, std::ptr::null::<u8>(), 0) };
    refused == -1 && io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL)
}

/// Removes the empty groups of node managers that were killed.
fn remove_leftovers(base: &Path) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let mut words = name.to_str().unwrap_or_default().split('.');
        if words.next() == Some(PREFIX)
            && let Some(Ok(pid)) = words.next().map(str::parse::<u32>)
            && !Path::new("/proc").join(pid.to_string()).exists()
        {
            // One with processes refuses.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Makes the number of processes a resource that groups below this one can limit. Where others are in it, it
/// is not ours to change.
fn limit_processes(base: &Path) -> bool {
    let has = |file: &str| {
        let controllers = fs::read_to_string(base.join(file)).unwrap_or_default();
        controllers.split_whitespace().any(|name| name == "pids")
    };
    if !has("cgroup.controllers") {
        return false;
    }
    if !has("cgroup.subtree_control") {
        // The root of all groups has no type, and may have processes of its own.
        if base.join("cgroup.type").exists() && !make_room(base) {
            return false;
        }
        let _ = fs::write(base.join("cgroup.subtree_control"), "+pids");
    }
    has("cgroup.subtree_control")
}

/// Moves this process out of its group into one below it, if it is alone there.
fn make_room(base: &Path) -> bool {
    let own = std::process::id().to_string();
    let inside = fs::read_to_string(base.join("cgroup.procs")).unwrap_or_default();
    if inside.split_whitespace().any(|pid| pid != own) {
        return false;
    }
    let daemon = base.join(format!("{PREFIX}.daemon"));
    // It may be there.
    let _ = fs::create_dir(&daemon);
    fs::write(daemon.join("cgroup.procs"), own).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    #[test]
    fn group_of_a_process_is_found_below_the_mount_that_shows_it() {
        let group = Path::new("/system.slice/node-manager.service");
        let found = |line| place(line, group).map(|path| path.display().to_string());
        let unified = "31 23 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate";
        assert_eq!(found(unified).unwrap(), "/sys/fs/cgroup/system.slice/node-manager.service");
        let part = "31 23 0:27 /system.slice /mnt rw - cgroup2 none rw";
        assert_eq!(found(part).unwrap(), "/mnt/node-manager.service");
        for other in [
            "31 23 0:27 /user.slice /sys/fs/cgroup rw - cgroup2 cgroup2 rw",
            "32 23 0:28 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids",
            "nonsense",
        ] {
            assert_eq!(found(other), None);
        }
        assert_eq!(place(unified, Path::new("/")), Some("/sys/fs/cgroup/".into()));
    }

    #[test]
    fn all_processes_of_a_group_are_killed_and_it_is_gone() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let groups = match Groups::find() {
            Ok(groups) => groups,
            Err(reason) => return bcs_harness::skip(reason),
        };
        let group = groups.make(2).unwrap();
        let path = group.path.clone();
        if groups.is_limiting() {
            assert_eq!(fs::read_to_string(path.join("pids.max")).unwrap().trim(), "3072");
        }
        // Nothing is started before it is in the group, and nothing keeps the test's output open.
        let mut shell = std::process::Command::new("/bin/sh");
        shell
            .args(["-c", "read line; sleep 100 & exec sleep 100"])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = shell.stdin(Stdio::piped()).spawn().unwrap();
        fs::write(path.join("cgroup.procs"), child.id().to_string()).unwrap();
        drop(child.stdin.take());
        assert!(group.is_populated());
        assert!(runtime.block_on(group.end()));
        assert!(!path.exists() && !child.wait().unwrap().success());
    }
}
