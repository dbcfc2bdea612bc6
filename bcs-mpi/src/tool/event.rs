//! The table of events, and their source (MPI-5.0, §15.3.8). A kind of event is a line of it.
//!
//! The source is this process: events are those that it sees, in the order in which it does. The NIC begins
//! slices while the process computes, too; the process sees that in its next call.

use super::category::Category;
use super::enumeration::Names;
use super::performance::counter_of;
use super::value::{Form, Value};
use super::{Told, at};
use crate::constants::*;
use crate::object::event::{EventKind, Happening};
use crate::process::SOURCE;
use nic_emu::port::now_ns;
use std::ffi::c_int;

/// A kind of event.
pub struct Event {
    /// Which.
    pub kind: EventKind,
    /// Its name.
    pub name: &'static str,
    /// What it tells.
    pub about: &'static str,
    /// Its category.
    pub category: Category,
    /// What registrations are bound to.
    pub bind: c_int,
    /// What its elements are; their names are those of its enumeration.
    pub elements: &'static [Form],
}

/// All kinds of events, in the order of [`EventKind::ALL`].
#[rustfmt::skip]
pub const TABLE: [Event; 4] = [
    Event { kind: EventKind::SliceBegun, name: "slice_begun", category: Category::Slices, bind: MPI_T_BIND_NO_OBJECT, elements: &[Form::Whole, Form::Whole],
        about: "the NIC has begun slices since this rank looked last: the last one's number, and how many" },
    Event { kind: EventKind::MessageMatched, name: "message_matched", category: Category::Queues, bind: MPI_T_BIND_MPI_COMM, elements: &[Form::Number, Form::Number, Form::Whole],
        about: "a receive of the communicator has got its message, and a call has completed it: sender, tag, bytes" },
    Event { kind: EventKind::CollectiveComplete, name: "collective_complete", category: Category::Collectives, bind: MPI_T_BIND_MPI_COMM, elements: &[Form::Number],
        about: "a collective operation of the communicator is complete in this rank: the performance variable that counts its call" },
    Event { kind: EventKind::HangFound, name: "hang_found", category: Category::Events, bind: MPI_T_BIND_NO_OBJECT, elements: &[Form::Whole],
        about: "all ranks wait for what never comes, and the job is about to be ended: the last slice's number" },
];

const _: () = {
    let mut index = 0;
    while index < TABLE.len() {
        assert!(TABLE[index].kind as usize == index, "in the order of the kinds");
        index += 1;
    }
};

impl Event {
    /// Its place in the table.
    pub fn place(&self) -> usize {
        self.kind as usize
    }

    /// The names of its elements.
    pub fn names(&self) -> Names {
        Names::Elements(self.place())
    }

    /// Where its elements lie in a copy of an event, one behind the other as their alignment wants it.
    pub fn displacements(&self) -> impl Iterator<Item = usize> {
        self.elements.iter().scan(0usize, |end, form| {
            let start = end.next_multiple_of(form.bytes());
            *end = start + form.bytes();
            Some(start)
        })
    }
}

/// The elements of what has happened.
pub fn elements(happening: &Happening) -> Vec<Value> {
    match *happening {
        Happening::SliceBegun { slice, passed } => vec![Value::Whole(slice), Value::Whole(passed)],
        Happening::MessageMatched { source, tag, bytes, .. } => {
            vec![Value::Number(source), Value::Number(tag), Value::Whole(bytes)]
        }
        Happening::CollectiveComplete { call, .. } => vec![Value::Number(counter_of(call))],
        Happening::HangFound { slice } => vec![Value::Whole(slice)],
    }
}

/// The event of an index.
///
/// # Errors
/// There is no such index.
pub fn get(index: c_int) -> Told<&'static Event> {
    at(&TABLE, index)
}

/// The index of a name.
///
/// # Errors
/// There is no such name.
pub fn index(name: &str) -> Told<c_int> {
    let place = TABLE.iter().position(|event| event.name == name);
    place.map(|place| place as c_int).ok_or(MPI_T_ERR_INVALID_NAME)
}

/// How many kinds of events there are.
pub fn count() -> c_int {
    TABLE.len() as c_int
}

/// A source of events.
pub struct Source {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// In which order its events come.
    pub ordering: MPI_T_source_order,
    /// Its clock's resolution.
    pub ticks_per_second: MPI_Count,
    /// The last number of its clock.
    pub max_ticks: MPI_Count,
}

/// All sources.
pub const SOURCES: [Source; 1] = [Source {
    name: "rank",
    about: "what this process sees, by CLOCK_MONOTONIC in ns",
    ordering: MPI_T_SOURCE_ORDERED,
    ticks_per_second: 1_000_000_000,
    max_ticks: MPI_Count::MAX,
}];

const _: () = assert!(SOURCE == 0 && SOURCES.len() == 1, "every event is of the one source");

/// The source of an index.
///
/// # Errors
/// There is no such index.
pub fn source(index: c_int) -> Told<&'static Source> {
    at(&SOURCES, index)
}

/// MPI_T_source_get_timestamp.
///
/// # Errors
/// There is no such source.
pub fn timestamp(index: c_int) -> Told<MPI_Count> {
    source(index).map(|_| ticks(now_ns()))
}

/// A time of the source's clock.
pub(super) fn ticks(time_ns: u64) -> MPI_Count {
    MPI_Count::try_from(time_ns).unwrap_or(MPI_Count::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mds::Primitive;

    #[test]
    fn elements_are_what_the_table_says_and_have_names() {
        let happenings = [
            Happening::SliceBegun { slice: 1, passed: 1 },
            Happening::MessageMatched { comm: MPI_COMM_WORLD, source: 0, tag: 0, bytes: 0 },
            Happening::CollectiveComplete { call: Primitive::Barrier, comm: MPI_COMM_WORLD },
            Happening::HangFound { slice: 1 },
        ];
        for (event, happening) in TABLE.iter().zip(happenings) {
            let forms: Vec<_> = elements(&happening)
                .into_iter()
                .map(|value| match value {
                    Value::Number(_) => Form::Number,
                    Value::Whole(_) => Form::Whole,
                    Value::Share(_) => Form::Share,
                })
                .collect();
            assert_eq!(forms, event.elements);
            assert_eq!(event.names().enumeration().items.len(), event.elements.len());
            assert_eq!(happening.kind(), event.kind);
        }
        assert_eq!(TABLE[1].displacements().collect::<Vec<_>>(), [0, 4, 8]);
    }
}
