//! NIC memory on the heap, for the tests beside the code: no other process maps it.

use super::{Layout, Mapping, NicMemory};
use std::convert::Infallible;
use std::ptr::NonNull;

/// What the regions are aligned to.
const PAGE: usize = 4096;

/// Memory from the allocator, which takes so much from the system, as zeros that take up nothing.
struct OnHeap {
    _allocated: Vec<u8>,
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the memory is this value's own, and any thread may use it and give it back.
unsafe impl Send for OnHeap {}
// SAFETY: as above.
unsafe impl Sync for OnHeap {}

// SAFETY: so many bytes from the start of a page on were allocated as zeros, and are until this is dropped.
unsafe impl Mapping for OnHeap {
    fn base(&self) -> NonNull<u8> {
        self.base
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    unsafe fn forget(&self, offset: usize, bytes: usize) {
        // SAFETY: a range of the memory, by the caller's promise, which nobody uses.
        unsafe { self.base.add(offset).write_bytes(0, bytes) };
    }
}

impl NicMemory {
    /// That of a job of so many ranks, on one node.
    pub(crate) fn of_ranks(ranks: u32) -> Self {
        Self::create_private(Layout::new(ranks, ranks, [0; 2]).expect("few ranks"), 0, 1).expect("it is made")
    }

    /// Makes NIC memory that no other process can map.
    pub(crate) fn create_private(layout: Layout, node: u32, nodes: u32) -> Result<Self, Infallible> {
        // Aligned by hand: of what is to be aligned more than it is anyway, the allocator writes the zeros.
        let mut allocated = vec![0u8; layout.bytes + PAGE];
        let base = NonNull::from(&mut allocated[..]).cast::<u8>();
        // SAFETY: a page more than the layout needs was allocated.
        let base = unsafe { base.add(base.align_offset(PAGE)) };
        let on_heap = OnHeap { _allocated: allocated, base, bytes: layout.bytes };
        let memory = Self::new(layout, Box::new(on_heap));
        memory.write_identity(node, nodes);
        Ok(memory)
    }
}
