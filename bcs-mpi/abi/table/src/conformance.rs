//! `docs/conformance.md`: by chapter of the standard, which functions the library has, which it lacks, and
//! which a test program calls; and what is left out of mpi4py's test suite and of rsmpi's examples.
//!
//! Nothing is written down for it: functions come from the table, what is done from the C edge's source (as
//! the library's build finds it), calls from the sources of the tests, and exclusions from the lists that
//! `scripts/mpi4py` and `scripts/rsmpi` obey.

use crate::table::{Form, Function, Tables};
use crate::unsupported;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// The list of what is left out of mpi4py's test suite.
const EXCLUSIONS: &str = "tests/mpi4py/exclusions.toml";

/// What the file is made from.
#[derive(Debug, Clone)]
pub struct Material {
    /// Functions that the C edge defines.
    pub done: BTreeSet<String>,
    /// Functions that a test program calls.
    pub called: BTreeSet<String>,
    /// What is left out of mpi4py's test suite: the part of the standard, the reason, the names.
    pub exclusions: Vec<[String; 3]>,
    /// What is left out of rsmpi's examples: the name and the reason.
    pub examples: Vec<[String; 2]>,
}

impl Material {
    /// Reads the repository whose root this is.
    ///
    /// # Errors
    /// What cannot be read or understood.
    pub fn read(tables: &Tables, root: &Path) -> Result<Self, String> {
        let edge = texts(&root.join("bcs-mpi/abi/src"), "rs")?;
        let programs = texts(&root.join("tests/programs/mpi"), "c")?;
        let read = |list: &str| read_text(&root.join(list));
        Ok(Self {
            done: unsupported::defined(tables, edge.iter().map(String::as_str)),
            called: called(tables, &programs),
            exclusions: exclusions(&read(EXCLUSIONS)?)?,
            examples: examples(&read("tests/rsmpi/exclusions.txt")?),
        })
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> String {
    format!("cannot read {}: {error}", path.display())
}

fn read_text(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| unreadable(path, &error))
}

fn texts(directory: &Path, extension: &str) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(|error| unreadable(directory, &error))? {
        let path = entry.map_err(|error| unreadable(directory, &error))?.path();
        if path.extension().is_some_and(|found| found == extension) {
            found.push(read_text(&path)?);
        }
    }
    Ok(found)
}

/// Functions that stand before an opening parenthesis in these C sources.
fn called(tables: &Tables, sources: &[String]) -> BTreeSet<String> {
    let before = sources.iter().flat_map(|source| source.split('('));
    let words: BTreeSet<&str> = before
        .filter_map(|text| text.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next())
        .collect();
    let names = tables.functions.iter().map(|function| &function.name);
    names.filter(|name| words.contains(name.as_str())).cloned().collect()
}

fn exclusions(text: &str) -> Result<Vec<[String; 3]>, String> {
    let wrong = |what: String| format!("{EXCLUSIONS}: {what}");
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| wrong(error.to_string()))?;
    let entries = table.get("exclusion").and_then(toml::Value::as_array);
    let entries = entries.ok_or_else(|| wrong("there is no [[exclusion]]".to_owned()))?;
    let mut found = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let field = |name: &str| {
            let value = entry.get(name).and_then(toml::Value::as_str);
            value.map(str::to_owned).ok_or_else(|| wrong(format!("exclusion {}: no {name}", index + 1)))
        };
        let lists = ["modules", "tests"].into_iter().filter_map(|list| entry.get(list)?.as_array());
        let names: Vec<_> =
            lists.flatten().filter_map(toml::Value::as_str).map(|n| format!("`{n}`")).collect();
        found.push([field("because")?, field("reason")?, names.join(", ")]);
    }
    Ok(found)
}

/// Lines "NAME: REASON"; those that begin with # are comments.
fn examples(text: &str) -> Vec<[String; 2]> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(": ")).map(|(name, why)| [name, why].map(str::to_owned)).collect()
}

