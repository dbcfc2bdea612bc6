//! Writes the types and the constants of the ABI for Rust, which `bcs-mpi` is built with: of error classes,
//! datatypes and operations tables besides.

use std::fmt::{Display, Write as _};

use crate::header::{INTEGER_TYPES, OPAQUE_TYPES};
use crate::rust_type::{predefined_by_number, rust_type};
use crate::table::{CLASSES, Callback, Constant, Datatype, Operation, Since, Tables, Value};

/// The error class that is none.
const LAST_CODE: &str = "MPI_ERR_LASTCODE";

/// The constants, and the types of callbacks.
#[must_use]
pub fn render(tables: &Tables) -> String {
    let mut text = String::new();
    types(&mut text);
    for section in tables.sections.iter().filter(|section| section.is_in_rust()) {
        let kind = rust_type(tables, section.c_type);
        for constant in &section.constants {
            let value = match constant.value {
                Value::Alias(name) => name.to_owned(),
                Value::Number(number) => value(&kind, number),
            };
            declare(&mut text, constant.meaning, constant.since, constant.name, &kind, value);
        }
    }
    error_classes(&mut text, tables);
    datatypes(&mut text, tables);
    operations(&mut text, tables);
    callbacks(&mut text, tables);
    text
}

/// Types of integers and handles, and the classes of datatypes.
fn types(text: &mut String) {
    for (name, definition, meaning) in INTEGER_TYPES {
        let integer = if definition == "intptr_t" { "isize" } else { "i64" };
        writeln!(text, "/// {}.\npub type {name} = {integer};", capitalised(meaning)).unwrap();
    }
    for (name, meaning) in OPAQUE_TYPES {
        writeln!(text, "handle! {{ /** {meaning}. */ {name} }}").unwrap();
    }
    let variant = |(class, meaning): &(&str, &str)| format!("/** {meaning}. */ {}", class_variant(class));
    let variants = CLASSES.iter().map(variant).collect::<Vec<_>>().join(", ");
    writeln!(
        text,
        "/// How predefined operations take a datatype (§6.9.2).\n\
         #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]\n#[repr(u8)]\npub enum Class {{ {variants} }}"
    )
    .unwrap();
}

/// A constant, and what its documentation says.
fn declare(text: &mut String, meaning: &str, since: Since, name: &str, kind: &str, value: impl Display) {
    let meaning = capitalised(meaning);
    writeln!(text, "/// {meaning} ({}).\npub const {name}: {kind} = {value};", version(since)).unwrap();
}

/// A table: what it is of, its name, the type of its rows, and those.
fn table(text: &mut String, of: &str, name: &str, kind: &str, rows: &[String]) {
    let (count, rows) = (rows.len(), rows.join(", "));
    writeln!(text, "/// {of}.\npub static {name}: [{kind}; {count}] = [{rows}];").unwrap();
}

fn error_classes(text: &mut String, tables: &Tables) {
    let classes = tables.sections.iter().filter(|section| section.module == "errors");
    let mut classes: Vec<_> = classes.flat_map(|section| &section.constants).collect();
    classes.retain(|class| class.name != LAST_CODE);
    classes.sort_by_key(|class| match class.value {
        Value::Number(number) => number,
        Value::Alias(_) => i64::MAX,
    });
    let row = |class: &&Constant| {
        let Constant { name, meaning, .. } = class;
        format!("ErrorClass {{ value: {name}, name: \"{name}\", meaning: \"{meaning}\" }}")
    };
    let rows: Vec<_> = classes.iter().map(row).collect();
    table(text, "All error classes in order of their values", "ERROR_CLASSES", "ErrorClass", &rows);
}

fn datatypes(text: &mut String, tables: &Tables) {
    let mut rows = Vec::new();
    for Datatype { name, handle, since, class, size, extent, element } in &tables.datatypes {
        let value = match handle {
            Value::Number(handle) => format!("MPI_Datatype({handle:#x})"),
            Value::Alias(of) => (*of).to_owned(),
        };
        declare(text, &format!("`{element}`"), *since, name, "MPI_Datatype", value);
        if let Value::Number(_) = handle {
            let class = class_variant(class);
            rows.push(format!(
                "Datatype {{ name: \"{name}\", handle: {name}, class: Class::{class}, size: {size}, \
                 extent: {extent} }}"
            ));
        }
    }
    let of = "All predefined datatypes in order of their handles; a name that is an alias is not repeated";
    table(text, of, "DATATYPES", "Datatype", &rows);
}

fn operations(text: &mut String, tables: &Tables) {
    let mut rows = Vec::new();
    for Operation { name, handle, since, classes, meaning } in &tables.operations {
        declare(text, meaning, *since, name, "MPI_Op", format!("MPI_Op({handle:#x})"));
        let taken = CLASSES[..CLASSES.len() - 1].iter().map(|(class, _)| class);
        let taken = taken.filter(|class| classes == &["*"] || classes.contains(class));
        let classes: Vec<_> = taken.map(|class| format!("Class::{}", class_variant(class))).collect();
        let classes = classes.join(", ");
        rows.push(format!(
            "Operation {{ name: \"{name}\", handle: {name}, classes: ClassSet::of(&[{classes}]) }}"
        ));
    }
    table(text, "All predefined operations in order of their handles", "OPERATIONS", "Operation", &rows);
}

/// The types of callbacks that have no predefined values.
fn callbacks(text: &mut String, tables: &Tables) {
    let own = |callback: &&Callback| callback.returns != "=" && !predefined_by_number(tables, callback.name);
    for Callback { name, returns, parameters, since, meaning } in tables.callbacks.iter().filter(own) {
        let parameters: Vec<_> = parameters.split(", ").map(|of| rust_type(tables, of)).collect();
        let (parameters, version) = (parameters.join(", "), version(*since));
        let returns = if *returns == "int" { " -> c_int" } else { "" };
        writeln!(text, "/// {meaning} ({version}).").unwrap();
        writeln!(text, "pub type {name} = unsafe extern \"C\" fn({parameters}){returns};").unwrap();
    }
}

/// The list of all Rust constants with their values, for the test that compares them with C.
#[must_use]
pub fn render_values(tables: &Tables) -> String {
    let mut text = "\
//! Every constant of `bcs_mpi::constants` with its value as an integer.
//!
//! Made by `mpi-abi-table` from the tables in `bcs-mpi/abi/table` (MPI-5.0, chapter 20 and
//! appendix A.1); change those, not this file.

use bcs_mpi::constants::*;

/// Names and values.
#[rustfmt::skip]
pub fn rust_values() -> Vec<(&'static str, i64)> {
    vec![
"
    .to_owned();
    for (name, c_type, _) in tables.named_values().filter(|(.., in_rust)| *in_rust) {
        let value = match &*rust_type(tables, c_type) {
            "c_int" => format!("i64::from({name})"),
            "usize" => format!("{name} as i64"),
            "MPI_Offset" => (*name).to_owned(),
            pointer if pointer.starts_with("*mut ") => format!("{name}.addr() as i64"),
            _ => format!("{name}.0 as i64"),
        };
        writeln!(text, "        (\"{name}\", {value}),").unwrap();
    }
    text.push_str("    ]\n}\n");
    text
}

/// A number as a constant of a type.
fn value(kind: &str, number: i64) -> String {
    match kind {
        "c_int" | "usize" | "MPI_Offset" => number.to_string(),
        pointer if pointer.starts_with("*mut ") => format!("std::ptr::without_provenance_mut({number})"),
        handle => format!("{handle}({number:#x})"),
    }
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
