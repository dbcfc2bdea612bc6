//! Categories (MPI-5.0, §15.3.9): which variables and events belong together.
//!
//! They are a tree of two levels: [`Category::Library`] holds all others, and every variable and every event
//! is in one of these.

macro_rules! categories {
    ($($category:ident $name:literal $about:literal;)+) => {
        /// A category.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Category {
            $(#[doc = $about] $category),+
        }

        /// All categories: their names, and what is in them.
        pub const TABLE: &[(Category, &str, &str)] = &[$((Category::$category, $name, $about)),+];
    };
}

categories! {
    Library     "bcs_mpi"     "all that this library has";
    Slices      "slices"      "time slices, and what they do on this node";
    Waiting     "waiting"     "how this rank waits";
    Channels    "channels"    "how the bytes of messages move";
    Queues      "queues"      "what waits to be taken or received";
    Links       "links"       "what goes between nodes";
    Collectives "collectives" "collective operations and their algorithms";
    Windows     "windows"     "one-sided communication";
    Calls       "calls"       "what the program's calls cost, as MMDS records it";
    Emds        "emds"        "what EMDS records slice by slice, added up";
    Events      "events"      "events of this interface";
}
