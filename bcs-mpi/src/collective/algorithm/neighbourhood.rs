//! Neighbourhood collectives of all kinds (MPI-5.0, §8.6): a message along every edge of the topology. One step.
//!
//! Several edges may join the same two members; their messages match in the order of posting. On a grid, what goes down a dimension arrives from
//! above: with a periodic dimension of two members, or one, the two edges have the same ends, and receives are posted in that order.

use super::super::block::{Block, post_landing, post_wire};
use crate::error::MpiResult;
use crate::progress::party::{Join, Party};

/// The edges of a member: whom it gets from, and whom it gives to. None stands for MPI_PROC_NULL.
#[derive(Clone, Debug)]
pub struct Neighbours {
    /// Whom it gets from, in order.
    pub sources: Vec<Option<u32>>,
    /// Whom it gives to, in order.
    pub destinations: Vec<Option<u32>>,
    /// Neighbours come in pairs, one down and one up a dimension.
    pub is_grid: bool,
}

/// Sends block j to destination j, and receives block i from source i. All blocks that are sent may be the same.
///
/// # Errors
/// A block is longer than its place; the NIC fails.
pub async fn neighbour_exchange(
    party: Party,
    neighbours: Neighbours,
    send: Vec<Block>,
    receive: Vec<Block>,
) -> MpiResult {
    let mut join = Join::new();
    let landings: Vec<_> = receive.iter().map(Block::landing).collect();
    let wires: Vec<_> = send.iter().map(Block::wire).collect();
    let count = neighbours.sources.len();
    for turn in 0..count {
        let edge = if neighbours.is_grid { turn ^ 1 } else { turn };
        if let Some(source) = neighbours.sources[edge] {
            // SAFETY: the landings live until the join is complete.
            unsafe { post_landing(&party, &mut join, source, &landings[edge])? };
        }
    }
    for (destination, wire) in neighbours.destinations.iter().zip(&wires) {
        if let Some(destination) = destination {
            // SAFETY: the wires live until the join is complete.
            unsafe { post_wire(&party, &mut join, *destination, wire)? };
        }
    }
    join.all().await?;
    for (edge, landing) in landings.iter().enumerate() {
        if neighbours.sources[edge].is_some() {
            receive[edge].land(landing);
        }
    }
    Ok(())
}
