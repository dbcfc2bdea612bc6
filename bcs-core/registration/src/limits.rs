//! How much a cache may keep.

/// What a cache may keep. What is held and not kept does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// So many registrations, and no more than [`Limits::MOST_REGISTRATIONS`].
    pub registrations: usize,
    /// So many bytes of memory, in whole pages. Bytes that two registrations cover count twice.
    pub bytes: usize,
}

impl Limits {
    /// A registration that is kept may part the heap in three, and Linux allows 65,530 mappings.
    pub const MOST_REGISTRATIONS: usize = 16_384;
}
