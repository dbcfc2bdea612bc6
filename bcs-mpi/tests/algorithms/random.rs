//! Random calls on 1 to 64 nodes: every algorithm by messages brings each member what the call says, bit
//! by bit, in whatever order its messages come.

use crate::simulated::{Member, members_on, run};
use bcs_mpi::MpiResult;
use bcs_mpi::collective::algorithm::Synchronization;
use bcs_mpi::collective::block::Agreed;
use bcs_mpi::collective::combination::{Combination, Results, ScanKind};
use bcs_mpi::collective::movement::{Broadcast, Movement, Pattern};
use bcs_mpi::collective::operand::Operand;
use bcs_mpi::collective::policy::{self, Algorithm, Situation, Transport};
use bcs_mpi::collective::reduction::Reduction;
use bcs_mpi::collective::vector::Vector;
use bcs_mpi::constants::{MPI_DOUBLE, MPI_SUM};
use bcs_mpi::error::Problem;
use bcs_mpi::object::collective::Collective;
use bcs_mpi::object::datatype::Datatypes;
use bcs_mpi::object::history::History;
use bcs_mpi::progress::{Membership, Memory};
use fastrand::Rng;
use nic_emu::arith::Arithmetic;
use nic_emu::memory::numbers::CommRank;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// Programs that are run; `BCS_SEEDS=FIRST:COUNT` runs others.
const SEEDS: Range<u64> = 0..400;

fn seeds() -> Range<u64> {
    let Ok(asked) = std::env::var("BCS_SEEDS") else { return SEEDS };
    let numbers: Vec<u64> = asked.split(':').map(|number| number.parse().expect("FIRST:COUNT")).collect();
    numbers[0]..numbers[0] + numbers[1]
}

/// The node of each member: up to 64 nodes of up to four, one after the other or in any order.
fn random_nodes(random: &mut Rng) -> Vec<u32> {
    let most = [4, 16, 64][random.usize(0..3)];
    let nodes = random.u32(1..=most);
    let each = random.usize(1..=4);
    let is_even = random.bool();
    let mut of_members: Vec<u32> =
        (0..nodes).flat_map(|node| vec![node; if is_even { each } else { random.usize(1..=each) }]).collect();
    if random.u32(0..3) == 0 {
        for place in 1..of_members.len() {
            of_members.swap(place, random.usize(0..=place));
        }
    }
    of_members
}

fn random_bytes(random: &mut Rng, members: usize) -> usize {
    let most = [0, 1, 9, 300, 5000][random.usize(0..5)];
    // The memory of all is the test's.
    random.usize(0..=most.min((64 << 20) / (members * members)))
}

/// The byte at a place of the block that one member gives another one.
fn byte(from: CommRank, to: CommRank, at: usize) -> u8 {
    (from.index() * 41 + to.index() * 59 + at * 7 + at / 251) as u8
}

fn block(from: CommRank, to: CommRank, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| byte(from, to, at)).collect()
}

/// The algorithms by messages of a collective that can be used, by their numbers.
fn ways(ways: &[Algorithm], situation: &Situation<'_>) -> Vec<usize> {
    let can = |way: &Algorithm| way.transport == Transport::Messages && (way.can)(situation);
    (0..ways.len()).filter(|number| can(&ways[*number])).collect()
}

async fn move_by(way: usize, member: &Member, movement: &Movement<'_>) -> MpiResult {
    match movement.pattern {
        Pattern::Gather(_) => policy::gather::run_by_messages(way, member, movement).await,
        Pattern::Scatter(_) => policy::scatter::run_by_messages(way, member, movement).await,
        Pattern::Allgather => policy::allgather::run_by_messages(way, member, movement).await,
        Pattern::Alltoall => policy::alltoall::run_by_messages(way, member, movement).await,
    }
}

/// A block that is not as long as its place: who gives it to whom, and its bytes.
#[derive(Clone, Copy)]
struct Misfit {
    from: CommRank,
    to: CommRank,
    sent: usize,
}

