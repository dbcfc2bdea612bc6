//! Much of everything: slower, never lost, never corrupt.

use bcs_harness::c_programs::Compiled;
use bcs_harness::installation::mpiexec;
use bcs_harness::runs::run;

#[test]
fn a_hundred_thousand_unexpected_messages_arrive_in_order() {
    let source = r#"
#include <mpi.h>
#include <stdio.h>
enum { MESSAGES = 100000 };
int main(int argc, char **argv) {
    int rank, value = 0, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        for (int i = 0; i < MESSAGES; i++) MPI_Send(&i, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        MPI_Send(&value, 0, MPI_INT, 1, 1, MPI_COMM_WORLD);
    } else {
        /* The last message first: all others are unexpected. */
        MPI_Recv(&value, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < MESSAGES; i++) {
            MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            wrong += value != i;
        }
        printf("%d of %d are wrong\n", wrong, MESSAGES);
    }
    return MPI_Finalize();
}"#;
    run(mpiexec("-n 2").arg(Compiled::by_mpicc(source).program())).succeeds().says("0 of 100000 are wrong");
}

#[test]
fn the_limit_of_messages_that_nobody_has_received_is_an_option() {
    let program = Compiled::checking("slow_receiver");
    for slice in ["elastic", "200us"] {
        let mut limited = mpiexec(&format!("-n 2 --unexpected-limit 1MiB --slice {slice}"));
        run(limited.arg(program.program()).arg("600")).succeeds();
    }
    let source = r#"
#include <mpi.h>
int main(int argc, char **argv) {
    static char bytes[8000];
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    while (rank == 0) MPI_Send(bytes, sizeof bytes, MPI_CHAR, 1, 5, MPI_COMM_WORLD);
    return MPI_Finalize();
}"#;
    let blocked = Compiled::by_mpicc(source);
    let ended = run(mpiexec("-n 2 --unexpected-limit 3MiB").arg(blocked.program()));
    assert_eq!(ended.code(), 125, "{ended:?}");
    ended.says("rank 1 has not received 3MiB of messages, of at most 3MiB (--unexpected-limit)");
    for limit in ["3000KB", "3000000"] {
        let ended = run(mpiexec(&format!("-n 2 --unexpected-limit {limit}")).arg(blocked.program()));
        assert_eq!(ended.code(), 125, "{ended:?}");
        ended.says("of at most 2880KiB (--unexpected-limit)");
    }
    let wrong = run(mpiexec("-n 2 --unexpected-limit much").arg(program.program()));
    assert_eq!(wrong.code(), 1, "{wrong:?}");
    wrong.says("--unexpected-limit").says("much");
}

#[test]
fn a_message_of_3_gigabytes_arrives_whole() {
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap();
    let available = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:")?.split_whitespace().next()?.parse().ok());
    if available.is_some_and(|kilobytes: u64| kilobytes < 9 << 20) {
        bcs_harness::skip("this takes 9 GB of memory");
        return;
    }
    let source = r#"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int rank, count = 3 << 28; /* of four bytes each */
    long wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    unsigned *data = malloc(sizeof *data * (size_t)count);
    if (!data) MPI_Abort(MPI_COMM_WORLD, 9);
    if (rank == 0) {
        for (int i = 0; i < count; i++) data[i] = 2654435761u * (unsigned)i;
        MPI_Send(data, count, MPI_UNSIGNED, 1, 0, MPI_COMM_WORLD);
    } else {
        MPI_Status status;
        int got;
        MPI_Recv(data, count, MPI_UNSIGNED, 0, 0, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_UNSIGNED, &got);
        for (int i = 0; i < count; i++) wrong += data[i] != 2654435761u * (unsigned)i;
        printf("%d elements, %ld wrong\n", got, wrong);
    }
    free(data);
    return MPI_Finalize();
}"#;
    for mode in ["", "--cross-memory off"] {
        run(mpiexec(mode).args(["-n", "2"]).arg(Compiled::by_mpicc(source).program()))
            .succeeds()
            .says("805306368 elements, 0 wrong");
    }
}

#[test]
fn five_hundred_and_twelve_ranks_add_up() {
    let source = r#"
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
    int rank, ranks, sum, left;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % ranks, 0, &left, 1, MPI_INT, (rank + ranks - 1) % ranks, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int right_one = left == (rank + ranks - 1) % ranks, all_right;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce(&right_one, &all_right, 1, MPI_INT, MPI_LAND, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("sum %d, neighbours %s\n", sum, all_right ? "right" : "wrong");
    return MPI_Finalize();
}"#;
    run(mpiexec("-n 512").arg(Compiled::by_mpicc(source).program()))
        .succeeds()
        .says("sum 130816, neighbours right");
}
