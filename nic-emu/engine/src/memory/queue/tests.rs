//! Whatever is queued, found and taken out: long queues answer as a search from the oldest entry would.

use super::{PostedReceives, UnexpectedMessages};
use crate::matching::Envelope;
use crate::memory::descriptor::{ANY_TAG, Check, ReceiveDescriptor, ReceiveWords};
use crate::memory::ring::Words;
use crate::memory::{CommRank, Context, LocalRank, NicMemory, RequestId};
use proptest::prelude::*;

fn envelope((context, source, tag): (u32, u32, i32)) -> Envelope {
    Envelope { context: Context(context), source: CommRank(source), tag }
}

/// Few contexts, sources and tags, so that many entries have the same.
fn message() -> impl Strategy<Value = Envelope> {
    (0u32..2, 0u32..3, 0i32..4).prop_map(envelope)
}

fn receive() -> impl Strategy<Value = Envelope> {
    let source = prop_oneof![3 => 0u32..3, 1 => Just(CommRank::ANY_SOURCE.0)];
    let tag = prop_oneof![3 => 0i32..4, 1 => Just(ANY_TAG)];
    (0u32..2, source, tag).prop_map(envelope)
}

#[derive(Clone, Debug)]
enum Step {
    Push(Envelope),
    Take(Envelope),
    /// The entry of this request, for whatever reason.
    Remove(usize),
    /// A matched probe.
    Rename(Envelope),
}

fn steps(
    queued: impl Strategy<Value = Envelope> + 'static,
    sought: impl Strategy<Value = Envelope> + Clone + 'static,
) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => queued.prop_map(Step::Push),
        3 => sought.clone().prop_map(Step::Take),
        1 => any::<usize>().prop_map(Step::Remove),
        1 => sought.prop_map(Step::Rename),
    ];
    proptest::collection::vec(step, 0..400)
}

/// A descriptor's words, with a number that tells it from all others.
fn words(envelope: &Envelope, number: u32) -> Words {
    let Envelope { context, source, tag } = *envelope;
    let (request, check) = (RequestId(number), Check::NONE);
    ReceiveDescriptor { context, source, tag, capacity: 0, check, request, address: 0 }.encode()
}

fn number_of(words: &Words) -> u32 {
    ReceiveWords(words).request().0
}

proptest! {
    #[test]
    fn a_receive_takes_the_oldest_message_that_it_may(steps in steps(message(), receive().boxed())) {
        let memory = NicMemory::of_ranks(2);
        let unexpected = UnexpectedMessages::of(&memory, memory.rank(LocalRank(0)).unwrap());
        let other = UnexpectedMessages::of(&memory, memory.rank(LocalRank(1)).unwrap());
        let mut model: Vec<(Envelope, u32)> = Vec::new();
        let mut renamed = 100;
        for (number, step) in (0u32..).zip(steps) {
            let sought = |receive: Envelope| {
                unexpected.find_message(receive, |message| receive.takes(&message)).unwrap()
            };
            match step {
                Step::Push(envelope) => {
                    prop_assert!(unexpected.push_message(&words(&envelope, number)).unwrap());
                    prop_assert!(other.push_message(&words(&envelope, number)).unwrap());
                    model.push((envelope, number));
                }
                Step::Take(receive) | Step::Rename(receive) => {
                    let expected = model.iter().position(|(message, _)| receive.takes(message));
                    let found = sought(receive);
                    let numbers = found.map(|(_, cell)| number_of(&cell.read()));
                    prop_assert_eq!(numbers, expected.map(|at| model[at].1));
                    match (found, step) {
                        (Some((entry, _)), Step::Rename(_)) => {
                            renamed += 1;
                            unexpected.set_context(entry, Context(renamed)).unwrap();
                            model[expected.unwrap()].0.context = Context(renamed);
                        }
                        (Some((entry, _)), _) => {
                            unexpected.remove(entry).unwrap();
                            model.remove(expected.unwrap());
                        }
                        (None, _) => {}
                    }
                }
                Step::Remove(at) if !model.is_empty() => {
                    let (_, number) = model.remove(at % model.len());
                    let is_it = |words: &Words| number_of(words) == number;
                    let (entry, _) = unexpected.list().find(&memory, is_it).unwrap().unwrap();
                    unexpected.remove(entry).unwrap();
                }
                Step::Remove(_) => {}
            }
            prop_assert_eq!(unexpected.count() as usize, model.len());
            prop_assert_eq!(unexpected.list().is_empty(), model.is_empty());
        }
        // Those in contexts of their own are found there.
        while let Some((envelope, number)) = model.pop() {
            let takes = |message| envelope.takes(&message);
            let (entry, cell) = unexpected.find_message(envelope, takes).unwrap().unwrap();
            if envelope.context > Context(100) {
                prop_assert_eq!(number_of(&cell.read()), number);
                unexpected.remove(entry).unwrap();
            }
        }
    }

    #[test]
    fn a_message_meets_the_oldest_receive_that_takes_it(steps in steps(receive(), message().boxed())) {
        let memory = NicMemory::of_ranks(2);
        let posted = PostedReceives::of(&memory, memory.rank(LocalRank(0)).unwrap());
        let mut model: Vec<(Envelope, u32)> = Vec::new();
        for (number, step) in (0u32..).zip(steps) {
            match step {
                Step::Push(envelope) => {
                    prop_assert!(posted.push(&words(&envelope, number)).unwrap());
                    model.push((envelope, number));
                }
                Step::Take(message) | Step::Rename(message) => {
                    let expected = model.iter().position(|(receive, _)| receive.takes(&message));
                    let takes = |receive: Envelope| receive.takes(&message);
                    let found = posted.find_receive(message, takes).unwrap();
                    prop_assert_eq!(
                        found.map(|(_, words)| number_of(&words)),
                        expected.map(|at| model[at].1)
                    );
                    if let Some((at, _)) = found {
                        posted.remove(at).unwrap();
                        model.remove(expected.unwrap());
                    }
                }
                Step::Remove(at) if !model.is_empty() => {
                    let (_, number) = model.remove(at % model.len());
                    let at = posted.find_request(RequestId(number)).unwrap().unwrap();
                    posted.remove(at).unwrap();
                }
                Step::Remove(_) => {}
            }
            prop_assert_eq!(posted.count() as usize, model.len());
        }
    }
}

/// A hundred thousand messages taken from the last to the first look at a few entries each.
#[test]
fn the_search_of_a_long_queue_does_not_grow_with_it() {
    let memory = NicMemory::of_ranks(2);
    let unexpected = UnexpectedMessages::of(&memory, memory.rank(LocalRank(0)).unwrap());
    const MESSAGES: i32 = 100_000;
    for tag in 0..MESSAGES {
        let message = envelope((1, tag as u32 % 7, tag));
        assert!(unexpected.push_message(&words(&message, tag as u32)).unwrap());
    }
    let mut looks = 0u64;
    for tag in (0..MESSAGES).rev() {
        let source = if tag % 2 == 0 { CommRank::ANY_SOURCE } else { CommRank(tag as u32 % 7) };
        let receive = Envelope { context: Context(1), source, tag };
        let takes = |message| {
            looks += 1;
            receive.takes(&message)
        };
        let (entry, _) = unexpected.find_message(receive, takes).unwrap().unwrap();
        unexpected.remove(entry).unwrap();
    }
    assert!(unexpected.list().is_empty());
    assert!(looks < 30 * MESSAGES as u64, "{looks} looks for {MESSAGES} messages");
}
