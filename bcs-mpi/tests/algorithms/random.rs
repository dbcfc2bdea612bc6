//! Random calls on 1 to 64 nodes: every algorithm by messages brings each member what the call says, bit
//! by bit, in whatever order its messages come.

use crate::simulated::{Member, members_on, run};
use bcs_mpi::MpiResult;
use bcs_mpi::collective::block::Agreed;
use bcs_mpi::collective::combination::{Combination, Results, ScanKind};
use bcs_mpi::collective::movement::{Broadcast, Movement, Pattern};
use bcs_mpi::collective::operand::Operand;
use bcs_mpi::collective::policy::{self, Algorithm, Situation, Transport};
use bcs_mpi::collective::reduction::Reduction;
use bcs_mpi::collective::vector::Vector;
use bcs_mpi::constants::{MPI_DOUBLE, MPI_SUM};
use bcs_mpi::object::datatype::Datatypes;
use bcs_mpi::progress::{Membership, Memory};
use fastrand::Rng;
use nic_emu::arith::Arithmetic;
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
fn byte(from: u32, to: u32, at: usize) -> u8 {
    (from as usize * 41 + to as usize * 59 + at * 7 + at / 251) as u8
}

fn block(from: u32, to: u32, bytes: usize) -> Vec<u8> {
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

/// Blocks of these lengths go from each to each; nothing of what none knows is nothing, too.
fn blocks_arrive(nodes: &[u32], pattern: Pattern, lengths: &[usize], random: &mut Rng) {
    let size = nodes.len();
    let differs = lengths.iter().any(|length| *length != lengths[0]);
    let agreed = Agreed { bytes: lengths[0], signature: (1, 0), differs };
    // Of a v form each pair has a length of its own; who gives all the same has one.
    let length = |from: u32, to: u32| match pattern {
        Pattern::Alltoall | Pattern::Scatter(_) => lengths[(from as usize + to as usize) % lengths.len()],
        _ => lengths[from as usize % lengths.len()],
    };
    let target = |to: u32| if pattern.gives_the_same() { 0 } else { to };
    let given: Vec<Vec<Vec<u8>>> = (0..size as u32)
        .map(|from| (0..size as u32).map(|to| block(from, target(to), length(from, to))).collect())
        .collect();
    let placement = members_on(nodes);
    let situation = Situation::apart(&placement, agreed.of_all(1), None);
    for way in ways(policy::algorithms(pattern.collective()), &situation) {
        let name = policy::algorithms(pattern.collective())[way].name;
        let room = |to: u32| (0..size as u32).map(|from| vec![0xAA; length(from, to)]).collect();
        let mut taken: Vec<Vec<Vec<u8>>> = (0..size as u32).map(room).collect();
        // SAFETY: all live until the run is over.
        let memory = |place: &mut Vec<u8>| unsafe { Memory::new(place.as_mut_ptr(), place.len()) };
        let places: Vec<Vec<Memory>> =
            taken.iter_mut().map(|of| of.iter_mut().map(memory).collect()).collect();
        let (results, _) = run(nodes, random, |member| {
            let (given, places) = (&given, &places);
            async move {
                let rank = member.rank() as usize;
                let outgoing = |to: u32| {
                    let block: &Vec<u8> = &given[rank][to as usize];
                    // SAFETY: it lives until the run is over, and is only read.
                    unsafe { Memory::new(block.as_ptr().cast_mut(), block.len()) }
                };
                let incoming = |from: u32| places[rank][from as usize];
                let movement = Movement::new(pattern, agreed, &outgoing, &incoming);
                move_by(way, &member, &movement).await
            }
        });
        assert!(results.iter().all(Result::is_ok), "{pattern:?} {name}: {results:?}");
        for to in 0..size as u32 {
            for from in (0..size as u32).filter(|from| pattern.goes(*from, to)) {
                let wanted = block(from, target(to), length(from, to));
                assert_eq!(taken[to as usize][from as usize], wanted, "{pattern:?} {name}: {from} to {to}");
            }
        }
    }
}

#[test]
fn blocks_arrive_where_they_are_wanted() {
    for seed in seeds() {
        let random = &mut Rng::with_seed(seed);
        let nodes = random_nodes(random);
        let root = random.u32(0..nodes.len() as u32);
        let pattern = [Pattern::Gather(root), Pattern::Scatter(root), Pattern::Allgather, Pattern::Alltoall];
        let pattern = pattern[random.usize(0..4)];
        let kinds = if random.bool() { 1 } else { random.usize(1..5) };
        let lengths: Vec<usize> = (0..kinds).map(|_| random_bytes(random, nodes.len())).collect();
        blocks_arrive(&nodes, pattern, &lengths, random);
    }
}

#[test]
fn broadcasts_arrive_everywhere() {
    for seed in seeds() {
        let random = &mut Rng::with_seed(seed);
        let nodes = random_nodes(random);
        let (root, bytes) = (random.u32(0..nodes.len() as u32), random_bytes(random, nodes.len()));
        let placement = members_on(&nodes);
        for way in ways(policy::bcast::ALGORITHMS, &Situation::apart(&placement, Some(bytes), None)) {
            let mut vectors: Vec<Vec<u8>> = (0..nodes.len() as u32)
                .map(|rank| if rank == root { block(root, 0, bytes) } else { vec![0xAA; bytes] })
                .collect();
            let places: Vec<*mut u8> = vectors.iter_mut().map(|vector| vector.as_mut_ptr()).collect();
            let (results, _) = run(&nodes, random, |member| {
                // SAFETY: all live until the run is over.
                let memory = unsafe { Memory::new(places[member.rank() as usize], bytes) };
                let broadcast = Broadcast { root, signature: (1, 0), memory };
                async move { policy::bcast::run_by_messages(way, &member, &broadcast).await }
            });
            assert!(results.iter().all(Result::is_ok), "seed {seed}: {results:?}");
            assert!(vectors.iter().all(|vector| *vector == block(root, 0, bytes)), "seed {seed}");
        }
    }
}

/// Which calls an algorithm is for.
#[derive(Clone, Copy, Debug)]
enum Wanted {
    All,
    Root(u32),
    Shares,
    Prefix(ScanKind),
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
    let reduction = sum_of_doubles();
    for seed in seeds() {
        let random = &mut Rng::with_seed(seed);
        let nodes = random_nodes(random);
        let size = nodes.len();
        let wanted = match random.usize(0..5) {
            0 => Wanted::All,
            1 => Wanted::Root(random.u32(0..size as u32)),
            2 => Wanted::Shares,
            3 => Wanted::Prefix(ScanKind::Inclusive),
            _ => Wanted::Prefix(ScanKind::Exclusive),
        };
        let mut first = 0;
        let shares: Arc<[Range<usize>]> = (0..size)
            .map(|_| {
                let start = first;
                first += [0, 1, random.usize(0..9)][random.usize(0..3)];
                start..first
            })
            .collect();
        let elements = match wanted {
            Wanted::Shares => first,
            _ => random_bytes(random, size) / 8,
        };
        let vectors: Vec<Vector> = (0..size).map(|_| random_vector(elements, random)).collect();
        let in_place = random.u32(0..3) == 0;
        if elements == 0 {
            continue;
        }
        let results = match wanted {
            Wanted::All => Results::All,
            Wanted::Root(root) => Results::Root(root),
            Wanted::Shares => Results::Shares(shares.clone()),
            Wanted::Prefix(kind) => Results::Prefix(kind),
        };
        let placement = members_on(&nodes);
        let situation = Situation::apart(&placement, Some(elements * 8), Some(&reduction));
        for way in ways(policy::algorithms(results.collective()), &situation) {
            let name = policy::algorithms(results.collective())[way].name;
            let mut own = vectors.clone();
            let mut taken =
                if in_place { Vec::new() } else { vec![Vector::new(elements * 8).expect("memory"); size] };
            let operands: Vec<(*mut u8, *mut u8)> = (0..size)
                .map(|rank| {
                    let from = own[rank].as_mut_ptr();
                    (from, if in_place { from } else { taken[rank].as_mut_ptr() })
                })
                .collect();
            let (ended, _) = run(&nodes, random, |member| {
                let (from, to) = operands[member.rank() as usize];
                let (reduction, results) = (reduction.clone(), results.clone());
                async move {
                    // SAFETY: all live until the run is over.
                    let combination =
                        unsafe { Combination::new(reduction, results, (from.cast_const(), to), elements) };
                    combine_by(way, &member, &combination).await
                }
            });
            assert!(ended.iter().all(Result::is_ok), "seed {seed} {wanted:?} {name}: {ended:?}");
            let sum = in_tree_order(&reduction, &vectors);
            for (rank, taken) in if in_place { &own } else { &taken }.iter().enumerate() {
                let right = match wanted {
                    Wanted::All => sum.clone(),
                    Wanted::Root(root) if root as usize == rank => sum.clone(),
                    Wanted::Root(_) => continue,
                    Wanted::Shares => sum[shares[rank].start * 8..shares[rank].end * 8].to_vec(),
                    Wanted::Prefix(ScanKind::Inclusive) => in_tree_order(&reduction, &vectors[..=rank]),
                    Wanted::Prefix(ScanKind::Exclusive) if rank == 0 => continue,
                    Wanted::Prefix(ScanKind::Exclusive) => in_tree_order(&reduction, &vectors[..rank]),
                };
                assert_eq!(taken[..right.len()], right, "seed {seed} {wanted:?} {name}: rank {rank}");
            }
        }
    }
}
