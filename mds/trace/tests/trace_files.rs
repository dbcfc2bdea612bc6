//! What trace files promise: what is read is what was written, and a damaged file is an error that names it.

use bcs_core::SliceIndex;
use mds::config::MdsConfig;
use mds::emds::EmdsTable;
use mds::mmds::ProcessReport;
use mds::trace::{self, FORMAT_VERSION, Process, Run};
use mds::{
    EmdsConfig, EmdsRecord, EmdsRing, GlobalRecord, LocalRecord, MmdsConfig, Primitive, ProcessRecorder,
    TraceError,
};
use mds_trace::{Node, Trace, prepare, write_emds};
use proptest::prelude::*;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use tempfile::TempDir;

fn the_run() -> Run {
    Run { id: "job 7 of 2026".to_owned(), ranks: 4, nodes: 2 }
}

fn process(rank: u32) -> Process {
    Process {
        rank,
        node: rank / 2,
        host: format!("host{}", rank / 2),
        program: "sweep".to_owned(),
        pid: 100 + rank,
    }
}

fn node(node: u32) -> Node {
    Node { node, host: format!("host{node}") }
}

fn report(seed: u64) -> ProcessReport {
    let config = MmdsConfig {
        latency: [Primitive::Send, Primitive::Isend].into_iter().collect(),
        size: [Primitive::Send].into_iter().collect(),
        ..MmdsConfig::default()
    };
    let process = ProcessRecorder::new(&config, seed);
    for i in 0..20 {
        let now = seed + 1 + i * 1000;
        let primitive = Primitive::ALL[((seed + i) % 7 + 3) as usize];
        let entry = process.main().enter(primitive, now);
        process.main().leave(entry, now + 10 * i, 64 * i);
    }
    process.stop(seed + 50_000);
    process.report()
}

fn table<R: EmdsRecord>(slices: u64, record: impl Fn(SliceIndex) -> R) -> EmdsTable {
    let config = EmdsConfig::default();
    let words: Vec<AtomicU64> =
        (0..EmdsRing::<R>::words_needed(&config)).map(|_| AtomicU64::new(0)).collect();
    let ring = EmdsRing::<R>::format(&words, &config).unwrap();
    for slice in 1..=slices {
        ring.record(&record(SliceIndex(slice)));
    }
    ring.finish(SliceIndex(slices + 3));
    ring.read().unwrap()
}

fn local(slices: u64) -> EmdsTable {
    table(slices, |slice| LocalRecord {
        slice,
        letts_ns: 500_000 + slice.0,
        bpts: slice.0 % 3,
        ..Default::default()
    })
}

fn global(slices: u64) -> EmdsTable {
    table(slices, |slice| GlobalRecord { slice, getts_ns: 500_100 + slice.0, usrts: 2, ..Default::default() })
}

fn write_all(dir: &Path) {
    for rank in 0..4 {
        trace::write_mmds(dir, &the_run(), &process(rank), &report(u64::from(rank))).unwrap();
    }
    write_emds(dir, &the_run(), &node(0), &[local(30), global(30)]).unwrap();
    write_emds(dir, &the_run(), &node(1), &[local(29)]).unwrap();
}

#[test]
fn what_is_read_is_what_was_written() {
    let dir = TempDir::new().unwrap();
    let dir = dir.path().join("made/on/the/way");
    write_all(&dir);
    fs::write(dir.join("notes.txt"), "not a trace").unwrap();
    let trace = Trace::read(&dir).unwrap();
    assert_eq!(trace.run, the_run());
    assert_eq!(
        trace.mmds.iter().map(|f| f.process.clone()).collect::<Vec<_>>(),
        (0..4).map(process).collect::<Vec<_>>()
    );
    assert_eq!(trace.mmds[3].report, report(3));
    assert_eq!(trace.emds[0].tables, [local(30), global(30)]);
    assert_eq!(trace.emds[1].tables, [local(29)]);
    assert_eq!(trace.emds[1].node, node(1));
    let mut names: Vec<_> =
        fs::read_dir(&dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let expected = [
        "emds.node-00000.bin",
        "emds.node-00001.bin",
        "mmds.rank-00000.json",
        "mmds.rank-00001.json",
        "mmds.rank-00002.json",
        "mmds.rank-00003.json",
        "notes.txt",
    ];
    assert_eq!(names, expected, "and nothing else is left");
}

#[test]
fn preparing_a_directory_removes_earlier_traces_and_nothing_else() {
    let dir = TempDir::new().unwrap();
    write_all(dir.path());
    for name in ["notes.txt", "mmds.rank-x.json", ".mds-Ab12.partial"] {
        fs::write(dir.path().join(name), "").unwrap();
    }
    prepare(dir.path()).unwrap();
    let mut names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["mmds.rank-x.json", "notes.txt"]);
    let blocked = dir.path().join("notes.txt/trace");
    assert!(prepare(&blocked).unwrap_err().to_string().contains("notes.txt/trace"));
}

