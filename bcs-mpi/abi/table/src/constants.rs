//! Writes the Rust modules `bcs-mpi/src/constants/*.rs`: one constant a line; of datatypes, operations and
//! error classes rows of a table, of which a macro of `constants.rs` makes the constants and the lookup
//! table.

use std::fmt::Write as _;

use crate::table::{CLASSES, Constant, Datatype, Operation, Section, Since, Tables, Value};

/// A generated file: its path below the crate directory `bcs-mpi`, and its text.
pub type GeneratedFile = (String, String);

/// Modules made from sections of constants.tbl: name, and first line of the header.
const MODULES: [(&str, &str); 7] = [
    ("versions", "Versions of the standard and of its binary interface."),
    ("errors", "Error classes: values, names and meanings."),
    ("handles", "Predefined communicators, groups, error handlers and the null handles."),
    ("sentinels", "Special ranks, tags, addresses and the arguments that say \"none\"."),
    ("limits", "Sizes that a program may use for its buffers."),
    ("modes", "Thread levels, comparisons, assertions and other choices."),
    ("attributes", "Attribute keys, and callbacks with a predefined meaning."),
];

/// The error class that is none.
const LAST_CODE: &str = "MPI_ERR_LASTCODE";

/// All modules.
#[must_use]
pub fn render(tables: &Tables) -> Vec<GeneratedFile> {
    let mut files: Vec<GeneratedFile> = MODULES
        .iter()
        .map(|(module, purpose)| {
            let sections: Vec<_> = tables.sections.iter().filter(|s| s.module == *module).collect();
            (format!("src/constants/{module}.rs"), render_module(module, purpose, &sections))
        })
        .collect();
    files.push(("src/constants/datatypes.rs".into(), render_datatypes(&tables.datatypes)));
    files.push(("src/constants/operations.rs".into(), render_operations(&tables.operations)));
    files.push(("../tests/abi/rust_values.rs".into(), render_values(tables)));
    files
}

/// The list of all Rust constants with their values, for the test that compares them with C.
fn render_values(tables: &Tables) -> String {
    let mut text = module_header("Every constant of `bcs_mpi::constants` with its value as an integer.");
    text.push_str("use bcs_mpi::constants::*;\n\n/// Names and values.\n#[rustfmt::skip]\n");
    text.push_str("pub fn rust_values() -> Vec<(&'static str, i64)> {\n    vec![\n");
    for (name, c_type, _) in tables.named_values().filter(|(.., in_rust)| *in_rust) {
        let value = match RustForm::of(c_type) {
            RustForm::Int => format!("i64::from({name})"),
            RustForm::Address => format!("{name} as i64"),
            RustForm::Handle(_) => format!("{name}.0 as i64"),
            RustForm::Pointer(_) => format!("{name}.addr() as i64"),
        };
        writeln!(text, "        (\"{name}\", {value}),").unwrap();
    }
    text.push_str("    ]\n}\n");
    text
}

fn module_header(purpose: &str) -> String {
    format!(
        "//! {purpose}\n//!\n//! Made by `mpi-abi-table write` from the tables in `bcs-mpi/abi/table` (MPI-5.0, chapter 20 and\n\
         //! appendix A.1); change those, not this file.\n\n"
    )
}

