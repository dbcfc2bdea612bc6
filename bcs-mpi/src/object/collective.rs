//! Collectives that have several algorithms, and what users call these.

macro_rules! collectives {
    ($($(#[$doc:meta])* $collective:ident: $($algorithm:literal)+;)+) => {
        /// Collectives that have several algorithms.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(non_camel_case_types, reason = "named as their calls are")]
        pub enum Collective {
            $($(#[$doc])* $collective),+
        }

        impl Collective {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$collective),+];

            /// What users call it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$collective => stringify!($collective)),+
                }
            }

            /// What users call its algorithms, in the order in which they are asked whether they can be used.
            pub const fn algorithm_names(self) -> &'static [&'static str] {
                match self {
                    $(Self::$collective => &[$($algorithm),+]),+
                }
            }
        }
    };
}

collectives! {
    /// MPI_Bcast.
    bcast: "nic" "exchange" "binomial";
    /// MPI_Gather and MPI_Gatherv.
    gather: "board" "exchange" "binomial" "direct";
    /// MPI_Scatter and MPI_Scatterv.
    scatter: "nic" "exchange" "binomial" "direct";
    /// MPI_Allgather and MPI_Allgatherv.
    allgather: "board" "exchange" "bruck" "nodes";
    /// MPI_Alltoall, its v and w forms.
    alltoall: "board" "exchange" "bruck" "direct";
    /// MPI_Reduce.
    reduce: "nic" "board" "exchange" "lanes" "halving" "shares" "tree";
    /// MPI_Allreduce.
    allreduce: "nic" "board" "exchange" "lanes" "halving" "shares" "tree";
    /// MPI_Reduce_scatter and MPI_Reduce_scatter_block.
    reduce_scatter: "nic" "board" "exchange" "shares" "packed";
    /// MPI_Scan and MPI_Exscan.
    scan: "board" "exchange" "shares" "doubling" "direct";
}

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
