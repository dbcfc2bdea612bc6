//! Which algorithm a collective takes, by the table of all algorithms (`crate::algorithms`): thresholds, and
//! what is known of a call.
//!
//! The first algorithm that can be used and suits is taken, or the one that the user wants, where that can be
//! used. All members have to take the same one, so both depend on what all know alone: the call, its
//! form, where members are, and sizes about which all say the same. `storm run --collective
//! COLLECTIVE=ALGORITHM microbench` measures one beside another.

use super::algorithm;
use crate::collective::algorithm::Synchronization;
use crate::collective::{Broadcast, Combination, Movement, Reduction, Results};
use crate::error::{MpiError, MpiResult, Problem};
use crate::object::collective::Collective;
use crate::process::monitor::note_algorithm;
use crate::progress::{Members, Membership, Nodes, Party};
use nic_emu::descriptor::INLINE_BYTES;
use nic_emu::lane::LANE_MEMBERS;
use nic_emu::memory::BROUGHT_BYTES;
use nic_emu::slab::SLAB_BYTES;
use std::cell::OnceCell;
use std::rc::Rc;

/// Bytes from which on members of one node combine shares of a vector. Below, the 2 log2 n messages of a
/// tree are fewer than the 2 (n - 1) of every member.
const LEAST_OF_SHARES: usize = 4 << 10;

/// The same between nodes. With 8 ranks on four hosts an allreduce of 256 KB takes 5.6 ms along the tree,
/// 7.1 by halving, 8.4 by shares; of 1 MB 17, 13 and 16; of 16 MB 196, 173 and 155, and in lanes 137
/// (`storm run --collective allreduce=tree -n 8 --ppn 2 microbench allreduce --sizes 256K,1M,16M`).
const LEAST_BETWEEN_NODES: usize = 512 << 10;

/// Members on one node from which on the NIC goes slab by slab, where ranks share cores. An allreduce of 16
/// KB takes 10 µs with 3 ranks on two cores, and 15 by an exchange, 13 and 26 with 4 ranks, 28 and 52 with 8,
/// 58 and 176 with 16 (`storm run --collective allreduce=nic -n 8 microbench allreduce --sizes 16K`).
const LEAST_OF_SLABS: usize = 3;

/// Slabs of a broadcast up to which the NIC is quicker there. 64 KB take 17 µs with 4 ranks on two cores, and
/// 20 by an exchange, 54 and 156 with 16; 256 KB 56 and 59, 191 and 143; 1 MB 198 and 119, 1,180 and 604
/// (`storm run --collective bcast=nic -n 4 microbench bcast --sizes 64K,256K,1M`).
const BROADCAST_SLABS: usize = 8;

/// Bytes of a block up to which two members with a core each send each other messages where all would
/// exchange. They neither meet nor wait until the other one has taken what lies in a lane. An alltoall of 16
/// KB takes 2.4 µs so with near cores, and 6.0 by an exchange, of 256 KB 22 and 34, of 1 MB 108 both ways;
/// with far cores of 16 KB 5.0 and 6.7, of 256 KB 36 and 31 (`storm run -n 2 --collective alltoall=direct
/// microbench alltoall --sizes 16K,256K,1M`). Broadcasts, gathers and scatters are quicker by messages at any
/// size: a broadcast of 16 KB takes 1.4 and 2.6, with far cores 2.8 and 10.5, of 256 KB 8.7 and 10.3, and 20
/// and 22 (`bcast=binomial`), on an Intel Xeon 14 and 19, of 1 MB 42 and 65; a scatter of 256 KB 14 and 27,
/// with far cores 21 and 27, of 16 MB 3.8 ms and 5.4.
const MOST_OF_A_PAIR: usize = 256 << 10;

/// The same of an alltoall where cores take written lines from each other quickly: 128 KB take 13 µs by
/// messages there, and 19 by an exchange, 192 KB 17 and 12, 256 KB 22 and 16 (an Intel Xeon).
const MOST_OF_A_QUICK_PAIR: usize = 128 << 10;

