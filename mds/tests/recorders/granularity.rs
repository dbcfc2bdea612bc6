//! What the recorder of a process promises (paper, §5.1.1): intervals that add up, calls that are counted
//! once.

use mds::mmds::ProcessReport;
use mds::{MmdsConfig, Primitive, ProcessRecorder, Recorder};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A call of the program: the time since the last one, its length, and calls nested in it.
#[derive(Clone, Debug)]
struct Call {
    primitive: Primitive,
    gap: u64,
    length: u64,
    nested: u8,
    bytes: u64,
}

fn call() -> impl Strategy<Value = Call> {
    let time = || prop_oneof![Just(0u64), 1u64..1000, 1u64..5_000_000_000];
    (0..Primitive::COUNT, time(), time(), 0u8..3, 0u64..1 << 40).prop_map(
        |(i, gap, length, nested, bytes)| Call { primitive: Primitive::ALL[i], gap, length, nested, bytes },
    )
}

/// Runs `calls` from time `now` on; returns the time after the last.
fn run(recorder: &Recorder, calls: &[Call], mut now: u64) -> u64 {
    for call in calls {
        now += call.gap;
        let entry = recorder.enter(call.primitive, now);
        let mut inner_end = now;
        for i in 0..call.nested {
            // A collective made of point-to-point calls: they lie inside it.
            let inner = recorder.enter(Primitive::Sendrecv, now + call.length * u64::from(i) / 4);
            inner_end = now + call.length * u64::from(i + 1) / 4;
            recorder.leave(inner, inner_end, 1);
        }
        assert!(inner_end <= now + call.length);
        now += call.length;
        recorder.leave(entry, now, call.bytes);
    }
    now
}

fn everything() -> MmdsConfig {
    let all = || Primitive::ALL.iter().copied().collect();
    MmdsConfig { latency: all(), size: all(), ..MmdsConfig::default() }
}

