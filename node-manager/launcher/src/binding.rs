//! Binding of ranks to processors (`--bind-to`): which hardware threads of the node a rank may run on.
//!
//! The processors that the launcher itself may use are grouped by what they share (a core, a cache, a
//! socket), as the kernel describes it in `/sys/devices/system/cpu`. The rank with local index *i* gets the
//! group *i* modulo their number, so neighbours in rank are neighbours on the machine, and more ranks than
//! groups share them.

use bcs_core::NodeSet;
use rkyv::{Archive, Deserialize, Serialize};
use rustix::thread::{CpuSet, sched_getaffinity};
use std::fmt;
use std::fs;
use std::io;
use std::path::Path;
use std::str::FromStr;

/// What a rank is bound to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Archive, Serialize, Deserialize)]
pub enum BindTo {
    /// Nothing: a rank runs wherever the kernel puts it, and one that blocks lends whatever core it is on.
    #[default]
    None,
    /// A hardware thread.
    HardwareThread,
    /// A core, with all its hardware threads.
    Core,
    /// What shares a cache of this level, from 1.
    Cache(u8),
    /// What is near to the same memory.
    Numa,
    /// A socket.
    Socket,
}

/// The spellings that [`BindTo`] is read from, for messages.
pub const SPELLINGS: &str = "none, hwthread, core, l1cache, l2cache, l3cache, numa or socket";

impl FromStr for BindTo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // Open MPI's qualifier says what always holds here: ranks may share what they are bound to.
        let unit = text.strip_suffix(":overload-allowed").unwrap_or(text);
        Ok(match unit.to_ascii_lowercase().as_str() {
            "none" | "no" => Self::None,
            "hwthread" | "threads" | "pu" => Self::HardwareThread,
            "core" | "cores" => Self::Core,
            "l1cache" | "l1" => Self::Cache(1),
            "l2cache" | "l2" => Self::Cache(2),
            "l3cache" | "l3" => Self::Cache(3),
            "numa" | "ldoms" => Self::Numa,
            "socket" | "sockets" | "package" => Self::Socket,
            _ => return Err(format!("give one of {SPELLINGS}")),
        })
    }
}

impl fmt::Display for BindTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::HardwareThread => f.write_str("hwthread"),
            Self::Core => f.write_str("core"),
            Self::Cache(level) => write!(f, "l{level}cache"),
            Self::Numa => f.write_str("numa"),
            Self::Socket => f.write_str("socket"),
        }
    }
}

/// How a job's ranks are bound, and whether that is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Archive, Serialize, Deserialize)]
pub struct Binding {
    /// To what.
    pub to: BindTo,
    /// Whether each rank's binding is told to the user (`--report-bindings`).
    pub report: bool,
}

/// The groups of processors of this node that ranks are bound to, in the order of the machine. Empty for
/// [`BindTo::None`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    to: BindTo,
    allowed: NodeSet,
    groups: Vec<NodeSet>,
}

impl Groups {
    /// The groups of this node, among the processors that this process may use but for the one that the NIC
    /// has for good.
    ///
    /// # Errors
    /// The kernel does not say which these are, or does not describe them so.
    pub fn here(to: BindTo, nic_core: Option<usize>) -> io::Result<Self> {
        let set = sched_getaffinity(None)?;
        let allowed = (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu) && nic_core != Some(*cpu));
        Self::of(to, allowed.map(numbered).collect(), Path::new("/sys/devices/system"))
    }

    /// The groups of these processors, by the kernel's description in this directory.
    fn of(to: BindTo, allowed: NodeSet, system: &Path) -> io::Result<Self> {
        let mut groups: Vec<NodeSet> = Vec::new();
        if to != BindTo::None {
            for cpu in allowed.iter() {
                if !groups.iter().any(|group| group.contains(cpu)) {
                    let sharing = sharing(to, cpu.index(), system)?;
                    groups.push(sharing.union(&NodeSet::single(cpu)).intersection(&allowed));
                }
            }
        }
        Ok(Self { to, allowed, groups })
    }

    /// Where in [`Groups`] the rank with this local index is, and the processors that it is bound to; none if
    /// it is not bound.
    fn group(&self, local_index: u32) -> Option<(usize, &NodeSet)> {
        let index = (local_index as usize).checked_rem(self.groups.len())?;
        self.groups.get(index).map(|group| (index, group))
    }

    /// The processors that the rank with this local index is bound to, as the kernel takes them.
    pub fn processors(&self, local_index: u32) -> Option<CpuSet> {
        let (_, group) = self.group(local_index)?;
        let mut set = CpuSet::new();
        group.iter().for_each(|cpu| set.set(cpu.index()));
        Some(set)
    }

    /// What to tell the user of that rank: `bound to core 1 (processors 1,5)`.
    pub fn describe(&self, local_index: u32) -> String {
        match self.group(local_index) {
            Some((index, group)) => format!("bound to {} {index} (processors {group})", self.to),
            None => format!("not bound (processors {})", self.allowed),
        }
    }
}

