//! The jobs of the cluster: who runs what where, and what is to be done about it.
//!
//! An engine without I/O: `handle_*` puts in what has happened and when, [`Jobs::poll_action`] takes out what
//! to do, until there is nothing; [`Jobs::wakes_at`] says when [`Jobs::handle_time`] is due. Actions are to
//! be carried out in their order.
//!
//! | file | holds |
//! |---|---|
//! | `job` | the life of one job |
//! | `phase` | the phases of that |
//! | `part` | how far it is on one node |
//! | `queue` | who launches next |
//! | `streams` | how much of its standard streams may be under way |
//! | `texts` | what is said in words, cut to what is kept |
//! | `reports` | questions to all its launchers |

mod job;
mod part;
mod phase;
mod queue;
mod reports;
mod streams;
#[cfg(test)]
mod tests;
mod texts;

pub use job::{CAUSE_PATIENCE, Job};
pub use part::{Part, Step};
pub use phase::{PREPARE_LIMIT, Phase};
pub use reports::{Purpose, Reports};
pub use streams::{BeyondCredit, Input, InputTaken, Output};
pub use texts::hosts_text;

use super::HostId;
use super::ledger::Held;
use super::limits::{QUESTIONS, RANK_BYTES};
use crate::mapping::{self, Slots};
use bcs_core::wire::WireError;
use bcs_core::{JobId, Rank, TransportChoice};
use bcs_protocol::node::{FromNode, LaunchOrder, ToNode};
use bcs_protocol::storm::LONGEST_TIMEOUT;
use bcs_protocol::storm::{Reply, Request, Submission};
use program_launcher::StdinTo;
use program_launcher::launch::JobNetwork;
use program_launcher::verdict::STATUS_USAGE;
use queue::Queue;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::Duration;

/// A connection of a `storm`, by a number that is never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u64);

/// Whose a job is, as it was proved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The number of the user.
    pub uid: u32,
    /// The number of its main group.
    pub gid: u32,
    /// Its name, or its number where it has none.
    pub name: String,
}

/// A node that can be given jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer<'a> {
    /// Which one.
    pub host: HostId,
    /// Its name.
    pub name: &'a str,
    /// Its cores.
    pub cores: u32,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Tell a node manager.
    Node(HostId, ToNode),
    /// Tell a `storm`.
    Client(ClientId, Reply),
    /// Tell a node manager to launch a job: what [`Jobs::launch_order`] says.
    Launch {
        /// The job.
        job: JobId,
        /// The node.
        host: HostId,
        /// Its number in the job.
        at: usize,
    },
    /// Make keys for the network of a job, one for each name, and give them to [`Jobs::handle_keys`].
    Mint {
        /// The job.
        job: JobId,
        /// Its name, for the authority.
        run: String,
        /// The nodes' names, by number.
        members: Vec<String>,
        /// What carries it, where the user says that.
        transport: Option<TransportChoice>,
    },
    /// Tell the control network what to do about the start of a job.
    Start(JobId, StartOrder),
    /// This `storm` does not keep the protocol: close its connection.
    CloseClient(ClientId, &'static str),
    /// This node manager does not keep the protocol: close its connection, and tell
    /// [`Jobs::handle_lost_node`].
    CloseNode(HostId, &'static str),
}

/// What the control network is to do about the start of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartOrder {
    /// Start it, in this slot, on all these nodes as soon as it is prepared there, or on none, and tell
    /// [`Jobs::handle_commit`].
    Commit(u32, Vec<HostId>),
    /// Do not start it, if it is not started yet, and tell [`Jobs::handle_commit`] whether it is.
    Withdraw,
    /// All nodes know that it is started, or it never will be.
    Forget,
}

/// The jobs.
#[derive(Debug, Default)]
pub struct Jobs {
    jobs: BTreeMap<JobId, Job>,
    queue: Queue,
    /// Jobs that wait for room at their nodes.
    ready: BTreeSet<JobId>,
    by_client: BTreeMap<ClientId, JobId>,
    last_job: u64,
    last_round: u64,
    /// Tells the runs of this manager from those of all others.
    stamp: String,
    actions: VecDeque<Action>,
    is_shutting_down: bool,
}

impl Jobs {
    /// No jobs. The stamp is a text that no other run of any machine manager has: it is part of the names of
    /// runs.
    pub fn new(stamp: impl Into<String>) -> Self {
        Self { stamp: stamp.into(), ..Self::default() }
    }