fn check_against(report: &ProcessReport, calls: &[Call]) {
    let mut expected: BTreeMap<&str, Vec<&Call>> = BTreeMap::new();
    for call in calls {
        expected.entry(call.primitive.name()).or_default().push(call);
    }
    assert_eq!(report.calls.len(), expected.len());
    for row in &report.calls {
        let calls = &expected[row.name.as_str()];
        let lengths = || calls.iter().map(|c| c.length);
        assert_eq!(row.figures.count, calls.len() as u64, "{}", row.name);
        assert_eq!(row.figures.min, lengths().min().unwrap());
        assert_eq!(row.figures.max, lengths().max().unwrap());
        assert_eq!(row.figures.total, lengths().sum::<u64>());
        assert_eq!(row.latency.as_ref().expect("asked for").count(), row.figures.count);
        let sized = calls[0].primitive.is_sized();
        assert_eq!(row.bytes, sized.then(|| calls.iter().map(|c| c.bytes).sum()));
        assert_eq!(row.size.as_ref().map(|d| d.count()), sized.then_some(row.figures.count));
        for [low, high, count] in &row.latency.as_ref().unwrap().buckets {
            let inside = lengths().filter(|l| (low..=high).contains(&l)).count() as u64;
            assert_eq!(inside, *count, "{} between {low} and {high}", row.name);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn computation_and_communication_add_up_to_the_run_time(
        calls in prop::collection::vec(call(), 0..60), start in 0u64..1 << 60, tail in 0u64..1 << 40
    ) {
        let process = ProcessRecorder::new(&everything(), start);
        let end = run(process.main(), &calls, start) + tail;
        process.stop(end);
        let report = process.report();
        prop_assert_eq!(report.run_time, end - start);
        prop_assert_eq!(report.thread_time, end - start);
        prop_assert_eq!(report.computation.figures.total + report.communication.figures.total, end - start);
        let blocking = || calls.iter().filter(|c| c.primitive.is_blocking());
        prop_assert_eq!(report.communication.figures.count, blocking().count() as u64);
        prop_assert_eq!(report.communication.figures.total, blocking().map(|c| c.length).sum::<u64>());
        prop_assert!(report.computation.figures.count <= report.communication.figures.count + 1);
        prop_assert_eq!(report.communication.distribution.count(), report.communication.figures.count);
        prop_assert_eq!(report.computation.distribution.count(), report.computation.figures.count);
        prop_assert_eq!(&report.unfinished, &None);
        check_against(&report, &calls);
    }

    #[test]
    fn the_sum_holds_even_when_the_clock_steps_back(
        times in prop::collection::vec((0..Primitive::COUNT, 0u64..1000, 0u64..1000), 0..50), stop in 0u64..1000
    ) {
        let process = ProcessRecorder::new(&everything(), 500);
        for (i, enter, leave) in times {
            let entry = process.main().enter(Primitive::ALL[i], enter);
            process.main().leave(entry, leave, 0);
        }
        process.stop(stop);
        let report = process.report();
        prop_assert_eq!(report.computation.figures.total + report.communication.figures.total, report.run_time);
        prop_assert!(report.run_time <= 500);
    }

    #[test]
    fn threads_that_overlap_add_up_each_on_its_own(
        per_thread in prop::collection::vec((prop::collection::vec(call(), 0..20), any::<bool>()), 1..5)
    ) {
        let process = ProcessRecorder::new(&everything(), 100);
        let mut ends = Vec::new();
        let mut all = Vec::new();
        for (i, (calls, detaches)) in per_thread.iter().enumerate() {
            all.extend_from_slice(calls);
            let attached = (i > 0).then(|| process.attach_thread(100));
            let end = run(attached.as_deref().unwrap_or(process.main()), calls, 100);
            match &attached {
                Some(recorder) if *detaches => process.detach_thread(recorder, end),
                _ => {}
            }
            ends.push((end, *detaches && i > 0));
        }
        let last = ends.iter().map(|e| e.0).max().unwrap();
        process.stop(last);
        let report = process.report();
        let time: u64 = ends.iter().map(|(end, detached)| if *detached { end - 100 } else { last - 100 }).sum();
        prop_assert_eq!(report.thread_time, time);
        prop_assert_eq!(report.computation.figures.total + report.communication.figures.total, report.thread_time);
        prop_assert_eq!(report.threads, per_thread.len() as u64);
        check_against(&report, &all);
    }
}

#[test]
fn a_job_that_is_ended_inside_a_call_counts_the_wait_as_communication() {
    let process = ProcessRecorder::new(&MmdsConfig::default(), 0);
    let entry = process.main().enter(Primitive::Recv, 30);
    process.stop(100);
    let report = process.report();
    assert_eq!((report.computation.figures.total, report.communication.figures.total), (30, 70));
    assert_eq!(report.unfinished.as_deref(), Some("MPI_Recv"));
    assert!(report.calls.is_empty());
    // A rank that gets to leave the call after all does not change the sum any more.
    process.main().leave(entry, 200, 0);
    process.stop(300);
    assert_eq!(process.report().run_time, 100);
    assert_eq!(process.report().unfinished, None);
}

#[test]
fn immediate_calls_are_part_of_the_computation_around_them() {
    let process = ProcessRecorder::new(&MmdsConfig::default(), 0);
    let entry = process.main().enter(Primitive::Isend, 10);
    process.main().leave(entry, 20, 8);
    process.stop(50);
    let report = process.report();
    assert_eq!((report.computation.figures.count, report.computation.figures.total), (1, 50));
    assert_eq!((report.communication.figures.count, report.communication.figures.min), (0, 0));
    assert_eq!(report.calls[0].figures.total, 10);
}

#[test]
fn a_call_that_is_asked_for_has_its_distributions() {
    let process = ProcessRecorder::new(&everything(), 0);
    let entry = process.main().enter(Primitive::Send, 500);
    process.main().leave(entry, 1500, 64);
    process.stop(2000);
    let report = process.report();
    let [low, high, count] = report.calls[0].latency.as_ref().unwrap().buckets[0];
    assert!(low <= 1000 && 1000 <= high && count == 1, "{low}..{high}");
    assert_eq!(report.calls[0].size.as_ref().unwrap().buckets, [[64, 64, 1]]);
}

#[test]
fn calls_of_many_threads_at_once_lose_nothing() {
    let process = ProcessRecorder::new(&everything(), 0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let recorder = process.attach_thread(0);
                for t in 0..1000 {
                    let entry = recorder.enter(Primitive::Allreduce, 10 * t);
                    recorder.leave(entry, 10 * t + 5, 8);
                }
                process.detach_thread(&recorder, 10_000);
                process.detach_thread(&recorder, 20_000);
            });
        }
    });
    process.stop(10_000);
    let report = process.report();
    assert_eq!(report.threads, 5);
    assert_eq!(report.thread_time, 50_000);
    assert_eq!(report.calls[0].figures.count, 4000);
    assert_eq!(report.communication.figures.total, 20_000);
}
