//! The compiler wrappers, CMake's FindMPI and pkg-config, in an installed tree that has been moved.

use std::path::{Path, PathBuf};
use std::process::Command;

use bcs_harness::c_programs::Language;
use bcs_harness::repository;
use bcs_harness::runs::output;
use tempfile::TempDir;

/// A program that says which MPI it was compiled with and calls the library.
const PROGRAM: &str = "#include <mpi.h>\n#include <stdio.h>\nint main(int argc, char **argv) {\n\
    int version, subversion;\nMPI_Init(&argc, &argv);\nMPI_Get_version(&version, &subversion);\n\
    printf(\"MPI-%d.%d\\n\", version, subversion);\nreturn MPI_Finalize();\n}\n";

/// A library with the few functions that these tests link against; what is tested here is how it is found.
const LIBRARY: &str = "#include <mpi.h>\n\
    int MPI_Init(int *argc, char ***argv) { (void) argc; (void) argv; return MPI_SUCCESS; }\n\
    int MPI_Finalize(void) { return MPI_SUCCESS; }\n\
    int MPI_Get_version(int *v, int *s) { *v = MPI_VERSION; *s = MPI_SUBVERSION; return MPI_SUCCESS; }\n\
    int MPI_Get_library_version(char *text, int *length) { text[0] = 0; *length = 0; return MPI_SUCCESS; }\n";

/// An installed tree. It was installed under one name and then moved to another.
struct Installed {
    directory: TempDir,
    prefix: PathBuf,
}

impl Installed {
    /// With a blank in its path.
    fn new() -> Self {
        Self::in_directory("moved tree")
    }

    /// pkg-config and CMake have their own trouble with blanks in paths, whatever the package.
    fn without_blanks() -> Self {
        Self::in_directory("moved-tree")
    }

    fn in_directory(name: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let first = directory.path().join("first");
        output(Command::new(repository().join("bcs-mpi/wrappers/install")).arg(&first));
        let source = directory.path().join("library.c");
        std::fs::write(&source, LIBRARY).unwrap();
        let library = first.join("lib/libmpi_abi.so.1");
        let mut link = Language::C.compiler();
        link.args(["-shared", "-fPIC", "-Wl,-soname,libmpi_abi.so.1", "-o"]).arg(&library).arg(&source);
        output(link.arg(format!("-I{}", first.join("include").display())));
        std::os::unix::fs::symlink("libmpi_abi.so.1", first.join("lib/libmpi_abi.so")).unwrap();
        let prefix = directory.path().join(name);
        std::fs::rename(&first, &prefix).unwrap();
        std::fs::write(directory.path().join("program.c"), PROGRAM).unwrap();
        std::fs::write(directory.path().join("program.cpp"), PROGRAM).unwrap();
        Self { directory, prefix }
    }

    /// The command `name`, run in the directory above the tree, without the caller's choice of compiler.
    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.prefix.join("bin").join(name));
        command.current_dir(self.directory.path());
        for variable in
            ["BCS_CC", "BCS_CXX", "MPICH_CC", "MPICH_CXX", "OMPI_CC", "OMPI_CXX", "LD_LIBRARY_PATH"]
        {
            command.env_remove(variable);
        }
        command
    }

    fn says(&self, name: &str, arguments: &[&str]) -> String {
        output(self.command(name).args(arguments))
    }
}

fn run(program: &Path) -> String {
    output(Command::new(program).env_remove("LD_LIBRARY_PATH"))
}

fn is_installed(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        bcs_harness::skip(format_args!("{program} is not installed"));
    }
    found
}

#[test]
fn programs_are_built_and_run_from_a_tree_that_was_moved() {
    let tree = Installed::new();
    for (name, source) in [
        ("mpicc", "program.c"),
        ("mpicc_abi", "program.c"),
        ("mpicxx", "program.cpp"),
        ("mpic++", "program.cpp"),
        ("mpicxx_abi", "program.cpp"),
        ("mpic++_abi", "program.cpp"),
    ] {
        let output = format!("built-by-{name}");
        tree.says(name, &[source, "-o", &output]);
        assert_eq!(run(&tree.directory.path().join(output)), "MPI-5.0\n", "{name}");
    }
}

