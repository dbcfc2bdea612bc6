//! How a job ends is told by its exit status and one line: the first failure, and nothing after it.

use crate::common::*;
use bcs_harness::c_programs::Compiled;
use bcs_harness::runs::run;
use std::time::Duration;

#[test]
fn job_succeeds_when_all_ranks_do() {
    let ran = run(&mut script("-n 3", "echo $BCS_RANK of $BCS_SIZE"));
    ran.succeeds_quietly();
    assert_eq!(ran.sorted_lines(), ["0 of 3", "1 of 3", "2 of 3"]);
}

#[test]
fn one_rank_is_the_default() {
    assert_eq!(run(&mut script("", "echo $BCS_SIZE")).succeeds_quietly().stdout, "1\n");
}

#[test]
fn first_failure_is_the_status_and_the_message() {
    let ran = run(&mut script("-n 4", "[ $BCS_RANK = 2 ] && exit 7; sleep 100"));
    let line = format!("storm: rank 2 on {} exited with code 7\n", host());
    assert_eq!((ran.code(), ran.stderr), (7, line));
}

#[test]
fn failure_ends_the_job_within_a_second_even_if_ranks_resist() {
    let resist = "trap '' TERM INT HUP; [ $BCS_RANK = 1 ] && exit 9; while :; do sleep 100; done";
    let ran = run(&mut script("-n 4", resist));
    ran.fails_with(9, &["rank 1 on", "code 9"]);
    assert!(ran.took < Duration::from_secs(5), "{ran:?}");
}

#[test]
fn stopped_ranks_do_not_hold_up_the_end() {
    let ran = run(&mut script("-n 2", "[ $BCS_RANK = 0 ] && kill -STOP $$; sleep 0.1; exit 4"));
    ran.fails_with(4, &["rank 1 on"]);
}

#[test]
fn ranks_are_asked_to_leave_before_they_are_killed() {
    let polite = "exec 2>/dev/null; trap 'echo flushed; exit 0' TERM; [ $BCS_RANK = 0 ] && { sleep 0.2; exit 5; }; \
                  while :; do sleep 0.01; done";
    let ran = run(&mut script("-n 2", polite));
    ran.fails_with(5, &["rank 0 on"]);
    assert_eq!(ran.stdout, "flushed\n");
}

#[test]
fn death_by_signal_is_named() {
    for (signal, name) in [("SEGV", "SIGSEGV"), ("ABRT", "SIGABRT"), ("KILL", "SIGKILL"), ("USR1", "SIGUSR1")]
    {
        let number = match signal {
            "SEGV" => libc::SIGSEGV,
            "ABRT" => libc::SIGABRT,
            "KILL" => libc::SIGKILL,
            _ => libc::SIGUSR1,
        };
        let ran = run(&mut script(
            "-n 2",
            &format!("ulimit -c 0; [ $BCS_RANK = 1 ] && kill -{signal} $$; sleep 100"),
        ));
        let words = format!("was killed by signal {number} ({name}");
        ran.fails_with(128 + number, &["rank 1 on", &words]);
    }
}

#[test]
fn failure_behind_a_shell_is_explained() {
    let ran = run(&mut script("-n 1", "exec 2>/dev/null; sh -c 'ulimit -c 0; kill -SEGV $$'; exit $?"));
    ran.fails_with(139, &["exited with code 139 (a shell's code for SIGSEGV"]);
}

