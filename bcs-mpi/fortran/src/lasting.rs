//! What is held until an operation is complete: arrays that C reads as long as that (§6.12), and copies of
//! array sections for calls that can use no datatype for them.

use crate::c::{MPI_Datatype, MPI_Request, MPI_SUCCESS};
use crate::convert::Handle;
use crate::descriptor::Array;
use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// A copy of an array's elements, one after the other.
pub struct Staged {
    array: Array,
    /// The copy, which is aligned for all types.
    copy: Box<[u128]>,
    /// How many bytes of it MPI stores, if any: they are put back.
    stored: i64,
}

impl Staged {
    /// A copy of an array, of which MPI stores so many bytes.
    ///
    /// # Safety
    /// The array must be the program's until this is dropped.
    pub unsafe fn new(array: Array, stored: i64) -> Self {
        let words = (array.bytes().max(0) as usize).div_ceil(size_of::<u128>());
        let stored = stored.clamp(0, array.bytes());
        let mut staged = Self { array, copy: vec![0; words].into_boxed_slice(), stored };
        staged.take();
        staged
    }

    /// Where the copy is.
    pub fn address(&mut self) -> *mut u8 {
        self.copy.as_mut_ptr().cast()
    }

    /// Copies the array's elements.
    fn take(&mut self) {
        let (to, bytes) = (self.address(), self.array.bytes());
        // SAFETY: the copy has room for all elements, and each is of the array.
        self.each(bytes, |at, element, length| unsafe {
            std::ptr::copy_nonoverlapping(element, to.add(at), length);
        });
    }

    /// Puts back what MPI has stored.
    fn put_back(&mut self) {
        let (from, bytes) = (self.address(), self.stored);
        // SAFETY: as above.
        self.each(bytes, |at, element, length| unsafe {
            std::ptr::copy_nonoverlapping(from.add(at), element, length);
        });
    }

    /// Calls for the elements of the first `bytes`: the place in the copy, the address, and how many bytes.
    fn each(&self, bytes: i64, mut each: impl FnMut(usize, *mut u8, usize)) {
        let dimensions = &self.array.dimensions;
        let element = self.array.element_bytes;
        let mut index = vec![0; dimensions.len()];
        let (mut at, mut place) = (0, 0);
        while at < bytes {
            each(
                at as usize,
                self.array.base.wrapping_offset(place as isize),
                element.min(bytes - at) as usize,
            );
            at += element;
            for ((extent, stride), index) in dimensions.iter().zip(&mut index) {
                (*index, place) = (*index + 1, place + stride);
                if *index < *extent {
                    break;
                }
                (*index, place) = (0, place - extent * stride);
            }
        }
    }
}

/// Something that is held.
#[derive(Default)]
pub struct Kept {
    /// A copy of an array.
    pub staged: Option<Box<Staged>>,
    /// Handles.
    pub handles: Option<Box<[MPI_Datatype]>>,
}

impl Kept {
    /// The end of a call that was a success or not.
    pub fn end(self, code: c_int) {
        if let (Some(mut staged), MPI_SUCCESS) = (self.staged, code) {
            staged.put_back();
        }
    }

    fn is_needed(&self) -> bool {
        self.staged.is_some() || self.handles.is_some()
    }
}

impl From<Box<[MPI_Datatype]>> for Kept {
    fn from(handles: Box<[MPI_Datatype]>) -> Self {
        Self { handles: Some(handles), staged: None }
    }
}

/// What an operation holds.
struct Lasting {
    is_persistent: bool,
    kept: Vec<Kept>,
}

/// What operations hold, by their requests.
static LASTING: LazyLock<Mutex<HashMap<MPI_Request, Lasting>>> = LazyLock::new(Mutex::default);

/// How many do: most programs have none, and need not look.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Whether no operation holds anything.
#[inline(always)]
pub fn is_empty() -> bool {
    COUNT.load(Ordering::Acquire) == 0
}

fn table() -> MutexGuard<'static, HashMap<MPI_Request, Lasting>> {
    LASTING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Holds what a call that was a success needs until its request is complete; of a persistent one until it is
/// freed.
#[inline(always)]
pub fn keep<const N: usize>(code: c_int, request: MPI_Request, is_persistent: bool, kept: [Kept; N]) {
    if kept.iter().any(Kept::is_needed) {
        hold(code, request, is_persistent, kept.into());
    }
}

#[cold]
fn hold(code: c_int, request: MPI_Request, is_persistent: bool, kept: Vec<Kept>) {
    if code != MPI_SUCCESS || request == MPI_Request::NULL {
        return kept.into_iter().for_each(|kept| kept.end(code));
    }
    let mut table = table();
    table.insert(request, Lasting { is_persistent, kept });
    COUNT.store(table.len(), Ordering::Release);
}

/// A persistent request is about to be started.
#[cold]
pub fn started(request: MPI_Request) {
    if let Some(lasting) = table().get_mut(&request) {
        lasting.kept.iter_mut().filter_map(|kept| kept.staged.as_mut()).for_each(|staged| staged.take());
    }
}

/// The operation of a request is complete, and the program has been told.
#[cold]
pub fn completed(request: MPI_Request) {
    let mut table = table();
    let Some(lasting) = table.get_mut(&request) else { return };
    lasting.kept.iter_mut().filter_map(|kept| kept.staged.as_mut()).for_each(|staged| staged.put_back());
    if !lasting.is_persistent {
        table.remove(&request);
        COUNT.store(table.len(), Ordering::Release);
    }
}

/// The same, and the request goes on to be one.
#[cold]
pub fn seen_complete(request: MPI_Request) {
    if let Some(lasting) = table().get_mut(&request) {
        lasting.kept.iter_mut().filter_map(|kept| kept.staged.as_mut()).for_each(|staged| staged.put_back());
    }
}

/// A persistent request has been freed.
#[cold]
pub fn freed(request: MPI_Request) {
    let mut table = table();
    if table.get(&request).is_some_and(|lasting| lasting.is_persistent) {
        table.remove(&request);
        COUNT.store(table.len(), Ordering::Release);
    }
}
