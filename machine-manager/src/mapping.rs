//! From ranks to nodes: where the user wants the ranks of a job, and where they go (paper, §4.1).
//!
//! The nodes on offer are those that are up, with the fewest ranks for each core first, or those that the
//! user names, in the user's order. Each has *slots*: its cores, or what the user says. Ranks are dealt to
//! slots, and where there are more ranks than slots, it starts again: more ranks than cores need no option.
//! Invariants: every rank is placed once; no node has more than `--ppn` ranks; with `--nodes` exactly so many
//! have ranks; rank 0 is on the job's node 0.

use bcs_core::Placement;
use bcs_protocol::storm::{Mapping, Wish};
use program_launcher::job::MAX_RANKS_PER_NODE;
use std::collections::HashMap;

/// How many names an error lists.
const NAMES_SHOWN: usize = 16;

/// A node that is on offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots<'a> {
    /// Its host.
    pub host: &'a str,
    /// How many ranks it takes before the next one gets some, unless the user says otherwise: its cores.
    pub slots: u32,
}

/// Where the ranks of a job go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// For each node of the job, by the job's numbers, its index into the nodes that were on offer.
    pub hosts: Vec<usize>,
    /// Which of these nodes each rank is on.
    pub placement: Placement,
}

/// The nodes that could be used, as an error calls them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfferedHosts {
    /// All that are up.
    Up(usize),
    /// Those that the user names.
    Named(usize),
    /// So many as the user asks for.
    Asked(usize),
}

impl std::fmt::Display for OfferedHosts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Up(1) => f.write_str("1 is up"),
            Self::Up(count) => write!(f, "{count} are up"),
            Self::Named(1) => f.write_str("1 is named by --host or --hostfile"),
            Self::Named(count) => write!(f, "{count} are named by --host or --hostfile"),
            Self::Asked(count) => write!(f, "--nodes asks for {count}"),
        }
    }
}

/// Why ranks cannot be placed as the user wishes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MappingError {
    /// There is nothing to run on.
    #[error("no node of the cluster is up; storm nodes shows why")]
    NoNodes,
    /// There is nothing to place.
    #[error("-n 0: a job has at least 1 rank")]
    NoRanks,
    /// An option whose number of ranks or nodes cannot be.
    #[error("{0} 0: give at least 1")]
    Zero(&'static str),
    /// The user names a node that is not on offer.
    #[error("unknown host \"{host}\": the nodes that are up are {known}")]
    UnknownHost {
        /// As the user wrote it.
        host: String,
        /// Those that are there.
        known: String,
    },
    /// `--nodes` asks for more than there are.
    #[error("--nodes {nodes}: not so many nodes can be had, {offer}")]
    TooManyNodes {
        /// How many are asked for.
        nodes: u32,
        /// How many there are.
        offer: OfferedHosts,
    },
    /// `--nodes` asks for more nodes than there are ranks.
    #[error(
        "--nodes {nodes} with -n {ranks}: each node gets at least one rank, so give -n {nodes} or more, or fewer nodes"
    )]
    TooFewRanks {
        /// How many nodes are asked for.
        nodes: u32,
        /// How many ranks there are.
        ranks: u32,
    },
    /// `--ppn` leaves no place for all ranks.
    #[error("-n {ranks} with --ppn {per_node} needs {needed} nodes, and {offer}")]
    TooManyRanks {
        /// How many ranks there are.
        ranks: u32,
        /// How many of them a node may have.
        per_node: u32,
        /// How many nodes that takes.
        needed: u32,
        /// How many there are.
        offer: OfferedHosts,
    },
    /// A node would have more ranks than one can run.
    #[error(
        "-n {ranks}: that would be {on_node} ranks on {host}, and one node runs at most {MAX_RANKS_PER_NODE} of a job; \
         use more nodes, or --map-by node"
    )]
    CrowdedNode {
        /// How many ranks there are.
        ranks: u32,
        /// How many one node would have.
        on_node: u64,
        /// Which one.
        host: String,
    },
}

/// A node that ranks are dealt to.
struct Candidate {
    /// Its index into the nodes on offer.
    index: usize,
    slots: u32,
}

