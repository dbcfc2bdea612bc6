//! Writes `mpi.h`: usable from C89 on and from every C++, and the same on every platform that the ABI covers.
//!
//! Invariant: the header declares all that the tables hold and nothing else that begins with `MPI_` or
//! `PMPI_`, except the types that the standard fixes ([`OPAQUE_TYPES`], [`INTEGER_TYPES`], the statuses).

use std::fmt::Write as _;

use crate::table::{Callback, Constant, Form, Function, Section, Since, Tables, Value, chapter_title};

/// Widest line that the generator writes where it can choose.
const WIDTH: usize = 100;

/// Handle types: pointers to structures that no program sees (chapter 20; MPI_T in §15.3): name, what a
/// handle names.
pub const OPAQUE_TYPES: [(&str, &str); 17] = [
    ("MPI_Op", "A reduction operation (§6.9)"),
    ("MPI_Comm", "A communicator (§7)"),
    ("MPI_Group", "A group of processes (§7.3)"),
    ("MPI_Win", "A window of memory for one-sided communication (§12)"),
    ("MPI_File", "An open file (§14)"),
    ("MPI_Session", "A session (§11.3)"),
    ("MPI_Message", "A matched message (§3.8.2)"),
    ("MPI_Info", "A set of hints, keys with values (§10)"),
    ("MPI_Errhandler", "An error handler (§9.3)"),
    ("MPI_Request", "An operation that may be under way (§3.7)"),
    ("MPI_Datatype", "A datatype (§5)"),
    ("MPI_T_enum", "An enumeration of the tool interface (§15.3.5)"),
    ("MPI_T_cvar_handle", "A control variable of the tool interface (§15.3.6)"),
    ("MPI_T_pvar_handle", "A performance variable of the tool interface (§15.3.7)"),
    ("MPI_T_pvar_session", "A session of the tool interface (§15.3.7)"),
    ("MPI_T_event_registration", "A registration for events (§15.3.8)"),
    ("MPI_T_event_instance", "An event that has happened (§15.3.8)"),
];

/// Integer types (§2.5.6 to §2.5.8, chapter 20): name, definition, meaning.
pub const INTEGER_TYPES: [(&str, &str, &str); 3] = [
    ("MPI_Aint", "intptr_t", "an address, or a distance in memory"),
    ("MPI_Offset", "int64_t", "a position in a file"),
    ("MPI_Count", "int64_t", "a number of elements, as wide as the wider of the two above"),
];

const OPENING: &str = "\
/* mpi.h - BCS-MPI
 *
 * The MPI-5.0 interface for C and C++ on the standard ABI (version 1.0). A program that is compiled with this
 * header runs with every library that offers libmpi_abi.so.1, and the other way round.
 *
 * Made by `mpi-abi-table` from the tables in bcs-mpi/abi/table; change those, not this file.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef BCS_MPI_H_INCLUDED
#define BCS_MPI_H_INCLUDED

#include <stdint.h>

#ifdef __cplusplus
extern \"C\" {
#endif

/* Tells this header from others. */
#define BCS_MPI 1

";

const STATUSES: &str = "\
/* What became of an operation (3.2.5). The last member belongs to the library. */
typedef struct MPI_Status {
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
    int MPI_internal[5];
} MPI_Status;

/* A default INTEGER of Fortran (19.3.4): define BCS_MPI_FINT when the Fortran compiler makes it wider. */
#ifndef BCS_MPI_FINT
#define BCS_MPI_FINT int
#endif
typedef BCS_MPI_FINT MPI_Fint;

/* A status as TYPE(MPI_Status) of Fortran 2008 (19.3.5). */
typedef struct MPI_F08_status {
    MPI_Fint MPI_SOURCE;
    MPI_Fint MPI_TAG;
    MPI_Fint MPI_ERROR;
    MPI_Fint MPI_internal[5];
} MPI_F08_status;

";

const INLINE_OPENING: &str = "\
/* Conversions between C and Fortran (19.3.4, 19.3.5).
 * The standard has these functions, its ABI has not, because MPI_Fint depends on the Fortran compiler.
 * They are built here from what the ABI has, so a program that uses them still runs with any library. */
#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L)
#define BCS_MPI_INLINE static inline
#elif defined(__GNUC__)
#define BCS_MPI_INLINE static __inline__
#else
#define BCS_MPI_INLINE static
#endif

";

const REMOVED_OPENING: &str = "\
/* What MPI-1 had and MPI-3.0 has removed (chapter 17), for programs that define MPI1_COMPATIBILITY.
 * Other libraries of the ABI may lack it. MPI_LB and MPI_UB are for MPI_Type_struct alone; the combiners are
 * there to be compared with: no datatype has one. */
#ifdef MPI1_COMPATIBILITY
typedef MPI_Comm_errhandler_function MPI_Handler_function;
#define MPI_LB                         ((MPI_Datatype) 0x401)
#define MPI_UB                         ((MPI_Datatype) 0x402)
#define MPI_COMBINER_HVECTOR_INTEGER   1001
#define MPI_COMBINER_HINDEXED_INTEGER  1002
#define MPI_COMBINER_STRUCT_INTEGER    1003
";

