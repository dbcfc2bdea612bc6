//! MMDS in this process: times every call of the program when it is on; one predictable branch a call when it
//! is off (paper, §5.1). It is on where the user wants a file of this rank, and from when on a tool first
//! wants to read what it records.
//!
//! Time stamps are CLOCK_MONOTONIC's. Below MPI_THREAD_MULTIPLE the main recorder serves all threads; with it
//! every thread has one of its own, attached at its first call and detached when it ends.

use super::guard::{LifePhase, phase};
use super::launch::Place;
use crate::host;
use crate::object::collective::{Collective, MOST_ALGORITHMS};
use bcs_core::{LocalRank, Rank};
use mds::mmds::{AlgorithmReport, CallTotals, UnexpectedReport};
use mds::{Entry, MdsConfig, MmdsConfig, Primitive, ProcessRecorder, Recorder};
use nic_emu::memory::NicMemory;
use nic_emu::port::{Port, now_ns};
use nic_emu::unexpected::UnexpectedPool;
use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::ThreadId;

/// Whether calls are recorded.
static ON: AtomicBool = AtomicBool::new(false);
/// How often each collective has gone by each of its algorithms.
static OF_ALGORITHMS: [[AtomicU64; MOST_ALGORITHMS]; Collective::ALL.len()] =
    [const { [const { AtomicU64::new(0) }; MOST_ALGORITHMS] }; Collective::ALL.len()];
static MONITOR: OnceLock<Monitor> = OnceLock::new();
/// Whether a tool wants to read what is recorded.
static IS_READ: AtomicBool = AtomicBool::new(false);
/// Where other threads than this have recorders of their own, once the process is a rank.
static MAIN_THREAD: OnceLock<Option<ThreadId>> = OnceLock::new();

struct Monitor {
    recorder: ProcessRecorder,
    /// The thread of MPI_Init, where other threads have recorders of their own.
    main_thread: Option<ThreadId>,
    /// The file that it becomes at the end, if it does.
    file: Option<File>,
}

/// A file to be.
struct File {
    directory: PathBuf,
    run: mds::trace::Run,
    /// This rank, its NIC memory, and which rank it is there.
    rank: Rank,
    memory: Arc<NicMemory>,
    local_rank: LocalRank,
}

thread_local! {
    static OF_THREAD: RefCell<Attached> = const { RefCell::new(Attached(None)) };
}

/// A thread's own recorder, given back when the thread ends.
struct Attached(Option<Arc<Recorder>>);

impl Drop for Attached {
    fn drop(&mut self) {
        if let (Some(recorder), Some(monitor)) = (self.0.take(), MONITOR.get()) {
            monitor.recorder.detach_thread(&recorder, now_ns());
        }
    }
}

impl Monitor {
    fn with<R>(&self, f: impl FnOnce(&Recorder) -> R) -> R {
        if self.main_thread.is_none_or(|main| main == std::thread::current().id()) {
            return f(self.recorder.main());
        }
        OF_THREAD.with_borrow_mut(|own| f(own.0.get_or_insert_with(|| self.recorder.attach_thread(now_ns()))))
    }
}

/// A call that is being timed.
pub struct Timed(Option<Entry>);

/// The program enters a call.
#[inline(always)]
pub fn enter(primitive: Primitive) -> Timed {
    if ON.load(Ordering::Relaxed) { enter_on(primitive) } else { Timed(None) }
}

/// The program leaves it, having moved `bytes`.
#[inline(always)]
pub fn leave(timed: Timed, bytes: impl FnOnce() -> u64) {
    if let Some(entry) = timed.0 {
        leave_on(entry, bytes());
    }
}

#[cold]
#[inline(never)]
fn enter_on(primitive: Primitive) -> Timed {
    Timed(MONITOR.get().map(|monitor| monitor.with(|recorder| recorder.enter(primitive, now_ns()))))
}

#[cold]
#[inline(never)]
fn leave_on(entry: Entry, bytes: u64) {
    if let Some(monitor) = MONITOR.get() {
        monitor.with(|recorder| recorder.leave(entry, now_ns(), bytes));
    }
}

/// A collective goes by the algorithm of this number in its part of the table.
#[inline(always)]
pub fn note_algorithm(collective: Collective, number: usize) {
    if ON.load(Ordering::Relaxed) {
        OF_ALGORITHMS[collective as usize][number].fetch_add(1, Ordering::Relaxed);
    }
}