/// Blocks of these lengths go from each to each; nothing of what none knows is nothing, too. If one does not
/// fit, the member that takes it is told, and all others have theirs; what else has come to that one, an
/// error leaves open. Answers the names of the algorithms.
fn blocks_arrive(
    nodes: &[u32],
    pattern: Pattern,
    lengths: &[usize],
    misfit: Option<Misfit>,
    random: &mut Rng,
) -> Vec<&'static str> {
    let size = nodes.len();
    let differs = misfit.is_some() || lengths.iter().any(|length| *length != lengths[0]);
    let agreed = Agreed { bytes: lengths[0], signature: (1, 0), differs };
    // Of a v form each pair has a length of its own; who gives all the same has one.
    let length = |from: CommRank, to: CommRank| match pattern {
        Pattern::Alltoall | Pattern::Scatter(_) => lengths[(from.index() + to.index()) % lengths.len()],
        _ => lengths[from.index() % lengths.len()],
    };
    let fits = |from, to| misfit.is_none_or(|misfit| (misfit.from, misfit.to) != (from, to));
    let sent = |from, to| misfit.filter(|_| !fits(from, to)).map_or(length(from, to), |it| it.sent);
    let target = |to| if pattern.gives_the_same() { CommRank(0) } else { to };
    let all = CommRank::all(size as u32);
    let given: Vec<Vec<Vec<u8>>> = all
        .clone()
        .map(|from| all.clone().map(|to| block(from, target(to), sent(from, to))).collect())
        .collect();
    let placement = members_on(nodes);
    let situation = Situation::apart(&placement, agreed.of_all(1), None);
    let mut names = Vec::new();
    for way in ways(policy::algorithms(pattern.collective()), &situation) {
        let name = policy::algorithms(pattern.collective())[way].name;
        names.push(name);
        let room = |to| all.clone().map(|from| vec![0xAA; length(from, to)]).collect();
        let mut taken: Vec<Vec<Vec<u8>>> = all.clone().map(room).collect();
        // SAFETY: all live until the run is over.
        let memory = |place: &mut Vec<u8>| unsafe { Memory::new(place.as_mut_ptr(), place.len()) };
        let places: Vec<Vec<Memory>> =
            taken.iter_mut().map(|of| of.iter_mut().map(memory).collect()).collect();
        let (results, _) = run(nodes, random, |member| {
            let (given, places) = (&given, &places);
            async move {
                let rank = member.rank().index();
                let outgoing = |to: CommRank| {
                    let block: &Vec<u8> = &given[rank][to.index()];
                    // SAFETY: it lives until the run is over, and is only read.
                    unsafe { Memory::new(block.as_ptr().cast_mut(), block.len()) }
                };
                let incoming = |from: CommRank| places[rank][from.index()];
                let movement = Movement::new(pattern, agreed, &outgoing, &incoming);
                move_by(way, &member, &movement).await
            }
        });
        for (to, result) in all.clone().zip(&results) {
            let told = result.as_ref().err().map(|error| match error.problem() {
                Problem::BlockMisfit { sent, room, from } => (*sent as usize, *room as usize, *from),
                problem => panic!("{pattern:?} {name}: {problem:?}"),
            });
            let taken_by = misfit.filter(|misfit| misfit.to == to);
            let wanted = taken_by.map(|misfit| (misfit.sent, length(misfit.from, to), misfit.from));
            assert_eq!(told, wanted, "{pattern:?} {name}: {to}");
            for from in all.clone().filter(|from| taken_by.is_none() && pattern.goes(*from, to)) {
                let wanted = block(from, target(to), length(from, to));
                assert_eq!(taken[to.index()][from.index()], wanted, "{pattern:?} {name}: {from} to {to}");
            }
        }
    }
    names
}

/// Every algorithm by messages of these collectives is among those that were run.
fn all_were_run(collectives: &[Collective], names: &BTreeSet<(&str, &str)>) {
    for collective in collectives {
        for way in policy::algorithms(*collective).iter().filter(|way| way.transport == Transport::Messages) {
            let was_run = names.contains(&(collective.name(), way.name));
            assert!(was_run || seeds() != SEEDS, "no seed runs {} by {}", collective.name(), way.name);
        }
    }
}

#[test]
fn blocks_arrive_where_they_are_wanted() {
    let mut names = BTreeSet::new();
    for seed in seeds() {
        let random = &mut Rng::with_seed(seed);
        let nodes = random_nodes(random);
        let root = CommRank(random.u32(0..nodes.len() as u32));
        let pattern = [Pattern::Gather(root), Pattern::Scatter(root), Pattern::Allgather, Pattern::Alltoall];
        let pattern = pattern[random.usize(0..4)];
        let kinds = if random.bool() { 1 } else { random.usize(1..5) };
        let lengths: Vec<usize> = (0..kinds).map(|_| random_bytes(random, nodes.len())).collect();
        let ran = blocks_arrive(&nodes, pattern, &lengths, None, random);
        names.extend(ran.into_iter().map(|name| (pattern.collective().name(), name)));
    }
    let movements = [Collective::gather, Collective::scatter, Collective::allgather, Collective::alltoall];
    all_were_run(&movements, &names);
}

