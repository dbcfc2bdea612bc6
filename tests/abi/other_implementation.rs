//! Our header and tables against MPICH's `mpi_abi.h` and its `libmpi_abi.so.1`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use bcs_harness::c_programs::Language;
use bcs_harness::{mpich, runs};
use mpi_abi_table::Tables;
use mpi_abi_table::table::Form;

use crate::header::{constant_names, program_that_prints_values};
use crate::printed_values::{our_headers, printed_values};

/// A header under test.
struct Header {
    name: &'static str,
    include: PathBuf,
    /// What the program defines.
    flags: &'static [&'static str],
}

impl Header {
    fn ours() -> Self {
        Self { name: "mpi.h", include: our_headers(), flags: &[] }
    }

    /// For programs that want what MPI-3.0 has removed, too.
    fn ours_for_old_programs() -> Self {
        Self { flags: &["-DMPI1_COMPATIBILITY"], ..Self::ours() }
    }

    fn mpich(prefix: &Path) -> Self {
        Self { name: "mpi_abi.h", include: prefix.join("include"), flags: &[] }
    }

    fn printed_values(&self, language: Language, source: &str) -> BTreeMap<String, String> {
        printed_values(language, source, &[format!("-I{}", self.include.display())])
    }

    /// The header after the preprocessor, system headers left out; with `macros` their definitions instead.
    fn preprocessed(&self, macros: bool) -> String {
        let mut command = Language::C.compiler();
        command
            .arg("-E")
            .arg("-P")
            .args(self.flags)
            .args(macros.then_some("-dM"))
            .arg(self.include.join(self.name));
        runs::output(&mut command)
    }

    /// Every name of the standard that the header defines as a macro or an enumerator.
    fn constants(&self) -> BTreeSet<String> {
        let macros = self.preprocessed(true);
        let defined = macros.lines().filter_map(|line| line.split_whitespace().nth(1));
        let text = self.preprocessed(false);
        let enumerators =
            text.split(['{', ',', '}']).filter_map(|item| item.split_once('=')).map(|(name, _)| name.trim());
        defined.chain(enumerators).filter(|name| is_constant(name)).map(str::to_owned).collect()
    }

    /// Every function of the standard that the header declares.
    fn functions(&self) -> BTreeSet<String> {
        let text = self.preprocessed(false);
        let statements = text.split([';', '{', '}']).map(str::trim).filter(|s| !s.starts_with("typedef"));
        let names = statements
            .filter_map(|s| s.split_once('('))
            .filter_map(|(head, _)| head.split([' ', '*']).next_back());
        names.filter(|n| n.starts_with("MPI_") || n.starts_with("PMPI_")).map(str::to_owned).collect()
    }

    /// The type of each named function as the C++ compiler mangles it: equal strings are equal types.
    fn mangled_types(&self, functions: &BTreeSet<String>, callbacks: &[&str]) -> BTreeMap<String, String> {
        let mut source =
            format!("#include <{}>\n#include <cstdio>\n#include <typeinfo>\nint main() {{\n", self.name);
        for name in functions {
            writeln!(source, "std::printf(\"{name}=%s\\n\", typeid(decltype(&{name})).name());").unwrap();
        }
        for name in callbacks {
            writeln!(source, "std::printf(\"{name}=%s\\n\", typeid({name} *).name());").unwrap();
        }
        self.printed_values(Language::Cxx, &(source + "return 0;\n}\n"))
    }
}

fn is_constant(name: &str) -> bool {
    name.starts_with("MPI_")
        && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
        && !["MPI_H_ABI"].contains(&name)
}

#[test]
fn every_constant_and_layout_is_that_of_mpich() {
    let Some(prefix) = mpich::prefix() else { return };
    let tables = Tables::read().unwrap();
    let names = constant_names(&tables);
    let values = |header: &Header| {
        header.printed_values(Language::C, &program_that_prints_values(header.name, &names))
    };
    assert_eq!(values(&Header::ours()), values(&Header::mpich(&prefix)));
}

#[test]
fn no_constant_of_mpich_is_missing() {
    let Some(prefix) = mpich::prefix() else { return };
    let (ours, theirs) = (Header::ours().constants(), Header::mpich(&prefix).constants());
    assert!(theirs.len() > 350, "only {} constants found in the header of MPICH", theirs.len());
    let missing: Vec<_> = theirs.difference(&ours).collect();
    assert!(missing.is_empty(), "missing: {missing:?}");
    let tables = Tables::read().unwrap();
    let listed: BTreeSet<String> = constant_names(&tables).into_iter().map(str::to_owned).collect();
    assert_eq!(ours, listed, "the header defines what the tables do not list");
}

#[test]
fn every_prototype_is_that_of_mpich() {
    let Some(prefix) = mpich::prefix() else { return };
    let tables = Tables::read().unwrap();
    let theirs = Header::mpich(&prefix).functions();
    let exported = symbols(&tables, &[Form::Exported]);
    assert_eq!(theirs, exported, "the ABI has other functions than our tables");
    let callbacks: Vec<&str> = tables.callbacks.iter().map(|c| c.name).collect();
    let types = |header: &Header| header.mangled_types(&exported, &callbacks);
    assert_eq!(types(&Header::ours()), types(&Header::mpich(&prefix)));
}

