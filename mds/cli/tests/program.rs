//! What the `mds` program promises its user: tables, comma-separated values, and one line for what is wrong.

use bcs_core::SliceIndex;
use bcs_harness::runs::{Ended, run};
use mds::config::{Selection, SliceRange};
use mds::emds::EmdsTable;
use mds::trace::{self, Process, Run};
use mds::{
    EmdsConfig, EmdsRecord, EmdsRing, GlobalRecord, LocalRecord, MetricSet, MmdsConfig, Primitive,
    ProcessRecorder,
};
use mds_trace::{Node, write_emds};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicU64;
use tempfile::TempDir;

/// A trace of two ranks on two nodes: sends and barriers, and three of five slices.
fn record(dir: &Path) {
    let run = Run { id: "41".to_owned(), ranks: 2, nodes: 2 };
    let config = MmdsConfig {
        latency: [Primitive::Barrier].into_iter().collect(),
        size: [Primitive::Isend].into_iter().collect(),
        ..MmdsConfig::default()
    };
    for rank in 0..2u32 {
        let recorder = ProcessRecorder::new(&config, 0);
        let mut now = 0;
        for step in 1..=10u64 {
            let mut call = |primitive, gap: u64, length: u64, bytes| {
                now += gap;
                let entry = recorder.main().enter(primitive, now);
                now += length;
                recorder.main().leave(entry, now, bytes);
            };
            call(Primitive::Isend, 1_000_000 * step, 190, 1024 * step);
            call(Primitive::Barrier, 2_000_000, 1000 * step * u64::from(rank + 1), 0);
        }
        let ended_inside = rank == 1;
        let open = ended_inside.then(|| recorder.main().enter(Primitive::Recv, now + 400_000));
        recorder.stop(now + 500_000);
        let process =
            Process { rank, node: rank, host: format!("n{rank}"), program: "ring".to_owned(), pid: 1 };
        trace::write_mmds(dir, &run, &process, &recorder.report()).unwrap();
        if let Some(open) = open {
            recorder.main().leave(open, now + 500_000, 0);
        }
    }
    for node in 0..2u32 {
        let mut tables = vec![table(|slice| LocalRecord {
            slice,
            letts_ns: 500_000 + 10 * slice.0,
            ltdem_ns: 1_500,
            ltts_ns: 4_000 + u64::from(node),
            np2pdem: slice.0,
            bpts: u64::from(node),
            ..LocalRecord::default()
        })];
        if node == 0 {
            tables.push(table(|slice| GlobalRecord {
                slice,
                getts_ns: 500_000,
                usrts: slice.0 % 2,
                ..GlobalRecord::default()
            }));
        }
        write_emds(dir, &run, &Node { node, host: format!("n{node}") }, &tables).unwrap();
    }
}

fn table<R: EmdsRecord>(record: impl Fn(SliceIndex) -> R) -> EmdsTable {
    let slices = SliceRange { first: SliceIndex(2), last: SliceIndex(4), step: 1 };
    let config = EmdsConfig { slices, nodes: Selection::All, metrics: MetricSet::ALL };
    let words: Vec<AtomicU64> =
        (0..EmdsRing::<R>::words_needed(&config)).map(|_| AtomicU64::new(0)).collect();
    let ring = EmdsRing::<R>::format(&words, &config).unwrap();
    (1..=5).for_each(|slice| ring.record(&record(SliceIndex(slice))));
    ring.finish(SliceIndex(5));
    ring.read().unwrap()
}

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_mds"))
}

fn mds(arguments: &[&str]) -> Ended {
    run(program().args(arguments))
}

fn stdout(arguments: &[&str]) -> String {
    mds(arguments).succeeds_quietly().stdout.clone()
}

fn traced() -> (TempDir, String) {
    let dir = TempDir::new().unwrap();
    record(dir.path());
    let path = dir.path().to_str().unwrap().to_owned();
    (dir, path)
}

#[test]
fn summary_prints_the_tables_of_calls_and_slices() {
    let (_dir, path) = traced();
    insta::assert_snapshot!("summary", stdout(&["summary", &path]));
}

