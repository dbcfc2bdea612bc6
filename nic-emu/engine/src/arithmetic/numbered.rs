//! How enums are written that travel in descriptors as numbers.

/// An enum whose values travel as their discriminants, in whose order they stand: with a table of them, and
/// with their names.
macro_rules! numbered {
    ($(#[$of_enum:meta])* pub enum $name:ident {
        $($(#[$doc:meta])* $variant:ident = $number:literal $text:literal,)+
    }) => {
        $(#[$of_enum])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum $name {
            $($(#[$doc])* $variant = $number,)+
        }

        impl $name {
            /// All of them, in the order of discriminants.
            pub const ALL: [Self; [$($number),+].len()] = [$(Self::$variant),+];

            /// That of this number; none when there is none.
            #[inline]
            pub fn numbered(number: u8) -> Option<Self> {
                Self::ALL.get(usize::from(number)).copied()
            }

            /// What messages call it.
            pub const fn name(self) -> &'static str {
                [$($text),+][self as usize]
            }
        }

        const _: () = {
            let mut i = 0;
            while i < $name::ALL.len() {
                assert!($name::ALL[i] as usize == i);
                i += 1;
            }
        };
    };
}
