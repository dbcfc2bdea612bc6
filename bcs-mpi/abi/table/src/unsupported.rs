//! Functions of the standard that the library does not have: written from the table, so that every program
//! loads.
//!
//! What the C edge defines is found in its source: a function is its own as soon as its name stands in a line
//! of code there. Where the line begins with `twin` or `twins`, the forms with large counts are, too. So
//! nothing has to be kept in step by hand: a function that is built leaves this list by itself, and one that
//! is only mentioned is missed by the test of the exported symbols. A name that other macros put together is
//! not found; then two functions have one name, which the compiler refuses.
//!
//! Each answers `MPI_ERR_UNSUPPORTED_OPERATION` through the error handler of its communicator, session,
//! window or file. Those of the tool interface, of which the library offers no variable, answer what the
//! standard has for an index, a name or a handle of none.

use crate::header::{INTEGER_TYPES, OPAQUE_TYPES};
use crate::table::{Form, Function, Tables};
use std::collections::{BTreeSet, HashSet};
use std::fmt::Write as _;

/// The functions that these sources of the C edge define, large-count ones too.
#[must_use]
pub fn defined<'a>(tables: &Tables, sources: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    let names: HashSet<&str> = tables.functions.iter().map(|function| function.name.as_str()).collect();
    let mut defined = BTreeSet::new();
    for line in sources.into_iter().flat_map(str::lines).filter(|line| !line.trim_start().starts_with("//")) {
        for word in line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
            if names.contains(word) {
                defined.insert(word.to_owned());
            }
        }
        let named = line.trim_start().split_once('(').and_then(|(begin, _)| begin.split_once(' '));
        if let Some(("twin" | "twins", names)) = named {
            let names = names.trim_matches(['[', ']']).split(' ');
            defined.extend(names.map(|name| format!("{name}_c")));
        }
    }
    defined
}

/// The functions that the library exports and `defined` has not, as a file of Rust.
///
/// # Errors
/// The type of a parameter that no rule covers.
pub fn render(tables: &Tables, defined: &BTreeSet<String>) -> Result<String, String> {
    let mut text = String::new();
    for function in &tables.functions {
        if function.form == Form::Exported && !defined.contains(&function.name) {
            line(&mut text, function)?;
        }
    }
    Ok(text)
}

fn line(text: &mut String, function: &Function) -> Result<(), String> {
    let name = &function.name;
    if function.returns != "int" {
        return Err(format!(
            "{name} returns {}: it has no error to answer, so it has to be built",
            function.returns
        ));
    }
    let no_rule = |parameter: &String| format!("{name}: no rule for the parameter '{parameter}'");
    let types = function.parameters.iter().map(|of| rust_type(of).ok_or_else(|| no_rule(of)));
    let types: Vec<_> = types.collect::<Result<_, _>>()?;
    let parameters: Vec<_> = types.iter().enumerate().map(|(i, kind)| format!("_p{i}: {kind}")).collect();
    let parameters = parameters.join(", ");
    let written = if name.starts_with("MPI_T_") {
        let code = tool_error(&function.parameters);
        writeln!(text, "calls! {{ plain {name}({parameters}) -> c_int {{ tools::refuse({code}) }} }}")
    } else {
        let owner = owner(name, &types);
        writeln!(text, "calls! {{ call {name}({parameters}) [{owner}] {{ Err(unsupported())? }} }}")
    };
    written.map_err(|error| error.to_string())
}

/// Whose error handler is asked.
fn owner(name: &str, types: &[&str]) -> String {
    let handle = |kind: &&str| matches!(*kind, "MPI_Comm" | "MPI_Session" | "MPI_Win" | "MPI_File");
    match types.iter().position(handle) {
        // Files that are not open have the handler of MPI_FILE_NULL (§14.7).
        _ if name.starts_with("MPI_File_") => "on MPI_FILE_NULL".to_owned(),
        Some(position) => format!("on _p{position}"),
        None => String::new(),
    }
}

/// What a function of the tool interface says of an object that cannot be.
fn tool_error(parameters: &[String]) -> &'static str {
    match parameters.iter().find(|parameter| !parameter.starts_with("MPI_T_pvar_session")) {
        Some(first) if first.starts_with("int ") => "MPI_T_ERR_INVALID_INDEX",
        Some(first) if first.starts_with("const char") => "MPI_T_ERR_INVALID_NAME",
        _ => "MPI_T_ERR_INVALID_HANDLE",
    }
}

/// The type of a parameter as it is passed: pointers, arrays and functions are addresses.
fn rust_type(parameter: &str) -> Option<&'static str> {
    if parameter.contains(['*', '[']) || parameter.ends_with("_fn") {
        return Some("*mut c_void");
    }
    if parameter.split_whitespace().next()?.ends_with("_function") {
        return Some("*mut c_void");
    }
    let (first, _) = parameter.trim_start_matches("const ").split_once(' ')?;
    if first == "int" {
        return Some("c_int");
    }
    let handles = OPAQUE_TYPES.into_iter().map(|of| of.0);
    let mut by_value = handles.chain(INTEGER_TYPES.map(|of| of.0)).chain(["MPI_T_cb_safety"]);
    by_value.find(|name| *name == first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_edge_defines_is_not_written_again_and_everything_else_is() {
        let tables = Tables::read().expect("the tables");
        let edge =
            "calls! {\n    twin MPI_Send(a: b) [] {}\n    // MPI_Recv comes later\n    MPI_Comm_toint\n}";
        let mut own = defined(&tables, [edge]);
        assert!(
            ["MPI_Send", "MPI_Send_c", "MPI_Comm_toint"].iter().all(|name| own.contains(*name)),
            "{own:?}"
        );
        assert_eq!(own.len(), 3);
        let built = |function: &&Function| {
            function.returns != "int" || function.parameters.iter().any(|p| p == "...")
        };
        own.extend(tables.functions.iter().filter(built).map(|function| function.name.clone()));
        let text = render(&tables, &own).expect("every parameter has a rule");
        for function in tables.functions.iter().filter(|function| function.form == Form::Exported) {
            let written = text.contains(&format!(" {}(", function.name));
            assert_eq!(written, !own.contains(&function.name), "{}", function.name);
        }
    }

    #[test]
    fn a_collective_call_is_found_with_its_other_forms() {
        let tables = Tables::read().expect("the tables");
        let edge = "    forms [MPI_Barrier MPI_Ibarrier MPI_Barrier_init]() [moves 0]\n    \
            twins [MPI_Neighbor_alltoall MPI_Ineighbor_alltoall MPI_Neighbor_alltoall_init](\n        sendbuf: A,";
        let expected = [
            "MPI_Barrier",
            "MPI_Barrier_init",
            "MPI_Ibarrier",
            "MPI_Ineighbor_alltoall",
            "MPI_Ineighbor_alltoall_c",
            "MPI_Neighbor_alltoall",
            "MPI_Neighbor_alltoall_c",
            "MPI_Neighbor_alltoall_init",
            "MPI_Neighbor_alltoall_init_c",
        ];
        assert!(defined(&tables, [edge]).iter().eq(expected));
        assert!(expected.iter().all(|name| tables.functions.iter().any(|function| function.name == *name)));
    }

    #[test]
    fn a_function_that_cannot_say_that_it_failed_has_to_be_built() {
        let tables = Tables::read().expect("the tables");
        let error = render(&tables, &BTreeSet::new()).expect_err("MPI_Wtime has no error to answer");
        assert!(error.contains("has to be built"), "{error}");
    }
}
