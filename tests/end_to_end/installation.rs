//! The installed tree: what is in it, and that it works wherever it lies.

use std::path::Path;
use std::process::Command;

use bcs_harness::c_programs::Compiled;
use bcs_harness::installation::{in_tree, installed, prefix};
use bcs_harness::repository;
use bcs_harness::runs::run;

/// A program that says where its MPI library is.
pub const WHERE_IS_THE_LIBRARY: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
    Dl_info info;
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    void *function = dlsym(RTLD_DEFAULT, "MPI_Init");
    printf("rank %d of %d uses %s\n", rank, ranks, dladdr(function, &info) ? info.dli_fname : "nothing");
    return MPI_Finalize();
}"#;

/// Checks that the program runs on four ranks with the library in this tree.
#[track_caller]
pub fn runs_with_the_library_in(tree: &Path, command: &mut Command) {
    let ended = run(command).succeeds();
    let library = tree.canonicalize().unwrap().join("lib");
    let mut lines: Vec<_> = ended.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines.len(), 4, "{ended:?}");
    for (rank, line) in lines.iter().enumerate() {
        let (who, file) = line.split_once(" uses ").unwrap_or_else(|| panic!("{ended:?}"));
        assert_eq!(who, format!("rank {rank} of 4"));
        let file = Path::new(file).canonicalize().unwrap();
        assert!(file.starts_with(&library), "{line} instead of the library in {}", library.display());
    }
}

#[test]
fn everything_that_users_look_for_is_in_its_place() {
    let tree = prefix();
    for file in [
        "bin/storm",
        "bin/mpiexec",
        "bin/mpirun",
        "bin/mds",
        "bin/machine-manager",
        "bin/node-manager",
        "libexec/bcs-mpi/program-launcher",
        "lib/systemd/system/node-manager.service",
        "bin/mpicc",
        "bin/mpicxx",
        "bin/mpic++",
        "bin/mpicc_abi",
        "lib/libmpi_abi.so.1",
        "lib/libmpi_abi.so",
        "lib/pkgconfig/mpi_abi.pc",
        "lib/pkgconfig/mpi.pc",
        "include/mpi.h",
        "include/bcs.h",
        "share/man/man1/storm.1",
        "share/man/man1/mpiexec.1",
        "share/man/man1/mds.1",
        "share/man/man1/mpicc.1",
        "share/bash-completion/completions/storm",
        "share/zsh/site-functions/_storm",
        "share/fish/vendor_completions.d/storm.fish",
        "share/bash-completion/completions/mds",
        "share/licenses/bcs-mpi/LICENSE-MIT",
        "share/licenses/bcs-mpi/LICENSE-APACHE",
        "share/licenses/bcs-mpi/third-party.txt",
        "share/doc/bcs-mpi/README.md",
        "share/doc/bcs-mpi/examples/sweep/sweep.c",
    ] {
        let length = std::fs::metadata(tree.join(file)).map(|metadata| metadata.len());
        assert!(length.as_ref().is_ok_and(|length| *length > 0), "{file}: {length:?}");
    }
    for of_tests in ["launch", "nic_rank", "nest"] {
        assert!(!tree.join("bin").join(of_tests).exists(), "{of_tests} is for tests alone");
    }
    for link in ["bin/mpiexec", "bin/mpirun", "lib/libmpi_abi.so", "bin/mpic++"] {
        let target = std::fs::read_link(tree.join(link)).unwrap();
        assert!(
            target.is_relative(),
            "{link} leads to {}, which a moved tree does not have",
            target.display()
        );
    }
    for page in std::fs::read_dir(tree.join("share/man/man1")).unwrap() {
        let text = std::fs::read_to_string(page.unwrap().path()).unwrap();
        if let Some(other) = text.strip_prefix(".so ") {
            assert!(tree.join("share/man").join(other.trim_end()).is_file(), "{text}");
        }
    }
}

#[test]
fn completions_are_read_by_bash() {
    for program in ["storm", "mds"] {
        let file = prefix().join("share/bash-completion/completions").join(program);
        let script = format!("source '{}' && complete -p {program}", file.display());
        run(Command::new("bash").args(["--norc", "-c", &script])).succeeds().says(program);
    }
}

