//! Functions of the standard that the library does not have: written from the table, so that every program
//! loads.
//!
//! What the C edge defines is found in its source: a function is its own as soon as its name stands in a line
//! of code there, and with it the one that has large counts instead. So nothing has to be kept in step by
//! hand: a function that is built leaves this list by itself, and one that is only mentioned is missed by the
//! test of the exported symbols. A name that other macros put together is not found; then two functions have
//! one name, which the compiler refuses.
//!
//! Each answers `MPI_ERR_UNSUPPORTED_OPERATION` through the error handler of its communicator, session,
//! window or file.

use crate::rust_type::rust_type;
use crate::table::{Function, Tables};
use std::collections::{BTreeSet, HashSet};
use std::fmt::Write as _;

/// The functions that these sources of the C edge define, large-count ones too.
#[must_use]
pub fn defined<'a>(tables: &Tables, sources: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    let lines = sources.into_iter().flat_map(str::lines).filter(|line| !line.trim_start().starts_with("//"));
    let words = lines.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
    let words: HashSet<&str> = words.collect();
    let is_defined = |function: &&Function| {
        let names = [Some(&function.name), function.large_form_of.as_ref()];
        names.into_iter().flatten().any(|name| words.contains(name.as_str()))
    };
    tables.functions.iter().filter(is_defined).map(|function| function.name.clone()).collect()
}

/// The functions that the library exports and `defined` has not, as a file of Rust.
///
/// # Errors
/// A function that cannot say that it failed.
pub fn render(tables: &Tables, defined: &BTreeSet<String>) -> Result<String, String> {
    let is_missing = |function: &&Function| function.has_macro() && !defined.contains(&function.name);
    let mut text = String::new();
    for function in tables.functions.iter().filter(is_missing) {
        let Function { name, returns, parameters, .. } = function;
        if *returns != "int" {
            return Err(format!(
                "{name} returns {returns}: it has no error to answer, so it has to be built"
            ));
        }
        let names = (0..parameters.len()).map(|index| format!("_p{index}"));
        let (names, (options, body)) = (names.collect::<Vec<_>>().join(", "), refusal(tables, function));
        writeln!(text, "calls! {{ {name}({names}) [{options}] {{ {body} }} }}").unwrap();
    }
    Ok(text)
}

/// The options, which say whose error handler is asked, and the body.
fn refusal(tables: &Tables, Function { name, parameters, .. }: &Function) -> (String, String) {
    let kinds = ["MPI_Comm", "MPI_Session", "MPI_Win", "MPI_File"];
    let is_owner = |parameter: &String| kinds.contains(&&*rust_type(tables, parameter));
    let options = match parameters.iter().position(is_owner) {
        // Files that are not open have the handler of MPI_FILE_NULL (§14.7).
        _ if name.starts_with("MPI_File_") => "on MPI_FILE_NULL".to_owned(),
        Some(position) => format!("on _p{position}"),
        None => String::new(),
    };
    (options, "Err(MpiError::new(Problem::Unsupported))?".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Form;

    #[test]
    fn what_the_edge_defines_is_not_written_again_and_everything_else_is() {
        let tables = Tables::read().expect("the tables");
        let edge = "calls! {\n    MPI_Send(buf) [] {}\n    // MPI_Recv comes later\n    \
            [MPI_Barrier MPI_Ibarrier MPI_Barrier_init]() [moves 0]\n    MPI_Comm_toint\n}";
        let mut own = defined(&tables, [edge]);
        let expected =
            ["MPI_Barrier", "MPI_Barrier_init", "MPI_Comm_toint", "MPI_Ibarrier", "MPI_Send", "MPI_Send_c"];
        assert!(own.iter().eq(expected), "{own:?}");
        let built = |function: &&Function| function.returns != "int";
        own.extend(tables.functions.iter().filter(built).map(|function| function.name.clone()));
        let text = render(&tables, &own).expect("all others can fail");
        for function in tables.functions.iter().filter(|function| function.form == Form::Exported) {
            let name = function.large_form_of.as_ref().unwrap_or(&function.name);
            assert_eq!(text.contains(&format!(" {name}(")), !own.contains(name), "{name}");
        }
    }

    #[test]
    fn a_function_that_cannot_say_that_it_failed_has_to_be_built() {
        let tables = Tables::read().expect("the tables");
        let error = render(&tables, &BTreeSet::new()).expect_err("MPI_Wtime has no error to answer");
        assert!(error.contains("has to be built"), "{error}");
    }
}
