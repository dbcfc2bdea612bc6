//! Types against their definitions: random nested types, moved by the engine and by the oracle.

mod oracle;
mod rebuild;

use crate::object::datatype::copying::copy;
use crate::object::datatype::cursor::Layout;
use crate::object::datatype::typemap::{Measure, Type};
use oracle::{Recipe, Typemap, build, recipes};
use proptest::prelude::*;
use std::sync::Arc;

/// A memory that has room for elements of a type, and the type in both forms.
struct Memory {
    map: Typemap,
    of: Arc<Type>,
    count: i64,
    first: i64,
    bytes: Vec<u8>,
}

impl Memory {
    fn new(recipe: &Recipe, count: i64, salt: u8) -> Self {
        let (map, of) = (Typemap::of(recipe), build(recipe, false));
        let (lb, ub) = map.true_bounds();
        let way = map.extent() * (count - 1).max(0);
        let (first, end) = (lb.min(lb + way), ub.max(ub + way));
        let bytes = (0..end - first).map(|i| (i as u8).wrapping_mul(31).wrapping_add(salt)).collect();
        Self { map, of, count, first, bytes }
    }

    fn layout(&self) -> Layout {
        self.of.layout(self.count)
    }

    /// The address that displacements are relative to.
    fn base(&mut self) -> *mut u8 {
        self.bytes.as_mut_ptr().wrapping_offset(-self.first as isize)
    }

    fn packed(&self) -> Vec<u8> {
        self.map.places(self.count, self.first).into_iter().map(|place| self.bytes[place]).collect()
    }

    /// What the memory is after so many bytes were unpacked.
    fn unpacked(&self, packed: &[u8]) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        for (place, byte) in self.map.places(self.count, self.first).into_iter().zip(packed) {
            bytes[place] = *byte;
        }
        bytes
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn bounds_are_those_of_the_definition(recipe in recipes()) {
        let (map, of) = (Typemap::of(&recipe), build(&recipe, false));
        prop_assert_eq!(of.size(), map.size());
        prop_assert_eq!(of.convert(of.size(), Measure::Bytes).unwrap_or(0), map.entries.len() as i64);
        let (lb, ub) = map.bounds();
        prop_assert_eq!((of.lb, of.extent()), (lb, ub - lb));
        let (true_lb, true_ub) = map.true_bounds();
        prop_assert_eq!(of.true_extent(), (true_lb, true_ub - true_lb));
    }

    #[test]
    fn chunks_packed_one_by_one_are_the_message(
        recipe in recipes(),
        count in 0i64..4,
        chunks in prop::collection::vec(0usize..200, 1..24),
    ) {
        let mut memory = Memory::new(&recipe, count, 3);
        let (layout, base, packed) = (memory.layout(), memory.base(), memory.packed());
        // SAFETY: the memory has every byte of the elements.
        prop_assert_eq!(&unsafe { layout.pack(base) }, &packed);
        let mut cursor = layout.cursor();
        for bytes in chunks {
            let at = cursor.position();
            let mut chunk = vec![0; bytes];
            // SAFETY: as above.
            let moved = unsafe { cursor.pack(base, chunk.as_mut_ptr(), bytes) };
            prop_assert_eq!(moved, bytes.min(packed.len() - at));
            prop_assert_eq!(&chunk[..moved], &packed[at..at + moved]);
            prop_assert_eq!(cursor.remaining(), packed.len() - at - moved);
        }
    }

    #[test]
    fn unpacking_a_part_in_chunks_changes_its_bytes_and_no_other(
        recipe in recipes(),
        count in 0i64..4,
        part in 0usize..1000,
        chunk in prop_oneof![1usize..50, Just(usize::MAX)],
    ) {
        let mut memory = Memory::new(&recipe, count, 4);
        let (layout, base) = (memory.layout(), memory.base());
        let message: Vec<u8> = (0..layout.bytes() * part / 999).map(|i| (i as u8) ^ 0xa5).collect();
        let message = &message[..message.len().min(layout.bytes())];
        let expected = memory.unpacked(message);
        let mut cursor = layout.cursor();
        for part in message.chunks(chunk) {
            // SAFETY: as above.
            prop_assert_eq!(unsafe { cursor.unpack(part.as_ptr(), part.len(), base) }, part.len());
        }
        prop_assert_eq!(&memory.bytes, &expected);
    }

    #[test]
    fn copying_from_type_to_type_is_packing_and_unpacking(
        from in recipes(),
        to in recipes(),
        counts in (0i64..5, 0i64..5),
    ) {
        let (mut source, mut target) = (Memory::new(&from, counts.0, 5), Memory::new(&to, counts.1, 6));
        let all = source.layout().bytes().min(target.layout().bytes());
        let expected = target.unpacked(&source.packed()[..all]);
        let (source_layout, target_layout) = (source.layout(), target.layout());
        // SAFETY: as above.
        prop_assert_eq!(unsafe { copy(&source_layout, source.base(), &target_layout, target.base()) }, all);
        prop_assert_eq!(&target.bytes, &expected);
    }

