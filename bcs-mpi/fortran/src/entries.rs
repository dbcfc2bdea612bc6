//! The procedures that the build writes from the tables of the standard.
#![allow(
    clippy::all,
    unused_mut,
    unused_variables,
    clippy::undocumented_unsafe_blocks,
    reason = "every procedure is written in the same way"
)]

use crate::buffers::{Access, blocks, elements, memory, operands, plain};
use crate::c::*;
use crate::convert::{
    Handle, Handles, are_predefined, handle, handles, lasting_handles, room, store_handles,
};
use crate::descriptor::{Descriptor, address_of, text_of};
use crate::edge::{Owner, answer};
use crate::lasting::keep;
use crate::peers::{destinations, furthest, is_root, members, own, sources, sum};
use crate::sentinel::{choice, is_in_place, is_sentinel, statuses, weights_of};
use crate::text::{fill, stripped, trimmed};
use std::ffi::{c_char, c_int, c_void};

include!(concat!(env!("OUT_DIR"), "/entries.rs"));
