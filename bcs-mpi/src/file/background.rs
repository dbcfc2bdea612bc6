//! What the system does with a file without the rank: threads that read and write while the program computes.
//!
//! A call that waits does that itself, with the library's lock let go: to its node's NIC it is a rank that
//! computes.

use crate::error::{MpiError, MpiResult, Problem};
use crate::process::{ready, unguarded, with};
use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// Threads at most: what one waits for, disks mostly, others need not.
const THREADS: usize = 4;

type Job = Box<dyn FnOnce() + Send>;

/// The threads of this process.
struct Pool {
    jobs: Mutex<Sender<Job>>,
    queue: Arc<Mutex<Receiver<Job>>>,
    threads: AtomicUsize,
    /// Jobs that are queued or being done.
    busy: Arc<AtomicUsize>,
}

static POOL: LazyLock<Pool> = LazyLock::new(|| {
    let (jobs, queue) = channel();
    Pool {
        jobs: Mutex::new(jobs),
        queue: Arc::new(Mutex::new(queue)),
        threads: AtomicUsize::new(0),
        busy: Arc::default(),
    }
});

impl Pool {
    fn submit(&self, job: Job) -> std::io::Result<()> {
        let busy = self.busy.fetch_add(1, Ordering::Relaxed);
        let threads = self.threads.load(Ordering::Relaxed);
        // Callers have the library's lock, so that no two add threads at once.
        if busy >= threads && threads < THREADS {
            match self.start() {
                Ok(()) => self.threads.store(threads + 1, Ordering::Relaxed),
                Err(error) if threads == 0 => return Err(error),
                Err(_) => {}
            }
        }
        // The queue lives as long as the pool.
        let _ = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).send(job);
        Ok(())
    }

    /// Starts a thread, which no signal of the program is delivered to.
    fn start(&self) -> std::io::Result<()> {
        let (queue, busy) = (self.queue.clone(), self.busy.clone());
        let run = move || {
            loop {
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok(job) = next else { return };
                job();
                busy.fetch_sub(1, Ordering::Relaxed);
            }
        };
        without_signals(|| std::thread::Builder::new().name("mpi-file".into()).spawn(run).map(drop))
    }
}

/// Calls a function with all signals blocked; threads that it starts have them blocked, too.
fn without_signals<R>(function: impl FnOnce() -> R) -> R {
    // SAFETY: sets of signals are plain numbers, filled before they are read.
    let before = unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        before
    };
    let result = function();
    // SAFETY: as above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut()) };
    result
}

/// Does a job of an operation: in the call that waits for the operation, or in the background of one that
/// does not.
///
/// # Errors
/// No thread can be started.
pub(super) async fn run<T: Send + 'static>(
    waits: bool,
    job: impl FnOnce() -> T + Send + 'static,
) -> MpiResult<T> {
    let begin = || {
        with(|process| {
            process.port.begin_thread();
            Ok(())
        })
    };
    if waits {
        begin()?;
        let done = unguarded(job)?;
        with(|process| {
            process.port.end_thread();
            Ok(())
        })?;
        return Ok(done);
    }
    let answer: Arc<Mutex<Option<T>>> = Arc::default();
    let to = answer.clone();
    let job = Box::new(move || {
        let done = job();
        *to.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
    });
    with(|process| {
        POOL.submit(job).map_err(|error| {
            MpiError::new(Problem::Exhausted(format!("no thread can be started to access files: {error}")))
        })?;
        // Nobody wakes a rank that waits for it.
        process.progress.unwoken += 1;
        process.port.begin_thread();
        Ok(())
    })?;
    let done = poll_fn(|_| ready(Ok(answer.lock().unwrap_or_else(PoisonError::into_inner).take()))).await;
    with(|process| {
        process.progress.unwoken -= 1;
        process.port.end_thread();
        Ok(())
    })?;
    done
}
