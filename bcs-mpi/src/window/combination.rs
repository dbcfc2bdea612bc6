//! How elements are combined: the operation, and the predefined datatype that all of them have.

use super::target::{Target, TargetElements};
use crate::collective::extended::Extended;
use crate::collective::operand::{Element, Operand};
use crate::collective::operation;
use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::object::datatype::Type;
use crate::process::Process;
use nic_emu::arith::{self, Arithmetic};
use nic_emu::one_sided::{Act, Request, parts_of};

/// How elements are combined.
#[derive(Clone, Copy, Debug)]
pub(super) enum Combining {
    /// They are replaced, or nothing is done to them: whatever they are.
    Bytes(arith::ReduceOp),
    /// By the NIC's arithmetic.
    Nic(arith::ReduceOp, arith::ElementType),
    /// By the host's: `long double`.
    Host(Extended),
}

/// What is combined: how, and the predefined datatype of the elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Combination {
    /// How.
    pub how: Combining,
    /// The datatype.
    pub of: &'static Datatype,
}

impl Combination {
    /// That of an operation on elements of a target.
    ///
    /// # Errors
    /// The operation is none that accumulates, or the type is not made of one that it takes.
    pub fn new(process: &Process, op: MPI_Op, elements: &TargetElements) -> MpiResult<Self> {
        let of = sole_element(process, "target_datatype", elements.datatype)?;
        if op == MPI_OP_NULL || predefined_operation(op).is_none() {
            // What is no operation at all says so.
            operation::find(op)?;
            let value = format!("{:#x}, an operation of the program", op.0);
            let allowed =
                "it has to be a predefined operation, MPI_REPLACE or MPI_NO_OP (MPI-5.0, section 12.3.4)";
            return Err(MpiError::argument(MPI_ERR_OP, "op", value, allowed));
        }
        // Nothing is combined: programs name any datatype then.
        let is_nothing = elements.count == 0 && op != MPI_REPLACE;
        Self::of_elements(if is_nothing { MPI_NO_OP } else { op }, of)
    }

    /// That of an operation on elements of a predefined datatype.
    ///
    /// # Errors
    /// They do not go together.
    #[inline]
    pub fn of_elements(op: MPI_Op, of: &'static Datatype) -> MpiResult<Self> {
        let how = match op {
            MPI_REPLACE => Combining::Bytes(arith::ReduceOp::Replace),
            MPI_NO_OP => Combining::Bytes(arith::ReduceOp::NoOp),
            _ => match Operand::on(op, of)? {
                Operand { op, element: Element::Nic(element), .. } => Combining::Nic(op, element),
                Operand { op, element: Element::Host(element), .. } => {
                    Combining::Host(Extended { op, element })
                }
            },
        };
        Ok(Self { how, of })
    }

    /// Bytes of an element as it is combined: where its padding counts, more than its values have.
    pub fn element_bytes(&self) -> usize {
        if self.has_padding() { self.of.extent } else { self.of.size.max(1) }
    }

    /// Whether elements are combined with padding that does not travel.
    pub fn has_padding(&self) -> bool {
        !matches!(self.how, Combining::Bytes(_)) && self.of.extent != self.of.size
    }

    /// The bytes of elements that lie together and are so long, but for their padding.
    pub fn parts(&self, bytes: usize) -> Vec<(usize, usize)> {
        match self.how {
            Combining::Nic(_, element) => parts_of(element, bytes).collect(),
            // A value, and the index behind it.
            Combining::Host(_) if self.has_padding() => {
                (0..bytes).step_by(self.of.extent).map(|start| (start, self.of.size)).collect()
            }
            _ => vec![(0, bytes)],
        }
    }

    /// Whether memory changes.
    pub fn changes(&self) -> bool {
        !matches!(self.how, Combining::Bytes(arith::ReduceOp::NoOp))
    }

    /// What another node is asked for.
    pub fn request(&self, act: Act, target: &Target) -> Request {
        let request = Request { is_unbounded: target.is_unbounded, ..Request::of(act) };
        match self.how {
            Combining::Bytes(op) => Request { op, ..request },
            Combining::Nic(op, element) => Request { op, element, ..request },
            Combining::Host(_) => request,
        }
    }

    /// `to = data op to`, of so many bytes.
    ///
    /// # Safety
    /// `to` must be writable for the data's bytes.
    #[inline]
    pub unsafe fn combine(&self, data: &[u8], to: *mut u8, arithmetic: Arithmetic) {
        // SAFETY: the caller's promise, here and below; the lengths are whole elements, as pieces are.
        unsafe {
            match self.how {
                Combining::Bytes(arith::ReduceOp::NoOp) => {}
                Combining::Bytes(_) => std::ptr::copy(data.as_ptr(), to, data.len()),
                Combining::Nic(op, element) => {
                    let places = (data.as_ptr(), to.cast_const(), to);
                    let combined = arith::combine_at(op, element, places, data.len(), arithmetic);
                    debug_assert!(combined.is_ok(), "the operation goes with the elements: {combined:?}");
                }
                Combining::Host(extended) => {
                    extended.combine(data, std::slice::from_raw_parts_mut(to, data.len()));
                }
            }
        }
    }
}

/// The predefined datatype of which all elements of a type are.
///
/// # Errors
/// No such type, or one of several.
pub(super) fn sole_element(
    process: &Process,
    argument: &'static str,
    datatype: MPI_Datatype,
) -> MpiResult<&'static Datatype> {
    fn look(of: &Type, found: &mut Option<&'static Datatype>) -> bool {
        match of.as_predefined() {
            Some(_) if of.size() == 0 => true,
            Some(known) => found.replace(known).is_none_or(|before| before.handle == known.handle),
            None => of.components.iter().all(|component| look(component, found)),
        }
    }
    let of = process.datatypes.committed(argument, datatype)?;
    let mut found = None;
    match look(of, &mut found) {
        true => Ok(found.unwrap_or_else(|| predefined_datatype(MPI_BYTE).unwrap_or(&DATATYPES[0]))),
        false => {
            let allowed = "all its elements have to be of one predefined datatype (MPI-5.0, section 12.3.4)";
            let value = format!("{:#x}, a datatype of several", datatype.0);
            Err(MpiError::argument(MPI_ERR_TYPE, argument, value, allowed))
        }
    }
}