    /// The next thing to do.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// A job, as long as something of it is left.
    pub fn job(&self, job: JobId) -> Option<&Job> {
        self.jobs.get(&job)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// How many ranks run on each node that has any, and of which jobs.
    pub fn loads(&self) -> HashMap<HostId, (u32, Vec<JobId>)> {
        let mut loads: HashMap<HostId, (u32, Vec<JobId>)> = HashMap::new();
        for (id, job) in &self.jobs {
            for (at, part) in job.parts.iter().enumerate().filter(|(_, part)| part.step < Step::Over) {
                let (ranks, jobs) = loads.entry(part.host).or_default();
                *ranks += job.ranks_on(at);
                jobs.push(*id);
            }
        }
        loads
    }

    /// A user wants a job to be run. It is answered whether it will be.
    pub fn handle_submission(
        &mut self,
        client: ClientId,
        owner: Owner,
        submission: Submission,
        held: Held,
        offers: &[Offer<'_>],
        now: Duration,
    ) {
        if let Err(reason) = self.grant(client, owner, submission, held, offers, now) {
            self.refuse(client, reason);
        }
    }

    fn refuse(&mut self, client: ClientId, reason: String) {
        self.actions.push_back(Action::Client(client, Reply::Refused { reason, status: STATUS_USAGE }));
    }

    fn grant(
        &mut self,
        client: ClientId,
        owner: Owner,
        submission: Submission,
        mut held: Held,
        offers: &[Offer<'_>],
        now: Duration,
    ) -> Result<(), String> {
        if self.is_shutting_down {
            return Err("the machine manager is being shut down; try again when it is back".into());
        }
        let Submission { job: description, wish, surroundings } = submission;
        let ranks: u64 = description.applications.iter().map(|program| u64::from(program.ranks)).sum();
        let ranks = u32::try_from(ranks).map_err(|_| format!("a job of {ranks} ranks is too large"))?;
        if description.applications.iter().any(|program| program.ranks == 0) {
            return Err("a program without ranks cannot be run: give each at least 1".into());
        }
        if let StdinTo::Rank(Rank(rank)) = description.stdin
            && rank >= ranks
        {
            return Err(format!(
                "rank {rank} cannot read the input: the job has {ranks} ranks, numbered from 0"
            ));
        }
        if let Some(limit) = description.timeout.filter(|limit| *limit > LONGEST_TIMEOUT) {
            let (limit, longest) = (limit.as_secs(), LONGEST_TIMEOUT.as_secs());
            return Err(format!("a time limit of {limit} s is too long: give at most {longest} s"));
        }
        held.grow(RANK_BYTES * u64::from(ranks)).map_err(|error| error.to_string())?;
        let loads = self.loads();
        let load_of = |host| loads.get(&host).map_or(0, |(ranks, _)| *ranks);
        let mut offers: Vec<(u32, &Offer<'_>)> =
            offers.iter().map(|offer| (load_of(offer.host), offer)).collect();
        // Those that have most to spare for each core come first.
        offers.sort_by_key(|(load, offer)| (u64::from(*load) << 20) / u64::from(offer.cores.max(1)));
        let slots: Vec<Slots<'_>> =
            offers.iter().map(|(_, offer)| Slots { host: offer.name, slots: offer.cores.max(1) }).collect();
        let mapped = mapping::place(&wish, ranks, &slots).map_err(|error| error.to_string())?;
        let parts: Vec<Part> = mapped
            .hosts
            .iter()
            .filter_map(|index| offers.get(*index))
            .map(|(_, offer)| Part::new(offer.host, offer.name.to_owned()))
            .collect();
        self.last_job += 1;
        let id = JobId(self.last_job);
        let run = format!("{}-{}", self.stamp, id.0);
        let job = program_launcher::Job { id, run, placement: mapped.placement, description };
        let hosts = parts.iter().map(|part| part.name.clone()).collect();
        self.actions.push_back(Action::Client(client, Reply::Accepted { job: id, hosts }));
        self.queue.push(owner.uid, id);
        self.jobs.insert(id, Job::new(job, surroundings, owner, client, parts, held, now));
        self.by_client.insert(client, id);
        self.settle([id], now);
        Ok(())
    }

    /// Has one node told to launch a job: of the oldest job whose next node has room. False if there is none.
    pub fn order_next(&mut self, has_room: impl Fn(HostId) -> bool, now: Duration) -> bool {
        let (jobs, actions) = (&mut self.jobs, &mut self.actions);
        let mut order = |id: &JobId| jobs.get_mut(id).is_some_and(|job| job.order(&has_room, actions));
        let Some(id) = self.ready.iter().copied().find(|id| order(id)) else { return false };
        self.settle([id], now);
        true
    }

    /// Whether jobs wait for room at their nodes.
    pub fn wants_room(&self) -> bool {
        !self.ready.is_empty()
    }

    /// What one of the nodes of a job is ordered; none when the job is over.
    ///
    /// # Errors
    /// The job is longer than a node manager takes.
    pub fn launch_order(&mut self, job: JobId, at: usize) -> Option<Result<LaunchOrder, WireError>> {
        Some(self.jobs.get_mut(&job)?.launch_order(at))
    }

    /// Something of a job could not be sent to a node, because of the job; why.
    pub fn handle_unsent(&mut self, job: JobId, host: HostId, is_launch: bool, reason: &str, now: Duration) {
        if let Some(job) = self.jobs.get_mut(&job) {
            job.handle_unsent(host, is_launch, reason, now, &mut self.actions);
        }
        self.settle([job], now);
    }

    /// Something from a `storm` after its submission.
    pub fn handle_request(&mut self, client: ClientId, request: Request, now: Duration) {
        let Some(id) = self.by_client.get(&client).copied() else { return };
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let out = &mut self.actions;
        let kept = match request {
            Request::Forward(signal) if (1..=64).contains(&signal) => {
                job.handle_signal(signal, now, out);
                Ok(())
            }
            Request::Forward(_) => Err("it forwards a signal that does not exist"),
            Request::Input(bytes) => {
                job.handle_input(bytes, out).map_err(|BeyondCredit| "it sends more input than it may")
            }
            Request::OutputTaken { node, bytes } => job
                .handle_output_taken(node, bytes, out)
                .map_err(|BeyondCredit| "it has written more output than it got"),
            Request::Run(_) | Request::Nodes | Request::Status { .. } => {
                Err("it asks for something else while its job runs")
            }
        };
        if let Err(fault) = kept {
            self.actions.push_back(Action::CloseClient(client, fault));
        }
        self.settle([id], now);
    }

    /// The connection of a `storm` is closed.
    pub fn handle_client_gone(&mut self, client: ClientId, now: Duration) {
        let Some(id) = self.by_client.remove(&client) else { return };
        if let Some(job) = self.jobs.get_mut(&id) {
            job.handle_client_gone(now, &mut self.actions);
        }
        self.settle([id], now);
    }

    /// A user wants to know what a job does.
    pub fn handle_status(&mut self, client: ClientId, owner: &Owner, id: JobId, now: Duration) {
        let Some(job) = self.jobs.get_mut(&id) else {
            let reason = format!("there is no job {}; storm nodes lists the jobs that run", id.0);
            return self.refuse(client, reason);
        };
        if owner.uid != 0 && owner.uid != job.owner.uid {
            return self.refuse(client, format!("job {} is another user's", id.0));
        }
        if job.reports.under_way() >= QUESTIONS {
            let reason = format!("job {} is being asked by {QUESTIONS} others; try again in a moment", id.0);
            return self.refuse(client, reason);
        }
        self.last_round += 1;
        job.ask(self.last_round, Purpose::Status(client), now, &mut self.actions);
        self.settle([id], now);
    }

    /// A node manager has said something about a job.
    pub fn handle_node(&mut self, host: HostId, message: FromNode, now: Duration) {
        let id = match &message {
            FromNode::Launcher { job, .. }
            | FromNode::Output { job, .. }
            | FromNode::InputTaken { job, .. } => *job,
            FromNode::Hello { .. } | FromNode::Bound { .. } => return,
        };
        // Of a job that was given up, a node may still speak.
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let Some(at) = job.parts.iter().position(|part| part.host == host) else { return };
        let out = &mut self.actions;
        let kept = match message {
            FromNode::Launcher { notice, .. } => {
                job.handle_notice(at, notice, now, out);
                Ok(())
            }
            FromNode::Output { is_error, bytes, .. } => job
                .handle_output(at, is_error, bytes, out)
                .map_err(|BeyondCredit| "it sends more output than it may"),
            FromNode::InputTaken { bytes, closed, .. } => job
                .handle_input_taken(at, bytes, closed, out)
                .map_err(|BeyondCredit| "it has passed on more input than it got"),
            FromNode::Hello { .. } | FromNode::Bound { .. } => Ok(()),
        };
        if let Err(fault) = kept {
            self.actions.push_back(Action::CloseNode(host, fault));
        }
        self.settle([id], now);
    }

    /// A node is lost; the reason follows on its name.
    pub fn handle_lost_node(&mut self, host: HostId, reason: &str, now: Duration) {
        for job in self.jobs.values_mut() {
            job.handle_lost_node(host, reason, now, &mut self.actions);
        }
        self.settle_all(now);
    }

    /// The keys of a job's network are there, or cannot be made.
    pub fn handle_keys(&mut self, id: JobId, keys: Result<Vec<JobNetwork>, String>, now: Duration) {
        if let Some(job) = self.jobs.get_mut(&id) {
            job.handle_keys(keys, now, &mut self.actions);
        }
        self.settle([id], now);
    }

    /// The control network has started a job on all its nodes, or on none.
    pub fn handle_commit(&mut self, id: JobId, has_started: bool, now: Duration) {
        if let Some(job) = self.jobs.get_mut(&id) {
            job.handle_commit(has_started, now, &mut self.actions);
        }
        self.settle([id], now);
    }

    /// The machine manager is to end: all jobs are ended, and no more are taken.
    pub fn handle_shutdown(&mut self, now: Duration) {
        self.is_shutting_down = true;
        for job in self.jobs.values_mut() {
            job.handle_shutdown(now, &mut self.actions);
        }
        self.settle_all(now);
    }

    /// Time has passed.
    pub fn handle_time(&mut self, now: Duration) {
        let mut due = Vec::new();
        for (id, job) in self.jobs.iter_mut().filter(|(_, job)| job.wakes_at().is_some_and(|at| at <= now)) {
            job.handle_time(now, &mut self.actions);
            due.push(*id);
        }
        self.settle(due, now);
    }

    /// When [`Jobs::handle_time`] is due.
    pub fn wakes_at(&self) -> Option<Duration> {
        self.jobs.values().filter_map(Job::wakes_at).min()
    }

    fn settle_all(&mut self, now: Duration) {
        let all: Vec<JobId> = self.jobs.keys().copied().collect();
        self.settle(all, now);
    }

    /// What follows from what has happened to these jobs: questions, their answers, slots, and jobs of which
    /// nothing is left.
    fn settle(&mut self, touched: impl IntoIterator<Item = JobId>, now: Duration) {
        for id in touched {
            self.settle_job(id, now);
        }
        while let Some((id, slot)) = self.queue.pop() {
            if let Some(job) = self.jobs.get_mut(&id) {
                job.launch(slot, &mut self.actions);
            }
            self.settle_job(id, now);
        }
    }

    fn settle_job(&mut self, id: JobId, now: Duration) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        if let Some(purpose) = job.poll_question(now) {
            self.last_round += 1;
            job.ask(self.last_round, purpose, now, &mut self.actions);
        }
        while let Some(finished) = job.reports.poll_finished(now) {
            if let Purpose::Status(client) = finished.purpose {
                let text = status_text(job, &finished.report, &finished.silent, now);
                self.actions.push_back(Action::Client(client, Reply::Status(text)));
            }
            job.handle_report(&finished.purpose, finished.report, now, &mut self.actions);
        }
        let uid = job.owner.uid;
        match job.phase() {
            Phase::Queued => {}
            Phase::Ready => {
                self.ready.insert(id);
            }
            _ => {
                self.ready.remove(&id);
                self.queue.withdraw(uid, id);
            }
        }
        if job.has_launched()
            && let Some(slot) = job.slot.take()
        {
            self.queue.give_back(uid, slot);
            self.actions.push_back(Action::Start(id, StartOrder::Forget));
        }
        if job.is_over() {
            self.by_client.remove(&job.submitter);
            self.jobs.remove(&id);
        }
    }
}

/// What a job does, as its user reads it.
fn status_text(job: &Job, report: &str, silent: &[usize], now: Duration) -> String {
    let names: Vec<String> = job.parts.iter().map(|part| part.name.clone()).collect();
    let ranks = job.description.ranks();
    let state = match (job.phase(), job.running_since()) {
        (Phase::Running, Some(since)) => {
            format!("runs since {:.1} s", now.saturating_sub(since).as_secs_f64())
        }
        (phase, _) if phase.is_launching() => "is being launched".into(),
        _ => "is ending".into(),
    };
    let mut text = format!(
        "job {} of {}: {ranks} {} on {}, {state}\n",
        job.id().0,
        job.owner.name,
        if ranks == 1 { "rank" } else { "ranks" },
        hosts_text(&names),
    );
    text += report;
    if !report.is_empty() && !report.ends_with('\n') {
        text.push('\n');
    }
    if !silent.is_empty() {
        let silent: Vec<String> = silent.iter().filter_map(|at| names.get(*at).cloned()).collect();
        text += &format!("  no answer from {}\n", hosts_text(&silent));
    }
    text
}
