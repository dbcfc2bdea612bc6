//! Chapter 7: groups.

use crate::edge::{array, handle, object, place, read_only};
use bcs_mpi::constants::*;
use bcs_mpi::group::{self, Choice, SetOperation};
use std::ffi::c_int;

const RANKS: [&str; 2] = ["ranks", "n"];
const RANGES: [&str; 2] = ["ranges", "n"];

calls! {
    call MPI_Group_size(group: MPI_Group, size: *mut c_int) [] {
        place(size, "size")?.set(group::size(group)?)
    }
    call MPI_Group_rank(group: MPI_Group, rank: *mut c_int) [] {
        place(rank, "rank")?.set(group::rank(group)?)
    }
    call MPI_Group_free(group: *mut MPI_Group) [] {
        group::free(object(group, "group")?)?
    }
    call MPI_Group_compare(group1: MPI_Group, group2: MPI_Group, result: *mut c_int) [] {
        place(result, "result")?.set(group::compare(group1, group2)?)
    }
    call MPI_Group_translate_ranks(
        group1: MPI_Group, n: c_int, ranks1: *const c_int, group2: MPI_Group, ranks2: *mut c_int,
    ) [] {
        let from = read_only(ranks1, n.into(), ["ranks1", "n"])?.to_vec();
        group::translate_ranks(group1, &from, group2, array(ranks2, n, ["ranks2", "n"])?)?
    }
    call MPI_Group_incl(group: MPI_Group, n: c_int, ranks: *const c_int, newgroup: *mut MPI_Group) [] {
        let newgroup = handle(newgroup, "newgroup")?;
        let ranks = read_only(ranks, n.into(), RANKS)?;
        newgroup.set(group::choose(group, Choice::Include, ranks)?)
    }
    call MPI_Group_excl(group: MPI_Group, n: c_int, ranks: *const c_int, newgroup: *mut MPI_Group) [] {
        let newgroup = handle(newgroup, "newgroup")?;
        let ranks = read_only(ranks, n.into(), RANKS)?;
        newgroup.set(group::choose(group, Choice::Exclude, ranks)?)
    }
    call MPI_Group_range_incl(
        group: MPI_Group, n: c_int, ranges: *mut [c_int; 3], newgroup: *mut MPI_Group,
    ) [] {
        let newgroup = handle(newgroup, "newgroup")?;
        let ranges = array(ranges, n, RANGES)?;
        newgroup.set(group::choose_ranges(group, Choice::Include, ranges)?)
    }
    call MPI_Group_range_excl(
        group: MPI_Group, n: c_int, ranges: *mut [c_int; 3], newgroup: *mut MPI_Group,
    ) [] {
        let newgroup = handle(newgroup, "newgroup")?;
        let ranges = array(ranges, n, RANGES)?;
        newgroup.set(group::choose_ranges(group, Choice::Exclude, ranges)?)
    }
    call MPI_Group_union(group1: MPI_Group, group2: MPI_Group, newgroup: *mut MPI_Group) [] {
        handle(newgroup, "newgroup")?.set(group::combine(group1, SetOperation::Union, group2)?)
    }
    call MPI_Group_intersection(group1: MPI_Group, group2: MPI_Group, newgroup: *mut MPI_Group) [] {
        handle(newgroup, "newgroup")?.set(group::combine(group1, SetOperation::Intersection, group2)?)
    }
    call MPI_Group_difference(group1: MPI_Group, group2: MPI_Group, newgroup: *mut MPI_Group) [] {
        handle(newgroup, "newgroup")?.set(group::combine(group1, SetOperation::Difference, group2)?)
    }
}
