//! What each algorithm by messages costs: steps, messages and bytes of a member, and bytes that a node
//! sends to others, against the number of nodes. None grows faster than its source says. The table of
//! `docs/collectives.md` comes from here:
//!
//! ```text
//! BCS_COSTS=4096 cargo test --release -p bcs-mpi --test algorithms costs -- --nocapture
//! ```

use crate::simulated::{Sent, members_on, run};
use bcs_mpi::MpiResult;
use bcs_mpi::collective::algorithm::Synchronization;
use bcs_mpi::collective::block::Agreed;
use bcs_mpi::collective::combination::{Combination, Results, ScanKind};
use bcs_mpi::collective::movement::{Broadcast, Movement, Pattern};
use bcs_mpi::collective::policy::{self, Situation, TABLE, Transport};
use bcs_mpi::progress::{Membership, Memory};
use fastrand::Rng;
use nic_emu::memory::numbers::CommRank;
use std::ops::Range;
use std::sync::Arc;

/// Nodes up to which algorithms are run in which every member sends to every other one.
const MOST_OF_MANY: usize = 1024;

/// The most of what any member has sent, and the most that a node has sent to others; bytes as multiples of a
/// vector, or of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cost {
    steps: u32,
    messages: u64,
    bytes: f64,
    abroad: f64,
}

impl Cost {
    fn of(nodes: &[u32], sent: &[Sent], unit: usize) -> Self {
        let times = |bytes: u64| bytes as f64 / unit as f64;
        let node = |node: u32| {
            let members = nodes.iter().zip(sent).filter(move |(of, _)| **of == node);
            members.map(|(_, sent)| sent.bytes_abroad).sum::<u64>()
        };
        let last = nodes.last().copied().unwrap_or(0);
        Self {
            steps: sent.iter().map(|sent| sent.steps).max().unwrap_or(0),
            messages: sent.iter().map(|sent| sent.messages).max().unwrap_or(0),
            bytes: times(sent.iter().map(|sent| sent.bytes).max().unwrap_or(0)),
            abroad: times((0..=last).map(node).max().unwrap_or(0)),
        }
    }
}

/// So many members on each of so many nodes.
fn placed(nodes: usize, each: usize) -> Vec<u32> {
    (0..nodes * each).map(|member| (member / each) as u32).collect()
}

fn all_well(results: &[MpiResult]) {
    assert!(results.iter().all(Result::is_ok), "{results:?}");
}

fn cost_of_movement(nodes: &[u32], pattern: Pattern, name: &str, way: usize) -> Cost {
    const BLOCK: usize = 8;
    let agreed = Agreed { bytes: BLOCK, signature: (1, 0), differs: false };
    let random = &mut Rng::with_seed(1);
    let (results, sent) = run(nodes, random, |member| async move {
        let (mut given, mut taken) = ([0u8; BLOCK], [0u8; BLOCK]);
        // SAFETY: both live until the operation is over; what comes is not looked at.
        let [given, taken] =
            [&mut given, &mut taken].map(|of| unsafe { Memory::new(of.as_mut_ptr(), BLOCK) });
        let (outgoing, incoming) = (|_| given, |_| taken);
        let movement = Movement::new(pattern, agreed, &outgoing, &incoming);
        match name {
            "gather" => policy::gather::run_by_messages(way, &member, &movement).await,
            "scatter" => policy::scatter::run_by_messages(way, &member, &movement).await,
            "allgather" => policy::allgather::run_by_messages(way, &member, &movement).await,
            _ => policy::alltoall::run_by_messages(way, &member, &movement).await,
        }
    });
    all_well(&results);
    Cost::of(nodes, &sent, BLOCK)
}

fn cost_of_broadcast(nodes: &[u32], way: usize) -> Cost {
    const BYTES: usize = 64;
    let (results, sent) = run(nodes, &mut Rng::with_seed(1), |member| async move {
        let mut block = [0u8; BYTES];
        // SAFETY: the block lives until the operation is over.
        let memory = unsafe { Memory::new(block.as_mut_ptr(), BYTES) };
        let broadcast = Broadcast { root: CommRank(0), signature: (1, 0), memory };
        policy::bcast::run_by_messages(way, &member, &broadcast).await
    });
    all_well(&results);
    Cost::of(nodes, &sent, BYTES)
}

fn cost_of_barrier(nodes: &[u32], way: usize) -> Cost {
    let (results, sent) = run(nodes, &mut Rng::with_seed(1), |member| async move {
        policy::barrier::run_by_messages(way, &member, &Synchronization::default()).await
    });
    all_well(&results);
    // Of the nine bytes of a history.
    Cost::of(nodes, &sent, 9)
}