#[test]
fn a_trace_that_is_not_there_is_said_so() {
    let dir = TempDir::new().unwrap();
    assert!(matches!(Trace::read(&dir.path().join("missing")), Err(TraceError::Directory { .. })));
    assert!(matches!(Trace::read(dir.path()), Err(TraceError::Empty(_))));
}

#[test]
fn files_of_two_runs_are_not_added_up() {
    let dir = TempDir::new().unwrap();
    write_all(dir.path());
    let other = Run { id: "another".to_owned(), ..the_run() };
    trace::write_mmds(dir.path(), &other, &process(2), &report(2)).unwrap();
    let error = Trace::read(dir.path()).unwrap_err();
    assert!(matches!(error, TraceError::MixedRuns { .. }), "{error}");
    assert!(error.to_string().contains("mmds.rank-00002.json"), "{error}");
}

#[test]
fn a_file_under_another_ranks_name_is_refused() {
    let dir = TempDir::new().unwrap();
    write_all(dir.path());
    fs::copy(dir.path().join("mmds.rank-00001.json"), dir.path().join("mmds.rank-00003.json")).unwrap();
    let error = Trace::read(dir.path()).unwrap_err().to_string();
    assert!(error.contains("mmds.rank-00003.json") && error.contains("number 1"), "{error}");
}

#[test]
fn a_file_of_a_later_version_asks_for_a_later_program() {
    let dir = TempDir::new().unwrap();
    let path = trace::write_mmds(dir.path(), &the_run(), &process(0), &report(0)).unwrap();
    let [own, later] = [FORMAT_VERSION, FORMAT_VERSION + 1].map(|version| format!("\"version\":{version}"));
    let text = fs::read_to_string(&path).unwrap().replace(&own, &later);
    fs::write(&path, text).unwrap();
    let error = Trace::read(dir.path());
    assert!(
        matches!(error, Err(TraceError::Version { found, known: FORMAT_VERSION, .. }) if found == u64::from(FORMAT_VERSION) + 1)
    );
    fs::remove_file(path).unwrap();
    let path = write_emds(dir.path(), &the_run(), &node(0), &[local(3)]).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes[8] = 9;
    fs::write(&path, bytes).unwrap();
    assert!(matches!(
        Trace::read(dir.path()),
        Err(TraceError::Version { found: 9, known: FORMAT_VERSION, .. })
    ));
}

/// Reads a directory with one file of `bytes`; `Err` is a message that must name the file.
fn read_one(dir: &Path, name: &str, bytes: &[u8]) -> Result<Trace, String> {
    fs::write(dir.join(name), bytes).unwrap();
    Trace::read(dir).map_err(|e| {
        let message = e.to_string();
        assert!(message.contains(name), "{message}");
        message
    })
}

#[test]
fn every_truncation_is_an_error_that_names_the_file() {
    let dir = TempDir::new().unwrap();
    let path = write_emds(dir.path(), &the_run(), &node(0), &[local(2), global(1)]).unwrap();
    let whole = fs::read(&path).unwrap();
    for length in 0..whole.len() {
        let message = read_one(dir.path(), "emds.node-00000.bin", &whole[..length]).unwrap_err();
        assert!(message.contains("truncated"), "{length}: {message}");
    }
    let longer = [&whole[..], b"x"].concat();
    assert!(read_one(dir.path(), "emds.node-00000.bin", &longer).unwrap_err().contains("too long"));
    fs::remove_file(path).unwrap();

    let path = trace::write_mmds(dir.path(), &the_run(), &process(0), &report(0)).unwrap();
    let whole = fs::read(&path).unwrap();
    for length in (0..whole.len() - 1).step_by(13) {
        let message = read_one(dir.path(), "mmds.rank-00000.json", &whole[..length]).unwrap_err();
        assert!(message.contains("truncated"), "{length}: {message}");
    }
}