/// Bytes of a vector up to which they combine along the tree where cores are slow to take written lines: an
/// allreduce of 16 KB takes 3.4 µs so, and 5.2 by an exchange, 6.5 by shares; 5.4, 3.7 and 4.9 on an Intel
/// Xeon (`storm run -n 2 --collective allreduce=tree microbench allreduce --sizes 16K`).
const MOST_OF_A_PAIRS_TREE: usize = 16 << 10;

/// Bytes of a block up to which a message costs more than they do.
const FEW_BYTES: usize = 512;

/// Members from which on log2 n messages, one after the other, are quicker than n at the same time.
const MANY_MEMBERS: usize = 16;

/// Bytes of a vector from which on members of a node combine theirs before they send any to others.
const LEAST_OF_LANES: usize = 4 << 20;

/// Bytes of a block up to which an alltoall goes from node to node. On four hosts, beside other load, blocks
/// of 1 KB take 3.3 ms with 16 ranks, and 5.1 directly; of 2 KB 4.6, and 5.5; of 4 KB 6.7, and 5.3. With 8
/// ranks they take 1.2 and 1.3, 1.4 and 1.4, 1.6 and 1.4 (`storm run --collective alltoall=nodes -n 16
/// --ppn 4 microbench alltoall --sizes 1K,2K,4K`).
const MOST_BY_NODES: usize = 2 << 10;

/// Members from which on an alltoall goes from node to node, and a reduce-scatter of any length in lanes.
/// With 16 ranks on four hosts, beside other load, a reduce-scatter of 1 KB blocks takes 3.2 ms in lanes,
/// and 6.2 by shares; of 64 KB 10, and 16; of 1 MB 125, and 152. With 8 ranks it takes 1.2 and 2.1, 5.3 and
/// 6.3, 48 and 63; of 256 KB as long. With 4 ranks on two hosts both take as long, and an alltoall of 1 KB
/// 0.31, and 0.29 directly (`storm run --collective reduce_scatter=lanes -n 16 --ppn 4 microbench
/// reduce_scatter_block --sizes 1K,64K,1M`).
const LEAST_BY_NODES: usize = 8;

/// Members from which on halves of a vector, one after the other, are quicker than shares, up to a few MB.
const LEAST_OF_HALVING: usize = 8;

/// Bytes from which on a scan in log2 n steps is quicker than in one: with 8 ranks on four hosts 16 KB
/// take 1.9 ms, and 2.5, but 1 KB 0.85, and 0.7 (`storm run --collective scan=direct -n 8 --ppn 2 microbench
/// scan --sizes 1K,16K`).
const LEAST_OF_DOUBLING: usize = 8 << 10;

/// Members up to which collectives in which everybody waits for everybody are quicker by messages between
/// nodes. An allreduce of 8 B takes 23 to 30 µs by messages (along the tree) with 2 ranks on two hosts, and
/// 156 to 176 on the NIC; with 4 on four hosts 205 and 218, and 329 and 339. With 8 ranks there, on two
/// processors in all, it takes 443 to 602, and 425 to 448; an alltoall 515 and 532, and 461 and 497
/// (`storm run -n 8 --ppn 2 --collective allreduce=tree,alltoall=direct microbench allreduce,alltoall
/// --sizes 8`).
const FEW_BETWEEN_NODES: u32 = 4;

/// Members up to which those that share nodes meet by messages, node by node, with contributions that ride in
/// a descriptor. With 8 ranks on four hosts a barrier takes 258 to 307 µs so, and 428 to 515 on the NIC; an
/// allreduce of 8 B 293 to 384, and 450 to 540, but one of 1 KB 423 to 608, and 474 to 503. With 16 ranks
/// there, on two processors in all, a barrier takes 804, and 635 to 679; with 4 on two hosts an allreduce of
/// 8 B 32, and 55 to 67 by doubling (`storm run -n 8 --ppn 2 --collective barrier=nodes,allreduce=nodes
/// microbench barrier,allreduce --sizes 8,1K`).
const FEW_BY_NODES: u32 = 8;

