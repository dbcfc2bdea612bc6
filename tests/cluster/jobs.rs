//! Jobs on several hosts: answers and endings.

use crate::hosts::Cluster;
use bcs_harness::c_programs::Compiled;
use bcs_harness::installation::{deck, example};
use bcs_harness::runs::{Ended, run, start};
use bcs_harness::skip;

#[test]
fn codes_give_their_verified_answers_with_8_ranks_on_4_hosts() {
    let cluster = Cluster::take();
    for (code, slice) in [("sweep", "elastic"), ("hydro", "elastic"), ("heat", "500us")] {
        let (program, deck) = (example(code), deck(code, "small"));
        let words =
            ["-n", "8", "--ppn", "2", "--slice", slice, program.to_str().unwrap(), deck.to_str().unwrap()];
        let ended = run(&mut cluster.storm_run(&words)).succeeds();
        assert!(ended.stdout.lines().any(|line| line.starts_with("verified: ")), "{ended:?}");
    }
}

#[test]
fn the_first_failure_is_told_with_its_host_and_ends_the_job_everywhere() {
    let cluster = Cluster::take();
    let script = "if [ $BCS_RANK = 2 ]; then exit 7; fi; sleep 1000";
    let ended = run(&mut cluster.storm_run(&["-n", "4", "--host", "c0,c1,c2,c3", "sh", "-c", script]));
    assert_eq!(ended.code(), 7, "{ended:?}");
    assert_eq!(ended.stderr, "storm: rank 2 on c2 exited with code 7\n");
    let missing = run(&mut cluster.storm_run(&["-n", "2", "--ppn", "1", "/no/such/program"]));
    assert_eq!(missing.code(), 127, "{missing:?}");
    assert_eq!(missing.stderr.lines().count(), 1, "{missing:?}");
}

#[test]
fn a_rank_that_ends_in_the_middle_of_a_message_to_another_host_is_told_by_its_own_end() {
    let cluster = Cluster::take();
    let program = Compiled::by_mpicc(
        "#include <mpi.h>\n#include <stdlib.h>\n#include <unistd.h>\nint main(int c, char **v) { int rank, bytes = 200000000; char *buffer;\
         MPI_Request request; MPI_Init(&c, &v); MPI_Comm_rank(MPI_COMM_WORLD, &rank); buffer = calloc(bytes, 1);\
         if (rank == 0) { MPI_Isend(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request); usleep(3000);\
         if (v[1][0] == 'x') _exit(7); abort(); }\
         MPI_Recv(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); MPI_Finalize(); return 0; }\n",
    );
    for (end, code, says) in [("x", 7, "exited with code 7"), ("s", 134, "was killed by signal 6")] {
        for network in ["tcp", "quic"] {
            let path = program.program();
            let words = ["-n", "2", "--ppn", "1", "--network", network, path.to_str().unwrap(), end];
            let ended = run(&mut cluster.storm_run(&words));
            assert_eq!(ended.code(), code, "{network} {ended:?}");
            ended.says(&format!("rank 0 on c0 {says}"));
        }
    }
}

#[test]
fn an_abort_and_an_interrupt_end_the_ranks_of_all_hosts() {
    let cluster = Cluster::take();
    let abort = Compiled::by_mpicc(
        "#include <mpi.h>\n#include <unistd.h>\nint main(int c, char **v) { int rank; MPI_Init(&c, &v); MPI_Comm_rank(MPI_COMM_WORLD, &rank);\
         if (rank == 3) MPI_Abort(MPI_COMM_WORLD, 9); MPI_Barrier(MPI_COMM_WORLD); MPI_Finalize(); return 0; }\n",
    );
    let ended = run(&mut cluster.storm_run(&["-n", "4", "--ppn", "1", abort.program().to_str().unwrap()]));
    assert_eq!(ended.code(), 9, "{ended:?}");
    ended.says("rank 3 on c");
    let running =
        start(&mut cluster.storm_run(&["-n", "4", "--ppn", "1", "sh", "-c", "echo here; exec sleep 1000"]));
    // Then the script that entered the namespace has been replaced by storm.
    running.await_processes("sleep", 4);
    running.signal(libc::SIGINT);
    assert_eq!(running.wait().code(), 130);
}

#[test]
fn a_deadlock_across_hosts_ends_with_the_report() {
    let cluster = Cluster::take();
    let program = Compiled::by_mpicc(
        "#include <mpi.h>\nint main(int c, char **v) { int rank, size, x; MPI_Init(&c, &v); MPI_Comm_rank(MPI_COMM_WORLD, &rank);\
         MPI_Comm_size(MPI_COMM_WORLD, &size); MPI_Recv(&x, 1, MPI_INT, (rank + 1) % size, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\
         MPI_Finalize(); return 0; }\n",
    );
    let ended = run(&mut cluster.storm_run(&["-n", "4", "--ppn", "1", program.program().to_str().unwrap()]));
    assert_eq!(ended.code(), 125, "{ended:?}");
    ended.says("deadlock").says("MPI_Recv").says("tag 5");
    for rank in 0..4 {
        ended.says(&format!("rank {rank}"));
    }
}

