//! Chapter 7: groups.

use crate::edge::{array, read_only};
use bcs_mpi::group::{self, Choice, SetOperation};

answers! {
    MPI_Group_size(group) -> size [] = group::size(group);
    MPI_Group_rank(group) -> rank [] = group::rank(group);
    MPI_Group_free(group: INOUT) [] = group::free(group);
    MPI_Group_compare(group1, group2) -> result [] = group::compare(group1, group2);
    MPI_Group_union(group1, group2) -> newgroup [] = group::combine(group1, SetOperation::Union, group2);
    MPI_Group_intersection(group1, group2) -> newgroup [] =
        group::combine(group1, SetOperation::Intersection, group2);
    MPI_Group_difference(group1, group2) -> newgroup [] =
        group::combine(group1, SetOperation::Difference, group2);
    MPI_Group_incl(group, n, ranks: [n]) -> newgroup [] = group::choose(group, Choice::Include, ranks);
    MPI_Group_excl(group, n, ranks: [n]) -> newgroup [] = group::choose(group, Choice::Exclude, ranks);
    MPI_Group_range_incl(group, n, ranges: [n]) -> newgroup [] =
        group::choose_ranges(group, Choice::Include, ranges);
    MPI_Group_range_excl(group, n, ranges: [n]) -> newgroup [] =
        group::choose_ranges(group, Choice::Exclude, ranges);
}

calls! {
    MPI_Group_translate_ranks(group1, n, ranks1, group2, ranks2) [] {
        let from = read_only(ranks1, n, ["ranks1", "n"])?.to_vec();
        group::translate_ranks(group1, &from, group2, array(ranks2, n, ["ranks2", "n"])?)?
    }
}
