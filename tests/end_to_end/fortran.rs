//! Programs in Fortran: the modules mpi and mpi_f08, mpif.h, the compiler wrapper and what finds it. The
//! programs in `tests/programs/fortran` check themselves.

use bcs_harness::built;
use bcs_harness::installation::{deck, in_tree, installed, mpiexec, prefix};
use bcs_harness::runs::{output, run};
use bcs_harness::{repository, skip};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Whether the installation has modules; says so where not.
fn has_fortran() -> bool {
    let is_there = prefix().join("bin/mpifort").is_file();
    if !is_there {
        skip("no Fortran compiler was there when BCS-MPI was installed (gfortran)");
    }
    is_there
}

fn sources() -> PathBuf {
    repository().join("tests/programs/fortran")
}

/// `mpifort` of a tree, in a folder for its modules and programs.
fn mpifort(tree: &Path, folder: &TempDir) -> Command {
    let mut command = in_tree(tree, "mpifort");
    for variable in ["BCS_FC", "MPICH_FC", "OMPI_FC"] {
        command.env_remove(variable);
    }
    command.current_dir(folder.path());
    command
}

/// Compiles one of the programs with its checks; answers it.
fn compiled(tree: &Path, folder: &TempDir, name: &str, options: &[&str]) -> PathBuf {
    let program = folder.path().join(name);
    let mut command = mpifort(tree, folder);
    command.args(["-g", "-O1"]).args(options).arg(sources().join("checks.f90"));
    run(command.arg(sources().join(name).with_extension("f90")).arg("-o").arg(&program)).succeeds();
    program
}

fn holds(name: &str, ranks: &[&str]) {
    if !has_fortran() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&prefix(), &folder, name, &[]);
    for ranks in ranks {
        run(mpiexec("-n").arg(ranks).arg(&program)).succeeds();
    }
}

#[test]
fn array_sections_of_one_to_seven_dimensions_are_buffers_of_every_call() {
    holds("sections", &["1", "3"]);
}

#[test]
fn mpi_calls_procedures_of_the_program() {
    holds("callbacks", &["1", "3"]);
}

#[test]
fn indices_statuses_strings_logicals_and_handles_are_those_of_fortran() {
    holds("requests", &["1", "3"]);
}

#[test]
fn the_module_mpi_has_what_programs_before_fortran_2008_use() {
    holds("module_mpi", &["1", "3"]);
}

#[test]
fn an_array_that_is_too_short_is_an_error_with_call_argument_and_value() {
    holds("too_short", &["1", "3"]);
}

#[test]
fn an_array_that_is_too_short_ends_the_job_with_a_message_where_errors_are_fatal() {
    if !has_fortran() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("short.f90"), folder.path().join("short"));
    let text = "use mpi_f08\ninteger :: a(4)\ncall MPI_Init()\na = 0\n\
        call MPI_Bcast(a, 5, MPI_INTEGER, 0, MPI_COMM_WORLD)\nend\n";
    std::fs::write(&source, text).unwrap();
    run(mpifort(&prefix(), &folder).arg(&source).arg("-o").arg(&program)).succeeds();
    let ended = run(mpiexec("-n 1").arg(&program));
    assert!(!ended.status.success(), "{ended:?}");
    let told = "MPI_Bcast: buffer is an array of 16 bytes, and 5 elements of 4 bytes need 20";
    assert!(ended.stderr.contains(told), "{ended:?}");
}

#[test]
fn programs_of_mpi_1_in_fixed_form_run() {
    if !has_fortran() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("fixed_form");
    let mut command = mpifort(&prefix(), &folder);
    run(command.args(["-no-pie", "-std=legacy"]).arg(sources().join("fixed_form.f")).arg("-o").arg(&program))
        .succeeds();
    run(mpiexec("-n 2").arg(&program)).succeeds();
}

#[test]
fn handles_statuses_and_attributes_go_between_fortran_and_c() {
    if !has_fortran() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let object = folder.path().join("languages.o");
    run(installed("mpicc").arg("-c").arg(sources().join("languages.c")).arg("-o").arg(&object)).succeeds();
    let program = compiled(&prefix(), &folder, "languages", &[object.to_str().unwrap()]);
    run(mpiexec("-n 2").arg(&program)).succeeds();
}

