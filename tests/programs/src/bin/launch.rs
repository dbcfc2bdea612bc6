//! Runs a program without a machine manager: `launch RANKS[/NODES][@MICROSECONDS] PROGRAM [ARGUMENT]...`, for
//! tests and measurements of the library alone. The nodes of a job on several are all this machine. Slices
//! are elastic, or fixed and so long.

use bcs_core::SliceLength;
use std::time::Duration;
use test_programs::launcher;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(((ranks, nodes, slice), [program, rest @ ..])) =
        arguments.split_first().and_then(|(size, rest)| Some((launcher::size_of_job(size)?, rest)))
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