/// Places the ranks of a job on the nodes on offer, as the user wishes.
///
/// `--ppn` is both the number of slots of every node, and a limit; without it slots are no limit. `--nodes`
/// takes the first so many of the nodes, and spreads the ranks over them evenly, as far as their slots go.
///
/// # Errors
/// What of the wish cannot be, and why.
pub fn place(wish: &Wish, ranks: u32, nodes: &[Slots<'_>]) -> Result<Mapped, MappingError> {
    if ranks == 0 {
        return Err(MappingError::NoRanks);
    }
    for (option, value) in [("--ppn", wish.ranks_per_node), ("--nodes", wish.nodes)] {
        if value == Some(0) {
            return Err(MappingError::Zero(option));
        }
    }
    let mut candidates = candidates(wish, nodes)?;
    if candidates.is_empty() {
        return Err(MappingError::NoNodes);
    }
    let mut offer = match wish.hosts.is_empty() {
        true => OfferedHosts::Up(candidates.len()),
        false => OfferedHosts::Named(candidates.len()),
    };
    if let Some(asked) = wish.nodes {
        if candidates.len() < asked as usize {
            return Err(MappingError::TooManyNodes { nodes: asked, offer });
        }
        if ranks < asked {
            return Err(MappingError::TooFewRanks { nodes: asked, ranks });
        }
        candidates.truncate(asked as usize);
        offer = OfferedHosts::Asked(candidates.len());
    }
    if let Some(per_node) = wish.ranks_per_node {
        let needed = ranks.div_ceil(per_node);
        if needed as usize > candidates.len() {
            return Err(MappingError::TooManyRanks { ranks, per_node, needed, offer });
        }
        candidates.iter_mut().for_each(|candidate| candidate.slots = per_node);
    }
    // Before anything is made that is as large as a number that somebody sent.
    let even = u64::from(ranks).div_ceil(candidates.len() as u64);
    check_crowd(ranks, even, nodes[candidates[0].index].host)?;
    let order = match (wish.mapping, wish.nodes) {
        (Mapping::Slot, None) => by_slot(&candidates, ranks),
        (Mapping::Slot, Some(_)) => {
            // Evenly, but consecutive ranks beside each other.
            let mut order = by_node(&candidates, ranks);
            order.sort_unstable();
            order
        }
        (Mapping::Node, _) => by_node(&candidates, ranks),
    };
    let mut counts = vec![0_u64; candidates.len()];
    order.iter().for_each(|&candidate| counts[candidate] += 1);
    for (candidate, &count) in candidates.iter().zip(&counts) {
        check_crowd(ranks, count, nodes[candidate.index].host)?;
    }
    // Candidates without ranks are no nodes of the job. The others keep their order, and the first one has
    // rank 0.
    let mut number = vec![0; candidates.len()];
    let mut hosts = Vec::new();
    for (place, candidate) in candidates.iter().enumerate().filter(|(place, _)| counts[*place] > 0) {
        number[place] = hosts.len() as u32;
        hosts.push(candidate.index);
    }
    let nodes_of_ranks: Vec<u32> = order.into_iter().map(|candidate| number[candidate]).collect();
    // There are ranks, and each node of the job has one.
    let placement = Placement::by_rank(&nodes_of_ranks).map_err(|_| MappingError::NoRanks)?;
    Ok(Mapped { hosts, placement })
}

fn check_crowd(ranks: u32, on_node: u64, host: &str) -> Result<(), MappingError> {
    match on_node <= u64::from(MAX_RANKS_PER_NODE) {
        true => Ok(()),
        false => Err(MappingError::CrowdedNode { ranks, on_node, host: host.to_owned() }),
    }
}

/// The nodes that may be used, in order. A host that is named again has more slots: those that are written,
/// or one for each time.
fn candidates(wish: &Wish, nodes: &[Slots<'_>]) -> Result<Vec<Candidate>, MappingError> {
    let cores = |index: usize| nodes[index].slots.max(1);
    if wish.hosts.is_empty() {
        return Ok((0..nodes.len()).map(|index| Candidate { index, slots: cores(index) }).collect());
    }
    // By host, in the order of naming: its index, and its slots as far as they are written.
    let mut named: Vec<(usize, Option<u32>)> = Vec::new();
    let mut places: HashMap<usize, usize> = HashMap::new();
    let directory = Directory::of(nodes);
    for wanted in &wish.hosts {
        let index = directory.find(&wanted.host).ok_or_else(|| MappingError::UnknownHost {
            host: wanted.host.clone(),
            known: names(nodes.iter().map(|node| node.host)),
        })?;
        match places.get(&index) {
            None => {
                places.insert(index, named.len());
                named.push((index, wanted.slots));
            }
            Some(place) => {
                let slots = &mut named[*place].1;
                *slots = Some(slots.unwrap_or(1).saturating_add(wanted.slots.unwrap_or(1)));
            }
        }
    }
    Ok(named
        .into_iter()
        .map(|(index, slots)| Candidate { index, slots: slots.unwrap_or_else(|| cores(index)).max(1) })
        .collect())
}

/// The nodes on offer by their names: users may name hosts by the hundred thousand.
struct Directory<'a> {
    exact: HashMap<&'a str, usize>,
    /// By the name up to its first dot: the first two of them, with whether there is a dot.
    alike: HashMap<&'a str, Vec<(usize, bool)>>,
}

impl<'a> Directory<'a> {
    fn of(nodes: &[Slots<'a>]) -> Self {
        let mut directory = Self { exact: HashMap::new(), alike: HashMap::new() };
        for (index, node) in nodes.iter().enumerate() {
            directory.exact.entry(node.host).or_insert(index);
            let alike = directory.alike.entry(short(node.host)).or_default();
            let is_long = node.host.contains('.');
            // Of each kind, two are as good as many.
            if alike.iter().filter(|(_, other)| *other == is_long).count() < 2 {
                alike.push((index, is_long));
            }
        }
        directory
    }

    /// The node of this name: the same name, or one that is the same up to its first dot, if there is only
    /// one.
    fn find(&self, name: &str) -> Option<usize> {
        if let Some(exact) = self.exact.get(name) {
            return Some(*exact);
        }
        // Addresses have dots too, and nothing in common up to the first one.
        if name.parse::<std::net::IpAddr>().is_ok() {
            return None;
        }
        // Two long names that differ are two hosts.
        let mut alike =
            self.alike.get(short(name))?.iter().filter(|(_, is_long)| !(*is_long && name.contains('.')));
        match (alike.next(), alike.next()) {
            (Some((index, _)), None) => Some(*index),
            _ => None,
        }
    }
}

fn short(name: &str) -> &str {
    name.split('.').next().unwrap_or_default()
}

fn names<'a>(hosts: impl ExactSizeIterator<Item = &'a str>) -> String {
    let count = hosts.len();
    let shown: Vec<&str> = hosts.take(NAMES_SHOWN).collect();
    match count.saturating_sub(NAMES_SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// For each rank its candidate: the slots of one are filled before the next gets ranks, and when all are
/// full, again.
fn by_slot(candidates: &[Candidate], ranks: u32) -> Vec<usize> {
    let round = candidates.iter().enumerate();
    let round = round.flat_map(|(place, candidate)| std::iter::repeat_n(place, candidate.slots as usize));
    round.cycle().take(ranks as usize).collect()
}

/// For each rank its candidate: one to each in turn that has a free slot, and when all are full, again.
fn by_node(candidates: &[Candidate], ranks: u32) -> Vec<usize> {
    let mut order = Vec::with_capacity(ranks as usize);
    // Whoever is looked at gets a rank, or is not looked at again until all are full: the work is that of the
    // ranks.
    let mut open: Vec<(usize, u32)> = Vec::new();
    while order.len() < ranks as usize {
        if open.is_empty() {
            open = candidates.iter().map(|candidate| candidate.slots).enumerate().collect();
        }
        open.retain_mut(|(place, slots)| {
            let is_given = *slots > 0 && order.len() < ranks as usize;
            if is_given {
                *slots -= 1;
                order.push(*place);
            }
            is_given
        });
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::NodeId;
    use bcs_protocol::storm::HostSlots;
    use proptest::prelude::*;

    const FOUR: [Slots<'_>; 4] = [
        Slots { host: "c0", slots: 2 },
        Slots { host: "c1", slots: 2 },
        Slots { host: "c2", slots: 2 },
        Slots { host: "c3", slots: 2 },
    ];

    fn host(text: &str) -> HostSlots {
        let (name, slots) = text.split_once(':').map_or((text, None), |(name, slots)| (name, Some(slots)));
        HostSlots { host: name.into(), slots: slots.map(|slots| slots.parse().unwrap()) }
    }

    fn wish(hosts: &str, per_node: u32, nodes: u32, mapping: Mapping) -> Wish {
        Wish {
            ranks_per_node: (per_node > 0).then_some(per_node),
            nodes: (nodes > 0).then_some(nodes),
            hosts: hosts.split(',').filter(|text| !text.is_empty()).map(host).collect(),
            mapping,
        }
    }

    /// The hosts of all ranks, in order.
    fn hosts_of(wish: &Wish, ranks: u32, nodes: &[Slots<'_>]) -> Vec<String> {
        let mapped = place(wish, ranks, nodes).unwrap();
        let of: Vec<u32> = mapped.placement.into();
        of.iter().map(|node| nodes[mapped.hosts[*node as usize]].host.to_owned()).collect()
    }

    fn dealt(hosts: &str, per_node: u32, nodes: u32, mapping: Mapping, ranks: u32) -> String {
        hosts_of(&wish(hosts, per_node, nodes, mapping), ranks, &FOUR).join(" ")
    }

    #[test]
    fn consecutive_ranks_fill_the_slots_of_a_node_and_start_again_when_all_are_full() {
        let dealt = |hosts, ranks| dealt(hosts, 0, 0, Mapping::Slot, ranks);
        assert_eq!(dealt("", 3), "c0 c0 c1");
        assert_eq!(dealt("", 9), "c0 c0 c1 c1 c2 c2 c3 c3 c0");
        assert_eq!(dealt("c2:1,c1:3", 6), "c2 c1 c1 c1 c2 c1");
        assert_eq!(dealt("c3,c1", 3), "c3 c3 c1", "slots that are not written are cores");
    }

    #[test]
    fn a_host_that_is_named_again_has_more_slots() {
        let dealt = |hosts, ranks| dealt(hosts, 0, 0, Mapping::Slot, ranks);
        assert_eq!(dealt("c0:1,c1:1,c0:1", 4), "c0 c0 c1 c0");
        assert_eq!(dealt("c0,c1:1,c0,c0", 5), "c0 c0 c0 c1 c0");
        assert_eq!(dealt("c1:2,c0:1,c1.site:2", 6), "c1 c1 c1 c1 c0 c1");
    }

    #[test]
    fn ranks_are_dealt_to_nodes_in_turn_while_they_have_slots() {
        let dealt = |hosts, ranks| dealt(hosts, 0, 0, Mapping::Node, ranks);
        assert_eq!(dealt("", 5), "c0 c1 c2 c3 c0");
        assert_eq!(dealt("c0:1,c1:3", 5), "c0 c1 c1 c1 c0");
    }

    #[test]
    fn a_number_of_ranks_a_node_is_filled_and_not_exceeded() {
        assert_eq!(dealt("", 3, 0, Mapping::Slot, 7), "c0 c0 c0 c1 c1 c1 c2");
        assert_eq!(dealt("c1:1,c0:1", 2, 0, Mapping::Slot, 4), "c1 c1 c0 c0");
        assert_eq!(dealt("", 1, 0, Mapping::Slot, 4), "c0 c1 c2 c3");
    }

    #[test]
    fn all_nodes_that_are_asked_for_get_ranks() {
        assert_eq!(dealt("", 0, 4, Mapping::Slot, 6), "c0 c0 c1 c1 c2 c3");
        assert_eq!(dealt("", 0, 2, Mapping::Slot, 6), "c0 c0 c0 c1 c1 c1");
        assert_eq!(dealt("", 0, 2, Mapping::Node, 4), "c0 c1 c0 c1");
        assert_eq!(dealt("c3:1,c0:5", 0, 2, Mapping::Slot, 4), "c3 c0 c0 c0");
        assert_eq!(dealt("", 4, 2, Mapping::Slot, 5), "c0 c0 c0 c1 c1");
    }

    #[test]
    fn what_cannot_be_is_said_with_the_numbers() {
        let refused = |hosts, per_node, nodes, ranks| {
            place(&wish(hosts, per_node, nodes, Mapping::Slot), ranks, &FOUR).unwrap_err().to_string()
        };
        assert_eq!(refused("", 2, 0, 9), "-n 9 with --ppn 2 needs 5 nodes, and 4 are up");
        assert_eq!(
            refused("c0", 2, 0, 9),
            "-n 9 with --ppn 2 needs 5 nodes, and 1 is named by --host or --hostfile"
        );
        assert_eq!(refused("", 2, 2, 5), "-n 5 with --ppn 2 needs 3 nodes, and --nodes asks for 2");
        assert_eq!(refused("", 0, 5, 9), "--nodes 5: not so many nodes can be had, 4 are up");
        assert!(refused("", 0, 3, 2).contains("each node gets at least one rank"));
        let unknown = refused("c0,n8", 0, 0, 2);
        assert_eq!(unknown, "unknown host \"n8\": the nodes that are up are c0, c1, c2, c3");
        assert!(refused("", 0, 0, 0).contains("at least 1 rank"));
        assert!(refused("", 0, 0, 4 * MAX_RANKS_PER_NODE + 1).contains("at most 4096"));
        assert!(refused("c0:5000,c1:1", 0, 0, 5000).contains("5000 ranks on c0"));
        assert!(refused("", 0, 0, u32::MAX).contains("at most 4096"));
        let none = place(&Wish::default(), 1, &[]).unwrap_err().to_string();
        assert!(none.contains("no node of the cluster is up"), "{none}");
    }

    #[test]
    fn the_work_is_that_of_the_ranks_and_names_however_uneven_they_are() {
        let hosts: Vec<String> = (0..1000).map(|node| format!("c{node:04}")).collect();
        let slots = |node: usize| if node == 0 { u32::MAX } else { 1 };
        let nodes: Vec<Slots<'_>> =
            hosts.iter().enumerate().map(|(node, host)| Slots { host, slots: slots(node) }).collect();
        let host = |at: usize| HostSlots { host: hosts[at % 1000].clone(), slots: Some(slots(at % 1000)) };
        let wish =
            Wish { hosts: (0..100_000).map(host).collect(), mapping: Mapping::Node, ..Wish::default() };
        let error = place(&wish, 1 << 20, &nodes).unwrap_err();
        assert!(matches!(error, MappingError::CrowdedNode { .. }), "{error}");
    }

    #[test]
    fn a_host_is_found_by_its_short_and_its_long_name_if_only_one_is_meant() {
        let nodes = ["a.x", "a.y", "b", "c.x"].map(|host| Slots { host, slots: 1 });
        for (name, found) in
            [("a.x", Some(0)), ("a", None), ("b", Some(2)), ("b.z", Some(2)), ("c", Some(3)), ("c.y", None)]
        {
            assert_eq!(Directory::of(&nodes).find(name), found, "{name}");
        }
        assert_eq!(Directory::of(&[Slots { host: "10.0.0.2", slots: 1 }]).find("10.0.0.1"), None);
    }

    proptest! {
        #[test]
        fn every_rank_is_placed_once_within_the_bounds_that_are_asked_for(
            slots in proptest::collection::vec(1..5_u32, 1..7),
            named in proptest::collection::vec((0..6_usize, 0..4_u32), 0..6),
            per_node in 0..4_u32, asked in 0..5_u32, ranks in 1..40_u32, in_turn: bool
        ) {
            let names: Vec<String> = (0..slots.len()).map(|index| format!("c{index}")).collect();
            let nodes: Vec<Slots<'_>> =
                names.iter().zip(&slots).map(|(host, &slots)| Slots { host, slots }).collect();
            let hosts: Vec<String> = named.iter().filter(|(index, _)| *index < slots.len()).map(|(index, slots)| match slots {
                0 => format!("c{index}"),
                slots => format!("c{index}:{slots}"),
            }).collect();
            let wish = wish(&hosts.join(","), per_node, asked, if in_turn { Mapping::Node } else { Mapping::Slot });
            let usable = match wish.hosts.is_empty() {
                true => slots.len(),
                false => {
                    let mut used: Vec<_> = wish.hosts.iter().map(|host| &host.host).collect();
                    used.sort_unstable();
                    used.dedup();
                    used.len()
                }
            };
            let taken = if asked > 0 { asked as usize } else { usable };
            let fits = taken <= usable && ranks >= asked && (per_node == 0 || ranks as usize <= taken * per_node as usize);
            let mapped = place(&wish, ranks, &nodes);
            prop_assert_eq!(mapped.is_ok(), fits, "{:?}", mapped);
            let Ok(mapped) = mapped else { return Ok(()) };
            prop_assert_eq!(mapped.placement.ranks(), ranks);
            prop_assert_eq!(mapped.placement.nodes() as usize, mapped.hosts.len());
            if asked > 0 { prop_assert_eq!(mapped.hosts.len(), asked as usize); }
            prop_assert_eq!(mapped.placement.place(bcs_core::Rank(0)).unwrap().0, NodeId(0));
            let mut distinct = mapped.hosts.clone();
            distinct.sort_unstable();
            distinct.dedup();
            prop_assert_eq!(distinct.len(), mapped.hosts.len());
            for (number, &index) in mapped.hosts.iter().enumerate() {
                let count = mapped.placement.ranks_on(NodeId(number as u32));
                prop_assert!(count > 0 && (per_node == 0 || count <= per_node));
                if !wish.hosts.is_empty() { prop_assert!(wish.hosts.iter().any(|host| host.host == nodes[index].host)); }
            }
        }
    }
}
