//! The types of C parameters in Rust.

use crate::table::Tables;

/// The type of a parameter as it is passed: arrays and functions are addresses.
#[must_use]
pub fn rust_type(tables: &Tables, parameter: &str) -> String {
    let (constant, rest) = match parameter.strip_prefix("const ") {
        Some(rest) => ("*const ", rest),
        None => ("*mut ", parameter),
    };
    let (base, name) = rest.split_once(' ').unwrap_or((rest, ""));
    if tables.callbacks.iter().any(|callback| callback.name == base) {
        return if predefined_by_number(tables, base) { "usize".into() } else { format!("Option<{base}>") };
    }
    let base = match base {
        "int" | "char" | "void" => format!("c_{base}"),
        "enum" => "c_int".into(),
        "double" => "f64".into(),
        other => other.into(),
    };
    let base = if name.ends_with("[3]") { format!("[{base}; 3]") } else { base };
    let name = if rest.starts_with("enum ") { "" } else { name };
    let depth = name.matches('*').count() + name.matches("[]").count();
    match depth {
        0 => base,
        _ => "*mut ".repeat(depth - 1) + constant + &base,
    }
}

/// Whether there are predefined functions of the type of a callback: they are numbers, which no function of
/// Rust may be.
pub(crate) fn predefined_by_number(tables: &Tables, callback: &str) -> bool {
    tables.sections.iter().any(|section| section.c_type.strip_suffix(" *") == Some(callback))
}
