//! What MDS says of a run is what the run did (paper, §5).

use std::collections::BTreeMap;
use std::path::Path;

use bcs_harness::c_programs::Compiled;
use bcs_harness::installation::{deck, example, installed, mpiexec};
use bcs_harness::runs::run;

/// Calls that can be counted: every rank 30 barriers, 10 allreduces and 15 that do not block, a persistent
/// one, and 20 messages of 4000 bytes to the right.
const COUNTED: &str = r#"
#include <mpi.h>
int main(int argc, char **argv) {
    int rank, ranks, values[1000] = {0}, others[1000];
    double one = 1, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < 30; i++) MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 10; i++) MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < 20; i++) {
        MPI_Request requests[2];
        MPI_Irecv(others, 1000, MPI_INT, (rank + ranks - 1) % ranks, 3, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(values, 1000, MPI_INT, (rank + 1) % ranks, 3, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < 15; i++) {
        MPI_Request request;
        MPI_Iallreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request begun;
    MPI_Allreduce_init(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &begun);
    MPI_Start(&begun);
    MPI_Wait(&begun, MPI_STATUS_IGNORE);
    MPI_Request_free(&begun);
    return MPI_Finalize();
}"#;

/// The records of a dump: each a map from column to cell. No cell of ours has a comma or a quote in it.
fn records(trace: &Path, options: &[&str]) -> Vec<BTreeMap<String, String>> {
    let dump = run(installed("mds").arg("dump").arg(trace).arg("--csv").args(options)).succeeds();
    let mut lines = dump.stdout.lines();
    let header: Vec<_> =
        lines.next().unwrap_or_default().split(',').map(|name| name.trim().to_owned()).collect();
    lines
        .map(|line| header.iter().cloned().zip(line.split(',').map(|cell| cell.trim().to_owned())).collect())
        .collect()
}

fn number(record: &BTreeMap<String, String>, column: &str) -> u64 {
    record
        .get(column)
        .and_then(|cell| cell.parse().ok())
        .unwrap_or_else(|| panic!("no {column} in {record:?}"))
}

fn of<'a>(
    records: &'a [BTreeMap<String, String>],
    rank: u64,
    kind: &'a str,
) -> impl Iterator<Item = &'a BTreeMap<String, String>> {
    records.iter().filter(move |record| record["record"] == kind && number(record, "rank") == rank)
}

#[test]
fn mmds_counts_every_call_of_every_rank() {
    let directory = tempfile::tempdir().unwrap();
    let compiled = Compiled::by_mpicc(COUNTED);
    let mut command = mpiexec("-n 3 --mmds --trace-dir");
    run(command.arg(directory.path()).arg(compiled.program())).succeeds();
    let records = records(directory.path(), &["--mmds"]);
    for rank in 0..3 {
        let counts: BTreeMap<_, _> =
            of(&records, rank, "call").map(|call| (call["name"].as_str(), number(call, "count"))).collect();
        for (name, count) in [
            ("MPI_Barrier", 30),
            ("MPI_Allreduce", 10),
            ("MPI_Isend", 20),
            ("MPI_Irecv", 20),
            ("MPI_Waitall", 20),
            ("MPI_Iallreduce", 15),
            ("MPI_Allreduce_init", 1),
        ] {
            assert_eq!(counts.get(name), Some(&count), "rank {rank}: {counts:?}");
        }
        let sent = of(&records, rank, "call").find(|call| call["name"] == "MPI_Isend").unwrap();
        assert_eq!(number(sent, "bytes"), 20 * 4000);
    }
}

#[test]
fn computation_and_communication_add_up_to_the_run_time_within_a_hundredth_of_a_percent() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = mpiexec("-n 4 --mmds --trace-dir");
    run(command.arg(directory.path()).arg(example("hydro")).arg(deck("hydro", "small"))).succeeds();
    let records = records(directory.path(), &["--mmds"]);
    for rank in 0..4 {
        let run_time =
            of(&records, rank, "time").map(|time| number(time, "total_ns")).max().expect("a run time");
        let intervals: u64 =
            of(&records, rank, "interval").map(|interval| number(interval, "total_ns")).sum();
        assert!(
            run_time.abs_diff(intervals) * 10_000 <= run_time,
            "rank {rank}: {intervals} of {run_time} ns"
        );
    }
}

#[test]
fn emds_records_slices_in_which_the_messages_of_the_run_were_scheduled() {
    let directory = tempfile::tempdir().unwrap();
    let compiled = Compiled::by_mpicc(COUNTED);
    for slice in ["elastic", "500us"] {
        let mut command = mpiexec("-n 3 --emds --slice");
        run(command.arg(slice).arg("--trace-dir").arg(directory.path()).arg(compiled.program())).succeeds();
        let records = records(directory.path(), &["--emds"]);
        let local: Vec<_> = records.iter().filter(|record| record["record"] == "local").collect();
        assert!(records.iter().any(|record| record["record"] == "global"), "{slice}: no global record");
        let slices: Vec<_> = local.iter().map(|record| number(record, "slice")).collect();
        assert!(slices.is_sorted_by(|a, b| a < b), "{slice}: slices are numbered once each, in order");
        let sum = |column: &str| local.iter().map(|record| number(record, column)).sum::<u64>();
        // 3 ranks × 20 messages, each with a send and a receive descriptor; 40 collectives of 3 ranks.
        assert_eq!(sum("np2pdem"), 3 * 20 * 2, "{slice}");
        assert_eq!(sum("np2pmsm"), 3 * 20, "{slice}");
        assert!(sum("ncolldem") >= 3 * 40, "{slice}");
    }
}

#[test]
fn summary_shows_the_table_of_the_paper() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = mpiexec("-n 4 --mmds --emds --trace-dir");
    run(command.arg(directory.path()).arg(example("sweep")).arg(deck("sweep", "small"))).succeeds();
    let summary = run(installed("mds").arg("summary").arg(directory.path())).succeeds();
    for words in ["MPI_Isend", "MPI_Irecv", "MPI_Waitall", "MPI_Allreduce", "Count"] {
        summary.says(words);
    }
}

#[test]
fn without_the_options_nothing_is_recorded() {
    let directory = tempfile::tempdir().unwrap();
    let compiled = Compiled::by_mpicc(COUNTED);
    run(mpiexec("-n 2").arg(compiled.program()).current_dir(directory.path())).succeeds();
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}
