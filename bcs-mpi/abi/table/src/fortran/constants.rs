//! The named constants in Fortran (MPI-5.0, §2.5.4, §19.1 and appendix A.1).

use crate::table::{Constant, Section, Tables, Value};

/// A named constant.
#[derive(Debug, Clone)]
pub struct Named {
    /// Its name.
    pub name: &'static str,
    /// Its type as [`crate::header`] has it: `int`, `MPI_Offset`, or a type of handles.
    pub c_type: &'static str,
    /// Its value.
    pub value: i64,
    /// Whether MPI-3.0 removed it.
    pub removed: bool,
}

/// The block of memory whose addresses stand for what is no data: MPI_BOTTOM and others. They are numbers in
/// C. The name is that of a common block, without underscores, which some compilers would double.
pub const COMMON: &str = "bcsmpi";

/// The names in that block, in their order, with their default INTEGERs, and their shapes; characters are
/// last. Two fill the block up to the size that linkers see on both sides, [`BLOCK_BYTES`].
pub const SENTINELS: [(&str, usize, &str); 12] = [
    ("MPI_BOTTOM", 1, ""),
    ("MPI_IN_PLACE", 1, ""),
    ("MPI_BUFFER_AUTOMATIC", 1, ""),
    ("MPI_STATUS_IGNORE", 8, "(MPI_STATUS_SIZE)"),
    ("MPI_STATUSES_IGNORE", 8, "(MPI_STATUS_SIZE,1)"),
    ("MPI_ERRCODES_IGNORE", 1, "(1)"),
    ("MPI_UNWEIGHTED", 1, "(1)"),
    ("MPI_WEIGHTS_EMPTY", 1, "(1)"),
    ("BCS_MPI_FILL", 9, "(9)"),
    ("MPI_ARGV_NULL", 0, "(1)"),
    ("MPI_ARGVS_NULL", 0, "(1,1)"),
    ("BCS_MPI_REST", 0, "(2)"),
];

/// Bytes of the block: a multiple of the alignment that compilers give it.
pub const BLOCK_BYTES: usize = 128;

/// Numbers of Fortran that C does not have, or has otherwise.
const OWN: [(&str, i64); 4] = [("MPI_STATUS_SIZE", 8), ("MPI_SOURCE", 1), ("MPI_TAG", 2), ("MPI_ERROR", 3)];

/// What MPI-1 had: names, types, values (`header::REMOVED_OPENING`).
const REMOVED: [(&str, &str, i64); 5] = [
    ("MPI_LB", "MPI_Datatype", 0x401),
    ("MPI_UB", "MPI_Datatype", 0x402),
    ("MPI_COMBINER_HVECTOR_INTEGER", "int", 1001),
    ("MPI_COMBINER_HINDEXED_INTEGER", "int", 1002),
    ("MPI_COMBINER_STRUCT_INTEGER", "int", 1003),
];

/// Predefined callbacks: they are procedures in Fortran.
#[must_use]
pub fn procedures(tables: &Tables) -> Vec<&'static str> {
    let sections = tables.sections.iter().filter(|section| section.c_type.contains("_function"));
    sections.flat_map(|section| section.constants.iter().map(|constant| constant.name)).collect()
}

/// All named constants whose values Fortran has.
#[must_use]
pub fn named(tables: &Tables) -> Vec<Named> {
    let mut all: Vec<_> =
        OWN.map(|(name, value)| Named { name, c_type: "int", value, removed: false }).into();
    for section in tables.sections.iter().filter(|section| is_value(section)) {
        // An array of characters of Fortran needs no end mark.
        let shorter = i64::from(section.title.starts_with("Longest strings"));
        let own = section
            .constants
            .iter()
            .filter(|c| !c.name.starts_with("MPI_T_") && !c.name.starts_with("MPI_F_"));
        for Constant { name, value, .. } in own {
            let Value::Number(value) = *value else { continue };
            all.push(Named { name, c_type: section.c_type, value: value - shorter, removed: false });
        }
    }
    for operation in &tables.operations {
        let (name, value) = (operation.name, operation.handle);
        all.push(Named { name, c_type: "MPI_Op", value, removed: false });
    }
    for datatype in &tables.datatypes {
        let of = |value| match value {
            Value::Number(number) => Some(number),
            Value::Alias(_) => None,
        };
        let target = |alias: &str| tables.datatypes.iter().find(|known| known.name == alias);
        let value = match datatype.handle {
            Value::Number(number) => Some(number),
            Value::Alias(alias) => target(alias).and_then(|known| of(known.handle)),
        };
        let name = datatype.name;
        all.extend(value.map(|value| Named { name, c_type: "MPI_Datatype", value, removed: false }));
    }
    all.extend(REMOVED.map(|(name, c_type, value)| Named { name, c_type, value, removed: true }));
    all
}

fn is_value(section: &Section) -> bool {
    let c_type = section.c_type;
    let is_tool = section.module == "tools" || c_type.starts_with("enum ");
    !is_tool && !c_type.ends_with('*')
}

/// The constants for the library in Rust: their values as `c_int`, those of C, and the places of
/// [`SENTINELS`] in their block.
#[must_use]
pub fn render_rust(tables: &Tables) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    let skipped = ["MPI_SOURCE", "MPI_TAG", "MPI_ERROR"];
    for Named { name, c_type, value, .. } in
        named(tables).iter().filter(|named| !skipped.contains(&named.name))
    {
        // A string of C has an end mark.
        let longer = i64::from(
            *c_type == "int"
                && tables.sections.iter().any(|section| {
                    section.title.starts_with("Longest strings")
                        && section.constants.iter().any(|c| c.name == *name)
                }),
        );
        let _ = writeln!(text, "pub const {name}: c_int = {};", value + longer);
    }
    let pointers = tables.sections.iter().filter(|section| section.c_type.ends_with('*'));
    for constant in pointers.flat_map(|section| &section.constants) {
        if let (Value::Number(value), true) =
            (constant.value, SENTINELS.iter().any(|(name, ..)| *name == constant.name))
        {
            let _ = writeln!(text, "pub const {}: c_int = {value};", constant.name);
        }
    }
    let mut places = Vec::new();
    let mut offset = 0;
    for (name, integers, _) in SENTINELS {
        places.push(format!("(\"{name}\", {offset})"));
        offset += match (name, integers) {
            ("BCS_MPI_REST", _) => 2,
            (_, 0) => 1,
            (_, integers) => 4 * integers,
        };
    }
    assert_eq!(offset, BLOCK_BYTES, "the block has that size");
    let _ = writeln!(text, "pub const SENTINEL_BYTES: usize = {offset};");
    let _ = writeln!(
        text,
        "pub const SENTINEL_PLACES: [(&str, usize); {}] = [{}];",
        places.len(),
        places.join(", ")
    );
    let sizes: Vec<_> = tables
        .datatypes
        .iter()
        .filter_map(|datatype| match datatype.handle {
            Value::Number(handle) => Some(format!("({handle}, {})", datatype.size)),
            Value::Alias(_) => None,
        })
        .collect();
    let _ = writeln!(text, "pub const SIZES: [(usize, usize); {}] = [{}];", sizes.len(), sizes.join(", "));
    text
}
