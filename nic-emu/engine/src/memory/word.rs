//! Words of NIC memory that one process at a time writes: relaxed loads and stores, ordered by the run token.

use crate::memory::sync::{AtomicU32, AtomicU64, Ordering};
use std::marker::PhantomData;

macro_rules! words {
    ($($(#[$doc:meta])* $word:ident($atomic:ident, $bare:ident, $signed:ident))*) => { $(
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Default)]
        pub struct $word<T = $bare>($atomic, PhantomData<T>);

        impl<T: From<$bare> + Into<$bare>> $word<T> {
            /// Its value.
            #[inline]
            pub fn get(&self) -> T {
                self.0.load(Ordering::Relaxed).into()
            }

            /// Sets it.
            #[inline]
            pub fn set(&self, value: T) {
                self.0.store(value.into(), Ordering::Relaxed);
            }

            /// Adds to it; after the largest number comes 0.
            #[inline]
            pub fn add(&self, more: $signed) {
                let value: $bare = self.get().into();
                self.set(value.wrapping_add_signed(more).into());
            }
        }
    )* };
}

words! {
    /// A number that only the processor writes; others may look.
    Word(AtomicU32, u32, i32)
    /// The same in 64 bits.
    Word64(AtomicU64, u64, i64)
}
