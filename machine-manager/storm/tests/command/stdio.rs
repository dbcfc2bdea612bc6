//! Input reaches the ranks that read it, output arrives whole, and nobody's pipe holds up the end.

use crate::common::*;
use bcs_harness::c_programs::Compiled;
use bcs_harness::runs::{Ended, run, start_with};
use bcs_harness::waiting::await_some;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

fn run_with_input(command: &mut Command, input: Vec<u8>) -> Ended {
    let mut running = start_with(command, Stdio::piped());
    let mut stdin = running.child.stdin.take().unwrap();
    let feeder = std::thread::spawn(move || {
        // A reader that stops early is the test's own intent.
        let _ = stdin.write_all(&input);
    });
    let ran = running.wait();
    feeder.join().unwrap();
    ran
}

#[test]
fn rank_0_reads_the_input_and_the_others_read_nothing() {
    let ran = run_with_input(&mut script("-n 3 -l", "cat"), b"one\ntwo\n".to_vec());
    assert_eq!(ran.succeeds_quietly().stdout, "[0] one\n[0] two\n");
}

#[test]
fn another_rank_or_none_or_all_may_read_the_input() {
    let count = "echo $(cat | wc -c)";
    let input = || vec![b'x'; 1_000_000];
    let lines = |stdin: &str| {
        let ran = run_with_input(&mut script(&format!("-n 3 -l --stdin {stdin}"), count), input());
        ran.succeeds_quietly().sorted_lines().join(" ")
    };
    assert_eq!(lines("2"), "[0] 0 [1] 0 [2] 1000000");
    assert_eq!(lines("none"), "[0] 0 [1] 0 [2] 0");
    assert_eq!(lines("all"), "[0] 1000000 [1] 1000000 [2] 1000000");
}

#[test]
fn all_ranks_read_a_file_whole() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("deck");
    std::fs::write(&path, vec![b'y'; 300_000]).unwrap();
    let file = std::fs::File::open(&path).unwrap();
    let ran = start_with(&mut script("-n 3 --stdin all", "echo $(cat | wc -c)"), file.into()).wait();
    assert_eq!(ran.succeeds_quietly().stdout, "300000\n300000\n300000\n");
}

#[test]
fn rank_that_does_not_read_its_copy_harms_nobody() {
    let some = "[ $BCS_RANK = 1 ] && exec <&-; [ $BCS_RANK = 1 ] || echo $(cat | wc -c)";
    let ran = run_with_input(&mut script("-n 3 --stdin all", some), vec![b'x'; 1_000_000]);
    assert_eq!(ran.succeeds_quietly().stdout, "1000000\n1000000\n");
}

#[test]
fn writer_of_the_input_sees_that_nobody_reads() {
    let ran = run(Command::new("bash").arg("-c").arg(format!(
        "yes | {} run -n 2 sh -c 'head -1 >/dev/null'; echo ${{PIPESTATUS[0]}} ${{PIPESTATUS[1]}}",
        storm_path().display()
    )));
    assert_eq!(ran.stdout, "141 0\n", "{ran:?}");
}

#[test]
fn labelled_lines_are_whole_and_complete() {
    let program = Compiled::by_cc(
        r#"#include <stdio.h>
           #include <stdlib.h>
           int main(void) {
               setvbuf(stdout, 0, _IONBF, 0);
               for (int line = 0; line < 300; line++) {
                   for (int word = 0; word < 10; word++) printf("%s.%d.", getenv("BCS_RANK"), line);
                   putchar('\n');
               }
               fputs("no end of line", stdout);
               return 0;
           }"#,
    );
    let ran = run(storm("-n 4 -l").arg(program.program()));
    ran.succeeds_quietly();
    let mut next = [0; 4];
    for line in ran.stdout.lines() {
        let rank: usize = line[1..2].parse().unwrap();
        let expected = match next[rank] {
            300 => format!("[{rank}] no end of line"),
            line => format!("[{rank}] {}", format!("{rank}.{line}.").repeat(10)),
        };
        assert_eq!(line, expected);
        next[rank] += 1;
    }
    assert_eq!(next, [301; 4]);
}

#[test]
fn labelled_errors_go_to_the_error_output() {
    let ran = run(&mut script("-n 2 --tag-output", "echo out; echo err >&2"));
    assert_eq!(ran.sorted_lines(), ["[0] out", "[1] out"]);
    let mut errors: Vec<_> = ran.stderr.lines().collect();
    errors.sort_unstable();
    assert_eq!(errors, ["[0] err", "[1] err"]);
}

#[test]
fn megabytes_without_a_line_end_arrive_in_bounded_pieces() {
    let ran = run(&mut script("-n 2 -l", "head -c 3000000 /dev/zero | tr '\\0' x"));
    ran.succeeds_quietly();
    for rank in ["[0] ", "[1] "] {
        let lines: Vec<_> = ran.stdout.lines().filter_map(|line| line.strip_prefix(rank)).collect();
        assert_eq!(lines.iter().map(|line| line.len()).sum::<usize>(), 3_000_000);
        assert!(lines.iter().all(|line| line.len() <= 64 * 1024));
    }
}