#[test]
fn figures_that_contradict_each_other_are_damage() {
    let dir = TempDir::new().unwrap();
    let edits: [fn(&mut ProcessReport); 5] = [
        |r| r.calls[0].figures.count = 0,
        |r| r.calls[0].figures.min = u64::MAX,
        |r| r.computation.figures.total = 1,
        |r| r.communication.figures.count += 1,
        |r| r.computation.distribution.digits = 9,
    ];
    for edit in edits {
        let mut wrong = report(0);
        edit(&mut wrong);
        trace::write_mmds(dir.path(), &the_run(), &process(0), &wrong).unwrap();
        let error = Trace::read(dir.path()).unwrap_err();
        assert!(matches!(error, TraceError::Corrupt { .. }), "{error}");
    }
}

#[test]
fn the_configuration_says_where_a_trace_goes() {
    let dir = TempDir::new().unwrap();
    let value = dir.path().to_str().unwrap().to_owned();
    let config = MdsConfig::from_lookup(|name| (name == "BCS_TRACE_DIR").then(|| value.clone())).unwrap();
    prepare(&config.trace_dir).unwrap();
    assert!(matches!(Trace::read(&config.trace_dir), Err(TraceError::Empty(_))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_changed_byte_never_passes_for_emds(position in any::<prop::sample::Index>(), change in 1u8..) {
        let dir = TempDir::new().unwrap();
        let path = write_emds(dir.path(), &the_run(), &node(0), &[local(5), global(5)]).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let i = position.index(bytes.len());
        bytes[i] ^= change;
        prop_assert!(read_one(dir.path(), "emds.node-00000.bin", &bytes).is_err(), "byte {}", i);
    }

    #[test]
    fn changed_bytes_of_mmds_never_panic(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..3), 1..6)
    ) {
        let dir = TempDir::new().unwrap();
        let path = trace::write_mmds(dir.path(), &the_run(), &process(0), &report(5)).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        for (position, byte, how) in edits {
            let i = position.index(bytes.len());
            match how {
                0 => bytes[i] = byte,
                1 => bytes.insert(i, b'0' + byte % 10),
                _ => drop(bytes.remove(i)),
            }
        }
        let _ = read_one(dir.path(), "mmds.rank-00000.json", &bytes);
    }

    #[test]
    fn any_header_in_a_whole_file_is_read_or_refused(
        header in prop_oneof![
            any::<String>(),
            (any::<u64>(), any::<u64>(), 0u64..3, 0u64..4, prop::sample::subsequence(
                vec!["slice", "letts_ns", "getts_ns", "nonsense"], 0..4), 0usize..8,
            ).prop_map(|(first, last, step, rows, columns, repeat)| {
                let columns: Vec<_> = columns.repeat(repeat % 3);
                format!(
                    r#"{{"run":{{"id":"x","ranks":1,"nodes":1}},"node":{{"node":0,"host":"h"}},"tables":[{{"scope":"local",
                    "first":{first},"last":{last},"step":{step},"rows":{},"overflowed":{last},"last_slice":{first},
                    "columns":{columns:?}}}]}}"#,
                    if rows == 3 { u64::MAX } else { rows },
                )
            }),
        ],
        words in 0usize..6,
    ) {
        let mut bytes = b"BCSEMDS\n".to_vec();
        bytes.extend(1u32.to_le_bytes());
        bytes.extend((header.len() as u32).to_le_bytes());
        bytes.extend((24 + header.len() as u64 + 8 * words as u64 + 4).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(std::iter::repeat_n(7u8, 8 * words));
        let crc = crc32fast::hash(&bytes);
        bytes.extend(crc.to_le_bytes());
        let dir = TempDir::new().unwrap();
        let _ = read_one(dir.path(), "emds.node-00000.bin", &bytes);
    }
}
