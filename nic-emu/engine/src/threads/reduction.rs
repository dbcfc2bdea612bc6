//! How the NIC combines two contributions to a reduction, and in which order all of them (paper, §4.4, the
//! Reduce Helper).

use crate::arithmetic::reduction_tree::{ReductionTree, Steps};
use crate::arithmetic::{Arithmetic, ElementType, ReduceOp, combine, combine_at};
use crate::memory::{Corrupt, NicMemory};
use std::num::NonZeroU32;

/// How contributions are combined.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduction {
    op: ReduceOp,
    element: ElementType,
    arithmetic: Arithmetic,
}

impl Reduction {
    /// What an instance's word of operation and element type says ([`Instance::operation`]).
    #[inline]
    pub(crate) fn of(memory: &NicMemory, operation: u32) -> Result<Self, Corrupt> {
        let corrupt = |what| Corrupt { what, value: operation as u64, limit: 0 };
        let software = memory.header().arithmetic.get() == 1;
        Ok(Self {
            op: ReduceOp::numbered(operation as u8).ok_or_else(|| corrupt("reduction"))?,
            element: ElementType::numbered((operation >> 8) as u8).ok_or_else(|| corrupt("element type"))?,
            arithmetic: if software { Arithmetic::SoftFloat } else { Arithmetic::Native },
        })
    }

    /// The combines of the contributions of so many members, in the order of the reduction tree.
    #[inline]
    pub(crate) fn steps(members: usize) -> Result<Steps, Corrupt> {
        let members = NonZeroU32::new(members as u32);
        let members = members.ok_or(Corrupt { what: "members of a reduction", value: 0, limit: 0 })?;
        Ok(ReductionTree::new(members).steps())
    }

    /// Combines two contributions; the result is in place of the right one.
    #[inline]
    pub(crate) fn combine(self, left: &[u8], right: &mut [u8]) -> Result<(), Corrupt> {
        combine(self.op, self.element, left, right, self.arithmetic).map_err(|_| self.refused())
    }

    /// Combines two contributions where they lie; the result is in place of the right one.
    ///
    /// # Safety
    /// Both are as long as `bytes` says, apart from each other, and nobody writes them meanwhile.
    #[inline]
    pub(crate) unsafe fn combine_slabs(
        self,
        left: *mut u8,
        right: *mut u8,
        bytes: usize,
    ) -> Result<(), Corrupt> {
        let Self { op, element, arithmetic } = self;
        // SAFETY: the caller's promise.
        unsafe { combine_at(op, element, (left, right, right), bytes, arithmetic) }
            .map_err(|_| self.refused())
    }

    #[cold]
    fn refused(self) -> Corrupt {
        Corrupt { what: "reduction of type", value: self.element as u64, limit: 0 }
    }
}