    #[test]
    fn the_stream_is_that_of_the_definition(recipe in recipes(), count in 0i64..3) {
        let (map, of) = (Typemap::of(&recipe), build(&recipe, false));
        let mut stream = Vec::new();
        for (basic, times) in of.runs(count) {
            stream.extend((0..times).map(|_| basic.datatype));
        }
        let expected: Vec<_> = (0..count).flat_map(|_| map.entries.iter().map(|entry| entry.0)).collect();
        prop_assert_eq!(stream, expected);
    }

    #[test]
    fn elements_and_bytes_are_converted_into_each_other(recipe in recipes(), count in 1i64..3) {
        let (map, of) = (Typemap::of(&recipe), build(&recipe, false));
        let (mut bytes, mut basics) = (0, 0);
        prop_assert_eq!(of.convert(0, Measure::Bytes), Some(0));
        for (_, size, _) in (0..count).flat_map(|_| &map.entries) {
            if *size > 1 {
                prop_assert_eq!(of.convert(bytes + 1, Measure::Bytes), None);
            }
            bytes += size;
            basics += 1;
            prop_assert_eq!(of.convert(bytes, Measure::Bytes), Some(basics));
            prop_assert_eq!(of.convert(basics, Measure::Basics), Some(bytes));
        }
    }

    #[test]
    fn signatures_are_the_same_when_the_elements_are(one in recipes(), two in recipes()) {
        let elements = |recipe| Typemap::of(recipe).entries.into_iter().map(|of| of.0).collect::<Vec<_>>();
        let same = elements(&one) == elements(&two);
        prop_assert_eq!(build(&one, false).signature == build(&two, false).signature, same);
    }

    #[test]
    fn a_type_made_from_the_contents_of_another_is_the_same(recipe in recipes(), large: bool) {
        let of = build(&recipe, large);
        let again = rebuild::rebuilt(&of);
        prop_assert_eq!((again.size(), again.lb, again.extent()), (of.size(), of.lb, of.extent()));
        prop_assert_eq!(again.true_extent(), of.true_extent());
        prop_assert_eq!(again.signature, of.signature);
        let mut memory = Memory::new(&recipe, 2, 7);
        let base = memory.base();
        // SAFETY: as above, if the types are the same.
        prop_assert_eq!(unsafe { again.layout(2).pack(base) }, memory.packed());
    }
}

#[test]
fn types_nest_as_deep_as_one_likes() {
    use crate::object::datatype::constructor::Constructor;
    let mut of = build(&Recipe::named(crate::constants::MPI_INT), false);
    for i in 0..100_000i64 {
        let constructor = if i % 2 == 0 { Constructor::Dup } else { Constructor::Contiguous { count: 1 } };
        of = Type::new(constructor, [of].into(), false).unwrap();
    }
    assert_eq!(of.layout(3).as_block(), Some(0));
    assert_eq!(of.convert(5 * 4, Measure::Bytes), Some(5));
    assert_eq!(of.runs(7).map(|(_, times)| times).sum::<i64>(), 7);
}

#[test]
fn what_reaches_too_far_is_refused() {
    use crate::object::datatype::constructor::{Constructor as C, Unit};
    let int = || build(&Recipe::named(crate::constants::MPI_INT), false);
    let made = |constructor| Type::new(constructor, [int()].into(), true);
    let refused = |constructor| made(constructor).is_err();
    let hvector = |count, stride| C::Vector { count, blocklength: 1, stride, unit: Unit::Bytes };
    let vector = |count, stride| C::Vector { count, blocklength: 1, stride, unit: Unit::Extents };
    assert!(refused(C::Contiguous { count: i64::MAX }));
    assert!(refused(vector(2, i64::MAX)));
    assert!(refused(hvector(3, i64::MAX / 2 + 5)));
    assert!(refused(hvector(2, i64::MIN)));
    assert!(refused(C::Resized { lb: i64::MAX, extent: 1 }));
    let displacements = [i64::MIN, i64::MAX - 4].into();
    assert!(refused(C::IndexedBlock { blocklength: 1, displacements, unit: Unit::Bytes }));
    // A stride that is never taken does not matter.
    assert!(!refused(vector(1, i64::MAX)));
    let far = made(C::Resized { lb: 0, extent: i64::MAX }).unwrap();
    assert!(far.span(1).is_ok() && far.span(3).is_err());
}