/// The header's text.
#[must_use]
pub fn render(tables: &Tables) -> String {
    let mut text = OPENING.to_owned();
    tables.sections.iter().filter(|s| s.module == "versions").for_each(|s| section(&mut text, s));
    types(&mut text);
    callbacks(&mut text, tables);
    constants(&mut text, tables);
    for prefix in ["", "P"] {
        functions(&mut text, tables, prefix);
    }
    text.push_str(REMOVED_OPENING);
    for prefix in ["", "P"] {
        let removed = tables.functions.iter().filter(|f| f.form == Form::Removed);
        removed.for_each(|function| declare(&mut text, function, prefix, ""));
    }
    text.push_str("#endif /* MPI1_COMPATIBILITY */\n\n");
    text.push_str(INLINE_OPENING);
    for prefix in ["", "P"] {
        let inline = tables.functions.iter().filter(|f| f.form == Form::Inline);
        inline.for_each(|function| inline_function(&mut text, function, prefix));
    }
    text.push_str(
        "#undef BCS_MPI_INLINE\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif /* BCS_MPI_H_INCLUDED */\n",
    );
    text
}

fn types(text: &mut String) {
    text.push_str("/* Integer types (2.5.6 to 2.5.8) */\n");
    for (name, definition, meaning) in INTEGER_TYPES {
        writeln!(text, "typedef {definition} {name}; /* {meaning} */").unwrap();
    }
    text.push_str(
        "\n/* Handles: pointers that only the library follows; predefined ones are small numbers (chapter 20) */\n",
    );
    for (name, _) in OPAQUE_TYPES {
        let structure = match name.starts_with("MPI_T_") {
            true => format!("{name}_t"),
            false => name.replace("MPI_", "MPI_ABI_"),
        };
        writeln!(text, "typedef struct {structure} *{name};").unwrap();
    }
    text.push('\n');
    text.push_str(STATUSES);
}

fn callbacks(text: &mut String, tables: &Tables) {
    let (tools, others): (Vec<_>, Vec<_>) =
        tables.callbacks.iter().partition(|c| c.name.starts_with("MPI_T_"));
    text.push_str("/* Functions that a program hands to MPI (appendix A.1.3) */\n");
    others.iter().for_each(|callback| callback_type(text, callback));
    text.push('\n');
    text.push_str("/* The tool interface has two enumerated types, which its callbacks need (15.3.8) */\n");
    for section in &tables.sections {
        if let Some(name) = section.c_type.strip_prefix("enum ") {
            enumeration(text, section, name);
        }
    }
    tools.iter().for_each(|callback| callback_type(text, callback));
    text.push('\n');
}

fn callback_type(text: &mut String, callback: &Callback) {
    let note = deprecation(callback.since);
    if callback.returns == "=" {
        writeln!(text, "typedef {} {};{note}", callback.parameters, callback.name).unwrap();
        return;
    }
    let start = format!("typedef {} {}(", callback.returns, callback.name);
    let parameters: Vec<_> = callback.parameters.split(", ").collect();
    wrapped(text, &start, &parameters, &format!(");{note}"));
}

fn constants(text: &mut String, tables: &Tables) {
    let is_macros = |s: &&Section| s.module != "versions" && !s.c_type.starts_with("enum ");
    tables.sections.iter().filter(is_macros).for_each(|s| section(text, s));
    text.push_str("/* Predefined operations (6.9.2, 6.9.4, 12.3.4) */\n");
    for operation in &tables.operations {
        let value = format!("((MPI_Op) {:#05x})", operation.handle);
        define(text, operation.name, &value, operation.meaning, operation.since);
    }
    text.push_str(
        "\n/* Predefined datatypes (3.2.2); the comment names the type of C, C++ or Fortran (F:) */\n",
    );
    for datatype in &tables.datatypes {
        let value = match datatype.handle {
            Value::Number(handle) => format!("((MPI_Datatype) {handle:#05x})"),
            Value::Alias(name) => name.to_owned(),
        };
        define(text, datatype.name, &value, datatype.element, datatype.since);
    }
    text.push('\n');
}

fn section(text: &mut String, section: &Section) {
    writeln!(text, "/* {} ({}) */", section.title, section.source.replace('§', "")).unwrap();
    for constant in &section.constants {
        define(text, constant.name, &value(section.c_type, constant), constant.meaning, constant.since);
    }
    text.push('\n');
}

fn value(c_type: &str, constant: &Constant) -> String {
    match (constant.value, c_type) {
        (Value::Alias(name), _) => name.to_owned(),
        (Value::Number(number), "int") if number < 0 => format!("({number})"),
        (Value::Number(number), "int") => number.to_string(),
        (Value::Number(number), handle) if number > 9 && !handle.ends_with('*') => {
            format!("(({handle}) {number:#05x})")
        }
        (Value::Number(number), other) => format!("(({other}) {number})"),
    }
}

