//! From an operation, an element type and an arithmetic to the one loop compiled for them.

use super::element::ElementType as E;
use super::error::ArithError;
use super::float::{self, Bf16, F16, F32, F64};
use super::integer;
use super::kernel::{ByReference, Kernel, Operands, Operation, one_by_one, vectors};
use super::operation::ReduceOp as R;
use super::pair::{self, Locate};

/// What computes floating-point results. Both give the same bits.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize,
)]
#[repr(u8)]
pub enum Arithmetic {
    /// The processor's own vector arithmetic, with SoftFloat where no native kernel exists.
    #[default]
    Native = 0,
    /// The reference: Berkeley SoftFloat, as on the paper's NIC, which has no floating-point unit (§4.4).
    SoftFloat = 1,
}

/// Bytes of an operand that a block holds: two AVX2 registers.
const BLOCK_BYTES: usize = 64;

/// A floating-point operation that native code carries out with integer instructions.
macro_rules! ordered {
    ($operation:ident, $type:ty, $arithmetic:ident) => {
        match $arithmetic {
            Arithmetic::Native => vectors::<float::$operation<$type>, { BLOCK_BYTES / size_of::<$type>() }>,
            Arithmetic::SoftFloat => one_by_one::<ByReference<float::$operation<$type>>>,
        }
    };
}

/// A floating-point operation that native code carries out in the floating-point unit.
macro_rules! rounded {
    ($operation:ident, $type:ty, $lanes:expr, $arithmetic:ident) => {
        match $arithmetic {
            #[cfg(target_arch = "x86_64")]
            Arithmetic::Native => in_default_environment::<float::$operation<$type>, { $lanes }, 1>,
            _ => one_by_one::<ByReference<float::$operation<$type>>>,
        }
    };
    ($operation:ident, $type:ty, $arithmetic:ident) => {
        rounded!($operation, $type, BLOCK_BYTES / size_of::<$type>(), $arithmetic)
    };
}

/// Numbers of so many parts, which are combined apart: those of complex ones have two.
///
/// # Safety
/// The invariant of [`Operands`] for arrays of `PARTS` of `O::Item`.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
unsafe fn in_default_environment<O: Operation, const LANES: usize, const PARTS: usize>(operands: Operands) {
    let operands = Operands { count: PARTS * operands.count, ..operands };
    // SAFETY: `count` arrays are so many times as many items.
    unsafe { super::environment::with_default(vectors::<O, LANES>, operands) };
}

/// Complex numbers whose parts are combined apart, one after the other.
///
/// # Safety
/// The invariant of [`Operands`] for pairs of `O::Item`.
unsafe fn one_by_one_in_parts<O: Operation>(operands: Operands) {
    // SAFETY: `count` pairs are twice as many items.
    unsafe { one_by_one::<O>(Operands { count: 2 * operands.count, ..operands }) };
}

/// The loops for one arithmetic, by operation and element type.
type Table = [[Option<Kernel>; E::ALL.len()]; R::ALL.len()];

static NATIVE: Table = table(Arithmetic::Native);
static SOFTFLOAT: Table = table(Arithmetic::SoftFloat);

const fn table(arithmetic: Arithmetic) -> Table {
    let mut table: Table = [[None; E::ALL.len()]; R::ALL.len()];
    let mut op = 0;
    while op < R::ALL.len() {
        let mut element = 0;
        while element < E::ALL.len() {
            table[op][element] = kernel(R::ALL[op], E::ALL[element], arithmetic);
            element += 1;
        }
        op += 1;
    }
    table
}

/// Combines `operands`.
///
/// # Safety
/// The invariant of [`Operands`] for `element`.
///
/// # Errors
/// The operation is not defined on the type.
#[inline]
pub(super) unsafe fn run(
    op: R,
    element: E,
    operands: Operands,
    arithmetic: Arithmetic,
) -> Result<(), ArithError> {
    let table = match arithmetic {
        Arithmetic::Native => &NATIVE,
        Arithmetic::SoftFloat => &SOFTFLOAT,
    };
    // Discriminants are indices of the tables, as `E::ALL` and `R::ALL` assert.
    if let Some(kernel) = table[op as usize][element as usize] {
        // SAFETY: `kernel` is the loop for this element type, for which the invariant holds.
        unsafe { kernel(operands) };
        return Ok(());
    }
    match op {
        // SAFETY: passed on.
        R::Replace => unsafe { copy(element, operands.left, operands) },
        // SAFETY: passed on.
        R::NoOp => unsafe { copy(element, operands.right, operands) },
        _ => return Err(ArithError::Unsupported { op, element }),
    }
    Ok(())
}