#[test]
fn versions_agree() {
    let version = env!("CARGO_PKG_VERSION");
    for program in ["storm", "mpiexec", "mds"] {
        run(installed(program).arg("--version")).succeeds().says(version);
    }
}

#[test]
fn a_tree_that_was_moved_compiles_and_runs_programs() {
    let directory = tempfile::tempdir().unwrap();
    let tree = directory.path().join("moved here");
    run(Command::new("cp").arg("-a").arg(prefix()).arg(&tree)).succeeds();
    let compiled = Compiled::by(in_tree(&tree, "mpicc"), WHERE_IS_THE_LIBRARY);
    for launcher in ["mpiexec", "mpirun"] {
        runs_with_the_library_in(&tree, in_tree(&tree, launcher).args(["-n", "4"]).arg(compiled.program()));
    }
    runs_with_the_library_in(&tree, in_tree(&tree, "storm").args(["run", "-n", "4"]).arg(compiled.program()));
    // A link to the launcher from elsewhere, as from a directory of PATH.
    std::os::unix::fs::symlink(tree.join("bin/mpiexec"), directory.path().join("mpiexec")).unwrap();
    let mut linked = Command::new(directory.path().join("mpiexec"));
    runs_with_the_library_in(&tree, linked.args(["-n", "4"]).arg(compiled.program()));
    // And the program finds its library without the launcher.
    run(Command::new(compiled.program()).env_remove("LD_LIBRARY_PATH")).succeeds().says("rank 0 of 1 uses");
}

#[test]
fn cmake_finds_the_installation_and_checks_the_examples_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let build = directory.path().join("build");
    let path = format!("{}:{}", prefix().join("bin").display(), std::env::var("PATH").unwrap());
    let tool = |name: &str| {
        let mut command = Command::new(name);
        command.env("PATH", &path).env_remove("CC").env_remove("MPI_HOME");
        command
    };
    run(tool("cmake").arg("-S").arg(repository().join("examples")).arg("-B").arg(&build)).succeeds();
    run(tool("cmake").arg("--build").arg(&build)).succeeds();
    run(tool("ctest").arg("--test-dir").arg(&build)).succeeds().says("100% tests passed");
}

#[test]
fn a_program_in_cplusplus_runs() {
    let directory = tempfile::tempdir().unwrap();
    let source = r#"
#include <mpi.h>
#include <cstdio>
#include <numeric>
#include <vector>
int main(int argc, char **argv) {
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    std::vector<int> all(ranks);
    MPI_Gather(&rank, 1, MPI_INT, all.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 0) std::printf("sum %d\n", std::accumulate(all.begin(), all.end(), 0));
    return MPI_Finalize();
}"#;
    std::fs::write(directory.path().join("program.cc"), source).unwrap();
    let program = directory.path().join("program");
    run(installed("mpicxx")
        .args(["-O1", "-Wall", "-Werror", "program.cc", "-o"])
        .arg(&program)
        .current_dir(&directory))
    .succeeds();
    run(installed("mpiexec").args(["-n", "5"]).arg(&program)).succeeds().says("sum 10");
}

#[test]
fn installing_again_replaces_what_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let tree = directory.path().join("tree");
    run(Command::new("cp").arg("-a").arg(prefix()).arg(&tree)).succeeds();
    std::fs::write(tree.join("include/mpi.h"), "#error old\n").unwrap();
    let wrappers = repository().join("bcs-mpi/wrappers/install");
    run(Command::new(wrappers).arg(&tree)).succeeds();
    Compiled::by(in_tree(&tree, "mpicc"), WHERE_IS_THE_LIBRARY);
}

#[test]
fn a_wrong_command_line_of_install_is_one_line_that_says_what_to_do() {
    let install = repository().join("scripts/install");
    for (arguments, words) in [
        (&[][..], "--prefix"),
        (&["--prefix"], "wants a value"),
        (&["--profile", "fast", "--prefix", "/nowhere"], "release, dev or tests"),
        (&["--colour"], "unknown argument '--colour'"),
    ] {
        let ended = run(Command::new(&install).args(arguments));
        assert_eq!(ended.code(), 2, "{ended:?}");
        assert!(ended.stderr.lines().last().unwrap_or_default().contains(words), "{ended:?}");
    }
}