fn cost_of_combination(nodes: &[u32], name: &str, way: usize) -> Cost {
    let reduction = crate::random::sum_of_doubles();
    // An element for each member, so that shares are alike.
    let count = nodes.len();
    let shares: Arc<[Range<usize>]> = (0..count).map(|member| member..member + 1).collect();
    let (results, sent) = run(nodes, &mut Rng::with_seed(1), |member| {
        let (reduction, shares) = (&reduction, &shares);
        async move {
            let (own, mut taken) = (vec![0f64; count], vec![0f64; count]);
            let operands = (own.as_ptr().cast(), taken.as_mut_ptr().cast());
            let results = match name {
                "reduce" => Results::Root(CommRank(0)),
                "allreduce" => Results::All,
                "reduce_scatter" => Results::Shares(shares.clone()),
                _ => Results::Prefix(ScanKind::Inclusive),
            };
            // SAFETY: both live until the operation is over.
            let combination = unsafe { Combination::new(reduction.clone(), results, operands, count) };
            match name {
                "reduce" => policy::reduce::run_by_messages(way, &member, &combination).await,
                "allreduce" => policy::allreduce::run_by_messages(way, &member, &combination).await,
                "reduce_scatter" => policy::reduce_scatter::run_by_messages(way, &member, &combination).await,
                _ => policy::scan::run_by_messages(way, &member, &combination).await,
            }
        }
    });
    all_well(&results);
    Cost::of(nodes, &sent, count * size_of::<f64>())
}

/// The cost of a collective by one of its algorithms; none where that cannot be used.
fn cost(name: &str, way: usize, nodes: &[u32]) -> Option<Cost> {
    let reduction = crate::random::sum_of_doubles();
    let placement = members_on(nodes);
    let situation = Situation::apart(&placement, Some(8 * placement.size() as usize), Some(&reduction));
    let ways = TABLE.iter().find(|(_, of, _)| *of == name)?.2;
    if !(ways[way].can)(&situation) {
        return None;
    }
    Some(match name {
        "barrier" => cost_of_barrier(nodes, way),
        "bcast" => cost_of_broadcast(nodes, way),
        "gather" => cost_of_movement(nodes, Pattern::Gather(CommRank(0)), name, way),
        "scatter" => cost_of_movement(nodes, Pattern::Scatter(CommRank(0)), name, way),
        "allgather" => cost_of_movement(nodes, Pattern::Allgather, name, way),
        "alltoall" => cost_of_movement(nodes, Pattern::Alltoall, name, way),
        _ => cost_of_combination(nodes, name, way),
    })
}

/// What a source says of an algorithm, for members and nodes: steps, messages and bytes of a member, and
/// bytes of a node to others.
fn bound(name: &str, way: &str, members: f64, nodes: f64) -> Cost {
    let log = |number: f64| number.log2().ceil();
    let (others, each) = (members - 1.0, members / nodes);
    let of = |steps: f64, messages: f64, bytes: f64, abroad: f64| Cost {
        steps: steps as u32,
        messages: messages as u64,
        bytes,
        abroad,
    };
    let trees = log(nodes) + log(each);
    match (name, way) {
        ("bcast", "binomial") => of(trees, trees, trees, log(nodes)),
        ("gather", "binomial") => of(log(members), 1.0, members / 2.0, each * members / 2.0),
        ("gather", "direct") => of(1.0, 1.0, 1.0, each),
        ("scatter", "binomial") => of(log(members), log(members), log(members) * members / 2.0, others),
        ("scatter", "direct") => of(1.0, others, others, others),
        ("allgather", "bruck") => of(log(members), log(members), others, each * others),
        ("allgather", "nodes") => of(2.0, members * each, members * each, each * (nodes - 1.0)),
        ("alltoall", "bruck") => {
            let blocks = log(members) * (members / 2.0).ceil();
            of(log(members), log(members), blocks, each * blocks)
        }
        ("alltoall", "nodes") => {
            let (given, carried) = ((each - 1.0) * nodes, each * (nodes - 1.0));
            of(2.0, each + nodes - 2.0, given + carried, each * carried)
        }
        ("alltoall", "direct") => of(1.0, others, others, each * others),
        ("reduce", "tree") => of(log(members) + 1.0, 1.0, 1.0, each),
        ("allreduce", "tree") => {
            of(2.0 * log(members), 1.0 + log(members), 1.0 + log(members), each * (1.0 + log(members)))
        }
        ("reduce", "shares") => of(2.0, members, 1.0, each),
        ("allreduce", "shares") => of(3.0, members * (1.0 + each), 1.0 + each, each + 1.0),
        ("barrier", "dissemination") => of(log(members), log(members), log(members), each * log(members)),
        ("barrier", "nodes") => {
            let sent = log(nodes) + each - 1.0;
            of(2.0 + log(nodes), sent, sent, log(nodes))
        }
        ("reduce" | "allreduce", "nodes") => {
            let is_power = log(nodes).exp2() == nodes;
            let (steps, sent) = if is_power { (1.0, 0.0) } else { (2.0, 1.0) };
            let (steps, sent) = (log(each) + steps * log(nodes), sent + log(nodes));
            let at_last = if name == "reduce" { 1.0 } else { log(each) };
            of(steps + at_last, sent + at_last, sent + at_last, sent)
        }
        ("reduce" | "allreduce", "doubling") => {
            of(log(members), log(members), log(members), each * log(members))
        }
        ("reduce", "halving") => of(log(members) + 1.0, log(members) + 1.0, 1.0, each),
        ("allreduce", "halving") => of(2.0 * log(members), 2.0 * log(members), 2.0, 2.0 * each),
        ("reduce", "lanes") => of(3.0, members + 1.0, 2.0, 1.0 + 1.0),
        ("allreduce", "lanes") => of(4.0, members * (1.0 + each), 2.0 + each, 2.0),
        ("reduce_scatter", "lanes") => of(2.0, each + nodes - 2.0, 1.0, 1.0 - 1.0 / nodes),
        ("reduce_scatter", _) => of(1.0, others, 1.0, each),
        ("scan", "shares") => of(2.0, 2.0 * others, 2.0, 2.0 * each),
        ("scan", "doubling") => of(log(members), log(members), log(members), each * log(members)),
        ("scan", "direct") => of(1.0, others, others, each * others),
        _ => panic!("say what {name} by {way} costs at most, as its source does"),
    }
}

