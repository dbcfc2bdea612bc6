//! Graphs of which every process knows all (MPI-5.0, §8.5.3).

/// A graph over the ranks of a communicator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Where the neighbours of each node end in `edges`.
    pub ends: Box<[u32]>,
    /// The neighbours of all nodes, one after the other.
    pub edges: Box<[u32]>,
}

impl Graph {
    /// The neighbours of a node, in the order in which they were given.
    pub fn neighbours(&self, node: u32) -> &[u32] {
        let start = if node == 0 { 0 } else { self.ends[node as usize - 1] };
        &self.edges[start as usize..self.ends[node as usize] as usize]
    }
}
