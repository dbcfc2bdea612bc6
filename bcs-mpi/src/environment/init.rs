//! MPI_Init: the process becomes a rank (MPI-5.0, §11.2, §11.6).

use super::life::{World, life};
use crate::constants::*;
use crate::error::{MpiError, MpiResult, Problem, names};
use crate::handle::Table;
use crate::kind::Kind;
use crate::object::attached_buffer::AttachedBuffers;
use crate::object::communicators::Communicators;
use crate::object::datatype::Datatypes;
use crate::object::event::{self, EventKind};
use crate::object::file::Files;
use crate::object::request::Requests;
use crate::object::window::Windows;
use crate::process::exit::{EXIT, Exit};
use crate::process::launch::Place;
use crate::process::progress::Progress;
use crate::process::{self, LifePhase, Process, Watch, launch, monitor};
use mds::{MdsConfig, Primitive};
use nic_emu::port::{Port, now_ns};
use std::ffi::c_int;
use std::sync::OnceLock;
use std::thread::ThreadId;

/// The thread levels.
pub(super) const LEVELS: &[(c_int, &str)] =
    names![MPI_THREAD_SINGLE MPI_THREAD_FUNNELED MPI_THREAD_SERIALIZED MPI_THREAD_MULTIPLE];

/// The thread level, and the thread that initialised MPI.
static THREADS: OnceLock<(c_int, ThreadId)> = OnceLock::new();

/// MPI_Init_thread (and MPI_Init, which asks for MPI_THREAD_SINGLE); answers the level provided, which is the
/// one required.
///
/// # Errors
/// MPI is initialised already, the level is none, or the process cannot become a rank.
pub fn init(call: Primitive, required: c_int) -> MpiResult<c_int> {
    let entered_ns = now_ns();
    if !LEVELS.iter().any(|(level, _)| *level == required) {
        let allowed = "it must be MPI_THREAD_SINGLE, _FUNNELED, _SERIALIZED or _MULTIPLE";
        return Err(MpiError::argument(MPI_ERR_ARG, "required", required, allowed));
    }
    let mut life = life();
    if life.world != World::Before {
        return Err(MpiError::new(Problem::InitialisedTwice));
    }
    join(call, required, entered_ns)?;
    process::enter()?.without_end().communicators.has_world = true;
    life.world = World::Active;
    Ok(THREADS.get().map_or(required, |(level, _)| *level))
}

/// A session begins: the process becomes a rank, or wakes, if nobody has used the library. Answers the thread
/// level.
///
/// # Errors
/// The process cannot become a rank.
pub fn begin_session(level: c_int) -> MpiResult<c_int> {
    let mut life = life();
    join(Primitive::InitThread, level, now_ns())?;
    life.sessions += 1;
    Ok(THREADS.get().map_or(level, |(level, _)| *level))
}

/// Has the process be a rank. The caller holds the lock of the library's users.
fn join(call: Primitive, level: c_int, entered_ns: u64) -> MpiResult {
    match process::phase() {
        LifePhase::Active | LifePhase::Concurrent => Ok(()),
        LifePhase::Finalised => {
            // Its last user had gone.
            let concurrent = THREADS.get().is_some_and(|(level, _)| *level == MPI_THREAD_MULTIPLE);
            // SAFETY: the phase is Finalised, which comes after `start`.
            unsafe { process::activate(concurrent) };
            process::enter()?.without_end().port.resume();
            Ok(())
        }
        LifePhase::Uninitialised => start(call, level, entered_ns),
    }
}

fn failed(error: impl ToString) -> MpiError {
    MpiError::new(Problem::Launch(error.to_string()))
}

fn start(call: Primitive, level: c_int, entered_ns: u64) -> MpiResult {
    let mds = MdsConfig::from_env().map_err(failed)?;
    let check = launch::type_check().map_err(failed)?;
    let wanted = launch::wanted().map_err(failed)?;
    let (mut port, place) = launch::open().map_err(failed)?;
    let concurrent = level == MPI_THREAD_MULTIPLE;
    if concurrent {
        port.begin_thread();
    }
    // Neither is set before: MPI_Init gets here once in a process that has it succeed.
    let _ = THREADS.set((level, std::thread::current().id()));
    let _ = EXIT.set(Exit {
        memory: port.memory().clone(),
        local_rank: port.local_rank(),
        rank: place.rank,
        launched: place.launched,
    });
    monitor::start(&mds, &place, concurrent, &port, call, entered_ns);
    let communicators =
        Communicators::of_job(place.rank, place.size, port.memory(), wanted).map_err(failed)?;
    let process = Process {
        communicators,
        datatypes: Datatypes::comparing(check),
        groups: Table::new(Kind::Group),
        windows: Windows::new(),
        files: Files::new(),
        requests: Requests::default(),
        progress: Progress::default(),
        attached: AttachedBuffers::default(),
        watch: watch(&place, &port),
        port,
        place,
    };
    // SAFETY: the phase is Uninitialised, and `join` lets one thread at a time in; then the process is there.
    unsafe {
        process::put(process);
        process::activate(concurrent);
    }
    Ok(())
}

/// Who looks for deadlocks, if this process has to know.
fn watch(place: &Place, port: &Port) -> Option<Watch> {
    match place.launched {
        false => Some(Watch::itself()),
        true => event::is_listened(EventKind::HangFound).then(|| Watch::launcher(port.memory())),
    }
}

/// MPI_Query_thread.
///
/// # Errors
/// Before MPI_Init and after MPI_Finalize.
pub fn query_thread() -> MpiResult<c_int> {
    process::enter()?;
    Ok(THREADS.get().map_or(MPI_THREAD_SINGLE, |(level, _)| *level))
}

/// Whether calls of this thread may overlap with those of another one, for which there is no lock: below
/// MPI_THREAD_MULTIPLE, those of all threads but the one that initialised MPI.
pub(crate) fn may_overlap_unlocked() -> bool {
    THREADS
        .get()
        .is_some_and(|(level, main)| *level != MPI_THREAD_MULTIPLE && *main != std::thread::current().id())
}

/// MPI_Is_thread_main.
///
/// # Errors
/// Before MPI_Init and after MPI_Finalize.
pub fn is_thread_main() -> MpiResult<bool> {
    process::enter()?;
    Ok(THREADS.get().is_some_and(|(_, main)| *main == std::thread::current().id()))
}
