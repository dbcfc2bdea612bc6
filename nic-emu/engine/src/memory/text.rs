//! Text in NIC memory: what people read of an abort or a breach.

use crate::memory::sync::{AtomicU32, AtomicU64, Ordering};

/// Bytes of a text that are kept.
pub(crate) const TEXT_BYTES: usize = 1024;

/// UTF-8 as far as its writer wrote it so. Who writes it is alone with it until whatever says that it is
/// there is published.
#[repr(C)]
pub(crate) struct Text<const WORDS: usize = { TEXT_BYTES / 8 }> {
    /// In bytes.
    length: AtomicU32,
    _pad: AtomicU32,
    words: [AtomicU64; WORDS],
}

/// An empty one; in NIC memory, zeroed pages are that.
#[cfg(any(test, loom))]
impl<const WORDS: usize> Default for Text<WORDS> {
    fn default() -> Self {
        let words = std::array::from_fn(|_| AtomicU64::new(0));
        Self { length: AtomicU32::new(0), _pad: AtomicU32::new(0), words }
    }
}

impl<const WORDS: usize> Text<WORDS> {
    /// Writes it; of one too long its beginning.
    pub(crate) fn write(&self, text: &str) {
        let bytes = &text.as_bytes()[..text.len().min(WORDS * 8)];
        self.length.store(bytes.len() as u32, Ordering::Relaxed);
        for (word, chunk) in self.words.iter().zip(bytes.chunks(8)) {
            let mut padded = [0; 8];
            padded[..chunk.len()].copy_from_slice(chunk);
            word.store(u64::from_ne_bytes(padded), Ordering::Relaxed);
        }
    }

    /// Reads it.
    pub(crate) fn read(&self) -> String {
        let mut bytes: Vec<u8> =
            self.words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes()).collect();
        bytes.truncate(self.length.load(Ordering::Relaxed) as usize);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
