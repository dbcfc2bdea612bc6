//! A reduction of any kind: what vectors of operands look like on their way, and how two are combined.
//!
//! Operands of predefined operations travel as they lie in memory, padding included, as in the blocking
//! forms. Those of an operation of the program travel packed unless they lie together, and are spread out
//! as their datatype has them when the function is called; it runs without the library's lock.

use super::extended::Extended;
use super::operand::{Element, Operand};
use super::operation::{self, Function};
use super::vector::Vector;
use crate::constants::*;
use crate::error::{MpiError, MpiResult, Problem};
use crate::object::datatype::Type;
use crate::object::datatype::buffer::{MOST_ROOM, Names, bytes_of, check_address, check_count};
use crate::process::{Guard, Process, unguarded, with};
use nic_emu::arith::reduction_tree::ReductionTree;
use nic_emu::arith::{self, Arithmetic, ElementType, ReduceOp};
use nic_emu::descriptor::{OF_PROGRAM, OF_REDUCTION};
use std::ffi::{c_int, c_void};
use std::fmt::Display;
use std::num::NonZeroU32;
use std::sync::Arc;

/// What is done with vectors of operands.
#[derive(Clone, Debug)]
pub struct Reduction {
    kind: ReductionKind,
    /// Bytes of an element on its way.
    pub element: usize,
}

#[derive(Clone, Debug)]
enum ReductionKind {
    /// What the NIC computes with, too.
    Nic(ReduceOp, ElementType, Arithmetic),
    /// What the host alone has.
    Host(Extended),
    User(User),
}

/// An operation of the program, on a datatype.
#[derive(Clone, Debug)]
struct User {
    function: Function,
    /// The datatype as the program has named it.
    datatype: MPI_Datatype,
    of: Arc<Type>,
    /// Elements have no bytes between them and begin at their address.
    together: bool,
}

impl Reduction {
    /// The reduction that a call's `op` and `datatype` say.
    ///
    /// # Errors
    /// No such operation or datatype, or one that does not go with the other.
    #[inline(always)]
    pub fn new(process: &Process, op: MPI_Op, datatype: MPI_Datatype) -> MpiResult<Self> {
        if predefined_operation(op).is_none() {
            let user = User::new(process, op, datatype)?;
            return Ok(Self { element: user.of.size() as usize, kind: ReductionKind::User(user) });
        }
        let operand = Operand::new(&process.datatypes, op, datatype)?;
        let software = process.port.memory().header().arithmetic.get() == 1;
        let arithmetic = if software { Arithmetic::SoftFloat } else { Arithmetic::Native };
        Ok(Self::of_operand(operand, arithmetic))
    }

    /// A predefined operation.
    #[inline]
    pub fn of_operand(Operand { op, element, extent }: Operand, arithmetic: Arithmetic) -> Self {
        let kind = match element {
            Element::Nic(element) => ReductionKind::Nic(op, element, arithmetic),
            Element::Host(element) => ReductionKind::Host(Extended { op, element }),
        };
        Self { element: extent, kind }
    }

    /// The numbers of a predefined operation that the NIC can do.
    #[inline(always)]
    pub fn on_nic(&self) -> Option<(u8, u8)> {
        match self.kind {
            ReductionKind::Nic(op, element, _) => Some((op as u8, element as u8)),
            _ => None,
        }
    }

    /// What a board says of it, for members to agree on.
    pub fn said(&self) -> (u8, u8) {
        match self.kind {
            ReductionKind::Nic(op, element, _) => (op as u8 | OF_REDUCTION, element as u8),
            ReductionKind::Host(Extended { op, element }) => {
                (op as u8 | OF_REDUCTION, u8::MAX - element as u8)
            }
            ReductionKind::User(_) => (OF_PROGRAM, 0),
        }
    }