#[test]
fn of_an_alltoall_a_block_that_does_not_fit_is_told_by_whom_it_was_given() {
    for seed in seeds() {
        let random = &mut Rng::with_seed(seed);
        let nodes = random_nodes(random);
        let size = nodes.len() as u32;
        if size == 1 {
            continue;
        }
        let lengths: Vec<usize> =
            (0..random.usize(1..5)).map(|_| random_bytes(random, nodes.len())).collect();
        let from = CommRank(random.u32(0..size));
        let to = from.after(random.u32(1..size), size);
        let room = lengths[(from.index() + to.index()) % lengths.len()];
        let longer = room + random.usize(1..3000);
        let sent = if room > 0 && random.bool() { random.usize(0..room) } else { longer };
        blocks_arrive(&nodes, Pattern::Alltoall, &lengths, Some(Misfit { from, to, sent }), random);
    }
}

#[test]
fn a_barrier_is_left_when_all_have_come_to_it() {
    for seed in seeds() {
        let random = &mut Rng::with_seed(seed);
        let nodes = random_nodes(random);
        let placement = members_on(&nodes);
        for way in ways(policy::barrier::ALGORITHMS, &Situation::apart(&placement, None, None)) {
            let come = Cell::new(0);
            // Of nobody, or of some, whom all learn of.
            let odd: Vec<bool> = match random.bool() {
                true => nodes.iter().map(|_| random.u8(0..4) == 0).collect(),
                false => vec![false; nodes.len()],
            };
            let differ = odd.contains(&true) && odd.contains(&false);
            let (results, _) = run(&nodes, random, |member| {
                let (come, all) = (&come, nodes.len());
                let history = History(u64::from(odd[member.rank().index()]));
                async move {
                    come.set(come.get() + 1);
                    let synchronization = Synchronization::of(history);
                    policy::barrier::run_by_messages(way, &member, &synchronization).await?;
                    assert_eq!(come.get(), all, "seed {seed}: who has come when {} leaves", member.rank());
                    assert_eq!(synchronization.differs(), differ, "seed {seed}: {}", member.rank());
                    Ok(())
                }
            });
            assert!(results.iter().all(Result::is_ok), "seed {seed}: {results:?}");
        }
    }
}

#[test]
fn broadcasts_arrive_everywhere() {
    for seed in seeds() {
        let random = &mut Rng::with_seed(seed);
        let nodes = random_nodes(random);
        let root = CommRank(random.u32(0..nodes.len() as u32));
        let bytes = random_bytes(random, nodes.len());
        let placement = members_on(&nodes);
        for way in ways(policy::bcast::ALGORITHMS, &Situation::apart(&placement, Some(bytes), None)) {
            let mut vectors: Vec<Vec<u8>> = CommRank::all(nodes.len() as u32)
                .map(|rank| if rank == root { block(root, CommRank(0), bytes) } else { vec![0xAA; bytes] })
                .collect();
            let places: Vec<*mut u8> = vectors.iter_mut().map(|vector| vector.as_mut_ptr()).collect();
            let (results, _) = run(&nodes, random, |member| {
                // SAFETY: all live until the run is over.
                let memory = unsafe { Memory::new(places[member.rank().index()], bytes) };
                let broadcast = Broadcast { root, signature: (1, 0), memory };
                async move { policy::bcast::run_by_messages(way, &member, &broadcast).await }
            });
            assert!(results.iter().all(Result::is_ok), "seed {seed}: {results:?}");
            assert!(vectors.iter().all(|vector| *vector == block(root, CommRank(0), bytes)), "seed {seed}");
        }
    }
}

async fn combine_by(way: usize, member: &Member, combination: &Combination) -> MpiResult {
    match combination.results {
        Results::All => policy::allreduce::run_by_messages(way, member, combination).await,
        Results::Root(_) => policy::reduce::run_by_messages(way, member, combination).await,
        Results::Shares(_) => policy::reduce_scatter::run_by_messages(way, member, combination).await,
        Results::Prefix(_) => policy::scan::run_by_messages(way, member, combination).await,
    }
}

pub fn sum_of_doubles() -> Reduction {
    let operand = Operand::new(&Datatypes::comparing(Default::default()), MPI_SUM, MPI_DOUBLE);
    Reduction::of_operand(operand.expect("a sum of doubles"), Arithmetic::Native)
}

/// What the vectors of these members come to, in the order of the reduction tree.
fn in_tree_order(reduction: &Reduction, vectors: &[Vector]) -> Vec<u8> {
    let mut vectors = vectors.to_vec();
    reduction.combine_all(&mut vectors).expect("equal lengths").map_or(Vec::new(), |sum| sum.to_vec())
}

fn random_vector(elements: usize, random: &mut Rng) -> Vector {
    let mut vector = Vector::new(elements * 8).expect("memory");
    for place in vector.chunks_exact_mut(8) {
        // Sums of these depend on the order.
        let number: f64 = (random.f64() - 0.5) * 10f64.powi(random.i32(-8..8));
        place.copy_from_slice(&number.to_ne_bytes());
    }
    vector
}

