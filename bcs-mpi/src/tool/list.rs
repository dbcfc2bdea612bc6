//! All tables as a document, `docs/tools.md`: `cargo run -p bcs-mpi --example tools > docs/tools.md`.

use super::category::{Category, TABLE as CATEGORIES};
use super::control::TABLE as CONTROLS;
use super::enumeration::Names;
use super::event::TABLE as EVENTS;
use super::performance::TABLE as PERFORMANCES;
use crate::constants::*;
use mds::Primitive;
use std::ffi::c_int;
use std::fmt::Write as _;

const BEGIN: &str = "# The tool interface

Made by `cargo run -p bcs-mpi --example tools`; a test compares.

Chapter 15 of MPI-5.0, all of it: a tool that is linked with a program, or preloaded, reads and sets what stands here
(`MPI_T_*`). It may do so before `MPI_Init` and after `MPI_Finalize`; what belongs to this rank's port is then
`MPI_T_ERR_NOT_ACCESSIBLE`, and what counts keeps its last value. Indices are those of the tables' order, and never
change. Errors are codes that calls return; no error handler is asked. Any thread may call; below
`MPI_THREAD_MULTIPLE` threads other than the one that initialised MPI are refused what only that one can read
(`MPI_T_ERR_NOT_ACCESSIBLE`): requests, rings, communicators, windows, how this rank waits and moves bytes.

## Control variables

Of scope *constant* is what the launcher has set for the job. *Local* variables are this rank's alone: each within
limits, beyond which a write answers `MPI_T_ERR_INVALID` and changes nothing. Algorithms have to be wanted alike by all
members (*group* of a communicator, *all* of the job; -1 leaves the choice to the library), those of a job before
`MPI_Init`; what members want of a communicator is compared, as with the hint `bcs_collective`.

";

const PERFORMANCE: &str = "
## Performance variables

Each session sees for itself: what counts (*counter*, *aggregate*, *timer*) from its start on, without what came while
it was stopped; a *high watermark* since its start, whoever else starts to watch. All others are as they are.

What MMDS records (`calls`, and the counters of algorithms) it records from when on a variable of it is first started:
numbers are the same that `mds summary` shows, where the job records MMDS for a file, too. What EMDS records is there
with `storm run --emds`, and 0 elsewhere.

";

const EVENT: &str = "
## Events

The one source is this rank: what it sees, in the order in which it does, by `CLOCK_MONOTONIC` in ns. Events are
delivered when a call of MPI (not of this interface) ends, with no lock held, so that functions may call what the
program may; nothing is asked of their safety, so of several functions the one that promises least is called. What
happens meanwhile is delivered after them. Between what happens and its delivery `event_room` events can wait; more are
dropped, counted, and told by the dropped handler after those that had room. While nobody listens, this costs one
branch for each receive and each collective, and nothing elsewhere.

The NIC begins slices while a rank computes, too: the rank sees in its next call how many. `message_matched` is told
when a call completes the receive; a receive that was freed tells nothing. `hang_found` is told in a wait, before the
job is ended: the launcher gives ranks that listen two seconds. It is told of jobs on one node, and of processes without
a launcher, not at `MPI_THREAD_MULTIPLE`, where a thread that waits is no hang.

";

fn class(class: c_int) -> &'static str {
    match class {
        MPI_T_PVAR_CLASS_STATE => "state",
        MPI_T_PVAR_CLASS_LEVEL => "level",
        MPI_T_PVAR_CLASS_SIZE => "size",
        MPI_T_PVAR_CLASS_PERCENTAGE => "percentage",
        MPI_T_PVAR_CLASS_HIGHWATERMARK => "high watermark",
        MPI_T_PVAR_CLASS_COUNTER => "counter",
        MPI_T_PVAR_CLASS_AGGREGATE => "aggregate",
        MPI_T_PVAR_CLASS_TIMER => "timer",
        _ => "generic",
    }
}

fn scope(scope: c_int) -> &'static str {
    match scope {
        MPI_T_SCOPE_CONSTANT => "constant",
        MPI_T_SCOPE_GROUP_EQ => "group",
        MPI_T_SCOPE_ALL_EQ => "all",
        _ => "local",
    }
}

fn bound(bind: c_int) -> &'static str {
    match bind {
        MPI_T_BIND_MPI_COMM => "communicator",
        MPI_T_BIND_MPI_WIN => "window",
        _ => "",
    }
}

/// The names of an enumeration's items, in brackets.
fn items(names: Option<Names>) -> String {
    let Some(names) = names else { return String::new() };
    let items = names.enumeration().items.iter().map(|(name, _)| *name);
    format!(" ({})", items.collect::<Vec<_>>().join(", "))
}

/// The name of a category.
fn name_of(category: Category) -> &'static str {
    CATEGORIES.iter().find(|(known, ..)| *known == category).map_or("", |(_, name, _)| name)
}

/// The document.
pub fn render() -> String {
    let mut text = BEGIN.to_owned();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "| name | category | scope | bound to | meaning |\n|---|---|---|---|---|");
    for of in CONTROLS.iter() {
        let (name, category, scope) = (&of.name, name_of(of.category), scope(of.access.scope()));
        let (bound, about) = (bound(of.access.bind()), format!("{}{}", of.about, items(of.names)));
        let _ = writeln!(text, "| `{name}` | {category} | {scope} | {bound} | {about} |");
    }
    text.push_str(PERFORMANCE);
    let _ = writeln!(text, "| name | category | class | bound to | meaning |\n|---|---|---|---|---|");
    // One call stands for all.
    let is_of_another_call = |name: &str| {
        Primitive::ALL
            .iter()
            .any(|call| *call != Primitive::Send && name.ends_with(&format!("_{}", call.name())))
    };
    for of in PERFORMANCES.iter().filter(|of| !is_of_another_call(&of.name)) {
        let (name, category, class) = (&of.name, name_of(of.category), class(of.class));
        let (bound, about) = (bound(of.bind), format!("{}{}", of.about, items(of.names)));
        let _ = writeln!(text, "| `{name}` | {category} | {class} | {bound} | {about} |");
    }
    let _ = writeln!(
        text,
        "\nWhat there is of `MPI_Send` there is of each of the {} calls that MMDS knows; of calls that name no size \
         there are\nno bytes.",
        Primitive::COUNT
    );
    text.push_str(EVENT);
    let _ = writeln!(text, "| name | category | bound to | elements | meaning |\n|---|---|---|---|---|");
    for of in &EVENTS {
        let names =
            of.names().enumeration().items.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let (name, category, bound, about) = (of.name, name_of(of.category), bound(of.bind), of.about);
        let _ = writeln!(text, "| `{name}` | {category} | {bound} | {names} | {about} |");
    }
    text.push_str("\n## Categories\n\n| name | what is in it |\n|---|---|\n");
    for (_, name, about) in CATEGORIES {
        let _ = writeln!(text, "| `{name}` | {about} |");
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_document_is_that_of_the_tables() {
        let written = include_str!("../../../docs/tools.md");
        assert!(written == super::render(), "cargo run -p bcs-mpi --example tools > docs/tools.md");
    }
}
