//! The prototypes of all exported functions for the C edge: a macro for each function, of its name, which
//! tells `define` of the edge the symbol and the types; with large counts, if the function has them, as well.

use crate::rust_type::rust_type;
use crate::table::{Function, Tables};
use std::fmt::Write as _;

/// The macros.
#[must_use]
pub fn render(tables: &Tables) -> String {
    let mut text = String::new();
    for function in tables.functions.iter().filter(|function| function.has_macro()) {
        let large =
            tables.functions.iter().find(|large| large.large_form_of.as_ref() == Some(&function.name));
        let definitions: String = [Some(function), large]
            .into_iter()
            .flatten()
            .map(|function| definition(tables, function))
            .collect();
        let name = &function.name;
        writeln!(text, "macro_rules! {name} {{ ($define:ident $($entry:tt)*) => {{{definitions} }} }}")
            .unwrap();
    }
    text
}

fn definition(tables: &Tables, function: &Function) -> String {
    let counts = if function.large_form_of.is_some() { "large" } else { "small" };
    let types = function.parameters.iter().filter(|parameter| *parameter != "...");
    let types: Vec<_> = types.map(|parameter| rust_type(tables, parameter)).collect();
    let (name, types, returns) = (&function.name, types.join(", "), rust_type(tables, function.returns));
    format!(" $define! {{ {counts} \"{name}\" ({types}) -> {returns}; $($entry)* }}")
}
