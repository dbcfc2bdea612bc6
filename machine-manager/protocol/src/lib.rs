//! What `storm`, the Machine Manager and the Node Managers of a cluster say to each other.
//!
//! | module | holds |
//! |---|---|
//! | [`storm`] | `storm` and the Machine Manager |
//! | [`node`] | the Machine Manager and a Node Manager |
//! | [`commit`] | the control network's global memory: the beat, and the commit of launches |

pub mod commit;
#[cfg(test)]
mod damage;
pub mod node;
pub mod storm;

#[cfg(test)]
#[global_allocator]
static ALLOCATOR: bcs_core::damage::CountingAllocator = bcs_core::damage::CountingAllocator;
