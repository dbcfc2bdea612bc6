//! Random programs of collective calls: each rank computes what it has to get (`random_collectives.c`).

use bcs_harness::c_programs::compiled;
use bcs_harness::{refuse_attach, times};
use bcs_mpi::collective::policy::{Algorithm, TABLE};
use bcs_mpi::object::wanted::VARIABLE;
use nic_emu::host::CrossMemory;
use std::time::Duration;
use test_programs::launcher::{Job, launch, size_of_job};

/// Runs random programs as a job of this size, and says how the one that fails is run again.
fn programs_hold(size: &str, arguments: &[&str]) {
    programs_hold_with(CrossMemory::WhereFaster, size, arguments);
}

fn programs_hold_with(cross_memory: CrossMemory, size: &str, arguments: &[&str]) {
    programs_hold_in(Job { cross_memory, ..Job::of(1) }, size, arguments);
}

/// In a job like this one, but of that size.
fn programs_hold_in(job: Job, size: &str, arguments: &[&str]) {
    let (ranks, nodes, slice) = size_of_job(size).expect("RANKS[/NODES][@MICROSECONDS]");
    let (environment, in_blocks) = (job.environment.clone(), job.in_blocks);
    let job = Job { ranks, nodes, slice, limit: Duration::from_secs(1200), ..job };
    let ended = launch(&job, &compiled("random_collectives"), arguments);
    if ended.is_well() {
        return;
    }
    // A line is printed for each seed that has held.
    let held = ended.stdout.lines().filter(|line| line.starts_with("seed ")).count() as u64;
    let first: u64 = arguments.first().and_then(|seed| seed.parse().ok()).expect("a seed");
    let rest = arguments.get(2..).unwrap_or_default().join(" ");
    panic!(
        "seed {seed} on {size} {environment:?}: {ended:#?}\nAgain, alone: {blocks}BCS_RANDOM='{size} {seed} 1 \
         {rest}' cargo test --workspace --test mpi random_programs_as_asked -- --ignored",
        seed = first + held,
        blocks = if in_blocks { "BCS_RANDOM_IN_BLOCKS=1 " } else { "" },
    );
}

/// As many as `count` says for each size of a job, all of them different ones.
fn all_hold(jobs: &[(&str, u64)], mut seed: u64) {
    for (size, count) in jobs {
        let count = times(*count);
        programs_hold(size, &[&seed.to_string(), &count.to_string()]);
        seed += count;
    }
}

#[test]
fn random_programs_of_collectives_get_what_the_standard_says() {
    all_hold(&[("1", 50), ("2", 300), ("3", 300), ("5", 250), ("8", 200)], 1);
}

#[test]
fn random_programs_get_it_on_several_nodes_too() {
    all_hold(&[("2/2", 60), ("3/2", 40), ("3/3", 40), ("5/2", 60), ("5/3", 40), ("8/3", 30)], 10_001);
}

#[test]
fn random_programs_get_it_in_fixed_slices_too() {
    all_hold(&[("2@50", 60), ("3@200", 60), ("8@100", 40), ("3/2@500", 40)], 20_001);
}

#[test]
fn random_programs_get_it_whether_their_memory_may_be_read_or_not() {
    let (always, off) = (CrossMemory::Always, CrossMemory::Off);
    for (cross_memory, size, seed) in [(always, "2", "30001"), (always, "5", "30101"), (off, "3", "30201")] {
        programs_hold_with(cross_memory, size, &[seed, "80"]);
    }
    // Refused only when it is tried.
    let refused = || {
        refuse_attach().expect("a filter of system calls");
        for (size, seed) in [("2", "30301"), ("3", "30401"), ("5", "30501")] {
            programs_hold_with(always, size, &[seed, "40"]);
        }
    };
    std::thread::scope(|scope| scope.spawn(refused).join().expect("as the programs"));
}

#[test]
fn random_programs_get_it_for_vectors_of_up_to_256_mb() {
    let count = times(4).to_string();
    programs_hold("3", &["60001", &count, "--largest", "268435456"]);
    programs_hold("5/2", &["60101", &count, "--largest", "67108864"]);
}

#[test]
fn random_programs_get_it_by_every_algorithm() {
    // The k-th algorithm of each collective, or the last.
    let most = TABLE.iter().map(|(_, _, ways)| ways.len()).max().unwrap_or(0);
    for number in 0..most {
        let way = |(_, name, ways): &(_, &str, &[Algorithm])| {
            format!("{name}={}", ways[number.min(ways.len() - 1)].name)
        };
        let wanted = TABLE.iter().map(way).collect::<Vec<_>>().join(",");
        // Ranks of a node have to follow each other for lanes.
        for (size, in_blocks, seed) in
            [("3", false, 40_001), ("4", false, 40_101), ("5/2", false, 40_201), ("4/2", true, 40_301)]
        {
            let environment = vec![(VARIABLE.to_owned(), wanted.clone())];
            let job = Job { environment, in_blocks, ..Job::of(1) };
            programs_hold_in(job, size, &[&seed.to_string(), &times(15).to_string()]);
        }
    }
}

/// `BCS_RANDOM="RANKS[/NODES][@MICROSECONDS] SEED [COUNT] [OPTION]..."` (`random_collectives.c`); with
/// `BCS_RANDOM_IN_BLOCKS` ranks of a node follow each other.
#[test]
#[ignore = "what BCS_RANDOM says: by name alone"]
fn random_programs_as_asked() {
    let asked = std::env::var("BCS_RANDOM").expect("BCS_RANDOM says which");
    let words: Vec<&str> = asked.split_whitespace().collect();
    let (size, arguments) = words.split_first().expect("the size of a job");
    let in_blocks = std::env::var_os("BCS_RANDOM_IN_BLOCKS").is_some();
    programs_hold_in(Job { in_blocks, ..Job::of(1) }, size, arguments);
}