/// Whether a collective that blocks, that the NIC could do, and in which members wait for some of the others
/// alone (a broadcast, a gather, a scatter, a scan) is quicker by messages: between nodes, where messages
/// leave as soon as they are posted (with fixed slices each takes one and a half). On the NIC members meet.
/// Times of 8 B in µs, by messages and by the NIC, two rounds each:
///
/// | ranks | gather | scatter | scan |
/// |---|---|---|---|
/// | 2 on two hosts | 5, 9 and 121, 117 | 7, 5 and 143, 144 | 9, 6 and 154, 182 |
/// | 4 on four hosts | 18, 20 and 182, 181 | 10, 11 and 318, 306 | 37, 32 and 334, 342 |
/// | 8 on four hosts | 48, 36 and 215, 185 | 26, 20 and 450, 430 | 163, 139 and 483, 428 |
///
/// (`storm run -n 8 --ppn 2 --collective gather=board,scatter=nic,scan=board microbench gather0,scatter0,scan
/// --sizes 8`)
pub fn spreads_by_messages(spans_nodes: bool, sends_at_once: bool) -> bool {
    spans_nodes && sends_at_once
}

/// The same of a collective of so many members in which everybody waits for everybody, and of reductions to
/// one root, whose loops fill the processor of the last member on the way.
pub fn meets_by_messages(members: u32, spans_nodes: bool, sends_at_once: bool) -> bool {
    members <= FEW_BETWEEN_NODES && spreads_by_messages(spans_nodes, sends_at_once)
}

/// Whether members of a barrier or an allreduce of so many bytes are so few that they meet by messages, node
/// by node, if they share nodes.
pub fn may_meet_by_nodes(members: u32, bytes: usize, spans_nodes: bool, sends_at_once: bool) -> bool {
    members <= FEW_BY_NODES && bytes <= INLINE_BYTES && spreads_by_messages(spans_nodes, sends_at_once)
}

/// What all members know of a call.
pub struct Situation<'a> {
    members: &'a dyn Membership,
    /// Who asks, if there is more than messages.
    party: Option<&'a Party>,
    /// Bytes that a member gives at most; none where each has blocks that nobody else knows of.
    bytes: Option<usize>,
    /// How vectors are combined, if they are.
    reduction: Option<&'a Reduction>,
    /// The result goes to all.
    all_get: bool,
    /// Where members are, once that is asked.
    nodes: OnceCell<Option<Rc<Nodes>>>,
}

impl<'a> Situation<'a> {
    /// Members give so many bytes each at most, or blocks that nobody else knows of (none), which are
    /// combined by a reduction, if there is one.
    pub fn of(party: &'a Party, bytes: Option<usize>, reduction: Option<&'a Reduction>) -> Self {
        Self { party: Some(party), ..Self::apart(party, bytes, reduction) }
    }

    /// The same of members that have nothing but messages.
    pub fn apart(
        members: &'a dyn Membership,
        bytes: Option<usize>,
        reduction: Option<&'a Reduction>,
    ) -> Self {
        Self { members, party: None, bytes, reduction, all_get: false, nodes: OnceCell::new() }
    }

    /// Who gets what of the vectors that are combined.
    pub fn with_results(self, results: &Results) -> Self {
        Self { all_get: matches!(results, Results::All), ..self }
    }

    /// All members get all of the result.
    fn all_get(&self) -> bool {
        self.all_get
    }

    /// A call waits for the operation's end.
    fn blocks(&self) -> bool {
        self.party.is_some_and(|party| party.blocks)
    }

    /// All members are on this node.
    fn is_on_one_node(&self) -> bool {
        self.party.is_some_and(Party::is_on_one_node)
    }

    fn size(&self) -> usize {
        self.members.size() as usize
    }

    /// Where members are; unknown where NIC memory was damaged.
    fn nodes(&self) -> Option<&Nodes> {
        self.nodes.get_or_init(|| self.members.nodes().ok()).as_deref()
    }

    /// Bytes of a contribution; none at all where nobody knows.
    fn bytes(&self) -> usize {
        self.bytes.unwrap_or(0)
    }

