//! What the ranks find around them: variables, directory, and our MPI library before any other.

use crate::common::*;
use bcs_harness::c_programs::{Language, compile_text};
use bcs_harness::runs::run;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn ranks_know_who_they_are() {
    let script_text = "echo $BCS_RANK $BCS_SIZE $BCS_LOCAL_RANK $BCS_LOCAL_SIZE $BCS_APPNUM $MPI_LOCALRANKID $MPI_LOCALNRANKS";
    let mut command = script("-n 1", script_text);
    command.args([":", "-n", "2", "sh", "-c", script_text]);
    assert_eq!(
        run(&mut command).succeeds_quietly().sorted_lines(),
        ["0 3 0 3 0 0 3", "1 3 1 3 1 1 3", "2 3 2 3 1 2 3"]
    );
}

#[test]
fn job_number_is_one_for_all_ranks_and_the_launcher_is_their_parent() {
    let ran = run(&mut script("-n 2", "[ $PPID = $BCS_LAUNCHER_PID ] && echo $BCS_JOB"));
    let lines = ran.succeeds_quietly().sorted_lines();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0], lines[1]);
}

#[test]
fn variables_are_for_one_program_or_for_all() {
    let show = "echo $A-$B-$C-$D-$E";
    let mut command = storm("-genv A a --genv B=b -n 1 --env C=c -x D sh -c");
    command
        .arg(show)
        .args([":", "-n", "1", "-env", "B", "other", "-x", "E=e", "sh", "-c", show])
        .env("D", "d");
    assert_eq!(run(&mut command).succeeds_quietly().sorted_lines(), ["a-b-c-d-", "a-other--d-e"]);
}

#[test]
fn programs_run_in_their_directory() {
    let directory = tempfile::tempdir().unwrap();
    let there = directory.path().canonicalize().unwrap();
    for option in ["--wdir", "-wdir", "--chdir"] {
        let ran = run(&mut script(&format!("{option} {}", there.display()), "pwd -P; echo $PWD"));
        assert_eq!(ran.succeeds_quietly().stdout, format!("{0}\n{0}\n", there.display()));
    }
}

#[test]
fn variables_of_an_outer_job_do_not_reach_an_inner_one() {
    let inner = format!("{} run -n 2 sh -c 'echo $BCS_RANK/$BCS_SIZE'", storm_path().display());
    let ran = run(&mut script("-n 1", &inner));
    assert_eq!(ran.succeeds_quietly().sorted_lines(), ["0/2", "1/2"]);
}

#[test]
fn ranks_inherit_no_descriptor_of_the_launcher() {
    let list = "ls /proc/self/fd | tr '\\n' ' '";
    let numbers =
        |line: &str| line.split_whitespace().filter_map(|number| number.parse().ok()).collect::<Vec<i32>>();
    let ordinary = numbers(&run(Command::new("sh").args(["-c", list])).stdout);
    let ran = run(&mut script("-n 3 -l", &format!("{list}; echo nic:$BCS_NIC_FD")));
    for line in ran.succeeds_quietly().stdout.lines() {
        let (listed, nic) = line.split_once("] ").unwrap().1.split_once("nic:").unwrap();
        let more: Vec<_> = numbers(listed).into_iter().filter(|number| !ordinary.contains(number)).collect();
        assert_eq!(more, numbers(nic), "{line}");
    }
}

/// An installed tree with a library that answers `answer`, and a copy of `storm`.
fn installation(answer: i32) -> tempfile::TempDir {
    let tree = tempfile::tempdir().unwrap();
    for part in ["bin", "lib"] {
        std::fs::create_dir(tree.path().join(part)).unwrap();
    }
    copy_storm(&tree.path().join("bin"));
    library(&tree.path().join("lib"), answer);
    tree
}

fn compile(file: &str, directory: &Path, text: &str, flags: &[impl AsRef<OsStr>]) -> PathBuf {
    compile_text(Language::C.compiler(), directory, file, text, flags)
}

fn library(directory: &Path, answer: i32) {
    let source = format!("int answer(void) {{ return {answer}; }}");
    let flags = ["-shared", "-fPIC", "-Wl,-soname,libmpi_abi.so.1"];
    compile("libmpi_abi.so.1.c", directory, &source, &flags);
}

fn asking_program(directory: &Path, flags: &[String]) -> PathBuf {
    let source =
        "#include <stdio.h>\nint answer(void); int main(void) { printf(\"%d\\n\", answer()); return 0; }";
    let mut all = vec![directory.join("libmpi_abi.so.1").display().to_string()];
    all.extend_from_slice(flags);
    compile("ask.c", directory, source, &all)
}

#[test]
fn programs_of_other_mpis_with_the_standard_abi_get_our_library() {
    let ours = installation(1);
    let other = tempfile::tempdir().unwrap();
    library(other.path(), 2);
    let rpath = format!("-Wl,-rpath,{}", other.path().display());
    for flags in [
        vec![],
        vec![rpath.clone(), "-Wl,--enable-new-dtags".into()],
        vec![rpath.clone(), "-Wl,--disable-new-dtags".into()],
    ] {
        let program = asking_program(other.path(), &flags);
        let mut command = Command::new(ours.path().join("bin/storm"));
        command.args(["run", "-n", "2"]).arg(&program).env("LD_LIBRARY_PATH", other.path());
        assert_eq!(run(&mut command).succeeds_quietly().stdout, "1\n1\n", "{flags:?}");
    }
}