/// Runs one of the programs that check themselves on the hosts: with these options, and these arguments of
/// its own.
fn holds(name: &str, options: &str, arguments: &[&str]) -> Ended {
    let cluster = Cluster::take();
    let compiled = Compiled::checking(name);
    let program = compiled.program();
    let mut words: Vec<&str> = options.split(' ').collect();
    words.push(program.to_str().expect("a path of letters"));
    words.extend(arguments);
    run(&mut cluster.storm_run(&words)).succeeds()
}

#[test]
fn ranks_that_share_memory_are_those_of_a_host() {
    holds("node_mates", "-n 7 --ppn 2", &[]);
}

#[test]
fn vectors_of_256_mb_go_between_four_hosts() {
    let ended = holds("large_vectors", "-n 4 --ppn 1", &["268435456", "allreduce", "alltoall"]);
    assert_eq!(ended.stdout, "4 members, vectors of 268435456 bytes\n", "{ended:?}");
}

#[test]
fn ranks_of_four_hosts_inherit_the_links_to_all_others() {
    let cluster = Cluster::take();
    let ended =
        run(&mut cluster.storm_run(&["-n", "4", "--ppn", "1", "sh", "-c", "echo $BCS_LINKS"])).succeeds();
    // MEMORY:BYTES:NODES, and a part for each link.
    let links: Vec<usize> = ended.stdout.lines().map(|places| places.split(',').skip(1).count()).collect();
    assert_eq!(links, [3; 4], "{ended:?}");
}

#[test]
fn launchers_alone_drive_the_network_where_the_user_wants_that() {
    let cluster = Cluster::take();
    let compiled = Compiled::checking("drift");
    let program = compiled.program();
    let words = ["-n", "4", "--ppn", "1", program.to_str().expect("a path of letters"), "50", "bcast"];
    run(cluster.storm_run(&words).env("BCS_RANKS_DRIVE", "0")).succeeds();
}

#[test]
fn messages_between_hosts_go_over_the_network_that_the_user_names() {
    // A rank is given the links to other hosts where it can drive them, which is over TCP.
    let script = "if [ -n \"$BCS_LINKS\" ]; then echo links; else echo none; fi";
    for (network, said) in [("tcp", "links\nlinks\n"), ("quic", "none\nnone\n")] {
        let words = ["-n", "2", "--ppn", "1", "--network", network, "sh", "-c", script];
        let ended = run(&mut Cluster::take().storm_run(&words)).succeeds();
        assert_eq!(ended.stdout, said, "over {network}: {ended:?}");
    }
    holds("send_modes", "-n 4 --ppn 1 --network quic", &[]);
}

#[test]
fn jobs_go_over_the_provider_of_libfabric_that_the_user_names() {
    let over = ["-n", "2", "--ppn", "1", "--network", "ofi:no_such_provider", "hostname"];
    let ended = run(&mut Cluster::take().storm_run(&over));
    ended.fails_with(1, &["cannot join the job's network: libfabric"]);
    if ended.stderr.contains("libfabric cannot be loaded") {
        return skip("libfabric cannot be loaded");
    }
    ended.says("no provider 'no_such_provider'").says("as in --network 'ofi:");
    let over = "-n 8 --ppn 2 --network ofi:tcp;ofi_rxm";
    for program in ["send_modes", "collectives", "communicators"] {
        holds(program, over, &[]);
    }
    holds("large_vectors", over, &["3000000"]);
}

#[test]
fn random_programs_of_collectives_get_what_the_standard_says_between_four_hosts() {
    holds("random_collectives", "-n 4 --ppn 1", &["50001", "20"]);
    holds("random_collectives", "-n 8 --ppn 2", &["50101", "20"]);
    // Members of a host combine theirs first.
    holds("large_vectors", "-n 8 --ppn 2", &["16777216", "allreduce", "reduce"]);
}

#[test]
fn a_hundred_thousand_messages_between_hosts_may_come_before_their_receives() {
    holds("early", "-n 5 --ppn 2", &["25000", "65536", "100"]);
}

#[test]
fn a_slow_receiver_on_another_host_keeps_no_more_than_its_limit() {
    holds("slow_receiver", "-n 2 --ppn 1 --unexpected-limit 1MiB", &["600"]);
}
