//! What a reduction combines: an operation on a datatype (MPI-5.0, §6.9.2), as the NIC's arithmetic
//! numbers them.
//!
//! Operands are taken as they lie in memory, elements at their extent, padding included: nothing is packed.

use super::extended::ExtendedType;
use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::object::datatype::Datatypes;
use nic_emu::arith::{ElementType, ReduceOp};
use std::sync::LazyLock;

/// An operation on a type of element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// The operation.
    pub op: ReduceOp,
    /// The element.
    pub element: Element,
    /// Bytes from one element to the next.
    pub extent: usize,
}

/// A type of element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// One that the NIC computes with.
    Nic(ElementType),
    /// One that only the host has: `long double`.
    Host(ExtendedType),
}

/// The element of every predefined datatype, by handle.
static ELEMENTS: LazyLock<[Option<Element>; 256]> = LazyLock::new(|| {
    let mut elements = [None; 256];
    for datatype in DATATYPES {
        elements[datatype.handle.0 - MPI_DATATYPE_NULL.0] = element_of(&datatype);
    }
    elements
});

fn element_of(datatype: &Datatype) -> Option<Element> {
    use ElementType as E;
    let nic = match (datatype.class, datatype.size) {
        (Class::CInteger, size) if datatype.name.contains("UNSIGNED") || datatype.name.contains("UINT") => {
            sized(size, UNSIGNED)?
        }
        (Class::CInteger | Class::FortranInteger | Class::MultiLanguage, size) => {
            sized(size, [E::I8, E::I16, E::I32, E::I64])?
        }
        (Class::Logical, size) => sized(size, UNSIGNED)?,
        (Class::Byte, _) => E::Byte,
        (Class::Floating, 2) => E::F16,
        (Class::Floating, 4) => E::F32,
        (Class::Floating, 8) => E::F64,
        (Class::Complex, 8) => E::ComplexF32,
        (Class::Complex, 16) => E::ComplexF64,
        (Class::Pair, _) => match datatype.handle {
            MPI_FLOAT_INT => E::F32I32,
            MPI_DOUBLE_INT => E::F64I32,
            MPI_LONG_INT => E::I64I32,
            MPI_2INT | MPI_2INTEGER => E::I32I32,
            MPI_SHORT_INT => E::I16I32,
            MPI_2REAL => E::F32F32,
            MPI_2DOUBLE_PRECISION => E::F64F64,
            MPI_LONG_DOUBLE_INT => return Some(Element::Host(ExtendedType::WithIndex)),
            _ => return None,
        },
        _ => {
            return match datatype.handle {
                MPI_LONG_DOUBLE => Some(Element::Host(ExtendedType::Real)),
                MPI_C_LONG_DOUBLE_COMPLEX | MPI_CXX_LONG_DOUBLE_COMPLEX => {
                    Some(Element::Host(ExtendedType::Complex))
                }
                _ => None,
            };
        }
    };
    Some(Element::Nic(nic))
}

const UNSIGNED: [ElementType; 4] = [ElementType::U8, ElementType::U16, ElementType::U32, ElementType::U64];

/// The integer of so many bytes, of those of 1, 2, 4 and 8.
fn sized(bytes: usize, integers: [ElementType; 4]) -> Option<ElementType> {
    let number = bytes.is_power_of_two().then(|| bytes.trailing_zeros())?;
    integers.get(number as usize).copied()
}

const fn reduce_op(op: MPI_Op) -> Option<ReduceOp> {
    Some(match op {
        MPI_SUM => ReduceOp::Sum,
        MPI_MIN => ReduceOp::Min,
        MPI_MAX => ReduceOp::Max,
        MPI_PROD => ReduceOp::Prod,
        MPI_BAND => ReduceOp::Band,
        MPI_BOR => ReduceOp::Bor,
        MPI_BXOR => ReduceOp::Bxor,
        MPI_LAND => ReduceOp::Land,
        MPI_LOR => ReduceOp::Lor,
        MPI_LXOR => ReduceOp::Lxor,
        MPI_MINLOC => ReduceOp::Minloc,
        MPI_MAXLOC => ReduceOp::Maxloc,
        MPI_REPLACE => ReduceOp::Replace,
        MPI_NO_OP => ReduceOp::NoOp,
        _ => return None,
    })
}