    /// Checks a vector of the program; answers its bytes on their way.
    ///
    /// # Errors
    /// A count that cannot be, or a null buffer for something.
    #[inline(always)]
    pub fn check(&self, names: &Names, buffer: *const c_void, count: i64) -> MpiResult<usize> {
        match &self.kind {
            ReductionKind::User(user) => user.check(names, buffer, count),
            _ => bytes_of::<MOST_ROOM>(names, buffer, count, self.element, done_with(names)),
        }
    }

    /// Bytes in memory from one element to the next.
    fn extent(&self) -> isize {
        match &self.kind {
            ReductionKind::User(user) => user.of.extent() as isize,
            _ => self.element as isize,
        }
    }

    /// Operands travel as they lie in memory.
    #[inline(always)]
    pub fn travels_as_it_lies(&self) -> bool {
        match &self.kind {
            ReductionKind::User(user) => user.together,
            _ => true,
        }
    }

    /// `count` elements of the program's, from the `first` on, as they travel.
    ///
    /// # Safety
    /// They must be readable, as [`Self::check`] has found them.
    ///
    /// # Errors
    /// There is no memory for them.
    pub unsafe fn load(&self, buffer: *const u8, first: usize, count: usize) -> MpiResult<Vector> {
        let from = self.place_of(buffer.cast_mut(), first).cast_const();
        let mut vector = Vector::new(count * self.element)?;
        match &self.kind {
            ReductionKind::User(user) if !user.together => {
                let layout = user.of.layout(count as i64);
                // SAFETY: the caller's promise; the vector has the room.
                unsafe { layout.cursor().pack(from, vector.as_mut_ptr(), vector.len()) };
            }
            _ if vector.is_empty() => {}
            // SAFETY: as above.
            _ => unsafe { std::ptr::copy_nonoverlapping(from, vector.as_mut_ptr(), vector.len()) },
        }
        Ok(vector)
    }

    /// Where the element of this number lies in a buffer of the program's.
    pub fn place_of(&self, buffer: *mut u8, first: usize) -> *mut u8 {
        buffer.wrapping_offset((first as isize).wrapping_mul(self.extent()))
    }

    /// Puts elements that have travelled where the program wants them.
    ///
    /// # Safety
    /// The buffer must be writable for them, as [`Self::check`] has found it.
    pub unsafe fn store(&self, vector: &[u8], buffer: *mut u8) {
        match &self.kind {
            ReductionKind::User(user) if !user.together => {
                let count = vector.len() / self.element.max(1);
                // SAFETY: the caller's promise.
                unsafe { user.of.layout(count as i64).unpack(vector, buffer) };
            }
            _ if vector.is_empty() => {}
            // SAFETY: as above; a program may pass one buffer twice.
            _ => unsafe { std::ptr::copy(vector.as_ptr(), buffer, vector.len()) },
        }
    }

    /// `inout = left op inout`; `left` is of the lower ranks. In a task.
    ///
    /// # Errors
    /// Lengths that differ: not for what [`Self::check`] has found well.
    pub fn combine(&self, left: &[u8], inout: &mut [u8]) -> MpiResult {
        match &self.kind {
            ReductionKind::Nic(op, element, arithmetic) => {
                arith::combine(*op, *element, left, inout, *arithmetic).map_err(not_combined)
            }
            ReductionKind::Host(extended) => {
                extended.combine(left, inout);
                Ok(())
            }
            ReductionKind::User(user) => user.combine(left, inout),
        }
    }

    /// `out = left op right` of so many bytes; `left` is of the lower ranks. In a task.
    ///
    /// # Safety
    /// Operands must be readable and `out` writable; it may be an operand's place, and otherwise must not
    /// overlap one. Others may write operands only if [`Self::combines_what_others_write`].
    ///
    /// # Errors
    /// As [`Self::combine`].
    unsafe fn combine_at(&self, left: *const u8, right: *const u8, out: *mut u8, bytes: usize) -> MpiResult {
        if let ReductionKind::Nic(op, element, arithmetic) = self.kind {
            // SAFETY: the caller's promise.
            let done = unsafe { arith::combine_at(op, element, (left, right, out), bytes, arithmetic) };
            return done.map_err(not_combined);
        }
        let mut own;
        // SAFETY: as above; here nobody else writes the operands.
        unsafe {
            let mut left = std::slice::from_raw_parts(left, bytes);
            if left.as_ptr() == out.cast_const() {
                own = Vector::new(bytes)?;
                own.copy_from_slice(left);
                left = &own;
            }
            std::ptr::copy(right, out, bytes);
            self.combine(left, std::slice::from_raw_parts_mut(out, bytes))
        }
    }

