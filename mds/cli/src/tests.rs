//! Whatever figures a file holds that reading lets through, the tables are printed.

use crate::{dump, summary};
use bcs_core::SliceIndex;
use mds::Metric;
use mds::config::SliceRange;
use mds::emds::{EmdsTable, Scope};
use mds::mmds::{
    AlgorithmReport, CallReport, DistributionReport, Figures, IntervalReport, ProcessReport, UnexpectedReport,
};
use mds::trace::{MmdsFile, Process, Run};
use mds_trace::{EmdsFile, Node, Trace};
use proptest::prelude::*;

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(u64::MAX), any::<u64>(), 0u64..1000]
}

fn distribution() -> impl Strategy<Value = DistributionReport> {
    let bucket = (number(), number(), number()).prop_map(|(a, b, count)| [a.min(b), a.max(b), count]);
    (1u8..=2, prop::collection::vec(bucket, 0..4))
        .prop_map(|(digits, buckets)| DistributionReport { digits, buckets })
}

fn figures() -> impl Strategy<Value = Figures> {
    [number(), number(), number(), number()].prop_map(|[count, min, max, total]| Figures {
        count,
        min,
        max,
        total,
    })
}

fn interval() -> impl Strategy<Value = IntervalReport> {
    (figures(), distribution()).prop_map(|(figures, distribution)| IntervalReport { figures, distribution })
}

prop_compose! {
    fn call()(
        name in prop_oneof![Just("MPI_Send".to_owned()), Just("MPI_Later".to_owned()), ".*"],
        figures in figures(),
        bytes in prop::option::of(number()),
        latency in prop::option::of(distribution()),
        size in prop::option::of(distribution()),
    ) -> CallReport {
        CallReport { name, figures, bytes, latency, size }
    }
}

prop_compose! {
    fn process()(
        [threads, run_time, thread_time] in [number(), number(), number()],
        unfinished in prop::option::of(".*"),
        [messages, most_bytes] in [number(), number()],
        of_algorithms in prop::collection::vec((".*", ".*", number()), 0..3),
        computation in interval(),
        communication in interval(),
        calls in prop::collection::vec(call(), 0..3),
        host in ".*",
        program in ".*",
        rank in any::<u32>(),
    ) -> MmdsFile {
        let unexpected = UnexpectedReport { messages, most_bytes };
        let of_algorithm = |(collective, algorithm, count)| AlgorithmReport { collective, algorithm, count };
        let collectives = of_algorithms.into_iter().map(of_algorithm).collect();
        let report = ProcessReport {
            threads, run_time, thread_time, unexpected, collectives, unfinished, computation, communication, calls,
        };
        MmdsFile { run: run(), process: Process { rank, node: rank, host, program, pid: 1 }, report }
    }
}

prop_compose! {
    fn node()(
        tables in prop::collection::vec((0usize..4, any::<bool>(), number(), number(), number()), 0..3),
        node in any::<u32>(),
        host in ".*",
    ) -> EmdsFile {
        let table = |(rows, local, overflowed, last_slice, value): (usize, bool, u64, u64, u64)| {
            let scope = if local { Scope::Local } else { Scope::Global };
            let metrics = Metric::ALL.iter().filter(|m| m.scope() == scope);
            let columns = metrics.map(|m| (*m, vec![value; rows])).collect();
            let range = SliceRange { first: SliceIndex(1), last: SliceIndex(u64::MAX), step: 1 };
            EmdsTable { scope, range, slices: vec![value; rows], columns, overflowed, last_slice }
        };
        EmdsFile { run: run(), node: Node { node, host }, tables: tables.into_iter().map(table).collect() }
    }
}

fn run() -> Run {
    Run { id: "1".to_owned(), ranks: u32::MAX, nodes: 1 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn tables_are_printed_whatever_the_figures(
        mmds in prop::collection::vec(process(), 0..3), emds in prop::collection::vec(node(), 0..3)
    ) {
        let lines = mmds.iter().map(|f| f.report.calls.len()).sum::<usize>();
        let trace = Trace { run: run(), mmds, emds };
        let mut out = Vec::new();
        summary::write(&mut out, &trace).unwrap();
        out.clear();
        dump::write_csv(&mut out, &trace).unwrap();
        let mut csv = csv::Reader::from_reader(&out[..]);
        let calls = csv.records().map(|r| r.expect("as many cells as columns")).filter(|r| &r[0] == "call").count();
        prop_assert_eq!(calls, lines);
    }
}