#[test]
fn last_words_of_a_failing_rank_are_not_lost() {
    let words = "seq 1 20000; echo last words; exit 3";
    let ran = run(&mut script("-n 1 -l", words));
    ran.fails_with(3, &["rank 0"]);
    assert_eq!(ran.stdout.lines().count(), 20001);
    assert!(ran.stdout.ends_with("[0] last words\n"));
}

#[test]
fn slow_reader_loses_nothing() {
    let ran = run(Command::new("sh")
        .arg("-c")
        .arg(format!("{} run -n 4 -l seq 1 50000 | {{ sleep 0.5; wc -l; }}", storm_path().display())));
    assert_eq!(ran.stdout.trim(), "200000", "{ran:?}");
}

#[test]
fn grandchild_that_keeps_the_pipe_does_not_hold_up_the_end() {
    let ran = run(&mut script("-n 2 -l", "sleep 1000 & echo started"));
    assert_eq!(ran.succeeds_quietly().sorted_lines(), ["[0] started", "[1] started"]);
    assert!(ran.took < Duration::from_secs(20), "{ran:?}");
}

#[test]
fn reader_that_goes_away_is_no_news() {
    for label in ["", "-l"] {
        let ran = run(Command::new("bash").arg("-c").arg(format!(
            "{} run -n 2 {label} yes | head -1 | wc -l; echo ${{PIPESTATUS[0]}}",
            storm_path().display()
        )));
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("1\n141\n", ""), "{ran:?}");
    }
}

/// A terminal with `storm` in its foreground.
struct Terminal {
    master: std::fs::File,
    storm: i32,
}

impl Terminal {
    fn with(command: &mut Command) -> Self {
        use std::os::fd::{FromRawFd, OwnedFd};
        use std::os::unix::process::CommandExt;
        let (mut master, mut slave) = (-1, -1);
        // SAFETY: openpty fills in two new descriptors; the null pointers ask for defaults.
        let (master, slave) = unsafe {
            let null = std::ptr::null_mut();
            assert_eq!(libc::openpty(&mut master, &mut slave, null, null.cast(), null.cast()), 0);
            (OwnedFd::from_raw_fd(master), OwnedFd::from_raw_fd(slave))
        };
        let dup = || Stdio::from(slave.try_clone().unwrap());
        command.stdin(dup()).stdout(dup()).stderr(dup());
        // SAFETY: only system calls between fork and exec.
        unsafe {
            command.pre_exec(|| {
                libc::setsid();
                libc::ioctl(0, libc::TIOCSCTTY, 0);
                Ok(())
            });
        }
        let storm = command.spawn().unwrap().id() as i32;
        Self { master: master.into(), storm }
    }

    fn type_in(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Reads until these words have appeared.
    fn read_until(&mut self, words: &str) -> String {
        let mut seen = Vec::new();
        while !String::from_utf8_lossy(&seen).contains(words) {
            let mut byte = [0];
            match self.master.read(&mut byte) {
                Ok(1) => seen.push(byte[0]),
                other => panic!("{other:?} after {}", String::from_utf8_lossy(&seen)),
            }
        }
        String::from_utf8_lossy(&seen).into_owned()
    }

    fn status(self) -> i32 {
        await_some("the end of storm", || {
            let mut status = 0;
            // SAFETY: waits for our own child.
            let ended = unsafe { libc::waitpid(self.storm, &mut status, libc::WNOHANG) } == self.storm;
            ended.then(|| {
                if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 128 + libc::WTERMSIG(status) }
            })
        })
    }
}

#[test]
fn rank_0_reads_the_terminal() {
    let mut terminal =
        Terminal::with(&mut script("-n 2", "while read line; do echo got $line; done; echo end $BCS_RANK"));
    terminal.read_until("end 1");
    terminal.type_in("hello\n");
    terminal.read_until("got hello");
    terminal.type_in("again\n");
    terminal.read_until("got again");
    terminal.type_in("\x04");
    terminal.read_until("end 0");
    assert_eq!(terminal.status(), 0);
}

#[test]
fn interrupt_from_the_keyboard_reaches_the_ranks() {
    let mut terminal = Terminal::with(&mut script(
        "-n 2",
        "trap 'echo caught $BCS_RANK; exit 0' INT; echo ready $BCS_RANK; while :; do sleep 0.01; done",
    ));
    let first = terminal.read_until("ready");
    terminal.read_until("ready");
    terminal.type_in("\x03");
    terminal.read_until("caught");
    terminal.read_until("caught");
    assert_eq!(terminal.status(), 0, "{first}");
}

#[test]
fn second_interrupt_from_the_keyboard_kills() {
    let mut terminal = Terminal::with(&mut script(
        "-n 1",
        "trap 'echo caught' INT; echo ready; while :; do sleep 0.01; done",
    ));
    terminal.read_until("ready");
    terminal.type_in("\x03");
    terminal.read_until("caught");
    std::thread::sleep(Duration::from_millis(150));
    terminal.type_in("\x03");
    terminal.read_until("ended by SIGINT");
    assert_eq!(terminal.status(), 130);
}

#[test]
fn ranks_may_write_to_a_terminal_that_stops_background_writers() {
    let mut terminal = Terminal::with(Command::new("sh").arg("-c").arg(format!(
        "stty tostop; exec {} run -n 2 sh -c 'echo written $BCS_RANK'",
        storm_path().display()
    )));
    terminal.read_until("written");
    terminal.read_until("written");
    assert_eq!(terminal.status(), 0);
}
