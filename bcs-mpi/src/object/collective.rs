//! Collectives that have several algorithms, and what users call these.

macro_rules! names_of {
    ({ $($name:literal $transport:ident $algorithm:ident, if $can:expr, when $suits:expr;)+ }) => {
        &[$($name),+]
    };
}

macro_rules! collectives {
    ($($($(#[$doc:meta])* $collective:ident),+ ($call:ty) $algorithms:tt)+) => {
        /// Collectives that have several algorithms.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(non_camel_case_types, reason = "named as their calls are")]
        pub enum Collective {
            $($($(#[$doc])* $collective),+),+
        }

        impl Collective {
            /// All of them.
            pub const ALL: &[Self] = &[$($(Self::$collective),+),+];

            /// What users call it.
            pub const fn name(self) -> &'static str {
                match self {
                    $($(Self::$collective => stringify!($collective)),+),+
                }
            }

            /// What users call its algorithms, in the order in which they are asked whether they can be used.
            pub const fn algorithm_names(self) -> &'static [&'static str] {
                match self {
                    $($(Self::$collective)|+ => names_of!($algorithms)),+
                }
            }
        }
    };
}

table_of_algorithms! { collectives }

/// Algorithms that a collective has at most.
pub const MOST_ALGORITHMS: usize = {
    let (mut most, mut collective) = (0, 0);
    while collective < Collective::ALL.len() {
        let algorithms = Collective::ALL[collective].algorithm_names().len();
        most = if algorithms > most { algorithms } else { most };
        collective += 1;
    }
    most
};