#[test]
fn each_interface_has_every_procedure_of_the_standard() {
    if !has_fortran() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    run(Command::new(built::program("mpi-abi-table")).arg("calls").arg(folder.path())).succeeds();
    for interface in ["calls_f08", "calls_mpi", "calls_mpif"] {
        let program = folder.path().join(interface);
        let mut command = mpifort(&prefix(), &folder);
        command.args(["-O0", "procedures.f90"]).arg(format!("{interface}.f90"));
        run(command.arg("-o").arg(&program)).succeeds();
        run(mpiexec("-n 1").arg(&program)).succeeds();
    }
}

#[test]
fn the_examples_in_fortran_have_the_bits_of_those_in_c() {
    if !has_fortran() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut make = Command::new("make");
    make.args(["-s", "-B", "-C"]).arg(repository().join("examples/fortran"));
    make.arg(format!("FC={}", prefix().join("bin/mpifort").display()));
    run(make.arg(format!("OUT={}", folder.path().display()))).succeeds();
    for (code, decks) in [("sweep", &["small"][..]), ("hydro", &["small", "sod"])] {
        for deck_name in decks {
            let deck = deck(code, deck_name);
            let text = std::fs::read_to_string(&deck).unwrap();
            let checksum = text.lines().find_map(|line| line.strip_prefix("checksum ")).unwrap();
            for ranks in ["1", "4", "7"] {
                let ended = run(mpiexec("-n").arg(ranks).arg(folder.path().join(code)).arg(&deck)).succeeds();
                assert!(ended.stdout.contains(&format!("checksum {checksum}\n")), "{ended:?}");
            }
        }
    }
    // The other variant, and what they say to bad decks.
    let sweep = folder.path().join("sweep");
    let bad = folder.path().join("bad.deck");
    let text = std::fs::read_to_string(deck("sweep", "small")).unwrap();
    std::fs::write(&bad, format!("{text}variant blocking\n")).unwrap();
    run(mpiexec("-n 4").arg(&sweep).arg(&bad)).succeeds();
    std::fs::write(&bad, format!("{text}colour blue\n")).unwrap();
    let ended = run(mpiexec("-n 2").arg(&sweep).arg(&bad));
    assert!(ended.code() == 2 && ended.stderr.contains("unknown key 'colour'"), "{ended:?}");
    std::fs::write(&bad, text.replace("checksum 9", "checksum 8")).unwrap();
    let ended = run(mpiexec("-n 2").arg(&sweep).arg(&bad));
    assert!(ended.code() == 1 && ended.stderr.contains("FAILED: the flux has checksum"), "{ended:?}");
}

#[test]
fn cmake_and_pkg_config_find_the_modules() {
    if !has_fortran() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let lists = "cmake_minimum_required(VERSION 3.16)\nproject(p LANGUAGES Fortran)\n\
        find_package(MPI REQUIRED COMPONENTS Fortran)\nif(NOT MPI_Fortran_HAVE_F08_MODULE)\n\
        message(FATAL_ERROR \"no mpi_f08\")\nendif()\nif(NOT MPI_Fortran_HAVE_F90_MODULE)\n\
        message(FATAL_ERROR \"no mpi\")\nendif()\nadd_executable(sections checks.f90 sections.f90)\n\
        target_link_libraries(sections PRIVATE MPI::MPI_Fortran)\n";
    std::fs::write(folder.path().join("CMakeLists.txt"), lists).unwrap();
    for file in ["checks.f90", "sections.f90"] {
        std::fs::copy(sources().join(file), folder.path().join(file)).unwrap();
    }
    let build = folder.path().join("build");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(folder.path()).arg("-B").arg(&build);
    run(configure.arg(format!("-DMPI_Fortran_COMPILER={}", prefix().join("bin/mpifort").display())))
        .succeeds();
    run(Command::new("cmake").arg("--build").arg(&build)).succeeds();
    run(mpiexec("-n 2").arg(build.join("sections"))).succeeds();

    let mut flags = Command::new("pkg-config");
    flags.args(["--cflags", "--libs", "mpi-fort"]).env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig"));
    let flags = output(&mut flags);
    let compiler = output(mpifort(&prefix(), &folder).arg("-showme:command"));
    let program = folder.path().join("by_pkg_config");
    let mut command = Command::new(compiler.trim());
    command.current_dir(folder.path()).args(["checks.f90", "sections.f90"]).args(flags.split_whitespace());
    run(command.arg("-o").arg(&program)).succeeds();
    run(mpiexec("-n 2").arg(&program)).succeeds();
}

