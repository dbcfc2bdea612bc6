//! Our header against the C and C++ compilers, and against the Rust constants.

use std::fmt::Write as _;

use bcs_harness::c_programs::{Compiled, Language};
use mpi_abi_table::header::{INTEGER_TYPES, OPAQUE_TYPES};
use mpi_abi_table::{Tables, generate};

use crate::printed_values::{our_headers, printed_values_of_ours};
use crate::rust_values::rust_values;

/// A program that prints every constant as `name=value`, every type's size and alignment, and the layout of a
/// status.
pub fn program_that_prints_values(header: &str, constants: &[&str]) -> String {
    let mut text = format!(
        "#include <{header}>\n#include <stddef.h>\n#include <stdio.h>\n\
         #define VALUE(name) printf(#name \"=%lld\\n\", (long long) (intptr_t) (name))\n\
         #define TYPE(name) do {{ struct pair {{ char c; name t; }}; \
         printf(\"sizeof \" #name \"=%zu\\nalignof \" #name \"=%zu\\n\", sizeof(name), offsetof(struct pair, t)); }} while (0)\n\
         #define MEMBER(name) printf(\"offsetof \" #name \"=%zu\\nsizeof \" #name \"=%zu\\n\", \
         offsetof(MPI_Status, name), sizeof(((MPI_Status *) 0)->name))\n\
         int main(void) {{\n"
    );
    constants.iter().for_each(|name| writeln!(text, "VALUE({name});").unwrap());
    let types = INTEGER_TYPES.iter().map(|t| t.0).chain(OPAQUE_TYPES.iter().map(|t| t.0));
    for name in types.chain(["MPI_Status", "MPI_T_cb_safety", "MPI_T_source_order"]) {
        writeln!(text, "TYPE({name});").unwrap();
    }
    for member in ["MPI_SOURCE", "MPI_TAG", "MPI_ERROR", "MPI_internal"] {
        writeln!(text, "MEMBER({member});").unwrap();
    }
    text + "return 0;\n}\n"
}

/// The names of all constants that our tables hold.
pub fn constant_names(tables: &Tables) -> Vec<&'static str> {
    tables.named_values().map(|(name, ..)| name).collect()
}

#[test]
fn the_committed_files_are_what_the_tables_and_sources_make() {
    for (path, text) in generate(&Tables::read().unwrap()).unwrap() {
        let committed = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(committed == text, "{} is stale: cargo run -p mpi-abi-table", path.display());
    }
}

#[test]
fn every_dialect_of_c_and_cxx_takes_the_header_without_a_warning() {
    let dialects = [
        (Language::C, &["c89", "c99", "c11", "c17", "c2x"][..]),
        (Language::Cxx, &["c++98", "c++11", "c++17", "c++20"][..]),
    ];
    let source = "#include \"mpi.h\"\n#include \"mpi.h\"\nint main(void) { return MPI_SUCCESS; }\n";
    for (language, standards) in dialects {
        for standard in standards {
            let dialect = format!("-std={standard}");
            let include = format!("-I{}", our_headers().display());
            let strict = [
                dialect.as_str(),
                "-pedantic",
                "-Wall",
                "-Wextra",
                "-Wundef",
                "-Wshadow",
                "-Werror",
                "-c",
                &include,
            ];
            Compiled::with(language.compiler(), language, source, &strict);
        }
    }
}

#[test]
fn rust_and_c_agree_on_every_constant_and_layout() {
    use bcs_mpi::constants as ours;
    let tables = Tables::read().unwrap();
    let source = program_that_prints_values("mpi.h", &constant_names(&tables));
    let in_c = printed_values_of_ours(&source);

    let rust = rust_values();
    assert_eq!(rust.len(), tables.named_values().filter(|(.., in_rust)| *in_rust).count());
    for (name, value) in rust {
        assert_eq!(in_c[name], value.to_string(), "{name}");
    }
    let layouts = [
        ("sizeof MPI_Status", size_of::<ours::MPI_Status>()),
        ("alignof MPI_Status", align_of::<ours::MPI_Status>()),
        ("offsetof MPI_SOURCE", std::mem::offset_of!(ours::MPI_Status, MPI_SOURCE)),
        ("offsetof MPI_TAG", std::mem::offset_of!(ours::MPI_Status, MPI_TAG)),
        ("offsetof MPI_ERROR", std::mem::offset_of!(ours::MPI_Status, MPI_ERROR)),
        ("offsetof MPI_internal", std::mem::offset_of!(ours::MPI_Status, MPI_internal)),
        ("sizeof MPI_Aint", size_of::<ours::MPI_Aint>()),
        ("sizeof MPI_Offset", size_of::<ours::MPI_Offset>()),
        ("sizeof MPI_Count", size_of::<ours::MPI_Count>()),
        ("sizeof MPI_Comm", size_of::<ours::MPI_Comm>()),
        ("sizeof MPI_Datatype", size_of::<ours::MPI_Datatype>()),
        ("sizeof MPI_T_cb_safety", size_of::<ours::MPI_T_cb_safety>()),
        ("sizeof MPI_T_source_order", size_of::<ours::MPI_T_source_order>()),
    ];
    for (what, value) in layouts {
        assert_eq!(in_c[what], value.to_string(), "{what}");
    }
}

#[test]
fn datatypes_of_c_have_the_sizes_that_the_compiler_gives_them() {
    let types = [
        ("MPI_AINT", "MPI_Aint"),
        ("MPI_COUNT", "MPI_Count"),
        ("MPI_OFFSET", "MPI_Offset"),
        ("MPI_LONG_DOUBLE_INT", "struct { long double v; int i; }"),
        ("MPI_DOUBLE_INT", "struct { double v; int i; }"),
        ("MPI_SHORT_INT", "struct { short v; int i; }"),
        ("MPI_LONG_INT", "struct { long v; int i; }"),
        ("MPI_FLOAT_INT", "struct { float v; int i; }"),
        ("MPI_2INT", "struct { int v; int i; }"),
    ];
    // A type of plain C is its own name in the table.
    let tables = Tables::read().unwrap();
    let plain = tables.datatypes.iter().filter(|d| {
        let first = d.element.split(' ').next().unwrap_or_default();
        matches!(
            first,
            "short"
                | "int"
                | "long"
                | "unsigned"
                | "signed"
                | "char"
                | "float"
                | "double"
                | "_Bool"
                | "wchar_t"
        ) || first.ends_with("_t")
    });
    let cases: Vec<(&str, &str)> = types.into_iter().chain(plain.map(|d| (d.name, d.element))).collect();
    assert!(cases.len() > 35);
    let mut source = String::from(
        "#include <mpi.h>\n#include <stdio.h>\n#include <wchar.h>\n\
         int main(void) {\n",
    );
    for (name, element) in &cases {
        writeln!(source, "{{ typedef {element} T; printf(\"{name}=%zu\\n\", sizeof(T)); }}").unwrap();
    }
    source += "return 0;\n}\n";
    let in_c = printed_values_of_ours(&source);
    for (name, _) in cases {
        let datatype = tables.datatypes.iter().find(|d| d.name == name).expect(name);
        assert_eq!(in_c[name], datatype.extent.to_string(), "{name}");
    }
}