#[test]
fn order_of_failures_is_the_order_in_which_they_happened() {
    // Rank 7 fails when all have started, and each other when the kernel shows the next one as dead.
    let program = Compiled::by_cc(
        r#"#include <signal.h>
           #include <stdio.h>
           #include <stdlib.h>
           #include <unistd.h>
           static int pid_of(int rank) {
               int pid = 0;
               char path[32];
               snprintf(path, sizeof path, "pid.%d", rank);
               FILE *file = fopen(path, "r");
               if (file) { if (fscanf(file, "%d;", &pid) != 1) pid = 0; fclose(file); }
               return pid;
           }
           static int is_dead(int pid) {
               char path[64], state = 'X';
               snprintf(path, sizeof path, "/proc/%d/stat", pid);
               FILE *file = fopen(path, "r");
               if (file) { if (fscanf(file, "%*d %*s %c", &state) != 1) state = 'X'; fclose(file); }
               return state == 'X' || state == 'Z';
           }
           int main(void) {
               int rank = atoi(getenv("BCS_RANK"));
               char path[32];
               signal(SIGTERM, SIG_IGN);
               snprintf(path, sizeof path, "pid.%d", rank);
               FILE *file = fopen(path, "w");
               fprintf(file, "%d;", getpid());
               fclose(file);
               for (int other = 0; other < 8; other++) while (!pid_of(other)) usleep(100);
               if (rank < 7) while (!is_dead(pid_of(rank + 1))) usleep(20);
               _exit(10 + rank);
           }"#,
    );
    for _ in 0..10 {
        let place = tempfile::tempdir().unwrap();
        let ran = run(storm("-n 8 --wdir").arg(place.path()).arg(program.program()));
        ran.fails_with(17, &["rank 7 on"]);
    }
}

#[test]
fn program_that_is_missing_or_cannot_run_is_named_with_the_shells_status() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("data"), "data").unwrap();
    let wdir = format!("-n 2 --wdir {} ", directory.path().display());
    for (program, status, words) in [
        ("no-such-program", 127, "no-such-program"),
        ("./no-such-program", 127, "no such file"),
        ("./data", 126, "chmod +x"),
        ("data", 127, "write ./data"),
        ("/tmp", 126, "directory"),
    ] {
        run(&mut storm(&format!("{wdir}{program}"))).fails_with(status, &[words]);
    }
}

#[test]
fn text_without_interpreter_runs_as_from_a_shell() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let text = directory.path().join("text");
    std::fs::write(&text, "echo $1 $BCS_RANK\n").unwrap();
    std::fs::set_permissions(&text, std::fs::Permissions::from_mode(0o755)).unwrap();
    let ran = run(storm("-n 2").arg(&text).arg("rank"));
    assert_eq!(ran.succeeds_quietly().sorted_lines(), ["rank 0", "rank 1"]);
}

#[test]
fn wrong_command_line_is_one_line_and_status_1() {
    for (arguments, words) in [
        ("-n 0 true", "at least 1 rank"),
        ("-n -1 true", "at least 1 rank"),
        ("-n 99999999 true", "at most"),
        ("--unheard-of true", "--unheard-of"),
        ("--slice 5parsecs true", "500us"),
        ("--host elsewhere true", "unknown host \"elsewhere\""),
        ("--wdir /no/such/directory true", "/no/such/directory"),
        ("--mmds --trace-dir /proc/no true", "--trace-dir: cannot write /proc/no"),
        ("", "name the program to run"),
        ("-n 2 true : -n 2", "name the program to run"),
    ] {
        run(&mut storm(arguments)).fails_with(1, &[words, "storm: "]);
    }
}

#[test]
fn time_limit_ends_the_job_with_124() {
    let ran = run(&mut script("-n 2 --timeout 0.3", "trap '' TERM; sleep 100 & wait; sleep 100"));
    assert_eq!(ran.code(), 124, "{ran:?}");
    assert!(ran.stderr.starts_with("storm: the job was ended by its time limit of 0.3 s"), "{ran:?}");
}

#[test]
fn time_limit_that_does_not_strike_changes_nothing() {
    run(&mut storm("-n 2 --timeout 50 true")).succeeds_quietly();
}

#[test]
fn background_processes_of_ranks_end_with_the_job() {
    let daemon = "setsid sh -c 'sleep 1000 & sleep 1000' >/dev/null 2>&1 & sleep 0.05; exit 0";
    run(&mut script("-n 3", daemon)).succeeds_quietly();
}