/// Collectives by their algorithms, those that there were.
fn algorithms() -> Vec<AlgorithmReport> {
    let of = |&collective: &Collective| {
        let counts = OF_ALGORITHMS[collective as usize].iter().map(|count| count.load(Ordering::Relaxed));
        let report = move |(algorithm, count): (&&str, u64)| AlgorithmReport {
            collective: collective.name().to_owned(),
            algorithm: (*algorithm).to_owned(),
            count,
        };
        collective.algorithm_names().iter().zip(counts).filter(|(_, count)| *count > 0).map(report)
    };
    Collective::ALL.iter().flat_map(of).collect()
}

/// Begins to record, if this rank is to: in MPI_Init, which was entered at `entered_ns`.
pub fn start(
    config: &MdsConfig,
    place: &Place,
    concurrent: bool,
    port: &Port,
    init: Primitive,
    entered_ns: u64,
) {
    let main_thread = concurrent.then(|| std::thread::current().id());
    // Neither is set before: a process starts once.
    let _ = MAIN_THREAD.set(main_thread);
    let wanted = config.mmds_of(place.rank);
    if wanted.is_none() && !IS_READ.load(Ordering::SeqCst) {
        return;
    }
    let recorder = ProcessRecorder::new(wanted.unwrap_or(&MmdsConfig::default()), entered_ns);
    let entry = recorder.main().enter(init, entered_ns);
    recorder.main().leave(entry, now_ns(), 0);
    let file = wanted.map(|_| File {
        directory: config.trace_dir.clone(),
        run: mds::trace::Run { id: place.job.clone(), ranks: place.size, nodes: port.memory().node().1 },
        rank: place.rank,
        memory: port.memory().clone(),
        local_rank: port.local_rank(),
    });
    if MONITOR.set(Monitor { recorder, main_thread, file }).is_ok() {
        ON.store(true, Ordering::Release);
    }
}

/// Records from now on, or from MPI_Init on, for a tool to read, if nothing is recorded yet. What was
/// recorded once stays readable.
pub fn record() {
    IS_READ.store(true, Ordering::SeqCst);
    let is_rank = matches!(phase(), LifePhase::Active | LifePhase::Concurrent);
    if let Some(&main_thread) = MAIN_THREAD.get().filter(|_| is_rank) {
        let mut is_new = false;
        MONITOR.get_or_init(|| {
            is_new = true;
            let recorder = ProcessRecorder::new(&MmdsConfig::default(), now_ns());
            Monitor { recorder, main_thread, file: None }
        });
        if is_new {
            ON.store(true, Ordering::Release);
        }
    }
}

/// What is recorded of a call so far, in all threads.
pub fn call(primitive: Primitive) -> CallTotals {
    MONITOR.get().map(|monitor| monitor.recorder.call(primitive)).unwrap_or_default()
}

/// What is recorded so far of the time between blocking calls, and of that in them.
pub fn intervals() -> [CallTotals; 2] {
    MONITOR.get().map(|monitor| monitor.recorder.intervals()).unwrap_or_default()
}

/// How often a collective has gone by the algorithm of this number, as far as it is recorded.
pub fn algorithm_count(collective: Collective, number: usize) -> u64 {
    OF_ALGORITHMS[collective as usize][number].load(Ordering::Relaxed)
}

/// Ends recording and writes this rank's file. The second and later calls do nothing.
pub fn finish() {
    if !ON.swap(false, Ordering::AcqRel) {
        return;
    }
    let Some(monitor) = MONITOR.get() else { return };
    monitor.recorder.stop(now_ns());
    let Some(File { directory, run, rank, memory, local_rank }) = &monitor.file else { return };
    let program =
        std::env::current_exe().map_or_else(|_| String::new(), |path| path.to_string_lossy().into_owned());
    let process = mds::trace::Process {
        rank: rank.0,
        node: memory.node().0,
        host: host::name(),
        program,
        pid: std::process::id(),
    };
    let mut report = monitor.recorder.report();
    report.collectives = algorithms();
    if let Ok(pool) = UnexpectedPool::of(memory, *local_rank) {
        report.unexpected = UnexpectedReport { messages: pool.messages(), most_bytes: pool.most_bytes() };
    }
    if let Err(error) = mds::trace::write_mmds(directory, run, &process, &report) {
        eprintln!("rank {rank}: MMDS: {error}");
    }
}