#[test]
fn a_link_to_the_wrapper_finds_the_tree() {
    let tree = Installed::new();
    let link = tree.directory.path().join("my-mpicxx");
    std::os::unix::fs::symlink("moved tree/bin/mpicxx", &link).unwrap();
    output(Command::new(&link).args(["program.cpp", "-o", "linked"]).current_dir(tree.directory.path()));
    assert_eq!(run(&tree.directory.path().join("linked")), "MPI-5.0\n");
    let through_path = Command::new("sh")
        .args(["-c", "mpicc -show"])
        .env("PATH", format!("{}:{}", tree.prefix.join("bin").display(), std::env::var("PATH").unwrap()))
        .output()
        .unwrap();
    let shown = String::from_utf8(through_path.stdout).unwrap();
    assert!(shown.contains(tree.prefix.to_str().unwrap()), "{shown}");
}

#[test]
fn show_says_what_would_be_run() {
    let tree = Installed::without_blanks();
    let prefix = std::fs::canonicalize(&tree.prefix).unwrap();
    let prefix = prefix.display();
    let link = format!("-L{prefix}/lib -Wl,-rpath,{prefix}/lib -Wl,--enable-new-dtags -lmpi_abi\n");
    assert_eq!(tree.says("mpicc", &["-show", "a.c"]), format!("cc -I{prefix}/include a.c {link}"));
    assert_eq!(tree.says("mpicxx", &["-show", "-cxx=g++"]), format!("g++ -I{prefix}/include {link}"));
    assert_eq!(tree.says("mpicc", &["-compile_info"]), format!("cc -I{prefix}/include\n"));
    assert_eq!(tree.says("mpicc", &["-link_info"]), format!("cc {link}"));
    assert_eq!(tree.says("mpicc", &["--showme:compile"]), format!("-I{prefix}/include\n"));
    assert_eq!(tree.says("mpicc", &["-showme:link"]), link);
    for stops_before_linking in ["-c", "-S", "-E", "-M", "-MM", "-fsyntax-only"] {
        let shown = tree.says("mpicc", &["-show", stops_before_linking, "a.c"]);
        assert_eq!(shown, format!("cc -I{prefix}/include {stops_before_linking} a.c\n"));
    }
    assert!(tree.says("mpicc", &["-help"]).contains("MPICH_CC"));
}

#[test]
fn the_compiler_is_the_one_that_was_asked_for() {
    let tree = Installed::new();
    let first_word = |command: &mut Command| {
        let shown = output(command.arg("-showme:command"));
        shown.trim_end().to_owned()
    };
    assert_eq!(first_word(&mut tree.command("mpicc")), "cc");
    assert_eq!(first_word(&mut tree.command("mpicxx")), "c++");
    assert_eq!(first_word(tree.command("mpicc").env("OMPI_CC", "o")), "o");
    assert_eq!(first_word(tree.command("mpicc").env("OMPI_CC", "o").env("MPICH_CC", "m")), "m");
    assert_eq!(
        first_word(tree.command("mpicc").env("MPICH_CC", "m").env("BCS_CC", "ccache gcc")),
        "ccache gcc"
    );
    assert_eq!(first_word(tree.command("mpicxx").env("BCS_CXX", "x").env("BCS_CC", "c")), "x");
    assert_eq!(first_word(tree.command("mpicc").env("BCS_CC", "b").arg("-cc=given")), "given");
    let compiler = output(Command::new("cc").arg("--version"));
    assert_eq!(tree.says("mpicc", &["--version"]), compiler);
    for (variable, value, complaint) in [
        ("BCS_CC", "no-such-compiler", "no-such-compiler is not there"),
        ("BCS_CC", "mpicc", "is a wrapper itself"),
    ] {
        let output = tree.command("mpicc").env(variable, value).arg("program.c").output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stderr).contains(complaint), "{output:?}");
    }
}

