//! The table of all algorithms of collectives. An algorithm is one line of it, and one function.
//!
//! A line has the name by which users ask for the algorithm, what carries its bytes, its function (in
//! `collective/algorithm`), where it can be used at all, and where it is the one to use, if none of the lines
//! above it is. What `s` says of a call, and the thresholds, are in `collective/policy`.
//! Collectives with a comma between them have the same algorithms.
//!
//! The table is a macro, which hands its lines to another one: `object/collective` takes the names, and
//! `collective/policy` the rest.

/// Hands the table to the macro of this name.
macro_rules! table_of_algorithms {
    ($take:ident) => {
        $take! {
            /// MPI_Barrier.
            barrier(&Synchronization) {
                "nic" Slab barrier_on_nic, if |_| true,
                    when |s| !s.meets_by_messages() && !s.meets_by_nodes();
                "nodes" Messages barrier_by_nodes, if |s| s.shares_nodes(), when |_| true;
                "dissemination" Messages barrier_by_dissemination, if |_| true, when |_| true;
            }
            /// MPI_Bcast.
            bcast(&Broadcast) {
                "nic" Slab broadcast_on_nic, if |s| s.fits_nic() || s.can_move_slabs(),
                    when |s| s.fits_nic() && !s.spreads_by_messages() || s.is_up_to(BROADCAST_SLABS);
                "exchange" Exchange broadcast_in_exchange, if |s| s.can_exchange(), when |s| !s.is_pair();
                "binomial" Messages binomial_broadcast, if |_| true, when |_| true;
            }
            /// MPI_Gather and MPI_Gatherv.
            gather(&Movement<'_>) {
                "board" Slab move_on_board, if |s| s.fits_board() || s.can_move_slabs(),
                    when |s| s.fits_board() && !s.spreads_by_messages() || s.is_up_to(2);
                "exchange" Exchange move_in_exchange, if |s| s.can_exchange(), when |s| !s.is_pair();
                "binomial" Messages binomial_gather, if |s| s.bytes.is_some(), when |s| s.is_small_among_many(1);
                "direct" Messages move_directly, if |_| true, when |_| true;
            }
            /// MPI_Scatter and MPI_Scatterv; bytes are those of the root's blocks together.
            scatter(&Movement<'_>) {
                "nic" Slab scatter_on_nic,
                    if |s| s.fits_nic() && s.gives_something() || s.can_move_slabs(),
                    when |s| s.fits_nic() && !s.spreads_by_messages() || s.is_up_to(4);
                "exchange" Exchange move_in_exchange, if |s| s.can_exchange(), when |s| !s.is_pair();
                "binomial" Messages binomial_scatter, if |s| s.bytes.is_some(),
                    when |s| s.is_small_among_many(s.size());
                "direct" Messages move_directly, if |_| true, when |_| true;
            }
            /// MPI_Allgather and MPI_Allgatherv.
            allgather(&Movement<'_>) {
                "board" Slab move_on_board, if |s| s.fits_board() || s.can_move_slabs(),
                    when |s| s.fits_board() && !s.meets_by_messages() || s.is_up_to(8);
                "exchange" Exchange move_in_exchange, if |s| s.can_exchange(),
                    when |s| !s.is_pair_up_to(MOST_OF_A_PAIR);
                "bruck" Messages bruck_allgather, if |s| s.bytes.is_some(), when |s| s.is_small_among_many(1);
                "nodes" Messages allgather_by_nodes, if |_| true, when |_| true;
            }
            /// MPI_Alltoall, its v and w forms; bytes are those of a member's blocks together.
            alltoall(&Movement<'_>) {
                "board" Slab move_on_board, if |s| s.fits_board() || s.can_move_slabs(),
                    when |s| s.fits_board() && !s.meets_by_messages() || s.is_up_to(s.size());
                "exchange" Exchange move_in_exchange, if |s| s.can_exchange(),
                    when |s| !s.swaps_by_messages();
                "bruck" Messages bruck_alltoall, if |s| s.bytes.is_some(), when |s| s.is_small_among_many(s.size());
                "nodes" Messages alltoall_by_nodes, if |s| s.shares_nodes(), when |s| s.carries_blocks();
                "direct" Messages move_directly, if |_| true, when |_| true;
            }
            /// MPI_Reduce.
            reduce,
            /// MPI_Allreduce.
            allreduce(&Combination) {
                "nic" Slab reduce_on_nic, if |s| s.is_on_nic() && s.fits_nic() || s.can_go_in_slabs(),
                    when |s| s.fits_nic() && !s.combines_by_messages() || s.is_up_to(s.size());
                "board" Slab combine_on_board, if |s| s.can_put_up_vectors(),
                    when |s| s.fits_board() && !s.combines_by_messages();
                "exchange" Exchange reduce_in_exchange, if |s| s.can_exchange_vectors(),
                    when |s| !s.is_a_pairs_tree();
                "lanes" Messages reduce_in_lanes, if |s| s.has_lanes(), when |s| s.bytes() >= LEAST_OF_LANES;
                "halving" Messages reduce_by_halving, if |s| s.can_halve(), when |s| s.has_halves();
                "shares" Messages reduce_by_shares, if |s| s.travels_as_it_lies(), when |s| s.has_shares();
                "nodes" Messages reduce_by_nodes, if |s| s.has_parts(),
                    when |s| s.all_get() && (s.meets_by_messages() && s.fits_slab() || s.combines_by_nodes());
                "doubling" Messages reduce_by_doubling, if |s| s.size().is_power_of_two(),
                    when |s| s.all_get() && s.meets_by_messages() && s.fits_slab();
                "tree" Messages reduce_along_tree, if |_| true, when |_| true;
            }
            /// MPI_Reduce_scatter and MPI_Reduce_scatter_block.
            reduce_scatter(&Combination) {
                "nic" Slab reduce_on_nic, if |s| s.is_on_nic() && s.fits_nic() || s.can_go_in_slabs(),
                    when |s| (s.fits_nic() && !s.is_on_one_node() || s.bytes() <= INLINE_BYTES)
                        && !s.meets_by_messages() || s.is_up_to(s.size());
                "board" Slab combine_on_board, if |s| s.can_put_up_vectors(),
                    when |s| s.fits_board() && !s.meets_by_messages() || s.is_up_to(s.size() / 2);
                "exchange" Exchange combine_in_exchange, if |s| s.can_exchange_vectors(),
                    when |s| !s.is_pair_up_to(2 * MOST_OF_A_PAIRS_TREE);
                "lanes" Messages reduce_scatter_in_lanes, if |s| s.has_lanes(), when |s| s.goes_by_nodes();
                "shares" Messages combine_shares, if |s| s.travels_as_it_lies(), when |_| true;
                "packed" Messages combine_packed_shares, if |_| true, when |_| true;
            }
            /// MPI_Scan and MPI_Exscan.
            scan(&Combination) {
                "board" Slab combine_on_board, if |s| s.can_put_up_vectors(),
                    when |s| s.fits_board() && !s.spreads_by_messages() || s.is_up_to(s.size() / 2);
                "exchange" Exchange scan_in_exchange, if |s| s.can_exchange_vectors(), when |_| true;
                "shares" Messages scan_by_shares, if |s| s.travels_as_it_lies(),
                    when |s| s.bytes() >= LEAST_BETWEEN_NODES;
                "doubling" Messages doubling_scan, if |_| true,
                    when |s| s.bytes() >= LEAST_OF_DOUBLING || s.size() >= MANY_MEMBERS;
                "direct" Messages scan_directly, if |_| true, when |_| true;
            }
        }
    };
}