    /// Operands may lie where others write, too.
    pub fn combines_what_others_write(&self) -> bool {
        self.on_nic().is_some()
    }

    /// Combines operands of `bytes` bytes, of consecutive ranks from 0 on, in the order of the reduction tree
    /// over as many. What is combined with an operand to its left goes to that rank's place, and the result
    /// so to the last one's. In a task.
    ///
    /// # Safety
    /// Operands must be readable; others may write them only if [`Self::combines_what_others_write`]. Places
    /// must be different ones of so many bytes, writable, and overlap no other rank's operand, but the last
    /// one may be that of any operand.
    ///
    /// # Errors
    /// As [`Self::combine`].
    pub unsafe fn combine_places(
        &self,
        mut operands: Vec<*const u8>,
        bytes: usize,
        place: impl Fn(usize) -> *mut u8,
    ) -> MpiResult {
        let Some(ranks) = NonZeroU32::new(operands.len() as u32).filter(|_| bytes > 0) else {
            return Ok(());
        };
        for step in ReductionTree::new(ranks).steps() {
            let (left, right) = (step.left as usize, step.right as usize);
            let to = place(right);
            // SAFETY: the caller's promise. When the last place is written first, all other operands have
            // been combined, or are now.
            unsafe { self.combine_at(operands[left], operands[right], to, bytes)? };
            operands[right] = to;
        }
        Ok(())
    }

    /// Combines the vectors of consecutive ranks from 0 on, in the order of the reduction tree over as
    /// many, into the last one; answers none for none. In a task.
    ///
    /// # Errors
    /// As [`Self::combine`].
    pub fn combine_all<'v>(&self, vectors: &'v mut [Vector]) -> MpiResult<Option<&'v Vector>> {
        let bytes = vectors.last().map_or(0, |last| last.len());
        let places: Vec<*mut u8> = vectors.iter_mut().map(|vector| vector.as_mut_ptr()).collect();
        if vectors.iter().any(|vector| vector.len() != bytes) {
            return Err(MpiError::new(Problem::Nic("vectors that are combined differ in length".into())));
        }
        // SAFETY: the vectors are different ones, borrowed, and all have as many bytes.
        unsafe {
            let operands = places.iter().map(|place| place.cast_const()).collect();
            self.combine_places(operands, bytes, |number| places[number])?;
        }
        Ok(vectors.last())
    }

    /// Combines two vectors of the program's, in a call: MPI_Reduce_local.
    ///
    /// # Safety
    /// `left` must be readable and `inout` writable for `count` elements.
    ///
    /// # Errors
    /// As [`Self::combine`].
    pub unsafe fn combine_in_memory(
        &self,
        guard: &mut Guard,
        left: *const u8,
        inout: *mut u8,
        count: usize,
    ) -> MpiResult {
        match &self.kind {
            ReductionKind::User(user) => {
                let (function, mut datatype) = (user.function, user.datatype);
                // SAFETY: the caller's promise; the program vouches for its function.
                guard.without_lock(|| unsafe {
                    call(function, left.cast_mut(), inout, count, user.of.extent() as isize, &mut datatype);
                });
                Ok(())
            }
            _ if count * self.element == 0 => Ok(()),
            _ => {
                let bytes = count * self.element;
                // SAFETY: as above.
                let (left, inout) = unsafe {
                    (std::slice::from_raw_parts(left, bytes), std::slice::from_raw_parts_mut(inout, bytes))
                };
                self.combine(left, inout)
            }
        }
    }
}

#[cold]
fn not_combined(error: impl Display) -> MpiError {
    MpiError::new(Problem::Nic(error.to_string()))
}