#[test]
fn arguments_reach_the_compiler_as_they_are() {
    let tree = Installed::new();
    let text = r#"two  words, a * and a "quote" and a $dollar"#;
    let source = "#include <mpi.h>\n#include <stdio.h>\nint main(void) { fputs(TEXT, stdout); return 0; }\n";
    std::fs::write(tree.directory.path().join("a b.c"), source).unwrap();
    let define = format!("-DTEXT={text:?}");
    tree.says("mpicc", &[&define, "a b.c", "-o", "a b"]);
    assert_eq!(run(&tree.directory.path().join("a b")), text);
    // What -show prints is a command for a shell.
    let shown = tree.says("mpicc", &["-show", &define, "a b.c", "-o", "shown"]);
    output(Command::new("sh").args(["-c", &shown]).current_dir(tree.directory.path()));
    assert_eq!(run(&tree.directory.path().join("shown")), text);
}

#[test]
fn a_failing_compiler_fails_the_wrapper() {
    let tree = Installed::new();
    std::fs::write(tree.directory.path().join("wrong.c"), "int main(void) { return }\n").unwrap();
    let output = tree.command("mpicc").args(["-c", "wrong.c"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("wrong.c"));
}

#[test]
fn cmake_finds_the_library() {
    if !is_installed("cmake") {
        return;
    }
    let tree = Installed::without_blanks();
    let project = tree.directory.path().join("project");
    std::fs::create_dir(&project).unwrap();
    std::fs::write(project.join("program.c"), PROGRAM).unwrap();
    std::fs::write(project.join("program.cpp"), PROGRAM).unwrap();
    let lists = "cmake_minimum_required(VERSION 3.16)\nproject(p C CXX)\nfind_package(MPI 5.0 REQUIRED COMPONENTS C CXX)\n\
        add_executable(in_c program.c)\ntarget_link_libraries(in_c MPI::MPI_C)\n\
        add_executable(in_cxx program.cpp)\ntarget_link_libraries(in_cxx MPI::MPI_CXX)\n\
        message(STATUS \"found=${MPI_C_LIBRARIES}\")\n";
    std::fs::write(project.join("CMakeLists.txt"), lists).unwrap();
    let build = tree.directory.path().join("build");
    let path = format!("{}:{}", tree.prefix.join("bin").display(), std::env::var("PATH").unwrap());
    let cmake = || {
        let mut command = Command::new("cmake");
        command.env("PATH", &path).env_remove("CC").env_remove("CXX").env_remove("MPI_HOME");
        command
    };
    let configured = output(cmake().arg("-S").arg(&project).arg("-B").arg(&build));
    let library = std::fs::canonicalize(&tree.prefix).unwrap().join("lib/libmpi_abi.so");
    assert!(configured.contains(&format!("found={}", library.display())), "{configured}");
    output(cmake().arg("--build").arg(&build));
    assert_eq!(run(&build.join("in_c")), "MPI-5.0\n");
    assert_eq!(run(&build.join("in_cxx")), "MPI-5.0\n");
}

#[test]
fn pkg_config_finds_the_library_under_its_names() {
    if !is_installed("pkg-config") {
        return;
    }
    let tree = Installed::without_blanks();
    for (number, name) in ["mpi_abi", "mpi", "mpi-c", "mpi-cxx"].iter().enumerate() {
        let flags = output(
            Command::new("pkg-config")
                .args(["--cflags", "--libs", name])
                .env("PKG_CONFIG_PATH", tree.prefix.join("lib/pkgconfig")),
        );
        let program = tree.directory.path().join(format!("program-{number}"));
        let mut compile = Language::C.compiler();
        compile.arg("-o").arg(&program).arg(tree.directory.path().join("program.c"));
        output(compile.args(flags.split_whitespace()));
        assert_eq!(run(&program), "MPI-5.0\n");
    }
    let version = output(
        Command::new("pkg-config")
            .args(["--modversion", "mpi_abi"])
            .env("PKG_CONFIG_PATH", tree.prefix.join("lib/pkgconfig")),
    );
    assert_eq!(version.trim_end(), env!("CARGO_PKG_VERSION"));
}
