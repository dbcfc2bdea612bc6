//! Runs a program on one NIC without a machine manager: `launch RANKS PROGRAM [ARGUMENT]...`, for tests and measurements of the
//! library alone.

#[path = "../../../tests/mpi/launcher.rs"]
mod launcher;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((ranks, [program, rest @ ..])) =
        arguments.split_first().and_then(|(n, rest)| Some((n.parse().ok()?, rest)))
    else {
        eprintln!("usage: launch RANKS PROGRAM [ARGUMENT]...");
        std::process::exit(2);
    };
    let job = launcher::Job {
        inherit: true,
        limit: std::time::Duration::from_secs(600),
        ..launcher::Job::of(ranks)
    };
    let ended = launcher::launch(&job, program.as_ref(), rest);
    print!("{}", ended.stdout);
    eprint!("{}", ended.stderr);
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