/// How a constant of a C type is declared in Rust.
enum RustForm {
    Int,
    Address,
    Handle(&'static str),
    Pointer(&'static str),
}

impl RustForm {
    fn of(c_type: &'static str) -> Self {
        match c_type {
            "int" => Self::Int,
            "void *" => Self::Pointer("*mut c_void"),
            "int *" => Self::Pointer("*mut c_int"),
            "MPI_Status *" => Self::Pointer("*mut MPI_Status"),
            other if other.starts_with("enum ") => Self::Int,
            other if other.ends_with('*') => Self::Address,
            handle => Self::Handle(handle),
        }
    }
}

fn render_module(module: &str, purpose: &str, sections: &[&Section]) -> String {
    let mut text = module_header(purpose);
    let uses = |wanted: &str| sections.iter().any(|s| rust_type(s.c_type).contains(wanted));
    let c_names: Vec<_> = ["c_int", "c_void"].into_iter().filter(|name| uses(name)).collect();
    match c_names[..] {
        [] => {}
        [one] => writeln!(text, "use std::ffi::{one};\n").unwrap(),
        _ => writeln!(text, "use std::ffi::{{{}}};", c_names.join(", ")).unwrap(),
    }
    if uses("*mut") {
        text.push_str("use std::ptr::without_provenance_mut;\n\n");
    }
    let mut own: Vec<_> =
        sections.iter().map(|s| rust_type(s.c_type)).filter(|t| t.starts_with("MPI_")).collect();
    if uses("*mut MPI_Status") {
        own.push("MPI_Status");
    }
    if module == "errors" {
        own.push("ErrorClass");
    }
    own.sort_unstable();
    own.dedup();
    match own[..] {
        [] => {}
        [one] => writeln!(text, "use super::{one};\n").unwrap(),
        _ if own.join(", ").len() < 90 => writeln!(text, "use super::{{{}}};\n", own.join(", ")).unwrap(),
        _ => writeln!(text, "use super::{{\n    {},\n}};\n", own.join(", ")).unwrap(),
    }
    if module == "errors" {
        sections.iter().for_each(|section| render_error_classes(&mut text, section));
    }
    for (index, section) in sections.iter().enumerate() {
        let gap = if index == 0 { "" } else { "\n" };
        writeln!(text, "{gap}// {}: {}.\n", section.title, section.source).unwrap();
        for constant in section.constants.iter().filter(|c| module != "errors" || c.name == LAST_CODE) {
            let value = match constant.value {
                Value::Alias(name) => name.to_owned(),
                Value::Number(number) => rust_value(section.c_type, number),
            };
            writeln!(text, "/// {} ({}).", capitalised(constant.meaning), version(constant.since)).unwrap();
            writeln!(text, "pub const {}: {} = {value};", constant.name, rust_type(section.c_type)).unwrap();
        }
    }
    text
}

fn rust_type(c_type: &'static str) -> &'static str {
    match RustForm::of(c_type) {
        RustForm::Int => "c_int",
        RustForm::Address => "usize",
        RustForm::Handle(name) | RustForm::Pointer(name) => name,
    }
}

fn rust_value(c_type: &'static str, number: i64) -> String {
    match RustForm::of(c_type) {
        RustForm::Int | RustForm::Address => number.to_string(),
        RustForm::Handle(name) => format!("{name}({number:#x})"),
        RustForm::Pointer(_) => format!("without_provenance_mut({number})"),
    }
}

fn render_error_classes(text: &mut String, section: &Section) {
    let value = |class: &Constant| match class.value {
        Value::Number(number) => number,
        Value::Alias(_) => i64::MAX,
    };
    let mut by_value: Vec<_> = section.constants.iter().filter(|class| class.name != LAST_CODE).collect();
    by_value.sort_by_key(|class| value(class));
    writeln!(text, "error_classes! {{ {};", by_value.len()).unwrap();
    for class in by_value {
        let (number, since) = (value(class), version(class.since));
        writeln!(text, "    {} = {number} \"{}\" \"{since}\";", class.name, class.meaning).unwrap();
    }
    text.push_str("}\n\n");
}

fn render_datatypes(datatypes: &[Datatype]) -> String {
    let mut text = module_header("Predefined datatypes: handles, sizes and classes.");
    text.push_str("use super::{Class, Datatype, MPI_Datatype};\n\n");
    let mut aliases = String::new();
    let distinct = datatypes.iter().filter(|d| matches!(d.handle, Value::Number(_))).count();
    writeln!(text, "datatypes! {{ {distinct};").unwrap();
    for d in datatypes {
        let (class, since) = (class_variant(d.class), version(d.since));
        match d.handle {
            Value::Number(handle) => writeln!(
                text,
                "    {} = {handle:#x} {class} {} {} \"{}\" \"{since}\";",
                d.name, d.size, d.extent, d.element
            ),
            Value::Alias(of) => writeln!(
                aliases,
                "\n/// `{}` ({since}).\npub const {}: MPI_Datatype = {of};",
                d.element, d.name
            ),
        }
        .unwrap();
    }
    text + "}\n" + &aliases
}

fn render_operations(operations: &[Operation]) -> String {
    let mut text =
        module_header("Predefined reduction operations: handles, names and the datatypes that they take.");
    text.push_str("use super::{Class, ClassSet, MPI_Op, Operation};\n\n");
    writeln!(text, "operations! {{ {};", operations.len()).unwrap();
    for Operation { name, handle, since, classes, meaning } in operations {
        let taken = |class: &&&str| classes == &["*"] || classes.contains(class);
        let taken = CLASSES[..CLASSES.len() - 1].iter().filter(taken).map(|class| class_variant(class));
        let (classes, since) = (taken.collect::<Vec<_>>().join(" "), version(*since));
        writeln!(text, "    {name} = {handle:#x} [{classes}] \"{meaning}\" \"{since}\";").unwrap();
    }
    text + "}\n"
}

/// `multi-language` as `MultiLanguage`.
fn class_variant(class: &str) -> String {
    class.split('-').map(capitalised).collect()
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn version(since: Since) -> String {
    match since.deprecated {
        Some(deprecated) => format!("MPI-{}, deprecated in MPI-{deprecated}", since.added),
        None => format!("MPI-{}", since.added),
    }
}