/// Whether this process may use the core that the user gives to the NIC for good.
///
/// # Errors
/// It may not; what it may use.
pub fn check_nic_core(core: usize) -> Result<(), String> {
    let set = sched_getaffinity(None).map_err(|error| {
        format!("--nic-core {core}: the kernel does not say which cores there are: {error}")
    })?;
    let allowed: NodeSet = (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).map(numbered).collect();
    match allowed.iter().any(|cpu| cpu.index() == core) {
        true => Ok(()),
        false => Err(format!(
            "--nic-core {core}: this job may use cores {allowed}; give one that it may use on all its nodes"
        )),
    }
}

fn numbered(cpu: usize) -> bcs_core::NodeId {
    bcs_core::NodeId(cpu as u32)
}

/// The processors that share with this one what ranks are bound to; empty where the kernel does not describe
/// it, which is then all of the machine (a machine without an L3 cache, say).
fn sharing(to: BindTo, cpu: usize, system: &Path) -> io::Result<NodeSet> {
    let directory = system.join(format!("cpu/cpu{cpu}"));
    let list = |path: &str| read_list(&directory.join(path));
    match to {
        BindTo::None | BindTo::HardwareThread => Ok(NodeSet::new()),
        BindTo::Core => list("topology/thread_siblings_list"),
        BindTo::Socket => list("topology/core_siblings_list"),
        BindTo::Cache(level) => {
            for entry in fs::read_dir(directory.join("cache"))? {
                let path = entry?.path();
                let read = |name: &str| fs::read_to_string(path.join(name)).unwrap_or_default();
                if read("level").trim() == level.to_string() && read("type").trim() != "Instruction" {
                    return read_list(&path.join("shared_cpu_list"));
                }
            }
            Err(io::Error::other(format!("processor {cpu} has no cache of level {level}")))
        }
        BindTo::Numa => {
            for entry in fs::read_dir(system.join("node"))? {
                let path = entry?.path();
                if !path.join("cpulist").exists() {
                    continue;
                }
                let processors = read_list(&path.join("cpulist"))?;
                if processors.contains(numbered(cpu)) {
                    return Ok(processors);
                }
            }
            Err(io::Error::other(format!("the kernel does not say to which memory processor {cpu} is near")))
        }
    }
}