fn define(text: &mut String, name: &str, value: &str, meaning: &str, since: Since) {
    let note = since.deprecated.map_or_else(String::new, |version| format!("; deprecated in MPI-{version}"));
    writeln!(text, "#define {name:<30} {value:<26} /* {meaning}{note} */").unwrap();
}

fn enumeration(text: &mut String, section: &Section, name: &str) {
    writeln!(text, "typedef enum {name} {{").unwrap();
    for (index, constant) in section.constants.iter().enumerate() {
        let Value::Number(number) = constant.value else { continue };
        let comma = if index + 1 == section.constants.len() { "" } else { "," };
        writeln!(text, "    {:<34} = {number}{comma} /* {} */", constant.name, constant.meaning).unwrap();
    }
    writeln!(text, "}} {name};\n").unwrap();
}

fn functions(text: &mut String, tables: &Tables, prefix: &str) {
    let what = if prefix.is_empty() { "Functions" } else { "Their profiling twins (15.2)" };
    writeln!(text, "/* ---- {what} ---- */\n").unwrap();
    let exported: Vec<_> = tables.functions.iter().filter(|f| f.form == Form::Exported).collect();
    for functions in exported.chunk_by(|one, next| one.chapter == next.chapter) {
        let chapter = functions[0].chapter;
        writeln!(text, "/* {} (chapter {chapter}) */", chapter_title(chapter)).unwrap();
        for function in functions {
            declare(text, function, prefix, &deprecation(function.since));
        }
        text.push('\n');
    }
}

/// The declaration of a function.
fn declare(text: &mut String, function: &Function, prefix: &str, note: &str) {
    let Function { name, returns, parameters, .. } = function;
    let (start, end) = (format!("{returns} {prefix}{name}("), format!(");{note}"));
    match parameters.is_empty() {
        true => wrapped(text, &start, &["void"], &end),
        false => wrapped(text, &start, parameters, &end),
    }
}

/// A list of parameters, broken into lines of at most [`WIDTH`].
fn wrapped(text: &mut String, start: &str, parameters: &[impl AsRef<str>], end: &str) {
    let mut line = start.to_owned();
    for (index, parameter) in parameters.iter().map(AsRef::as_ref).enumerate() {
        let tail = if index + 1 == parameters.len() { end } else { "," };
        let gap = if index == 0 { "" } else { " " };
        if index > 0 && line.len() + gap.len() + parameter.len() + tail.len() > WIDTH {
            writeln!(text, "{line}").unwrap();
            line = format!("    {parameter}{tail}");
        } else {
            line += &format!("{gap}{parameter}{tail}");
        }
    }
    writeln!(text, "{line}").unwrap();
}

fn deprecation(since: Since) -> String {
    since.deprecated.map_or_else(String::new, |version| format!(" /* deprecated in MPI-{version} */"))
}

fn inline_function(text: &mut String, Function { name, returns, parameters, .. }: &Function, prefix: &str) {
    wrapped(text, &format!("BCS_MPI_INLINE {returns} {prefix}{name}("), parameters, ") {");
    let argument = |index: usize| parameters[index].rsplit([' ', '*']).next().unwrap_or_default();
    let from = argument(0);
    match name.trim_start_matches("MPI_").split_once('_') {
        Some(("Status", _)) => {
            let form = |index: usize| (argument(index), parameters[index].contains("MPI_Fint"));
            status_conversion(text, form(0), form(1));
        }
        Some((object, "c2f")) => {
            writeln!(text, "    return (MPI_Fint) {prefix}MPI_{object}_toint({from});").unwrap();
        }
        Some((object, _)) => {
            writeln!(text, "    return {prefix}MPI_{object}_fromint((int) {from});").unwrap();
        }
        None => {}
    }
    text.push_str("}\n");
}

/// The body of a conversion between two forms of a status; a form is an array of integers or a structure.
fn status_conversion(text: &mut String, from: (&str, bool), to: (&str, bool)) {
    let member = |(name, is_array): (&str, bool), index: usize| match (is_array, index) {
        (true, _) => format!("{name}[{index}]"),
        (false, 0) => format!("{name}->MPI_SOURCE"),
        (false, 1) => format!("{name}->MPI_TAG"),
        (false, 2) => format!("{name}->MPI_ERROR"),
        (false, _) => format!("{name}->MPI_internal[{}]", index - 3),
    };
    writeln!(text, "    if (!{} || !{}) return MPI_ERR_ARG;", from.0, to.0).unwrap();
    // Integers of C and of Fortran may differ in width: the cast says that it is meant.
    let cast = if to.0 == "c_status" { "int" } else { "MPI_Fint" };
    for index in 0..8 {
        writeln!(text, "    {} = ({cast}) {};", member(to, index), member(from, index)).unwrap();
    }
    text.push_str("    return MPI_SUCCESS;\n");
}