#[test]
fn message_names_the_program_where_there_are_several() {
    let mut command = storm("-n 2 sleep 100 : -n 1 sh -c");
    command.arg("exit 3");
    run(&mut command).fails_with(3, &["rank 2 (sh) on", "code 3"]);
}

#[test]
fn called_mpiexec_it_is_mpiexec() {
    let directory = tempfile::tempdir().unwrap();
    let mpiexec = directory.path().join("mpiexec");
    std::os::unix::fs::symlink(storm_path(), &mpiexec).unwrap();
    let mut command = std::process::Command::new(&mpiexec);
    command.args([
        "-np",
        "2",
        "-genv",
        "COLOUR",
        "red",
        "sh",
        "-c",
        // The one that fails lets the other one speak first.
        "echo $COLOUR $BCS_RANK; [ $BCS_RANK = 1 ] || touch spoken; until [ -e spoken ]; do sleep 0.01; done; exit $BCS_RANK",
    ]);
    let ran = run(command.current_dir(directory.path()));
    ran.fails_with(1, &["mpiexec: rank 1 on"]);
    assert_eq!(ran.sorted_lines(), ["red 0", "red 1"]);
}

#[test]
fn hundreds_of_ranks_start_and_end() {
    run(&mut storm("-n 512 true")).succeeds_quietly();
    let ran = run(&mut script("-n 300 -l", "echo here"));
    assert_eq!(ran.succeeds_quietly().stdout.lines().count(), 300);
}

#[test]
fn soft_limit_on_descriptors_is_no_limit_and_the_hard_one_is_told() {
    let limited = |limit: &str, ranks: u32| {
        let mut command = std::process::Command::new("sh");
        let line = format!("ulimit {limit} && exec \"$0\" run -l -n {ranks} sh -c 'ulimit -Sn'");
        command.arg("-c").arg(line).arg(storm_path());
        run(&mut command)
    };
    let ran = limited("-Sn 64", 40);
    assert_eq!(ran.succeeds_quietly().stdout.lines().count(), 40);
    assert!(ran.stdout.lines().all(|line| line.ends_with("] 64")), "ranks keep the limit: {ran:?}");
    limited("-n 80", 2).succeeds_quietly();
    limited("-n 100", 40).fails_with(1, &["40 ranks need", "hard limit is 100", "ulimit -Hn"]);
}

#[test]
fn limits_that_leave_no_room_for_the_nic_are_told() {
    for (limit, words) in [("-v 500000", "ulimit -v"), ("-f 1000", "ulimit -f")] {
        let line = format!("ulimit {limit} && exec \"$0\" run -n 2 true");
        run(std::process::Command::new("sh").arg("-c").arg(line).arg(storm_path())).fails_with(1, &[words]);
    }
}

/// Runs as a user without privileges, who is subject to limits on processes. Root can become one.
#[test]
fn limit_on_processes_is_told_before_or_while_ranks_start() {
    // SAFETY: geteuid only asks.
    if unsafe { libc::geteuid() } != 0 {
        bcs_harness::skip("only root can become a user with few processes");
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("storm");
    copy_storm(place.path());
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let limited = |limit: u32, ranks: u32, others: usize| {
        use std::os::unix::process::CommandExt;
        let others = "sleep 1 & ".repeat(others);
        let line =
            format!("ulimit -u {limit} && {{ {others} exec {} run -n {ranks} sleep 0.2; }}", copy.display());
        let mut command = std::process::Command::new("bash");
        // A user of our own, so that nobody else's processes count.
        run(command.arg("-c").arg(line).uid(54_321).gid(54_321).current_dir("/"))
    };
    limited(40, 20, 0).succeeds_quietly();
    limited(10, 20, 0).fails_with(1, &["ulimit -u 46"]);
    limited(25, 20, 10).fails_with(1, &["cannot start rank", "no more processes are allowed"]);
}