#[test]
fn summary_selects_ranks_and_parts() {
    let (_dir, path) = traced();
    insta::assert_snapshot!("summary_of_rank_1", stdout(&["summary", &path, "--rank", "1", "--mmds"]));
    let emds = stdout(&["summary", &path, "--emds"]);
    assert!(emds.starts_with("EMDS: ") && !emds.contains("MPI_"), "{emds}");
    assert_eq!(stdout(&["summary", &path, "--emds", "--mmds"]), stdout(&["summary", &path]));
}

#[test]
fn dump_writes_every_record_once_and_as_many_cells_as_columns() {
    let (dir, path) = traced();
    let csv = stdout(&["dump", &path, "--csv"]);
    insta::assert_snapshot!("dump", csv);
    let mut lines = csv::Reader::from_reader(csv.as_bytes());
    let records: Vec<_> = lines.records().map(|r| r.expect("every line has every column")).collect();
    let count = |record: &str| records.iter().filter(|r| &r[0] == record).count();
    assert_eq!((count("local"), count("global"), count("unfinished")), (6, 3, 1));
    assert_eq!((count("time"), count("interval"), count("call")), (4, 4, 4));

    let file = dir.path().join("out.csv");
    assert_eq!(stdout(&["dump", &path, "-o", file.to_str().unwrap()]), "");
    assert_eq!(fs::read_to_string(file).unwrap(), csv);

    let emds = stdout(&["dump", &path, "--emds"]);
    assert!(emds.starts_with("record,node,host,slice,letts_ns,"), "{emds}");
    assert_eq!(emds.lines().count(), 1 + 9);
    let mmds = stdout(&["dump", &path, "--mmds", "--rank", "0"]);
    assert!(
        !mmds.contains("slice") && mmds.contains("call,0,n0,0,ring,MPI_Isend,10,190,190,1900,56320,,"),
        "{mmds}"
    );
}

#[test]
fn what_is_wrong_with_a_trace_is_said_in_one_line() {
    let (dir, path) = traced();
    let empty = TempDir::new().unwrap();
    let empty = empty.path().to_str().unwrap();
    let refused = |arguments: &[&str], says: &[&str]| {
        let ended = mds(arguments);
        ended.fails_with(1, says);
        assert!(ended.stdout.is_empty() && ended.stderr.starts_with("mds: "), "{ended:?}");
    };
    refused(&["summary", "/no/such/dir"], &["/no/such/dir", "storm run --trace-dir"]);
    refused(&["dump", empty], &[empty, "no trace", "storm run"]);
    refused(&["summary", &path, "--rank", "7-9"], &["0-1"]);
    refused(&["dump", &path, "-o", "/proc/no/file.csv"], &["/proc/no/file.csv"]);
    fs::remove_file(dir.path().join("emds.node-00000.bin")).unwrap();
    fs::remove_file(dir.path().join("emds.node-00001.bin")).unwrap();
    refused(&["dump", &path, "--emds"], &["EMDS", "storm run --emds"]);
    fs::write(dir.path().join("mmds.rank-00001.json"), "{\"format\":").unwrap();
    refused(&["summary", &path], &["mmds.rank-00001.json", "truncated", "remove it"]);
}

#[test]
fn wrong_usage_exits_with_2() {
    for arguments in
        [&["summary"][..], &["dump", "/tmp", "--xml"], &["frobnicate"], &["summary", "/tmp", "--rank", "x"]]
    {
        let ended = mds(arguments);
        assert_eq!(ended.code(), 2, "{ended:?}");
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let (_dir, path) = traced();
    let mut child =
        program().args(["dump", &path]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{:?}", output.status);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn completions_are_made_for_every_usual_shell() {
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&["completions", shell]);
        assert!(script.contains("summary") && script.contains("rank"), "{shell}: {script}");
    }
    let ended = mds(&["completions", "csh"]);
    assert_eq!(ended.code(), 2, "{ended:?}");
}

#[test]
fn the_manual_page_in_the_repository_is_the_programs_own() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/man/mds.1");
    let kept = fs::read_to_string(&page).unwrap();
    assert_eq!(kept, stdout(&["manpage"]), "run `cargo run -p mds-cli -- manpage > docs/man/mds.1`");
}