fn by_messages() -> impl Iterator<Item = (&'static str, usize, &'static str)> {
    TABLE.iter().flat_map(|(_, name, ways)| {
        let numbered = ways.iter().enumerate().filter(|(_, way)| way.transport == Transport::Messages);
        numbered.map(|(number, way)| (*name, number, way.name))
    })
}

#[test]
fn nothing_costs_more_than_its_source_says() {
    for (nodes, each) in
        [(1, 1), (2, 1), (3, 1), (7, 1), (16, 1), (64, 1), (1, 4), (2, 2), (5, 3), (16, 4), (33, 2)]
    {
        let placement = placed(nodes, each);
        for (name, way, called) in by_messages() {
            let Some(cost) = cost(name, way, &placement) else { continue };
            let most = bound(name, called, (nodes * each) as f64, nodes as f64);
            assert!(
                cost.steps <= most.steps
                    && cost.messages <= most.messages
                    && cost.bytes <= most.bytes + 1e-9
                    && cost.abroad <= most.abroad + 1e-9,
                "{name} by {called}, {nodes} nodes of {each}: {cost:?}, and at most {most:?}"
            );
        }
    }
}

/// A number with two decimals, where there are any.
fn short(number: f64) -> String {
    format!("{number:.2}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Prints the table, up to as many nodes as `BCS_COSTS` says.
#[test]
fn costs_are_printed_where_they_are_asked_for() {
    let Some(most) = std::env::var("BCS_COSTS").ok().and_then(|number| number.parse::<usize>().ok()) else {
        return;
    };
    let numbers: Vec<usize> =
        (0..).map(|power| 4usize << (2 * power)).take_while(|nodes| *nodes <= most).collect();
    println!(
        "| collective | algorithm | {} |",
        numbers.iter().map(|n| n.to_string()).collect::<Vec<_>>().join(" | ")
    );
    println!("|---|---|{}", "---:|".repeat(numbers.len()));
    for (name, way, called) in by_messages() {
        let costs: Vec<Option<Cost>> = numbers
            .iter()
            .map(|nodes| {
                let is_many = matches!(called, "direct" | "nodes" | "shares" | "packed" | "lanes");
                let is_rooted = matches!(name, "gather" | "scatter");
                (!is_many || is_rooted || *nodes <= MOST_OF_MANY)
                    .then(|| cost(name, way, &placed(*nodes, 1)))?
            })
            .collect();
        if costs.iter().all(Option::is_none) {
            continue;
        }
        let show =
            |Cost { steps, messages, bytes, .. }: &Cost| format!("{steps} · {messages} · {}", short(*bytes));
        let cells: Vec<String> = costs.iter().map(|cost| cost.as_ref().map_or("".into(), show)).collect();
        println!("| {name} | {called} | {} |", cells.join(" | "));
    }
}