/// Copies one of the operands to where the result goes.
///
/// # Safety
/// The invariant of [`Operands`] for `element`.
unsafe fn copy(element: E, operand: *const u8, Operands { out, count, .. }: Operands) {
    // SAFETY: passed on; the pairs without padding are plain bytes.
    unsafe {
        match element {
            E::F64I32 => pair::copy::<F64, i32>(operand, out, count),
            E::I64I32 => pair::copy::<i64, i32>(operand, out, count),
            E::I16I32 => pair::copy::<i16, i32>(operand, out, count),
            _ => std::ptr::copy(operand, out, count << element.size_log2()),
        }
    }
}

macro_rules! integer_kernel {
    ($op:ident, $type:ty) => {
        integer_kernel!($op, $type: Max, Min, Sum, Prod, Land, Band, Lor, Bor, Lxor, Bxor)
    };
    ($op:ident, $type:ty: $($operation:ident),*) => {
        match $op {
            $(R::$operation => {
                vectors::<integer::$operation<$type>, { BLOCK_BYTES / size_of::<$type>() }>
            })*
            _ => return None,
        }
    };
}

macro_rules! float_kernel {
    ($op:ident, $type:ty, $arithmetic:ident) => {
        match $op {
            R::Max => ordered!(Max, $type, $arithmetic),
            R::Min => ordered!(Min, $type, $arithmetic),
            R::Sum => rounded!(Sum, $type, $arithmetic),
            R::Prod => rounded!(Prod, $type, $arithmetic),
            _ => return None,
        }
    };
}

macro_rules! complex_kernel {
    ($op:ident, $part:ty, $arithmetic:ident) => {
        match $op {
            R::Sum => match $arithmetic {
                #[cfg(target_arch = "x86_64")]
                Arithmetic::Native => {
                    in_default_environment::<float::Sum<$part>, { BLOCK_BYTES / size_of::<$part>() }, 2>
                }
                _ => one_by_one_in_parts::<ByReference<float::Sum<$part>>>,
            },
            R::Prod => rounded!(ComplexProd, $part, BLOCK_BYTES / size_of::<[$part; 2]>(), $arithmetic),
            _ => return None,
        }
    };
}

macro_rules! pair_kernel {
    ($op:ident, $values:ident $value:ty, $indices:ident $index:ty, $arithmetic:ident) => {
        match ($op, $arithmetic) {
            (R::Maxloc, Arithmetic::Native) => Locate::<$values::Max<$value>, $indices::Min<$index>>::run,
            (R::Minloc, Arithmetic::Native) => Locate::<$values::Min<$value>, $indices::Min<$index>>::run,
            (R::Maxloc, _) => {
                Locate::<ByReference<$values::Max<$value>>, ByReference<$indices::Min<$index>>>::run
            }
            (R::Minloc, _) => {
                Locate::<ByReference<$values::Min<$value>>, ByReference<$indices::Min<$index>>>::run
            }
            _ => return None,
        }
    };
}

/// The loop for a type and an operation; none where there is none, or none is needed.
const fn kernel(op: R, element: E, arithmetic: Arithmetic) -> Option<Kernel> {
    Some(match element {
        E::I8 => integer_kernel!(op, i8),
        E::I16 => integer_kernel!(op, i16),
        E::I32 => integer_kernel!(op, i32),
        E::I64 => integer_kernel!(op, i64),
        E::U8 => integer_kernel!(op, u8),
        E::U16 => integer_kernel!(op, u16),
        E::U32 => integer_kernel!(op, u32),
        E::U64 => integer_kernel!(op, u64),
        E::F16 => float_kernel!(op, F16, arithmetic),
        E::Bf16 => float_kernel!(op, Bf16, arithmetic),
        E::F32 => float_kernel!(op, F32, arithmetic),
        E::F64 => float_kernel!(op, F64, arithmetic),
        E::ComplexF32 => complex_kernel!(op, F32, arithmetic),
        E::ComplexF64 => complex_kernel!(op, F64, arithmetic),
        E::Byte => integer_kernel!(op, u8: Band, Bor, Bxor),
        E::F32I32 => pair_kernel!(op, float F32, integer i32, arithmetic),
        E::F64I32 => pair_kernel!(op, float F64, integer i32, arithmetic),
        E::I64I32 => pair_kernel!(op, integer i64, integer i32, arithmetic),
        E::I32I32 => pair_kernel!(op, integer i32, integer i32, arithmetic),
        E::I16I32 => pair_kernel!(op, integer i16, integer i32, arithmetic),
        E::F32F32 => pair_kernel!(op, float F32, float F32, arithmetic),
        E::F64F64 => pair_kernel!(op, float F64, float F64, arithmetic),
    })
}