#[test]
fn reductions_have_the_bits_of_the_tree() {
    let mut names = BTreeSet::new();
    for seed in seeds() {
        let random = &mut Rng::with_seed(seed);
        let nodes = random_nodes(random);
        let size = nodes.len();
        let share = |_| [0, 1, random.usize(0..9)][random.usize(0..3)];
        let shares = shares_of(&(0..size).map(share).collect::<Vec<_>>());
        let results = match random.usize(0..5) {
            0 => Results::All,
            1 => Results::Root(CommRank(random.u32(0..size as u32))),
            2 => Results::Shares(shares.clone()),
            3 => Results::Prefix(ScanKind::Inclusive),
            _ => Results::Prefix(ScanKind::Exclusive),
        };
        let elements = match results {
            Results::Shares(_) => shares[size - 1].end,
            _ => random_bytes(random, size) / 8,
        };
        if elements == 0 {
            continue;
        }
        let ran = vectors_are_combined(&nodes, &results, elements, seed, random);
        names.extend(ran.into_iter().map(|name| (results.collective().name(), name)));
    }
    let reductions =
        [Collective::reduce, Collective::allreduce, Collective::reduce_scatter, Collective::scan];
    all_were_run(&reductions, &names);
}

/// Vectors of so many random elements are combined by every algorithm; answers their names.
fn vectors_are_combined(
    nodes: &[u32],
    results: &Results,
    elements: usize,
    seed: u64,
    random: &mut Rng,
) -> Vec<&'static str> {
    let (reduction, size) = (sum_of_doubles(), nodes.len());
    let vectors: Vec<Vector> = (0..size).map(|_| random_vector(elements, random)).collect();
    let in_place = random.u32(0..3) == 0;
    let mut names = Vec::new();
    let placement = members_on(nodes);
    let situation = Situation::apart(&placement, Some(elements * 8), Some(&reduction));
    for way in ways(policy::algorithms(results.collective()), &situation) {
        let name = policy::algorithms(results.collective())[way].name;
        names.push(name);
        let mut own = vectors.clone();
        let mut taken =
            if in_place { Vec::new() } else { vec![Vector::new(elements * 8).expect("memory"); size] };
        let operands: Vec<(*mut u8, *mut u8)> = (0..size)
            .map(|rank| {
                let from = own[rank].as_mut_ptr();
                (from, if in_place { from } else { taken[rank].as_mut_ptr() })
            })
            .collect();
        let (ended, _) = run(nodes, random, |member| {
            let (from, to) = operands[member.rank().index()];
            let (reduction, results) = (reduction.clone(), results.clone());
            async move {
                // SAFETY: all live until the run is over.
                let combination =
                    unsafe { Combination::new(reduction, results, (from.cast_const(), to), elements) };
                combine_by(way, &member, &combination).await
            }
        });
        assert!(ended.iter().all(Result::is_ok), "seed {seed} {results:?} {name}: {ended:?}");
        let sum = in_tree_order(&reduction, &vectors);
        for (rank, taken) in if in_place { &own } else { &taken }.iter().enumerate() {
            let right = match results {
                Results::All => sum.clone(),
                Results::Root(root) if root.index() == rank => sum.clone(),
                Results::Root(_) => continue,
                Results::Shares(shares) => sum[shares[rank].start * 8..shares[rank].end * 8].to_vec(),
                Results::Prefix(ScanKind::Inclusive) => in_tree_order(&reduction, &vectors[..=rank]),
                Results::Prefix(ScanKind::Exclusive) if rank == 0 => continue,
                Results::Prefix(ScanKind::Exclusive) => in_tree_order(&reduction, &vectors[..rank]),
            };
            assert!(taken[..right.len()] == right[..], "seed {seed} {results:?} {name}: rank {rank}");
        }
    }
    names
}

/// Consecutive shares of so many elements.
fn shares_of(lengths: &[usize]) -> Arc<[Range<usize>]> {
    let mut first = 0;
    let share = |length: &usize| {
        let start = first;
        first += length;
        start..first
    };
    lengths.iter().map(share).collect()
}

#[test]
fn long_shares_of_members_that_share_nodes_have_the_bits_of_the_tree() {
    for (seed, nodes, lengths) in [
        (1, [0, 0, 1, 1], [200_000, 200_000, 200_000, 200_000]),
        (2, [0, 0, 1, 1], [1, 0, 700_000, 140_000]),
        (3, [0, 0, 1, 1], [0, 0, 0, 131_073]),
        (4, [7, 7, 7, 7], [131_072, 131_073, 0, 1]),
    ] {
        let shares = shares_of(&lengths);
        let (elements, results) = (shares[3].end, Results::Shares(shares));
        vectors_are_combined(&nodes, &results, elements, seed, &mut Rng::with_seed(seed));
    }
}