    /// Members may give something.
    fn gives_something(&self) -> bool {
        self.members.size() > 1 && self.bytes != Some(0)
    }

    /// All give as many bytes, and the NIC does that by itself.
    fn fits_nic(&self) -> bool {
        let most = self.party.map_or(INLINE_BYTES, Party::room_on_nic);
        self.bytes.is_some_and(|bytes| bytes <= most)
    }

    /// A member gives a slab at most.
    fn fits_slab(&self) -> bool {
        self.bytes() <= SLAB_BYTES
    }

    /// Messages to other nodes leave at once, and the call waits for them.
    fn waits_for_messages(&self) -> bool {
        self.blocks() && self.party.is_some_and(Party::sends_at_once)
    }

    /// Quicker by messages than on the NIC, where members wait for some of the others alone.
    fn spreads_by_messages(&self) -> bool {
        spreads_by_messages(!self.is_on_one_node(), self.waits_for_messages())
    }

    /// Quicker by messages than on the NIC, where everybody waits for everybody.
    fn meets_by_messages(&self) -> bool {
        meets_by_messages(self.members.size(), !self.is_on_one_node(), self.waits_for_messages())
    }

    /// The same, where members share nodes and those of a node meet first.
    fn meets_by_nodes(&self) -> bool {
        let (members, spans_nodes) = (self.members.size(), !self.is_on_one_node());
        may_meet_by_nodes(members, self.bytes(), spans_nodes, self.waits_for_messages())
            && self.shares_nodes()
    }

    /// The same of vectors, of which all get the result.
    fn combines_by_nodes(&self) -> bool {
        self.all_get() && self.meets_by_nodes() && self.has_parts()
    }

    /// Vectors are combined by messages, in one of these ways.
    fn combines_by_messages(&self) -> bool {
        self.meets_by_messages() || self.combines_by_nodes()
    }

    /// The NIC can do the operation.
    fn is_on_nic(&self) -> bool {
        self.reduction.is_some_and(|reduction| reduction.on_nic().is_some())
    }

    /// The NIC can combine slab by slab: members are on one node, and a call waits for all slabs. Each slab
    /// is a collective with a number of its own.
    fn can_go_in_slabs(&self) -> bool {
        self.is_on_nic() && self.blocks() && self.is_on_one_node()
    }

    /// The NIC can move blocks slab by slab.
    fn can_move_slabs(&self) -> bool {
        self.blocks() && self.is_on_one_node() && self.gives_something() && self.bytes.is_some()
    }

    /// All members share one node's cores, and what a member gives is so few slabs: then the NIC is quicker
    /// than an exchange, in which every member waits for every other one.
    fn is_up_to(&self, slabs: usize) -> bool {
        self.is_on_one_node()
            && self.size() >= LEAST_OF_SLABS
            && self.bytes() <= slabs * SLAB_BYTES
            && self.party.is_some_and(Party::is_crowded)
    }

    /// There are two members, with a core each.
    fn is_pair(&self) -> bool {
        self.size() == 2 && self.party.is_some_and(|party| party.is_on_one_node() && !party.is_crowded())
    }

    /// The same, whose cores take written lines from each other quickly.
    fn is_quick_pair(&self) -> bool {
        self.is_pair() && !self.party.is_some_and(Party::has_slow_lines)
    }

    /// Two members combine vectors along the tree.
    fn is_a_pairs_tree(&self) -> bool {
        self.is_pair_up_to(MOST_OF_A_PAIRS_TREE) && !self.is_quick_pair()
    }

    /// Two members swap blocks of an alltoall by messages.
    fn swaps_by_messages(&self) -> bool {
        let most = if self.is_quick_pair() { MOST_OF_A_QUICK_PAIR } else { MOST_OF_A_PAIR };
        self.is_pair_up_to(2 * most)
    }

    /// There are two members, who give so many bytes at most.
    fn is_pair_up_to(&self, bytes: usize) -> bool {
        self.bytes() <= bytes && self.is_pair()
    }

