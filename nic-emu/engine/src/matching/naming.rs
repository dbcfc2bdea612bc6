//! How reports name communicators and ranks, and count things.

use crate::memory::contexts::{Context, FIRST_MATCHED_CONTEXT, SELF_CONTEXTS, WORLD_CONTEXT};
use bcs_core::Rank;

/// The communicator of a context, as reports name it.
pub(crate) fn communicator(context: Context) -> String {
    match Context(context.0 & !1) {
        WORLD_CONTEXT => "MPI_COMM_WORLD".into(),
        own if (SELF_CONTEXTS..FIRST_MATCHED_CONTEXT).contains(&own) => "MPI_COMM_SELF".into(),
        other => format!("communicator {other}"),
    }
}

/// "1 byte", "2 bytes"
pub(crate) fn counted(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// "0, 2-5"
pub(crate) fn ranks_text(ranks: &[Rank]) -> String {
    let runs = ranks.chunk_by(|before, after| before.0.checked_add(1) == Some(after.0));
    let texts = runs.map(|run| match run {
        [first, _, .., last] => format!("{first}-{last}"),
        few => few.iter().map(Rank::to_string).collect::<Vec<_>>().join(", "),
    });
    texts.collect::<Vec<_>>().join(", ")
}

/// Whether a call of this name has a root: of all forms, `MPI_Ireduce` and `MPI_Reduce_init` too.
pub(crate) fn is_rooted(call: &str) -> bool {
    let call = call.to_lowercase();
    let without = ["allreduce", "reduce_scatter", "allgather", "neighbor"];
    ["bcast", "reduce", "gather", "scatter"].iter().any(|name| call.contains(name))
        && !without.iter().any(|name| call.contains(name))
}
