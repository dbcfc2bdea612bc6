//! Words of NIC memory that one process at a time writes: relaxed loads and stores, ordered by the run token.

use crate::memory::sync::{AtomicU32, AtomicU64, Ordering};

macro_rules! words {
    ($($(#[$doc:meta])* $word:ident($atomic:ident, $value:ident))*) => { $(
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Default)]
        pub struct $word($atomic);

        impl $word {
            /// Its value.
            #[inline]
            pub fn get(&self) -> $value {
                self.0.load(Ordering::Relaxed)
            }

            /// Sets it.
            #[inline]
            pub fn set(&self, value: $value) {
                self.0.store(value, Ordering::Relaxed);
            }
        }
    )* };
}

words! {
    /// A counter that only the processor writes; others may look.
    Word(AtomicU32, u32)
    /// The same in 64 bits.
    Word64(AtomicU64, u64)
}
