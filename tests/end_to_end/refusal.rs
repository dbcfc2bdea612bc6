//! Where the system refuses cross-memory attach, jobs run all the same, and the launcher says so, once.

use std::os::unix::process::CommandExt;
use std::process::Command;

use bcs_harness::c_programs::Compiled;
use bcs_harness::installation::{example, mpiexec};
use bcs_harness::refuse_attach;
use bcs_harness::runs::run;

/// Large messages to and fro, with both ends in MPI and with one that computes.
const EXCHANGE: &str = r#"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
enum { BYTES = 3 << 20 };
static void refuse_attach(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) exit(9);
}
int main(int argc, char **argv) {
    int rank, wrong = 0;
    if (argc > 1 && !strcmp(argv[1], "refuse")) refuse_attach();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    unsigned char *data = malloc(BYTES);
    for (int round = 0; round < 20; round++) {
        MPI_Request request;
        memset(data, rank ? 0 : round + 1, BYTES);
        if (rank == 0) MPI_Isend(data, BYTES, MPI_BYTE, 1, round, MPI_COMM_WORLD, &request);
        if (rank == 1) MPI_Irecv(data, BYTES, MPI_BYTE, 0, round, MPI_COMM_WORLD, &request);
        if (round % 3 == rank) usleep(2000);
        if (rank < 2) MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; rank == 1 && i < BYTES; i++) wrong += data[i] != round + 1;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) printf("%d bytes are wrong\n", wrong);
    free(data);
    return MPI_Finalize();
}"#;

const REMARK: &str = "the system refuses cross-memory attach";

/// The same command in a process, and with children, that the kernel refuses each other's memory, as many
/// containers do.
fn refused(command: &mut Command) -> &mut Command {
    // SAFETY: between fork and exec, only system calls are made, and nothing is allocated.
    unsafe { command.pre_exec(refuse_attach) }
}

/// Whether this machine allows it at all.
fn system_allows() -> bool {
    let (from, mut to) = (1u8, 0u8);
    let local = libc::iovec { iov_base: (&raw mut to).cast(), iov_len: 1 };
    let remote = libc::iovec { iov_base: (&raw const from).cast_mut().cast(), iov_len: 1 };
    // SAFETY: both name one byte of this process that lives through the call.
    unsafe { libc::process_vm_readv(std::process::id() as libc::pid_t, &local, 1, &remote, 1, 0) == 1 }
}

#[test]
fn a_refusal_is_said_once_and_messages_arrive_whole() {
    let program = Compiled::by_mpicc(EXCHANGE);
    for ranks in ["2", "4"] {
        let ended = run(refused(mpiexec("-n").arg(ranks).arg(program.program()))).succeeds();
        ended.says("0 bytes are wrong");
        assert_eq!(ended.stderr.matches(REMARK).count(), 1, "{ended:?}");
        assert_eq!(ended.stderr.trim().lines().count(), 1, "{ended:?}");
        for what in [
            "Operation not permitted",
            "windows in NIC memory",
            "SYS_PTRACE",
            "seccomp",
            "--cross-memory off",
        ] {
            assert!(ended.stderr.contains(what), "no {what} in {ended:?}");
        }
    }
}

#[test]
fn a_refusal_that_only_the_ranks_meet_is_said_once_too() {
    if !system_allows() {
        bcs_harness::skip("this system refuses cross-memory attach to everybody");
        return;
    }
    let program = Compiled::by_mpicc(EXCHANGE);
    let ended = run(mpiexec("-n 2").arg(program.program()).arg("refuse")).succeeds();
    ended.says("0 bytes are wrong");
    assert_eq!(ended.stderr.matches(REMARK).count(), 1, "{ended:?}");
}

#[test]
fn who_asked_for_it_or_has_no_use_for_it_is_not_told() {
    let program = Compiled::by_mpicc(EXCHANGE);
    let quiet = |command: &mut Command| {
        let ended = run(command).succeeds();
        assert!(!ended.stderr.contains("cross-memory"), "{ended:?}");
    };
    quiet(refused(mpiexec("--cross-memory off -n 2").arg(program.program())));
    quiet(mpiexec("--cross-memory off -n 2").arg(program.program()));
    if system_allows() {
        quiet(mpiexec("-n 2").arg(program.program()));
    }
    quiet(refused(mpiexec("-n 1").arg(example("hello"))));
    quiet(refused(mpiexec("-n 2").arg("/bin/true")));
}
