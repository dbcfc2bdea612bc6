//! However a job ends, the user reads why, and nothing of it is left.
//!
//! `BCS_TEST_KILLS=200 scripts/test end-to-end` kills more often than the 30 times of a plain run.

use std::collections::BTreeSet;
use std::time::Duration;

use bcs_harness::c_programs::Compiled;
use bcs_harness::installation::mpiexec;
use bcs_harness::processes::{children, kill};
use bcs_harness::runs::{Running, run, start};
use bcs_harness::waiting::await_some;

/// Each of the ranks receives from its left neighbour first.
const CYCLE: &str = r#"
#include <mpi.h>
int main(int argc, char **argv) {
    int rank, ranks, value = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Recv(&value, 1, MPI_INT, (rank + ranks - 1) % ranks, 70 + rank, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&value, 1, MPI_INT, (rank + 1) % ranks, 70 + (rank + 1) % ranks, MPI_COMM_WORLD);
    return MPI_Finalize();
}"#;

/// Rank 1 waits for a message while the others are in a barrier.
const ODD_ONE_OUT: &str = r#"
#include <mpi.h>
int main(int argc, char **argv) {
    int rank, value;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}"#;

/// Small and large messages round the ring, and sums, until somebody ends it.
const BUSY: &str = r#"
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int rank, ranks, count = 100000;
    double one = 1, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int *out = calloc(count, sizeof *out), *in = calloc(count, sizeof *in);
    for (int round = 0;; round++) {
        MPI_Sendrecv(out, round % 2 ? count : 1, MPI_INT, (rank + 1) % ranks, 0, in, count, MPI_INT,
                     (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
}"#;

/// Megabytes round the ring without blocking, while sums, broadcasts and exchanges of all with all go on,
/// until somebody ends it.
const LARGE: &str = r#"
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int rank, ranks, count = 1 << 20, part = 1 << 12;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int *out = calloc(count, sizeof *out), *in = calloc(count, sizeof *in);
    double *mine = calloc(count, sizeof *mine), *sums = calloc(count, sizeof *sums);
    for (int round = 0;; round++) {
        MPI_Request requests[2];
        MPI_Irecv(in, count, MPI_INT, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, count, MPI_INT, (rank + 1) % ranks, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Allreduce(mine, sums, round % 2 ? part : 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Bcast(mine, part * 8, MPI_DOUBLE, round % ranks, MPI_COMM_WORLD);
        MPI_Alltoall(mine, part, MPI_DOUBLE, sums, part, MPI_DOUBLE, MPI_COMM_WORLD);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}"#;

#[test]
fn a_cycle_of_receives_ends_with_a_report_of_every_rank() {
    let compiled = Compiled::by_mpicc(CYCLE);
    for slice in ["elastic", "500us"] {
        let ended = run(mpiexec("-n 3 --slice").arg(slice).arg(compiled.program()));
        assert_ne!(ended.code(), 0, "{ended:?}");
        ended.says("MPI_Recv");
        for tag in ["70", "71", "72"] {
            ended.says(tag);
        }
    }
}

#[test]
fn a_hang_report_names_the_odd_one_out() {
    let ended = run(mpiexec("-n 4").arg(Compiled::by_mpicc(ODD_ONE_OUT).program()));
    assert_ne!(ended.code(), 0, "{ended:?}");
    ended.says("MPI_Barrier").says("MPI_Recv").says("tag 7");
}

#[test]
fn a_rank_that_computes_for_long_is_no_deadlock() {
    let source = r#"
#include <mpi.h>
#include <unistd.h>
int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 2) sleep(4);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}"#;
    run(mpiexec("-n 4").arg(Compiled::by_mpicc(source).program())).succeeds();
}

#[test]
fn the_status_of_an_abort_is_the_status_of_the_job() {
    let source = r#"
#include <mpi.h>
int main(int argc, char **argv) {
    int rank, value;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 2) MPI_Abort(MPI_COMM_WORLD, 17);
    MPI_Recv(&value, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return MPI_Finalize();
}"#;
    let ended = run(mpiexec("-n 4").arg(Compiled::by_mpicc(source).program()));
    assert_eq!(ended.code(), 17, "{ended:?}");
    ended.says("MPI_Abort").says("rank 2");
}

#[test]
fn a_rank_that_leaves_without_finalize_ends_the_job_with_its_name() {
    let source = r#"
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1) exit(3);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}"#;
    let ended = run(mpiexec("-n 3").arg(Compiled::by_mpicc(source).program()));
    assert_eq!(ended.code(), 3, "{ended:?}");
    ended.says("rank 1");
}

