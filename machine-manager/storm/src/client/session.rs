//! A job that runs on a cluster, seen from its `storm`: what is said to the manager, and what becomes of its
//! answers.
//!
//! One loop waits for everything. Requests leave through a task of their own, in order, so that a manager
//! that is slow to read never keeps us from reading what it says; they are bounded by the credit of input and
//! output.

use super::connection::Connection;
use super::descriptor;
use super::error::ClientError;
use super::input::Input;
use super::output::Output;
use bcs_protocol::storm::{Reply, Request, Submission};
use bcs_stream as stream;
use bcs_stream::StreamError;
use program_launcher::Verdict;
use program_launcher::launcher::forwarded_here;
use program_launcher::signals::{self, Signal, SignalQueue, SignalSet, asks_to_end};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;
use tokio::io::AsyncWrite;
use tokio::io::unix::AsyncFd;
use tokio::sync::{mpsc, oneshot};

/// How often the user asks for the end before `storm` leaves it to the manager: once for the ranks, once for
/// the manager, once for us.
const GIVE_UP_AFTER: u32 = 3;

/// How long to wait, before `storm` stops, for the word of it to leave.
const LAST_WORD: Duration = Duration::from_secs(1);

/// What the sending task is given.
enum Outgoing {
    Request(Box<Request>),
    /// Everything before this is to be sent.
    Flush(oneshot::Sender<()>),
}

type Outbox = mpsc::UnboundedSender<Outgoing>;

fn put(outbox: &Outbox, request: Request) {
    // That the manager is gone is seen where its replies are received.
    let _ = outbox.send(Outgoing::Request(Box::new(request)));
}

async fn send_all(
    mut writer: Box<dyn AsyncWrite + Send + Unpin>,
    mut inbox: mpsc::UnboundedReceiver<Outgoing>,
) {
    while let Some(outgoing) = inbox.recv().await {
        match outgoing {
            Outgoing::Request(request) => {
                if stream::send(&mut writer, request.as_ref()).await.is_err() {
                    return;
                }
            }
            Outgoing::Flush(done) => drop(done.send(())),
        }
    }
}

/// Runs a job to its end. To be called while the process has one thread.
///
/// # Errors
/// It was not started, or its end is not known.
pub async fn run(
    connection: Connection,
    submission: Submission,
    remark: impl Fn(&str),
) -> Result<Verdict, ClientError> {
    let Connection { writer, mut replies, at } = connection;
    let system = |what| move |error: io::Error| ClientError::System { what, error };
    let forwarded = forwarded_here();
    // A terminal does not stop us for reading or writing from the background: we are told so instead.
    let blocked: Vec<Signal> = forwarded.iter().copied().chain([libc::SIGTTIN, libc::SIGTTOU]).collect();
    SignalSet::of(&blocked).block_exactly();
    let arriving = Signals::of(&forwarded).map_err(system("watch for signals"))?;
    let mut input = Input::new(submission.job.stdin).map_err(system("watch the standard input"))?;
    let mut output = Output::new(submission.job.labels).map_err(system("watch the standard output"))?;
    let (outbox, inbox) = mpsc::unbounded_channel();
    tokio::spawn(send_all(writer, inbox));
    put(&outbox, Request::Run(Box::new(submission)));
    let mut asked_to_end = 0;
    let mut verdict = None;
    loop {
        if let Some(verdict) = verdict.take_if(|_| output.is_empty()) {
            return Ok(verdict);
        }
        tokio::select! {
            reply = replies.receive::<Reply>(), if verdict.is_none() => match reply {
                Ok(Some(Reply::Output { node, is_error, bytes })) => output.push(node, is_error, bytes),
                Ok(Some(Reply::InputTaken { bytes, closed })) => {
                    input.taken(bytes);
                    if closed {
                        input.close();
                    }
                }
                Ok(Some(Reply::Remark(text))) => remark(&text),
                Ok(Some(Reply::Accepted { .. })) => {}
                Ok(Some(Reply::Refused { reason, status })) => return Err(ClientError::Refused { reason, status }),
                Ok(Some(Reply::Over(told))) => {
                    output.end();
                    verdict = Some(told);
                }
                Ok(Some(other)) => return Err(ClientError::unexpected(at, &other)),
                Ok(None) => return Err(gone(at, None)),
                Err(StreamError::Wire(error)) => return Err(ClientError::Nonsense { at, reason: error.to_string() }),
                Err(error) => return Err(gone(at, Some(error))),
            },
            written = output.progress() => {
                let written = written?;
                put(&outbox, Request::OutputTaken { node: written.node, bytes: written.bytes });
            }
            bytes = input.next(), if verdict.is_none() => put(&outbox, Request::Input(bytes)),
            signal = arriving.next() => {
                put(&outbox, Request::Forward(signal));
                if asks_to_end(signal) {
                    asked_to_end += 1;
                    if asked_to_end == GIVE_UP_AFTER || verdict.is_some() {
                        return Err(ClientError::GivenUp { at, signal });
                    }
                }
                if signal == libc::SIGTSTP {
                    stop_here(&outbox).await;
                }
            }
        }
    }
}

fn gone(at: String, error: Option<StreamError>) -> ClientError {
    ClientError::Gone { at, what: "the nodes end the job, and how it ended is not known", error }
}

/// The signals that `storm` passes on.
struct Signals {
    queue: SignalQueue,
    /// The same open file.
    arrivals: AsyncFd<OwnedFd>,
}

impl Signals {
    fn of(signals: &[Signal]) -> io::Result<Self> {
        let queue = SignalQueue::of(signals)?;
        let arrivals = descriptor::watched(queue.as_fd().try_clone_to_owned()?)?;
        Ok(Self { queue, arrivals })
    }

    /// The next signal. Cancel safe.
    async fn next(&self) -> Signal {
        while let Ok(mut guard) = self.arrivals.readable().await {
            if let Some(signal) = self.queue.next() {
                return signal;
            }
            guard.clear_ready();
        }
        std::future::pending().await
    }
}

/// Stops this process, as the shell expects after its stop signal, once the ranks have been told.
async fn stop_here(outbox: &Outbox) {
    let (done, told) = oneshot::channel();
    if outbox.send(Outgoing::Flush(done)).is_ok() {
        let _ = tokio::time::timeout(LAST_WORD, told).await;
    }
    signals::stop_here();
}
