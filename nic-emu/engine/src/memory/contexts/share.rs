//! A node's share of the job's contexts: takes one, and takes back the slot of one that nobody uses any more.

use super::number::{Context, END, FIRST_FREE_CONTEXT, GENERATIONS, HERE, PREDEFINED, SLOTS};
use crate::memory::NicMemory;
use crate::memory::sync::{AtomicU32, Ordering};

/// Who uses a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Members on this node alone.
    Here,
    /// Members on several nodes.
    Nodes,
}

/// Takes a context; none when all numbers, or all slots of this node, are in use, or so many communicators
/// are broken that one more could not be told of.
pub fn take(memory: &NicMemory, reach: Reach) -> Option<Context> {
    if memory.breaches().is_full() {
        return None;
    }
    let counters = &memory.header().contexts;
    match reach {
        _ if memory.node().1 <= 1 => next(&counters.here, FIRST_FREE_CONTEXT),
        Reach::Here => next(&counters.here, HERE),
        Reach::Nodes => take_slot(memory, &counters.slot),
    }
}

/// The next of the even numbers from `first` on, below the end.
fn next(count: &AtomicU32, first: u32) -> Option<Context> {
    let number = |count: u32| u64::from(first) + 2 * u64::from(count);
    let more = |count| (number(count) < u64::from(END)).then_some(count + 1);
    let count = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
    Some(Context(number(count) as u32))
}

/// A slot's word: the generation that is next, or in use, and whether it is.
fn word(generation: u32, used: bool) -> u32 {
    generation << 1 | u32::from(used)
}

fn take_slot(memory: &NicMemory, look: &AtomicU32) -> Option<Context> {
    let (node, nodes) = memory.node();
    let limit = memory.header().context_slots.get().min(SLOTS);
    let share = limit.saturating_sub(node).div_ceil(nodes);
    for _ in 0..share {
        let slot = look.fetch_add(1, Ordering::Relaxed) % share * nodes + node;
        let Some(state) = memory.context_slots().get(slot as usize).filter(|_| slot >= PREDEFINED) else {
            continue;
        };
        let now = state.load(Ordering::Acquire);
        let (generation, used) = (now >> 1, now & 1 == 1);
        let takes = word(generation, true);
        if !used
            && generation < GENERATIONS
            && state.compare_exchange(now, takes, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        {
            return Some(Context((generation * SLOTS + slot) * 2));
        }
    }
    None
}

/// Takes back the slot of a context that nobody uses any more, if it has one. False when it is not of this
/// node, or not in use.
pub fn give_back(memory: &NicMemory, context: Context) -> bool {
    if !has_slot(memory, context) {
        return memory.node().1 <= 1 || context.0 >= HERE;
    }
    let (node, nodes) = memory.node();
    let (slot, generation) = (context.slot(), context.generation());
    let Some(state) = memory.context_slots().get(slot as usize).filter(|_| slot % nodes == node) else {
        return false;
    };
    let (used, free) = (word(generation, true), word(generation + 1, false));
    state.compare_exchange(used, free, Ordering::AcqRel, Ordering::Relaxed).is_ok()
}

/// Whether a context has a slot: a row of the table of groups.
pub fn has_slot(memory: &NicMemory, context: Context) -> bool {
    memory.node().1 > 1 && context.0 < HERE
}

/// Whether a communicator's context comes back when its members leave: those of predefined communicators
/// never do.
pub fn comes_back(memory: &NicMemory, context: Context) -> bool {
    has_slot(memory, context) && context.slot() >= PREDEFINED
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::memory::Layout;
    use std::collections::HashSet;

    fn node(number: u32, nodes: u32, slots: u32) -> NicMemory {
        let layout = Layout::new(1, nodes, [0; 2]).unwrap();
        let memory = NicMemory::create_private(layout, number, nodes).unwrap();
        memory.header().context_slots.set(slots);
        memory
    }

    #[test]
    fn nodes_never_give_the_same_number() {
        let memories: Vec<_> = (0..3).map(|number| node(number, 3, SLOTS)).collect();
        let mut seen = HashSet::new();
        for memory in &memories {
            for _ in 0..SLOTS / 3 - PREDEFINED {
                let context = take(memory, Reach::Nodes).unwrap();
                assert!((FIRST_FREE_CONTEXT..HERE).contains(&context.0) && context.0.is_multiple_of(2));
                assert!(seen.insert(context.slot()) && comes_back(memory, context));
                assert_eq!(context.owner(3), memory.node().0);
            }
            let here = [take(memory, Reach::Here).unwrap(), take(memory, Reach::Here).unwrap()];
            assert_eq!(here, [Context(HERE), Context(HERE + 2)]);
        }
    }

    #[test]
    fn a_slot_is_given_again_when_it_has_come_back_and_its_number_never() {
        let memory = node(1, 2, 64);
        let mut live: Vec<Context> = std::iter::from_fn(|| take(&memory, Reach::Nodes)).collect();
        assert_eq!(live.len() as u32, (64 - PREDEFINED) / 2);
        let kept = live.pop().unwrap();
        let mut seen: HashSet<Context> = live.iter().copied().collect();
        for _ in 0..2000 {
            let freed = live.remove(0);
            assert!(give_back(&memory, freed) && !give_back(&memory, freed));
            let taken = take(&memory, Reach::Nodes).unwrap();
            assert!(taken.slot() == freed.slot() && seen.insert(taken) && taken.slot() != kept.slot());
            live.push(taken);
            assert_eq!(take(&memory, Reach::Nodes), None);
        }
    }

    #[test]
    fn what_was_not_given_is_not_taken_back() {
        let memory = node(0, 2, SLOTS);
        let context = take(&memory, Reach::Nodes).unwrap();
        for strange in [2, 2 * (SLOTS - 2), context.0 + 2, context.0 + 2 * SLOTS, HERE - 2] {
            assert!(!give_back(&memory, Context(strange)), "{strange}");
        }
        assert!(give_back(&memory, context));
    }

    #[test]
    fn a_slot_that_is_worn_out_is_not_given_again() {
        let memory = node(0, 2, PREDEFINED + 2);
        for generation in 0..GENERATIONS {
            let context = take(&memory, Reach::Nodes).unwrap();
            assert_eq!((context.generation(), context.slot()), (generation, PREDEFINED));
            assert!(give_back(&memory, context));
        }
        assert_eq!(take(&memory, Reach::Nodes), None);
    }

    #[test]
    fn a_job_on_one_node_gives_all_numbers_once() {
        let memory = NicMemory::of_ranks(1);
        let taken: Vec<Context> =
            [Reach::Here, Reach::Nodes].into_iter().filter_map(|reach| take(&memory, reach)).collect();
        assert_eq!(taken, [16, 18].map(Context));
        assert!(taken.iter().all(|context| !comes_back(&memory, *context)));
        let last = AtomicU32::new((END - FIRST_FREE_CONTEXT) / 2 - 1);
        assert_eq!(next(&last, FIRST_FREE_CONTEXT), Some(Context(END - 2)));
        assert_eq!([next(&last, FIRST_FREE_CONTEXT), next(&last, FIRST_FREE_CONTEXT)], [None; 2]);
    }
}