/// A list of processors as the kernel writes it, `0-3,8`.
fn read_list(path: &Path) -> io::Result<NodeSet> {
    let context = |reason: String| io::Error::other(format!("{}: {reason}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| context(error.to_string()))?;
    text.trim().parse().map_err(|error: bcs_core::node_set::NodeSetError| context(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine of two sockets with two cores of two hardware threads each, numbered as Linux does: the
    /// second threads come last.
    fn machine() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for cpu in 0..8 {
            let core = cpu % 4;
            let socket = core / 2;
            let base = root.path().join(format!("cpu/cpu{cpu}"));
            fs::create_dir_all(base.join("topology")).unwrap();
            let near = format!("{}-{},{}-{}\n", 2 * socket, 2 * socket + 1, 2 * socket + 4, 2 * socket + 5);
            fs::write(base.join("topology/thread_siblings_list"), format!("{core},{}\n", core + 4)).unwrap();
            fs::write(base.join("topology/core_siblings_list"), &near).unwrap();
            for (index, level, kind) in [(0, 1, "Data"), (1, 1, "Instruction"), (2, 2, "Unified")] {
                let cache = base.join(format!("cache/index{index}"));
                fs::create_dir_all(&cache).unwrap();
                fs::write(cache.join("level"), format!("{level}\n")).unwrap();
                fs::write(cache.join("type"), format!("{kind}\n")).unwrap();
                let sharing = if level == 1 { format!("{core},{}\n", core + 4) } else { near.clone() };
                fs::write(cache.join("shared_cpu_list"), sharing).unwrap();
            }
        }
        for (node, list) in ["0-1,4-5\n", "2-3,6-7\n"].iter().enumerate() {
            let path = root.path().join(format!("node/node{node}"));
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join("cpulist"), list).unwrap();
        }
        fs::write(root.path().join("node/online"), "0-1\n").unwrap();
        root
    }

    fn groups(to: BindTo, allowed: &str) -> Vec<String> {
        let machine = machine();
        let groups = Groups::of(to, allowed.parse().unwrap(), machine.path()).unwrap();
        groups.groups.iter().map(NodeSet::to_string).collect()
    }

    #[test]
    fn processors_are_grouped_by_what_they_share() {
        assert_eq!(groups(BindTo::HardwareThread, "0-2"), ["0", "1", "2"]);
        assert_eq!(groups(BindTo::Core, "0-7"), ["0,4", "1,5", "2,6", "3,7"]);
        assert_eq!(groups(BindTo::Cache(1), "0-7"), ["0,4", "1,5", "2,6", "3,7"]);
        assert_eq!(groups(BindTo::Cache(2), "0-7"), ["0-1,4-5", "2-3,6-7"]);
        assert_eq!(groups(BindTo::Numa, "0-7"), ["0-1,4-5", "2-3,6-7"]);
        assert_eq!(groups(BindTo::Socket, "0-7"), ["0-1,4-5", "2-3,6-7"]);
        assert!(groups(BindTo::None, "0-7").is_empty());
    }

    #[test]
    fn a_rank_gets_only_processors_that_the_launcher_may_use() {
        assert_eq!(groups(BindTo::Core, "1,2,6"), ["1", "2,6"]);
        assert_eq!(groups(BindTo::Socket, "1,2,6"), ["1", "2,6"]);
    }

    #[test]
    fn more_ranks_than_groups_share_them_in_turn() {
        let machine = machine();
        let groups = Groups::of(BindTo::Core, "0-1,4-5".parse().unwrap(), machine.path()).unwrap();
        let told: Vec<_> = (0..3).map(|local_index| groups.describe(local_index)).collect();
        let core = |index: u32| format!("bound to core {index} (processors {index},{})", index + 4);
        assert_eq!(told, [core(0), core(1), core(0)]);
        let set = groups.processors(2).unwrap();
        assert_eq!((0..8).filter(|cpu| set.is_set(*cpu)).collect::<Vec<_>>(), [0, 4]);
        let free = Groups::of(BindTo::None, "0-1".parse().unwrap(), machine.path()).unwrap();
        assert!(free.processors(0).is_none());
        assert_eq!(free.describe(0), "not bound (processors 0-1)");
    }

    #[test]
    fn what_the_machine_does_not_have_is_told() {
        let machine = machine();
        let error = Groups::of(BindTo::Cache(3), "0-1".parse().unwrap(), machine.path()).unwrap_err();
        assert_eq!(error.to_string(), "processor 0 has no cache of level 3");
    }

    #[test]
    fn this_machine_has_a_core_for_a_rank() {
        let groups = Groups::here(BindTo::Core, None).unwrap();
        assert!(groups.processors(0).is_some_and(|set| set.count() > 0));
    }

    #[test]
    fn spellings_of_other_launchers_are_read() {
        for (text, to) in [
            ("none", BindTo::None),
            ("core:overload-allowed", BindTo::Core),
            ("L3cache", BindTo::Cache(3)),
            ("package", BindTo::Socket),
            ("threads", BindTo::HardwareThread),
        ] {
            assert_eq!(text.parse(), Ok(to));
        }
        assert!("board".parse::<BindTo>().unwrap_err().contains("l3cache"));
    }
}
