//! Writes `mpif.h`, which fixed and free source can both include (MPI-5.0, §19.1.4).

use super::constants::{COMMON, SENTINELS, named, procedures};
use super::lines::fixed;
use crate::table::Tables;

const OPENING: &str = "\
!     mpif.h - BCS-MPI
!
!     The MPI-5.0 interface for Fortran programs that use no module.
!
!     Made from the tables of the standard that mpi.h comes from.
!
!     SPDX-License-Identifier: MIT OR Apache-2.0
";

/// Kinds of integers (§2.5.6 to §2.5.8).
pub const KINDS: [(&str, &str); 4] = [
    ("MPI_ADDRESS_KIND", "selected_int_kind(18)"),
    ("MPI_COUNT_KIND", "selected_int_kind(18)"),
    ("MPI_OFFSET_KIND", "selected_int_kind(18)"),
    ("MPI_INTEGER_KIND", "kind(0)"),
];

/// The text.
#[must_use]
pub fn render(tables: &Tables) -> String {
    let mut text = OPENING.to_owned();
    let mut parameter = |kind: &str, name: &str, value: String| {
        fixed(&mut text, &format!("{kind} {name}"));
        fixed(&mut text, &format!("parameter ({name}={value})"));
    };
    for (name, value) in KINDS {
        parameter("integer", name, value.to_owned());
    }
    for name in ["MPI_SUBARRAYS_SUPPORTED", "MPI_ASYNC_PROTECTS_NONBLOCKING"] {
        parameter("logical", name, ".false.".to_owned());
    }
    for constant in named(tables) {
        let kind = match constant.c_type {
            "MPI_Offset" => "integer(kind=MPI_OFFSET_KIND)",
            _ => "integer",
        };
        parameter(kind, constant.name, constant.value.to_string());
    }
    for (name, integers, shape) in SENTINELS {
        let kind = if integers > 0 { "integer" } else { "character" };
        fixed(&mut text, &format!("{kind} {name}{shape}"));
    }
    for names in SENTINELS.chunks(2) {
        let names: Vec<_> = names.iter().map(|(name, ..)| *name).collect();
        fixed(&mut text, &format!("common /{COMMON}/ {}", names.join(", ")));
    }
    for name in procedures(tables) {
        fixed(&mut text, &format!("external {name}"));
    }
    for name in ["MPI_WTIME", "MPI_WTICK"] {
        for prefix in ["", "P"] {
            fixed(&mut text, &format!("double precision {prefix}{name}"));
            fixed(&mut text, &format!("external {prefix}{name}"));
        }
    }
    for name in ["MPI_AINT_ADD", "MPI_AINT_DIFF"] {
        for prefix in ["", "P"] {
            fixed(&mut text, &format!("integer(kind=MPI_ADDRESS_KIND) {prefix}{name}"));
            fixed(&mut text, &format!("external {prefix}{name}"));
        }
    }
    text
}