    /// Operands travel as they lie in memory.
    fn travels_as_it_lies(&self) -> bool {
        self.reduction.is_some_and(Reduction::travels_as_it_lies)
    }

    /// Each has a block of the same length, so small that messages cost more than their bytes, and there
    /// are many.
    fn is_small_among_many(&self, blocks: usize) -> bool {
        let bytes = self.bytes().div_ceil(blocks.max(1));
        bytes > 0 && bytes <= FEW_BYTES && self.size() >= MANY_MEMBERS
    }

    /// Members of a node act for each other before anything goes to another node.
    fn goes_by_nodes(&self) -> bool {
        self.size() >= LEAST_BY_NODES
    }

    /// Each has blocks of the same length, so small that they may go to a member of the node first.
    fn carries_blocks(&self) -> bool {
        let bytes = self.bytes().div_ceil(self.size());
        (1..=MOST_BY_NODES).contains(&bytes) && self.goes_by_nodes()
    }

    /// There are several nodes, and members share some.
    fn shares_nodes(&self) -> bool {
        let share = |nodes: &Nodes| nodes.count() > 1 && nodes.count() < self.size();
        !self.is_on_one_node() && self.nodes().is_some_and(share)
    }

    /// Members share nodes, and those of a node are a whole part of the reduction tree.
    fn has_parts(&self) -> bool {
        let each = |nodes: &Nodes| nodes.parts_of_the_tree().filter(|_| nodes.count() > 1);
        !self.is_on_one_node() && self.nodes().and_then(each).is_some_and(|each| each > 1)
    }

    /// The same, and operands travel as they lie in memory.
    fn has_lanes(&self) -> bool {
        // Last what takes longest.
        self.travels_as_it_lies() && self.has_parts()
    }

    /// Members are a power of two, and there is something for each.
    fn can_halve(&self) -> bool {
        self.members.size() > 1 && self.members.size().is_power_of_two() && self.travels_as_it_lies()
    }

    /// Members combine shares of a vector.
    fn has_shares(&self) -> bool {
        let least = if self.is_on_one_node() { LEAST_OF_SHARES } else { LEAST_BETWEEN_NODES };
        self.bytes() >= least && !self.is_a_pairs_tree()
    }

    /// Members combine halves of a vector: where there are so many that a share is not worth a message, or
    /// between nodes, below what lanes are for.
    fn has_halves(&self) -> bool {
        let is_short = self.size() >= MANY_MEMBERS && self.bytes() / self.size() < FEW_BYTES;
        let is_between = !self.is_on_one_node() && self.size() >= LEAST_OF_HALVING;
        self.has_shares() && (is_short || is_between && self.bytes() < LEAST_OF_LANES)
    }

    /// Members can put up their contributions on a board.
    fn fits_board(&self) -> bool {
        let is_small = self.is_on_one_node() || self.bytes().saturating_mul(self.size()) <= BROUGHT_BYTES;
        self.party.is_some() && self.gives_something() && self.fits_nic() && is_small
    }

    /// Members can exchange contributions: all are on this node, and are not so many that looking at all of
    /// them takes long. In a call that blocks: nobody takes what is given while ranks compute.
    fn can_exchange(&self) -> bool {
        self.blocks()
            && self.is_on_one_node()
            && self.members.size() <= LANE_MEMBERS
            && self.gives_something()
    }

    /// Members can put up their vectors, at once or slab by slab: no element may be longer than a slab.
    fn can_put_up_vectors(&self) -> bool {
        let has_slabs = self.reduction.is_some_and(|it| it.element <= SLAB_BYTES) && self.can_move_slabs();
        self.travels_as_it_lies() && (self.fits_board() || has_slabs)
    }

    /// Members can exchange vectors.
    fn can_exchange_vectors(&self) -> bool {
        self.can_exchange() && self.travels_as_it_lies()
    }
}

/// The number of the NIC among the algorithms of reduce and of allreduce: the first.
pub const ON_NIC: usize = 0;