/// The file.
#[must_use]
pub fn render(tables: &Tables, material: &Material) -> String {
    let mut chapters: BTreeMap<u8, Vec<&Function>> = BTreeMap::new();
    for function in tables.functions.iter().filter(|function| function.form == Form::Exported) {
        chapters.entry(function.chapter).or_default().push(function);
    }
    let is_done = |function: &&Function| material.done.contains(&function.name);
    let is_called = |function: &&Function| material.called.contains(&function.name);
    let mut rows = String::new();
    let mut lacking = String::new();
    let mut sums = [0; 4];
    for (chapter, functions) in &chapters {
        let done = functions.iter().copied().filter(|function| is_done(function)).count();
        let tested = functions.iter().copied().filter(is_done).filter(is_called).count();
        let figures = [functions.len(), done, functions.len() - done, tested];
        let title = crate::table::chapter_title(*chapter);
        let [all, done, missing, tested] = figures;
        let _ = writeln!(rows, "| {chapter} | {title} | {all} | {done} | {missing} | {tested} |");
        sums.iter_mut().zip(figures).for_each(|(sum, figure)| *sum += figure);
        if missing > 0 {
            let names = functions.iter().copied().filter(|function| !is_done(function));
            let names: Vec<_> = names.map(|function| format!("`{}`", function.name)).collect();
            let _ = writeln!(lacking, "\n### {chapter}. {title}\n\n{}", wrapped(&names.join(", ")));
        }
    }
    let [all, done, missing, tested] = sums;
    let _ = writeln!(rows, "| | all | {all} | {done} | {missing} | {tested} |");
    if lacking.is_empty() {
        lacking.push_str("\nNothing.\n");
    }
    let row = |[because, reason, names]: &[String; 3]| format!("| {because} | {names} | {reason} |\n");
    let excluded: String = material.exclusions.iter().map(row).collect();
    let row = |[name, reason]: &[String; 2]| format!("| `{name}` | {reason} |\n");
    let omitted: String = material.examples.iter().map(row).collect();
    format!(
        "# What of MPI-5.0 there is

Made by `cargo run -p mpi-abi-table`; a test compares.

Counted are the functions of the standard ABI, those for large counts (`_c`) as functions of their own. All are
exported, with their twins `PMPI_`, so that every program loads. *Done* is what has code of its own; *missing* answers
`MPI_ERR_UNSUPPORTED_OPERATION` through the error handler of its object. *Tests* is how many of those done are called by
the programs in `tests/programs/mpi`, which check results. Besides, every function that is done is called as it should
be, and with each wrong argument in turn, by a program made from a table (`tests/mpi/wrong_arguments.tbl`, which names
the few that it leaves out, and why); and a test looks at the export of them all.

Besides these there are the functions of MPI-1 that MPI-3.0 removed (`MPI_Address`, `MPI_Type_struct` and others,
chapter 17), and `MPI_LB` and `MPI_UB` for `MPI_Type_struct`, for programs compiled with `-DMPI1_COMPATIBILITY`.

The datatypes of a message and of its receive are compared where the user asks for it (`storm run --check-types`,
[decisions.md](decisions.md)). Those of collective calls are compared always, as far as 16 bits of them tell (8 bits
where each of two groups gives to the other). In `MPI_Gatherv`, `MPI_Scatterv` and `MPI_Allgatherv` they are compared
where the elements of a type are of one kind (`MPI_Allgatherv` not between groups); in `MPI_Alltoallv` and
`MPI_Alltoallw` they are not. No elements are of any type, and reduced by any operation.

Collective calls of a communicator that do not fit each other are an error of class `MPI_ERR_OTHER` on each of its
ranks: in the call that completes what the rank has called, or in its next collective call. The string of the error is
the report. The default error handler ends the job with it. Where the error is returned, the communicator is broken:
collectives of it that are under way, persistent ones too, and all later ones fail with the same report, and what their
buffers hold is undefined. A rank that is late may get the report from calls before it that fitted. Messages of the
program go on in a broken communicator, as does everything in other communicators. It can be freed (`MPI_Comm_free`,
not `MPI_Comm_disconnect`, which is a collective), as often as a program likes. `MPI_Abort` ends the job.
`MPI_Finalize` does not wait for the other ranks where MPI_COMM_WORLD is broken. A mismatch of what persistent
collectives do breaks that request alone; ranks that initialise different ones break the communicator. On an
intercommunicator all this holds for the ranks of both groups. Calls that make a communicator may succeed on one rank
and fail on another. What one rank alone can see (a block that is not as long as its place) is an error there; others
may wait for that rank.

| chapter | | functions | done | missing | tests |
|---:|---|---:|---:|---:|---:|
{rows}
## Missing
{lacking}
## mpi4py

`scripts/mpi4py` builds mpi4py with our `mpicc` and runs its own test suite. Left out are what belongs to parts of the
standard that are yet to come (`tests/mpi4py/exclusions.toml`):

| because of | what | reason |
|---|---|---|
{excluded}
## rsmpi

`scripts/rsmpi` builds rsmpi (the crate `mpi`) with our `mpicc` and runs its examples. These are left out
(`tests/rsmpi/exclusions.txt`).

| example | reason |
|---|---|
{omitted}"
    )
}

/// Lines of at most 120 columns.
fn wrapped(text: &str) -> String {
    let (mut lines, mut column) = (String::new(), 0);
    for word in text.split_inclusive(' ') {
        if column + word.trim_end().len() > 120 {
            lines.truncate(lines.trim_end().len());
            lines.push('\n');
            column = 0;
        }
        lines.push_str(word);
        column += word.len();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_counted_where_it_belongs_and_named_when_it_is_missing() {
        let tables = Tables::read().unwrap();
        let everything: BTreeSet<_> = tables.functions.iter().map(|function| function.name.clone()).collect();
        let programs = vec!["MPI_Send(a); /* MPI_Recv */ check(MPI_Put (b));".to_owned()];
        let mut material = Material {
            done: everything,
            called: called(&tables, &programs),
            exclusions: Vec::new(),
            examples: Vec::new(),
        };
        assert_eq!(material.called.iter().collect::<Vec<_>>(), ["MPI_Send"]);
        assert!(render(&tables, &material).contains("\n## Missing\n\nNothing.\n"));
        material.done.remove("MPI_Recv");
        let text = render(&tables, &material);
        assert!(text.contains("### 3. Point-to-point communication\n\n`MPI_Recv`\n"), "{text}");
        assert!(text.lines().any(|line| line.starts_with("| 3 |") && line.ends_with("| 1 | 1 |")), "{text}");
    }

    #[test]
    fn an_exclusion_without_a_reason_is_refused() {
        let entry = "[[exclusion]]\nbecause = \"files\"\nmodules = [\"test_io\"]\n";
        assert!(exclusions(entry).unwrap_err().ends_with("exclusion 1: no reason"));
        let entry = format!("{entry}reason = \"none\"\ntests = [\"test_a.B.c\"]\n");
        assert_eq!(
            exclusions(&entry).unwrap(),
            [["files", "none", "`test_io`, `test_a.B.c`"].map(str::to_owned)]
        );
    }
}