/// The predefined datatype that another handle names: that of a kind of Fortran.
#[cold]
fn named(datatypes: &Datatypes, datatype: MPI_Datatype) -> MpiResult<&'static Datatype> {
    datatypes.committed("datatype", datatype)?.as_predefined().ok_or_else(|| {
        let allowed = "predefined operations take predefined datatypes only (MPI-5.0, section 6.9.2)";
        let value = format!("{:#x}, a derived datatype", datatype.0);
        MpiError::argument(MPI_ERR_OP, "datatype", value, allowed)
    })
}

impl Operand {
    /// The operand that a call's `op` and `datatype` say.
    ///
    /// # Errors
    /// No such operation or datatype, or one that does not go with the other.
    #[inline]
    pub fn new(datatypes: &Datatypes, op: MPI_Op, datatype: MPI_Datatype) -> MpiResult<Self> {
        let known = match predefined_datatype(datatype) {
            Some(known) if known.class != Class::Null => known,
            _ => named(datatypes, datatype)?,
        };
        Self::on(op, known)
    }

    /// The element of a predefined datatype; none where nothing computes with it.
    pub fn element_of(known: &Datatype) -> Option<Element> {
        ELEMENTS[known.handle.0.wrapping_sub(MPI_DATATYPE_NULL.0) & 0xff]
    }

    /// The operand of an operation on a predefined datatype.
    ///
    /// # Errors
    /// No such operation, or one that does not go with the datatype.
    #[inline]
    pub fn on(op: MPI_Op, known: &Datatype) -> MpiResult<Self> {
        let Some(operation) = predefined_operation(op) else {
            let allowed = "it has to be an operation such as MPI_SUM";
            return Err(MpiError::argument(MPI_ERR_OP, "op", format!("{:#x}", op.0), allowed));
        };
        let accumulates_only = op == MPI_REPLACE || op == MPI_NO_OP;
        match (reduce_op(op), Self::element_of(known)) {
            (Some(op), Some(element)) if operation.classes.contains(known.class) && !accumulates_only => {
                Ok(Self { op, element, extent: known.extent })
            }
            _ => {
                let allowed =
                    format!("{} does not go with {} (MPI-5.0, section 6.9.2)", operation.name, known.name);
                Err(MpiError::argument(MPI_ERR_OP, "op", operation.name, allowed))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nic_emu::arith::{self, Arithmetic};

    #[test]
    fn every_operation_takes_exactly_the_datatypes_of_its_classes() {
        let types = Datatypes::comparing(bcs_core::TypeCheck::Off);
        for datatype in DATATYPES.iter().filter(|d| d.class != Class::Null) {
            for operation in OPERATIONS.iter().filter(|o| o.handle != MPI_OP_NULL) {
                let allowed = operation.classes.contains(datatype.class)
                    && operation.handle != MPI_REPLACE
                    && operation.handle != MPI_NO_OP
                    && element_of(datatype).is_some();
                let made = Operand::new(&types, operation.handle, datatype.handle);
                assert_eq!(made.is_ok(), allowed, "{} on {}", operation.name, datatype.name);
                if let Ok(Operand { op, element: Element::Nic(element), .. }) = made {
                    let combined = arith::combine(op, element, &[], &mut [], Arithmetic::Native);
                    assert!(combined.is_ok(), "{} on {}", operation.name, datatype.name);
                }
            }
        }
    }

    #[test]
    fn an_element_of_the_nic_is_as_long_as_the_datatype_extends() {
        for datatype in DATATYPES {
            if let Some(Element::Nic(element)) = element_of(&datatype) {
                assert_eq!(element.size(), datatype.extent, "{}", datatype.name);
            }
        }
    }
}