/// What carries the bytes of an algorithm. Whatever it is, the NIC compares what members say of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Members meet on the NIC, and what each gives goes along: in one piece, or slab by slab.
    Slab,
    /// Members meet, and give and take in their lanes.
    Exchange,
    /// Members announce the operation, and send messages.
    Messages,
}

/// An algorithm of a collective.
pub struct Algorithm {
    /// As users name it.
    pub name: &'static str,
    /// What carries its bytes.
    pub transport: Transport,
    /// Whether it can be used.
    pub can: fn(&Situation<'_>) -> bool,
    /// Whether it is to be used, if none before it is.
    suits: fn(&Situation<'_>) -> bool,
}

/// The algorithms of a collective, in the order in which they are asked.
pub fn algorithms(collective: Collective) -> &'static [Algorithm] {
    TABLE[collective as usize].2
}

/// The number of the algorithm that an operation takes: by its plan, if it has one.
pub fn choice(collective: Collective, situation: &Situation<'_>) -> usize {
    let choose = || chosen(collective, situation);
    let goes_by_slab = |number: usize| algorithms(collective)[number].transport == Transport::Slab;
    let plan = situation.party.and_then(Party::plan);
    plan.map_or_else(choose, |plan| plan.choice(choose, goes_by_slab))
}

fn chosen(collective: Collective, situation: &Situation<'_>) -> usize {
    let algorithms = algorithms(collective);
    let can = |number: &usize| algorithms.get(*number).is_some_and(|algorithm| (algorithm.can)(situation));
    let suits = |algorithm: &Algorithm| (algorithm.can)(situation) && (algorithm.suits)(situation);
    let wanted = situation.party.and_then(|party| party.wanted.algorithm(collective));
    // The last one can always be used.
    wanted.filter(can).or_else(|| algorithms.iter().position(suits)).unwrap_or(algorithms.len() - 1)
}

macro_rules! by_messages {
    (Messages $algorithm:ident($members:expr, $call:expr)) => {
        algorithm::$algorithm($members, $call).await
    };
    ($kind:ident $algorithm:ident($members:expr, $call:expr)) => {{
        let algorithm = stringify!($algorithm);
        Err(MpiError::new(Problem::Nic(format!("{algorithm} needs more than messages"))))
    }};
}

macro_rules! algorithms {
    ($($($(#[$doc:meta])* $collective:ident),+ ($call:ty) $algorithms:tt)+) => {
        /// All collectives that have several algorithms, with their names and their algorithms.
        pub const TABLE: &[(Collective, &str, &[Algorithm])] =
            &[$($((Collective::$collective, Collective::$collective.name(), $collective::ALGORITHMS)),+),+];

        $($($(#[$doc])* pub mod $collective {
            use super::*;

            algorithms_of! { $collective($call) $algorithms }
        })+)+
    };
}

macro_rules! algorithms_of {
    ($collective:ident($call:ty) {
        $($name:literal $transport:ident $algorithm:ident, if $can:expr, when $suits:expr;)+
    }) => {
        /// In the order in which they are asked.
        pub const ALGORITHMS: &[Algorithm] = &[$(
            Algorithm { name: $name, transport: Transport::$transport, can: $can, suits: $suits }
        ),+];

        /// Runs the algorithm of this number.
        ///
        /// # Errors
        /// As the algorithms say.
        pub async fn run(number: usize, party: &Party, call: $call) -> MpiResult {
            note_algorithm(Collective::$collective, number);
            if ALGORITHMS[number].transport == Transport::Messages {
                party.announce(&call.arrival())?;
            }
            let mut numbers = 0..;
            $(if numbers.next() == Some(number) {
                return algorithm::$algorithm(party, call).await;
            })+
            Ok(())
        }

        /// Runs it by messages alone.
        ///
        /// # Errors
        /// It needs more than messages; otherwise as the algorithms say.
        pub async fn run_by_messages(number: usize, members: &impl Members, call: $call) -> MpiResult {
            let mut numbers = 0..;
            $(if numbers.next() == Some(number) {
                return by_messages!($transport $algorithm(members, call));
            })+
            Ok(())
        }
    };
}

table_of_algorithms! { algorithms }