#[test]
fn our_header_declares_every_function_of_the_tables() {
    let tables = Tables::read().unwrap();
    assert_eq!(Header::ours().functions(), symbols(&tables, &[Form::Exported, Form::Inline]));
    let of_old_programs = symbols(&tables, &[Form::Exported, Form::Inline, Form::Removed]);
    assert_eq!(Header::ours_for_old_programs().functions(), of_old_programs);
}

/// The functions of these forms, and their profiling twins.
fn symbols(tables: &Tables, forms: &[Form]) -> BTreeSet<String> {
    let functions = tables.functions.iter().filter(|function| forms.contains(&function.form));
    functions.flat_map(|function| [function.name.clone(), function.profiling_name()]).collect()
}

/// Runs a program that is compiled with our header and linked with MPICH's library.
fn run_on_mpich(prefix: &Path, source: &str) -> BTreeMap<String, String> {
    let flags = [
        format!("-I{}", our_headers().display()),
        format!("-L{}", prefix.join("lib").display()),
        "-lmpi_abi".to_owned(),
        format!("-Wl,-rpath,{}", prefix.join("lib").display()),
    ];
    printed_values(Language::C, source, &flags)
}

#[test]
fn predefined_datatypes_have_the_size_and_extent_that_mpich_gives_them() {
    let Some(prefix) = mpich::prefix() else { return };
    let mut source = String::from(
        "#include <mpi.h>\n#include <stdio.h>\nstatic void show(const char *name, MPI_Datatype type) {\n\
         int size; MPI_Aint lb, extent;\n\
         if (MPI_Type_size(type, &size) || size == MPI_UNDEFINED || MPI_Type_get_extent(type, &lb, &extent))\n\
         printf(\"%s=unsupported\\n\", name);\n\
         else printf(\"%s=%d %ld %ld\\n\", name, size, (long) lb, (long) extent);\n}\n\
         int main(void) {\nMPI_Init(0, 0);\nMPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);\n\
         MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);\n",
    );
    let ours =
        bcs_mpi::constants::DATATYPES.iter().filter(|d| d.handle != bcs_mpi::constants::MPI_DATATYPE_NULL);
    for datatype in ours.clone() {
        writeln!(source, "show(\"{0}\", {0});", datatype.name).unwrap();
    }
    let theirs = run_on_mpich(&prefix, &(source + "MPI_Finalize();\nreturn 0;\n}\n"));
    let mut compared = 0;
    for datatype in ours.filter(|d| theirs[d.name] != "unsupported" && theirs[d.name] != "0 0 0") {
        let expected = format!("{} 0 {}", datatype.size, datatype.extent);
        assert_eq!(theirs[datatype.name], expected, "{}", datatype.name);
        compared += 1;
    }
    assert!(compared > 60, "MPICH supports only {compared} of our datatypes");
}

#[test]
fn handles_and_statuses_go_to_fortran_and_back() {
    let Some(prefix) = mpich::prefix() else { return };
    let source = "#include <mpi.h>\n#include <stdio.h>\n#include <string.h>\nint main(void) {\n\
        MPI_Status status, back; MPI_F08_status f08; MPI_Fint f[MPI_F_STATUS_SIZE]; int i;\n\
        MPI_Init(0, 0);\n\
        printf(\"world=%d\\n\", MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)) == MPI_COMM_WORLD);\n\
        printf(\"type=%d\\n\", MPI_Type_f2c(PMPI_Type_c2f(MPI_DOUBLE)) == MPI_DOUBLE);\n\
        printf(\"op=%d\\n\", PMPI_Op_f2c(MPI_Op_c2f(MPI_SUM)) == MPI_SUM);\n\
        MPI_Status_set_elements(&status, MPI_INT, 7); status.MPI_SOURCE = 3; status.MPI_TAG = 5; status.MPI_ERROR = 0;\n\
        for (i = 0; i < 5; i++) if (i > 1) status.MPI_internal[i] = 40 + i;\n\
        MPI_Status_c2f(&status, f); MPI_Status_f2f08(f, &f08); MPI_Status_f082c(&f08, &back);\n\
        printf(\"status=%d\\n\", memcmp(&status, &back, sizeof back) == 0);\n\
        printf(\"source=%d\\n\", f[MPI_F_SOURCE] == 3 && f[MPI_F_TAG] == 5 && f08.MPI_TAG == 5);\n\
        printf(\"null=%d\\n\", MPI_Status_f2c(f, MPI_STATUS_IGNORE) == MPI_ERR_ARG);\n\
        MPI_Finalize();\nreturn 0;\n}\n";
    let answers = run_on_mpich(&prefix, source);
    assert_eq!(answers.len(), 6);
    assert!(answers.values().all(|answer| answer == "1"), "{answers:?}");
}
