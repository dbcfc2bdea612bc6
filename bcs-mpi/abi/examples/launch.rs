//! Runs a program without a machine manager: `launch RANKS[/NODES][@MICROSECONDS] PROGRAM [ARGUMENT]...`, for tests and measurements of the library
//! alone. The nodes of a job on several are all this machine. Slices are elastic, or fixed and so long.

#[path = "../../../tests/mpi/launcher.rs"]
mod launcher;

use bcs_core::SliceLength;
use std::time::Duration;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(((ranks, nodes, slice), [program, rest @ ..])) =
        arguments.split_first().and_then(|(size, rest)| Some((size_of_job(size)?, rest)))
    else {
        eprintln!(
            "usage: launch RANKS[/NODES][@MICROSECONDS] PROGRAM [ARGUMENT]...; a node has at least one rank"
        );
        std::process::exit(2);
    };
    let job = launcher::Job {
        nodes,
        slice,
        inherit: true,
        limit: Duration::from_secs(600),
        ..launcher::Job::of(ranks)
    };
    let ended = launcher::launch(&job, program.as_ref(), rest);
    print!("{}", ended.stdout);
    eprint!("{}", ended.stderr);
    if slice != SliceLength::Elastic {
        eprintln!("{} slices", ended.slices);
    }
    if let Some((code, message)) = &ended.abort {
        eprintln!("{message} (exit code {code})");
    }
    if let Some(finding) = &ended.finding {
        eprintln!("the job was ended:\n{finding}");
    }
    std::process::exit(if ended.is_well() {
        0
    } else {
        ended.codes.iter().copied().find(|c| *c != 0).unwrap_or(1)
    });
}

/// Ranks, nodes and slices.
fn size_of_job(text: &str) -> Option<(u32, u32, SliceLength)> {
    let (text, slice) = match text.split_once('@') {
        Some((text, period)) => (text, SliceLength::Fixed(Duration::from_micros(period.parse().ok()?))),
        None => (text, SliceLength::Elastic),
    };
    let (ranks, nodes) = text.split_once('/').unwrap_or((text, "1"));
    let (ranks, nodes) = (ranks.parse().ok()?, nodes.parse().ok()?);
    (1..=ranks).contains(&nodes).then_some((ranks, nodes, slice))
}
