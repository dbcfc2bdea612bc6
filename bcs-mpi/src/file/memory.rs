//! The program's side of an access: where its bytes lie in memory, in the form that they have in the file.

use super::direction::Direction;
use super::representation;
use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::object::datatype::buffer::{Elements, NAMES, check_address, check_count, wrong_count};
use crate::object::datatype::flat::Node;
use crate::object::datatype::{Layout, Type};
use crate::object::file::representation::Representation;
use crate::process::Guard;
use std::ffi::c_void;
use std::sync::Arc;

/// Bytes of memory that an access moves. Who makes them promises that they are valid until it is over.
#[derive(Clone, Debug)]
pub(super) struct Bytes {
    /// The address that the layout is relative to.
    pub at: *mut u8,
    /// Where they lie.
    pub layout: Layout,
}

// SAFETY: the bytes are the access's own until it is over, whichever thread makes it.
unsafe impl Send for Bytes {}

impl Bytes {
    /// So many, together.
    fn together(at: *mut u8, bytes: usize) -> Self {
        let node = Node::block(0, bytes as i64);
        Self { at, layout: Layout::new(Some(&node).filter(|_| bytes > 0), 1, bytes as i64) }
    }

    /// No bytes.
    pub fn nothing() -> Self {
        Self::together(std::ptr::null_mut(), 0)
    }

    /// The address of the byte with this number, if they lie together.
    pub fn block(&self, from: usize) -> Option<*mut u8> {
        self.layout.as_block().map(|offset| self.at.wrapping_offset(offset).wrapping_add(from))
    }
}

/// The elements of a call.
pub(super) struct Side {
    /// Its bytes, as they are, or are to be, in the file.
    pub bytes: Bytes,
    /// How many they are.
    pub length: usize,
    /// Where they are converted, if they are.
    converted: Option<Box<Converted>>,
}

/// Elements that have another form in the file than in memory.
struct Converted {
    external: Vec<u8>,
    elements: Elements<*mut c_void>,
    of: Arc<Type>,
    representation: Representation,
}

impl Side {
    /// The elements of a call, whose form in the file is this one; those that are written are converted.
    ///
    /// # Errors
    /// A null buffer for something, a count, a datatype or a value that cannot be.
    pub fn new(
        process: &mut Guard,
        elements: Elements<*mut c_void>,
        direction: Direction,
        representation: &Representation,
    ) -> MpiResult<Self> {
        let Elements { buffer, count, datatype } = elements;
        let action = if direction == Direction::Read { "read" } else { "written" };
        let of = process.datatypes.committed(NAMES[2], datatype)?.clone();
        let length = check_count(NAMES[1], &of, count)?;
        check_address(NAMES[0], buffer, &of, count, action)?;
        if representation::is_as_in_memory(representation, direction) {
            let bytes = Bytes { at: buffer.cast(), layout: of.layout(count) };
            return Ok(Self { bytes, length, converted: None });
        }
        let external = representation::size(process, &of, count, representation)?;
        let external = external.ok_or_else(|| wrong_count(NAMES[1], count))? as usize;
        let mut converted = Box::new(Converted {
            external: vec![0; external],
            elements,
            of,
            representation: representation.clone(),
        });
        if direction == Direction::Write {
            let Converted { external, of, .. } = &mut *converted;
            representation::write(process, representation, of, elements, external)?;
        }
        let bytes = Bytes::together(converted.external.as_mut_ptr(), external);
        Ok(Self { bytes, length: external, converted: Some(converted) })
    }

    /// No elements.
    pub fn nothing() -> Self {
        Self { bytes: Bytes::nothing(), length: 0, converted: None }
    }

    /// What is done when so many bytes of the file have been moved: what was read is converted. Answers the
    /// bytes of memory that they are.
    ///
    /// # Errors
    /// A conversion of the program fails.
    pub fn conclude(self, process: &mut Guard, direction: Direction, done: usize) -> MpiResult<u64> {
        let Some(converted) = self.converted else { return Ok(done as u64) };
        let Converted { mut external, elements, of, representation } = *converted;
        if direction == Direction::Write {
            return Ok((of.size() * elements.count) as u64);
        }
        external.truncate(done);
        representation::read(process, &representation, &of, elements, &mut external)
    }
}

/// The number of etypes of so many bytes each that an access has.
///
/// # Errors
/// It ends within one.
pub(super) fn etypes(length: usize, etype_bytes: i64, datatype: MPI_Datatype) -> MpiResult<i64> {
    match length as i64 {
        0 => Ok(0),
        bytes if etype_bytes > 0 && bytes % etype_bytes == 0 => Ok(bytes / etype_bytes),
        bytes => {
            let value = format!("{:#x}, of which {bytes} bytes are accessed", datatype.0);
            let allowed = format!("whole etypes of {etype_bytes} bytes have to be accessed");
            Err(MpiError::argument(MPI_ERR_TYPE, "datatype", value, allowed))
        }
    }
}
