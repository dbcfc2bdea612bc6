//! The recorder of a process: one [`Recorder`] per thread that calls MPI, merged at the dump.
//!
//! Below `MPI_THREAD_MULTIPLE` calls never overlap, so one recorder serves all threads. With it, threads that
//! compute and threads that communicate overlap, and a process-wide alternation of intervals would mean
//! nothing: every thread alternates on its own, and the process's figures are sums over its threads. The
//! thread of MPI_Init uses [`ProcessRecorder::main`] throughout; another thread attaches at its first call,
//! keeps its recorder in thread-local storage, and detaches when it ends.

use super::recorder::Recorder;
use super::report::{CallReport, IntervalReport, ProcessReport, UnexpectedReport};
use super::totals::CallTotals;
use crate::config::MmdsConfig;
use crate::mmds::Primitive;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// MMDS of one process (paper, §5.1).
#[derive(Debug)]
pub struct ProcessRecorder {
    config: MmdsConfig,
    main: Recorder,
    others: Mutex<Others>,
}

#[derive(Debug, Default)]
struct Others {
    attached: Vec<Arc<Recorder>>,
    /// The sum over the threads that have detached.
    ended: Option<Box<Recorder>>,
    count: u64,
}

impl ProcessRecorder {
    /// Starts recording at `now`, which is best the entry of `MPI_Init`. All memory is allocated here
    /// (and in [`attach_thread`](Self::attach_thread)).
    pub fn new(config: &MmdsConfig, now: u64) -> Self {
        Self {
            config: config.clone(),
            main: Recorder::new(config, now),
            others: Mutex::new(Others::default()),
        }
    }

    /// The recorder of the thread that initialised MPI; the only one below `MPI_THREAD_MULTIPLE`.
    #[inline]
    pub fn main(&self) -> &Recorder {
        &self.main
    }

    /// A recorder for another thread, which calls MPI for the first time at `now`.
    pub fn attach_thread(&self, now: u64) -> Arc<Recorder> {
        let recorder = Arc::new(Recorder::new(&self.config, now));
        let mut others = self.lock();
        others.attached.push(Arc::clone(&recorder));
        others.count += 1;
        recorder
    }

    /// The thread of `recorder` ends at `now`; its figures are kept, its memory is not.
    pub fn detach_thread(&self, recorder: &Arc<Recorder>, now: u64) {
        let mut others = self.lock();
        if let Some(i) = others.attached.iter().position(|r| Arc::ptr_eq(r, recorder)) {
            others.attached.swap_remove(i);
            recorder.stop(now);
            others.ended.get_or_insert_with(|| Box::new(Recorder::new(&self.config, 0))).add(recorder);
        }
    }

    /// Recording ends at `now`, best the return of `MPI_Finalize`; later calls are counted, but their
    /// time is not.
    pub fn stop(&self, now: u64) {
        self.main.stop(now);
        for recorder in &self.lock().attached {
            recorder.stop(now);
        }
    }

    /// The figures so far, over all threads; `unexpected` and `collectives` are for
    /// the caller to fill in, who knows the NIC and the MPI library. Complete after [`stop`](Self::stop).
    pub fn report(&self) -> ProcessReport {
        let others = self.lock();
        let sum = Recorder::new(&self.config, 0);
        sum.add(&self.main);
        for recorder in others.attached.iter().map(Arc::as_ref).chain(others.ended.as_deref()) {
            sum.add(recorder);
        }
        let calls = Primitive::ALL.iter().enumerate().filter_map(|(i, p)| {
            CallReport::new(*p, &sum.calls[i], sum.latency[i].as_ref(), sum.size[i].as_ref())
        });
        ProcessReport {
            threads: 1 + others.count,
            run_time: self.main.elapsed(),
            thread_time: sum.elapsed(),
            unexpected: UnexpectedReport::default(),
            collectives: Vec::new(),
            unfinished: self.main.unfinished().map(|p| p.name().to_owned()),
            computation: IntervalReport::new(&sum.computation, &sum.computation_distribution),
            communication: IntervalReport::new(&sum.communication, &sum.communication_distribution),
            calls: calls.collect(),
        }
    }

    /// What a call has cost so far, over all threads.
    pub fn call(&self, primitive: Primitive) -> CallTotals {
        self.sum(|recorder| recorder.calls[primitive.index()].totals())
    }

    /// The computation and the communication so far, over all threads.
    pub fn intervals(&self) -> [CallTotals; 2] {
        [
            self.sum(|recorder| recorder.computation.totals()),
            self.sum(|recorder| recorder.communication.totals()),
        ]
    }

    fn sum(&self, of: impl Fn(&Recorder) -> CallTotals) -> CallTotals {
        let others = self.lock();
        let all = others.attached.iter().map(Arc::as_ref).chain(others.ended.as_deref());
        std::iter::once(&self.main).chain(all).map(of).fold(CallTotals::default(), CallTotals::plus)
    }

    /// A thread that panics while it holds the lock leaves the list whole: pushes and removals are single
    /// steps.
    fn lock(&self) -> MutexGuard<'_, Others> {
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