#[test]
fn a_timeout_ends_the_job_and_says_what_each_rank_was_doing() {
    let source = r#"
#include <mpi.h>
#include <unistd.h>
int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) for (;;) pause();
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}"#;
    let ended = run(mpiexec("-n 3 --timeout 1").arg(Compiled::by_mpicc(source).program()));
    assert_eq!(ended.code(), 124, "{ended:?}");
    ended.says("MPI_Barrier").says("rank 0");
}

/// A launcher below `storm`, and ranks below it; none while they are being started.
fn victim(running: &Running, kind: usize, which: usize) -> Option<u32> {
    let launcher = || children(running.pid()).first().copied();
    match kind {
        0 => Some(running.pid()),
        1 => launcher(),
        _ => {
            let ranks = children(launcher()?);
            (!ranks.is_empty()).then(|| ranks[which % ranks.len()])
        }
    }
}

/// The names of shared memory on this machine, those of MPICH and Open MPI apart: they may run beside this
/// test.
fn shared_memory() -> BTreeSet<String> {
    let names = std::fs::read_dir("/dev/shm").unwrap().flatten().map(|entry| entry.file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    names.filter(|name| !["mpich_", "sm_segment."].iter().any(|other| name.starts_with(other))).collect()
}

/// How often each of the tests below kills: `BCS_TEST_KILLS`, else 30.
fn kills() -> usize {
    std::env::var("BCS_TEST_KILLS").map_or(30, |text| text.parse().expect("BCS_TEST_KILLS is a number"))
}

/// Kills a random process of a job of `ranks` ranks at a random moment, in turn a storm, a launcher and a
/// rank.
fn kill_in_the_middle(program: &Compiled, ranks: &str, modes: &[&str], mut state: u64) {
    let before = shared_memory();
    for round in 0..kills() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let mode = modes[(state >> 8) as usize % modes.len()];
        let running = start(mpiexec(mode).args(["-n", ranks]).arg(program.program()));
        std::thread::sleep(Duration::from_micros(state % 60_000));
        let pid = await_some("whom to kill", || victim(&running, round % 3, (state >> 20) as usize));
        kill(pid);
        // Waiting also checks that no process is left.
        let ended = running.wait();
        assert_eq!(ended.code(), 137, "round {round}, {mode}: {ended:?}");
        for words in [&[][..], &["program launcher", "SIGKILL"], &["rank ", "SIGKILL"]][round % 3] {
            ended.says(words);
        }
    }
    assert_eq!(shared_memory(), before);
}

#[test]
fn kill_9_in_the_middle_of_messages_leaves_no_process_and_no_shared_memory() {
    let modes = ["", "--cross-memory off", "--slice 500us"];
    kill_in_the_middle(&Compiled::by_mpicc(BUSY), "3", &modes, 0x2545_F491_4F6C_DD1D);
}

#[test]
fn kill_9_of_one_of_many_ranks_in_large_messages_and_collectives_leaves_nothing() {
    let modes = ["", "--slice 500us", "--cross-memory off", "--slice 200us --cross-memory off"];
    kill_in_the_middle(&Compiled::by_mpicc(LARGE), "8", &modes, 0x9E37_79B9_7F4A_7C15);
}