#[test]
fn installed_tree_works_where_it_was_moved_to() {
    let ours = installation(5);
    let elsewhere = tempfile::tempdir().unwrap();
    let moved = elsewhere.path().join("moved");
    std::fs::rename(ours.path(), &moved).unwrap();
    let program = asking_program(&moved.join("lib"), &[]);
    let mut command = Command::new(moved.join("bin/storm"));
    assert_eq!(run(command.args(["run", "-n", "1"]).arg(&program)).succeeds_quietly().stdout, "5\n");
    drop(std::fs::create_dir(ours.path()));
}

#[test]
fn program_of_an_incompatible_mpi_is_told_before_it_runs_alone() {
    let directory = tempfile::tempdir().unwrap();
    let flags = ["-shared", "-fPIC", "-Wl,-soname,libmpi.so.40"];
    let library = compile("libmpi.so.40.c", directory.path(), "int mpi(void) { return 0; }", &flags);
    let source = "int mpi(void); int main(void) { return mpi(); }";
    let flags = [library.display().to_string(), format!("-Wl,-rpath,{}", directory.path().display())];
    let program = compile("foreign.c", directory.path(), source, &flags);
    let ran = run(storm("-n 2").arg(&program));
    ran.fails_with(0, &["libmpi.so.40", "mpicc"]);
}

#[test]
fn missing_library_of_ours_is_told() {
    let other = tempfile::tempdir().unwrap();
    library(other.path(), 2);
    let program = asking_program(other.path(), &[format!("-Wl,-rpath,{}", other.path().display())]);
    let bare = tempfile::tempdir().unwrap();
    copy_storm(bare.path());
    let ran = run(Command::new(bare.path().join("storm")).args(["run", "-n", "2"]).arg(&program));
    ran.fails_with(0, &["libmpi_abi.so.1", "../lib"]);
    assert_eq!(ran.stdout, "2\n2\n");
}

#[test]
fn library_is_taken_from_the_installation_or_from_where_the_environment_says_and_nowhere_else() {
    let build = tempfile::tempdir().unwrap();
    copy_storm(build.path());
    library(build.path(), 3);
    std::fs::copy(build.path().join("libmpi_abi.so.1"), build.path().join("libmpi_abi.so")).unwrap();
    let show = || {
        let mut command = Command::new(build.path().join("storm"));
        command.env_remove("LD_LIBRARY_PATH").env_remove("LD_PRELOAD");
        command.args(["run", "-n", "1", "sh", "-c", "echo $LD_LIBRARY_PATH,$LD_PRELOAD"]);
        command
    };
    assert_eq!(
        run(&mut show()).succeeds_quietly().stdout,
        ",\n",
        "a library beside storm is no installation"
    );
    let named = tempfile::tempdir().unwrap();
    run(show().env("BCS_LIBRARY_DIR", named.path())).fails_with(1, &["BCS_LIBRARY_DIR", "libmpi_abi.so.1"]);
    library(named.path(), 4);
    let ran = run(show().env("BCS_LIBRARY_DIR", named.path()));
    assert_eq!(ran.succeeds_quietly().stdout, format!("{},\n", named.path().display()));
}

#[test]
fn comparison_of_types_is_asked_for_by_option_or_by_environment() {
    let show = "echo ${BCS_CHECK_TYPES-unset}";
    let shown = |options: &str, variable: &str| {
        run(script(options, show).env("BCS_CHECK_TYPES", variable))
            .succeeds_quietly()
            .stdout
            .trim()
            .to_owned()
    };
    assert_eq!(run(&mut script("", show)).succeeds_quietly().stdout.trim(), "unset");
    assert_eq!(shown("", "strict"), "strict");
    assert_eq!(shown("--check-types", "strict"), "kinds");
    assert_eq!(shown("--check-types=off", "nonsense"), "off");
    let mut wrong = script("", show);
    run(wrong.env("BCS_CHECK_TYPES", "some")).fails_with(1, &["BCS_CHECK_TYPES", "some", "strict"]);
}

#[test]
fn recording_is_asked_for_by_option_or_by_environment() {
    let place = tempfile::tempdir().unwrap();
    let here = place.path().canonicalize().unwrap();
    let show = "echo $BCS_MMDS,$BCS_EMDS,$BCS_TRACE_DIR";
    let shown = |options: &str, mmds: &str| {
        let mut command = script(&format!("{options} --wdir /"), show);
        run(command.current_dir(&here).env("BCS_MMDS", mmds)).succeeds_quietly().stdout.trim().to_owned()
    };
    let directory = |name: &str| here.join(name).display().to_string();
    assert_eq!(shown("", ""), ",,");
    assert_eq!(shown("--mmds", ""), format!("all,,{}", directory("bcs-trace")));
    assert_eq!(shown("--mmds=0-1 --emds 5:9 --trace-dir t", ""), format!("0-1,5:9,{}", directory("t")));
    assert_eq!(shown("--emds", "1"), format!("1,on,{}", directory("bcs-trace")));
    let mut wrong = script("", show);
    run(wrong.env("BCS_EMDS", "9:1")).fails_with(1, &["BCS_EMDS", "9:1"]);
}