/// What of the installation Fortran needs, in another place.
fn copied_tree(folder: &TempDir) -> PathBuf {
    let tree = folder.path().join("moved");
    let parts = ["bin", "include", "lib", "libexec", "share/bcs-mpi", "share/man"];
    for part in parts {
        let to = tree.join(part);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        run(Command::new("cp").arg("-a").arg(prefix().join(part)).arg(&to)).succeeds();
    }
    tree
}

#[test]
fn a_moved_tree_compiles_fortran_and_gets_modules_for_another_compiler() {
    if !has_fortran() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let tree = copied_tree(&folder);
    let program = compiled(&tree, &folder, "sections", &[]);
    let mut mpiexec = in_tree(&tree, "mpiexec");
    run(mpiexec.args(["-n", "2"]).arg(&program)).succeeds();
    // A compiler of another name, without modules yet.
    let other = folder.path().join("another-fortran");
    let behind = output(mpifort(&tree, &folder).arg("-showme:command"));
    std::fs::write(&other, format!("#!/bin/sh\nexec {} \"$@\"\n", behind.trim())).unwrap();
    run(Command::new("chmod").arg("755").arg(&other)).succeeds();
    let choice = format!("-fc={}", other.display());
    let source = sources().join("checks.f90");
    let ended = run(mpifort(&tree, &folder).arg(&choice).arg("-c").arg(&source));
    let told = "another-fortran are not installed: run ";
    assert!(ended.code() == 1 && ended.stderr.contains(told), "{ended:?}");
    let install = tree.join("libexec/bcs-mpi/install-fortran");
    run(Command::new(&install).arg("--fc").arg(&other))
        .succeeds()
        .says("installed the modules mpi and mpi_f08");
    let program = compiled(&tree, &folder, "sections", &[&choice]);
    let mut mpiexec = in_tree(&tree, "mpiexec");
    run(mpiexec.args(["-n", "2"]).arg(&program)).succeeds();
    let ended = run(Command::new(&install).args(["--fc", "no-such-fortran"]));
    assert!(ended.code() == 1 && ended.stderr.contains("no-such-fortran is not there"), "{ended:?}");
}

#[test]
fn mpifort_shows_what_it_would_run_and_c_programs_load_nothing_of_fortran() {
    if !has_fortran() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let shown = output(mpifort(&prefix(), &folder).args(["-show", "x.f90", "-o", "x"]));
    for part in ["x.f90 -o x", "/include/fortran/", "-lmpifort_modules -lmpifort_abi -lmpi_abi"] {
        assert!(shown.contains(part), "{shown}");
    }
    for name in ["mpif77", "mpif90"] {
        assert_eq!(output(installed(name).args(["-show", "x.f90", "-o", "x"])), shown);
    }
    let libraries = output(mpifort(&prefix(), &folder).arg("-showme:libs"));
    assert_eq!(
        libraries.split_whitespace().collect::<Vec<_>>(),
        ["mpifort_modules", "mpifort_abi", "mpi_abi"]
    );
    let needed = output(Command::new("readelf").arg("-d").arg(prefix().join("lib/libmpi_abi.so.1")));
    assert!(!needed.contains("mpifort"), "{needed}");
    let shown = output(installed("mpicc").args(["-show", "x.c"]));
    assert!(!shown.contains("mpifort"), "{shown}");
}

#[test]
fn tools_that_define_functions_of_c_see_the_calls_of_fortran() {
    if !has_fortran() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (tool, library) = (folder.path().join("tool.c"), folder.path().join("libtool.so"));
    let text = "#include <mpi.h>\n#include <stdio.h>\nint MPI_Barrier(MPI_Comm comm) {\n\
        fprintf(stderr, \"the tool sees MPI_Barrier\\n\");\nreturn PMPI_Barrier(comm); }\n";
    std::fs::write(&tool, text).unwrap();
    run(installed("mpicc").args(["-shared", "-fPIC"]).arg(&tool).arg("-o").arg(&library)).succeeds();
    let (source, program) = (folder.path().join("barrier.f90"), folder.path().join("barrier"));
    std::fs::write(
        &source,
        "use mpi_f08\ncall MPI_Init()\ncall MPI_Barrier(MPI_COMM_WORLD)\ncall MPI_Finalize()\nend\n",
    )
    .unwrap();
    run(mpifort(&prefix(), &folder).arg(&source).arg("-o").arg(&program)).succeeds();
    let preload = format!("LD_PRELOAD={}", library.display());
    let ended = run(mpiexec("-n 1 env").arg(preload).arg(&program)).succeeds();
    assert!(ended.stderr.contains("the tool sees MPI_Barrier"), "{ended:?}");
}
