//! Names of things: ranks, nodes, jobs, slices. A number without its type is a bug waiting.

/// Makes a type of a number, of so many bits, and of what is written before it.
#[macro_export]
macro_rules! id {
    ($(#[$doc:meta])* $name:ident($repr:ty), $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
        #[repr(transparent)]
        pub struct $name(pub $repr);

        impl $name {
            /// The number as an index into a table.
            #[inline(always)]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<$repr> for $name {
            #[inline(always)]
            fn from(number: $repr) -> Self {
                Self(number)
            }
        }

        impl From<$name> for $repr {
            #[inline(always)]
            fn from($name(number): $name) -> Self {
                number
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    };
}

id! {
    /// A process of a job, by its number in the job: `MPI_COMM_WORLD`'s rank (or, with several
    /// applications on one command line, the number over all of them).
    Rank(u32), ""
}
id! {
    /// A rank of a job by its number among those of its node.
    LocalRank(u32), ""
}
id! {
    /// A node of the machine. Within a job, nodes are numbered from 0, its lead node.
    NodeId(u32), "node "
}
id! {
    /// A job of the machine.
    JobId(u64), "job "
}
id! {
    /// A time slice (paper, §4.2). Slices of a job are numbered from 1; 0 is "before the first".
    SliceIndex(u64), "slice "
}

impl SliceIndex {
    /// The slice after this one: the first in which what is posted now can be scheduled.
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl Rank {
    /// No rank, or any.
    pub const NOBODY: Self = Self(u32::MAX - 1);
}

impl LocalRank {
    /// A rank of another node.
    pub const ELSEWHERE: Self = Self(u32::MAX);
}
