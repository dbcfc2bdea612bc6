//! How reports name communicators and ranks, and count things.

use crate::memory::contexts::{FIRST_MATCHED_CONTEXT, SELF_CONTEXTS, WORLD_CONTEXT};

/// The communicator of a context, as reports name it.
pub(crate) fn communicator(context: u32) -> String {
    match context & !1 {
        WORLD_CONTEXT => "MPI_COMM_WORLD".into(),
        SELF_CONTEXTS..FIRST_MATCHED_CONTEXT => "MPI_COMM_SELF".into(),
        other => format!("communicator {other}"),
    }
}

/// "1 byte", "2 bytes"
pub(crate) fn counted(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// "0, 2-5"
pub(crate) fn ranks_text(ranks: &[u32]) -> String {
    let mut text = String::new();
    let mut i = 0;
    while i < ranks.len() {
        let mut j = i;
        while j + 1 < ranks.len() && ranks[j].checked_add(1) == Some(ranks[j + 1]) {
            j += 1;
        }
        if !text.is_empty() {
            text += ", ";
        }
        text += &match j - i {
            0 => format!("{}", ranks[i]),
            1 => format!("{}, {}", ranks[i], ranks[j]),
            _ => format!("{}-{}", ranks[i], ranks[j]),
        };
        i = j + 1;
    }
    text
}

/// Whether a call of this name has a root: of all forms, `MPI_Ireduce` and `MPI_Reduce_init` too.
pub(crate) fn is_rooted(call: &str) -> bool {
    let call = call.to_lowercase();
    let without = ["allreduce", "reduce_scatter", "allgather", "neighbor"];
    ["bcast", "reduce", "gather", "scatter"].iter().any(|name| call.contains(name))
        && !without.iter().any(|name| call.contains(name))
}
