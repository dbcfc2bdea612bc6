//! Descriptors of choice buffers: what a compiler hands over for TYPE(*), DIMENSION(..) of a BIND(C)
//! procedure (Fortran 2018, §18.5.3, `CFI_cdesc_t`).
//!
//! The order of the members is the compiler's. This is that of gfortran and flang, of which `base_addr`,
//! `elem_len`, `rank` and the dimensions are at the same places; `scripts/install-fortran` tries a compiler
//! before it gives it descriptors.

use smallvec::SmallVec;
use std::ffi::{c_char, c_void};

/// A descriptor; what the library does not look at has no name.
#[repr(C)]
pub struct Descriptor {
    /// The first element.
    base: *mut c_void,
    /// Bytes of an element.
    element_bytes: usize,
    _version: i32,
    rank: i8,
    _others: [u8; 3],
    /// The dimensions, as many as the rank says.
    dimensions: [Dimension; 0],
}

/// A dimension.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dimension {
    _lower: isize,
    /// Elements; -1 in the last dimension of an array whose size is not known.
    pub extent: isize,
    /// Bytes from one element to the next.
    pub stride: isize,
}

/// An array that is an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Array {
    /// Its first element.
    pub base: *mut u8,
    /// Bytes of an element.
    pub element_bytes: i64,
    /// Elements, and bytes from one to the next, by dimension; the first one varies fastest.
    pub dimensions: SmallVec<[(i64, i64); 4]>,
}

// SAFETY: the array is the program's, which has promised not to touch it while MPI uses it, in whichever
// thread.
unsafe impl Send for Array {}

/// What a choice buffer is.
pub enum Given {
    /// One element, or an array whose size is not known, from that address on.
    From(*mut c_void),
    /// An array that is one piece of so many bytes.
    Piece(*mut c_void, i64),
    /// An array that is not one piece.
    Parts(Array),
}

impl Descriptor {
    /// Bytes of an element.
    pub fn element_bytes(&self) -> usize {
        self.element_bytes
    }
}

/// The address of a choice buffer.
///
/// # Safety
/// `descriptor` must be one.
#[inline(always)]
pub unsafe fn address_of(descriptor: *const Descriptor) -> *mut c_void {
    // SAFETY: the caller's promise.
    unsafe { (*descriptor).base }
}

/// A string that is a descriptor: its characters and its length.
///
/// # Safety
/// `descriptor` must be one.
pub unsafe fn text_of(descriptor: *const Descriptor) -> (*mut c_char, usize) {
    // SAFETY: the caller's promise.
    unsafe { ((*descriptor).base.cast(), (*descriptor).element_bytes) }
}

/// What a choice buffer is.
///
/// # Safety
/// `descriptor` must be one.
#[inline(always)]
pub unsafe fn given(descriptor: *const Descriptor) -> Given {
    // SAFETY: the caller's promise: as many dimensions follow as the rank says.
    unsafe {
        let it = &*descriptor;
        if it.rank <= 0 {
            return Given::From(it.base);
        }
        let first = (&raw const (*descriptor).dimensions).cast::<Dimension>();
        array(it, std::slice::from_raw_parts(first, it.rank as usize))
    }
}

/// The address of one element, or of an array of one dimension without gaps, and how many bytes it is known
/// to have.
///
/// # Safety
/// `descriptor` must be one.
#[inline(always)]
pub unsafe fn row(descriptor: *const Descriptor) -> Option<(*mut c_void, i64)> {
    // SAFETY: the caller's promise: one dimension follows where the rank is one.
    unsafe {
        let it = &*descriptor;
        if it.rank == 0 {
            return Some((it.base, i64::MAX));
        }
        let dimension = &*(&raw const (*descriptor).dimensions).cast::<Dimension>();
        let is_row = it.rank == 1 && dimension.extent >= 0 && dimension.stride == it.element_bytes as isize;
        is_row.then(|| (it.base, dimension.extent as i64 * it.element_bytes as i64))
    }
}

#[inline]
fn array(it: &Descriptor, dimensions: &[Dimension]) -> Given {
    let mut next = it.element_bytes as isize;
    let mut is_piece = true;
    for dimension in dimensions {
        if dimension.extent < 0 {
            return Given::From(it.base);
        }
        is_piece &= dimension.extent == 1 || dimension.stride == next;
        next *= dimension.extent;
    }
    if is_piece || next == 0 { Given::Piece(it.base, next as i64) } else { parts(it, dimensions) }
}

#[cold]
fn parts(it: &Descriptor, dimensions: &[Dimension]) -> Given {
    let dimensions = dimensions.iter().filter(|dimension| dimension.extent != 1);
    Given::Parts(Array {
        base: it.base.cast(),
        element_bytes: it.element_bytes as i64,
        dimensions: dimensions.map(|dimension| (dimension.extent as i64, dimension.stride as i64)).collect(),
    })
}

/// Tells how the library reads the descriptor of an array of two dimensions: its address, bytes of an
/// element, rank, extents, and strides. `scripts/install-fortran` compares that with what the compiler says.
#[unsafe(export_name = "bcsmpi_read_descriptor")]
unsafe extern "C" fn read_descriptor(descriptor: *const Descriptor, values: *mut i64) {
    // SAFETY: the descriptor is one, of two dimensions, and there is room for seven values.
    unsafe {
        let it = &*descriptor;
        let first = (&raw const (*descriptor).dimensions).cast::<Dimension>();
        let (one, other) = (&*first, &*first.add(1));
        let dimensions = [one.extent, other.extent, one.stride, other.stride].map(|value| value as i64);
        let values = values.cast::<[i64; 7]>();
        let [e0, e1, s0, s1] = dimensions;
        *values = [it.base as i64, it.element_bytes as i64, i64::from(it.rank), e0, e1, s0, s1];
    }
}

impl Array {
    /// How many elements it has.
    pub fn elements(&self) -> i64 {
        self.dimensions.iter().map(|(extent, _)| extent).product()
    }

    /// How many bytes its elements have.
    pub fn bytes(&self) -> i64 {
        self.elements() * self.element_bytes
    }

    /// Bytes from each element to the next, where that is the same everywhere.
    pub fn even_stride(&self) -> Option<i64> {
        let mut next = self.dimensions.first()?.1;
        let first = next;
        for (extent, stride) in &self.dimensions {
            if *stride != next {
                return None;
            }
            next *= extent;
        }
        Some(first)
    }
}
