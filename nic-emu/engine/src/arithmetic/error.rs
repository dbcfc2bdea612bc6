//! What cannot be combined.

use super::element::ElementType;
use super::operation::ReduceOp;

/// Why operand vectors cannot be combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArithError {
    /// The MPI standard does not define this operation on this type (MPI-5.0, §6.9.2).
    #[error("{op:?} is not defined on {element:?}: use an operation of the type's class (MPI-5.0, §6.9.2)")]
    Unsupported {
        /// The operation asked for.
        op: ReduceOp,
        /// The type of the operands.
        element: ElementType,
    },
    /// Two operand vectors differ in length.
    #[error("{op:?} needs vectors of one length, but got {expected} and {found} bytes: pass the same count")]
    LengthMismatch {
        /// The operation asked for.
        op: ReduceOp,
        /// Length of the left operand, in bytes.
        expected: usize,
        /// Length of the vector that differs, in bytes.
        found: usize,
    },
    /// A vector ends inside an element.
    #[error("{length} bytes are no whole number of {element:?} elements of {} bytes", element.size())]
    PartialElement {
        /// The type of the operands.
        element: ElementType,
        /// Length of the vectors, in bytes.
        length: usize,
    },
}