/// What is done with the elements of a buffer of this name.
#[inline(always)]
fn done_with(names: &Names) -> &'static str {
    if names[0] == "recvbuf" { "received" } else { "sent" }
}

/// Calls a function of the program for any number of elements.
///
/// # Safety
/// Both vectors must be what the function takes.
unsafe fn call(
    function: Function,
    left: *mut u8,
    inout: *mut u8,
    count: usize,
    extent: isize,
    datatype: &mut MPI_Datatype,
) {
    match function {
        Function::Large(function) => {
            let mut count = count as MPI_Count;
            // SAFETY: the caller's promise.
            unsafe { function(left.cast(), inout.cast(), &mut count, datatype) };
        }
        Function::Small(function) => {
            let mut first = 0;
            while first < count {
                let mut part = (count - first).min(c_int::MAX as usize) as c_int;
                let at = (first as isize).wrapping_mul(extent);
                first += part as usize;
                // SAFETY: as above.
                unsafe {
                    function(
                        left.wrapping_offset(at).cast(),
                        inout.wrapping_offset(at).cast(),
                        &mut part,
                        datatype,
                    );
                }
            }
        }
    }
}

impl User {
    #[inline(never)]
    fn new(process: &Process, op: MPI_Op, datatype: MPI_Datatype) -> MpiResult<Self> {
        let function = operation::find(op)?.function;
        let of = process.datatypes.committed("datatype", datatype)?.clone();
        let together = of.layout(1).as_block() == Some(0) && of.size() == of.extent();
        Ok(Self { function, datatype, of, together })
    }

    #[inline(never)]
    fn check(&self, names: &Names, buffer: *const c_void, count: i64) -> MpiResult<usize> {
        let bytes = check_count(names[1], &self.of, count)?;
        check_address(names[0], buffer, &self.of, count, done_with(names))?;
        Ok(bytes)
    }

    fn combine(&self, left: &[u8], inout: &mut [u8]) -> MpiResult {
        let size = self.of.size() as usize;
        if size == 0 || inout.is_empty() {
            return Ok(());
        }
        let count = inout.len() / size;
        let (function, extent) = (self.function, self.of.extent() as isize);
        // The program may have freed its handle since: then the function is told another of the same type.
        let (mut datatype, is_own) = with(|process| {
            let known = process.datatypes.find("datatype", self.datatype);
            let known = known.is_ok_and(|of| Arc::ptr_eq(of, &self.of));
            let handle = if known { self.datatype } else { process.datatypes.insert(self.of.clone(), true) };
            Ok((handle, !known))
        })?;
        if self.together {
            let (left, inout) = (left.as_ptr().cast_mut(), inout.as_mut_ptr());
            // SAFETY: both have `count` elements; the program vouches for its function.
            unguarded(|| unsafe { call(function, left, inout, count, extent, &mut datatype) })?;
        } else {
            let layout = self.of.layout(count as i64);
            // The count was checked when the operation was called.
            let (first, end) = self.of.span(count as i64).ok().flatten().unwrap_or((0, 0));
            let bytes = (end - first) as usize + 1;
            let (mut one, mut other) = (Vector::new(bytes)?, Vector::new(bytes)?);
            let place = |vector: &mut Vector| vector.as_mut_ptr().wrapping_offset(-(first as isize));
            let (one, other) = (place(&mut one), place(&mut other));
            // SAFETY: both have room for the span of `count` elements, and the layout's bytes lie in it.
            unsafe {
                layout.unpack(left, one);
                layout.unpack(inout, other);
            }
            // SAFETY: as above.
            unguarded(|| unsafe { call(function, one, other, count, extent, &mut datatype) })?;
            // SAFETY: as above; `inout` has the room.
            unsafe { layout.cursor().pack(other, inout.as_mut_ptr(), inout.len()) };
        }
        if is_own {
            with(|process| process.datatypes.remove("datatype", datatype))?;
        }
        Ok(())
    }
}
