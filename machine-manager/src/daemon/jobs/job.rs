//! The life of a job on the cluster, as a table of phases ([`Phase`]) and events. No I/O, no clock: the time
//! is an argument, and what to do is an action that the daemon carries out.
//!
//! Invariants: the verdict is the *first* failure, and is set once; ranks start on all nodes of the job or on
//! none; the verdict is success only if every launcher has said so; the user is told when nothing of the job
//! is left.

use super::part::{Part, Step};
use super::phase::{PREPARE_LIMIT, Phase};
use super::reports::{Purpose, Reports};
use super::streams::{BeyondCredit, Input, InputTaken, Output};
use super::texts::{hosts_text, number_of, why_not_started};
use super::{Action, ClientId, Owner, StartOrder};
use crate::daemon::HostId;
use crate::daemon::ledger::Held;
use crate::daemon::limits::{REMARKS, REPORT_BYTES, TEXT_BYTES};
use bcs_core::wire::WireError;
use bcs_core::{JobId, NodeId};
use bcs_protocol::node::{CommonPart, LaunchOrder, ToNode, User};
use bcs_protocol::storm::Reply;
use program_launcher::control::{Command, Notice};
use program_launcher::launch::{JobNetwork, Member, Surroundings};
use program_launcher::lifecycle::GRACE;
use program_launcher::signals::{self, Signal};
use program_launcher::verdict::{STATUS_RUNTIME, clip};
use program_launcher::{StdinTo, Verdict};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// How long the cause is waited for when a node cannot reach another.
pub const CAUSE_PATIENCE: Duration = Duration::from_millis(500);
/// How long after they were told to end ranks are killed: launchers do it after their grace, and should have
/// by then.
const KILL_AFTER: Duration = GRACE.saturating_add(Duration::from_millis(700));
/// How long a node may take to clean up.
const CLEANUP_LIMIT: Duration = Duration::from_secs(10);

/// A job.
#[derive(Debug)]
pub struct Job {
    pub(super) description: program_launcher::Job,
    pub(super) owner: Owner,
    pub(super) parts: Vec<Part>,
    pub(super) reports: Reports,
    pub(super) slot: Option<u32>,
    /// Who submitted it, there or not.
    pub(super) submitter: ClientId,
    surroundings: Surroundings,
    /// What all this takes here.
    _held: Held,
    client: Option<ClientId>,
    /// By node, the keys of the job's network until the node is told.
    networks: Vec<Option<JobNetwork>>,
    /// What all its nodes are told alike, encoded, from the first to the last that is told.
    common: Option<Arc<[u8]>>,
    /// How many of its nodes are told to launch it: those with the lowest numbers.
    ordered: usize,
    phase: Phase,
    verdict: Option<Verdict>,
    suspicion: Option<(Duration, Verdict)>,
    outputs: Vec<Output>,
    input: Input,
    /// Input before the job was ordered.
    early_input: Vec<u8>,
    /// `storm` has said that its input is at its end.
    input_has_ended: bool,
    /// What was passed on, by a number made of it.
    remarks: BTreeSet<u64>,
    prepare_until: Duration,
    running_since: Option<Duration>,
    limit_at: Option<Duration>,
}

type Actions = VecDeque<Action>;

impl Job {
    /// A job that was granted: placed on these nodes, and submitted at `now`.
    pub fn new(
        description: program_launcher::Job,
        surroundings: Surroundings,
        owner: Owner,
        client: ClientId,
        parts: Vec<Part>,
        held: Held,
        now: Duration,
    ) -> Self {
        let readers: Vec<usize> = match description.stdin {
            StdinTo::None => Vec::new(),
            StdinTo::All => (0..parts.len()).collect(),
            StdinTo::Rank(rank) => {
                description.placement.place(rank).map(|(node, _)| node.index()).into_iter().collect()
            }
        };
        Self {
            outputs: vec![Output::default(); parts.len()],
            input: Input::new(readers),
            description,
            owner,
            parts,
            reports: Reports::default(),
            slot: None,
            submitter: client,
            surroundings,
            _held: held,
            client: Some(client),
            networks: Vec::new(),
            common: None,
            ordered: 0,
            phase: Phase::Queued,
            verdict: None,
            suspicion: None,
            early_input: Vec::new(),
            input_has_ended: false,
            remarks: BTreeSet::new(),
            prepare_until: now + PREPARE_LIMIT,
            running_since: None,
            limit_at: None,
        }
    }

    /// Its number.
    pub fn id(&self) -> JobId {
        self.description.id
    }

    /// Where it is in its life.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Whether nothing is left of it.
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// Since when its ranks run.
    pub fn running_since(&self) -> Option<Duration> {
        self.running_since
    }

    /// How many of its ranks run on one of its nodes.
    pub fn ranks_on(&self, part: usize) -> u32 {
        let with_ranks = self.parts.get(part).filter(|part| part.step < Step::RanksGone);
        with_ranks.map_or(0, |_| self.description.placement.ranks_on(NodeId(part as u32)))
    }

    /// Whether its slot is no longer used: its launch is over, one way or the other. Nodes may know that
    /// before the manager does.
    pub fn has_launched(&self) -> bool {
        !self.phase.is_launching() && self.parts.iter().all(|part| part.step >= Step::Started)
    }

    /// A slot is free for its launch.
    pub fn launch(&mut self, slot: u32, out: &mut Actions) {
        if self.phase != Phase::Queued {
            return;
        }
        self.slot = Some(slot);
        self.phase = Phase::Minting;
        let members: Vec<String> = self.parts.iter().map(|part| part.name.clone()).collect();
        if members.len() == 1 {
            return self.be_ready(Vec::new());
        }
        let (run, transport) = (self.description.run.clone(), self.description.transport.clone());
        out.push_back(Action::Mint { job: self.id(), run, members, transport });
    }

    /// The keys of its network are there, one for each node, or cannot be made.
    pub fn handle_keys(&mut self, keys: Result<Vec<JobNetwork>, String>, now: Duration, out: &mut Actions) {
        if self.phase != Phase::Minting {
            return;
        }
        let message = match keys {
            Ok(networks) if networks.len() == self.parts.len() => return self.be_ready(networks),
            Ok(networks) => {
                format!("{} keys were made for a job on {} nodes", networks.len(), self.parts.len())
            }
            Err(reason) => reason,
        };
        self.fail(Verdict::NotStarted { message, status: STATUS_RUNTIME }, None, now, out);
    }

    fn be_ready(&mut self, networks: Vec<JobNetwork>) {
        self.networks = networks.into_iter().map(Some).collect();
        self.phase = Phase::Ready;
    }

    /// Has the next of its nodes told to launch it, if that has room for the order. False if nothing was
    /// done.
    pub fn order(&mut self, has_room: impl Fn(HostId) -> bool, out: &mut Actions) -> bool {
        if self.phase != Phase::Ready {
            return false;
        }
        let at = self.ordered;
        let Some(part) = self.parts.get_mut(at).filter(|part| has_room(part.host)) else { return false };
        part.reach(Step::Ordered);
        out.push_back(Action::Launch { job: self.description.id, host: part.host, at });
        self.ordered += 1;
        if self.ordered == self.parts.len() {
            self.be_ordered(out);
        }
        true
    }

    fn be_ordered(&mut self, out: &mut Actions) {
        self.phase = Phase::Preparing;
        let early = std::mem::take(&mut self.early_input);
        // What was held was within the credit.
        if !early.is_empty() {
            let _ = self.pass_input(early, out);
        }
        if self.input_has_ended {
            let _ = self.pass_input(Vec::new(), out);
        }
    }

    /// What one of its nodes is ordered. It is made when it is sent, and the common part once for all nodes.
    ///
    /// # Errors
    /// The job is longer than a node manager takes.
    pub fn launch_order(&mut self, at: usize) -> Result<LaunchOrder, WireError> {
        let common = match self.common.take() {
            Some(common) => common,
            None => self.encode_common()?,
        };
        if at + 1 < self.parts.len() {
            self.common = Some(common.clone());
        }
        Ok(LaunchOrder {
            slot: self.slot.unwrap_or_default(),
            user: User { uid: self.owner.uid, gid: self.owner.gid },
            job: self.description.id,
            node: NodeId(at as u32),
            network: self.networks.get_mut(at).and_then(Option::take),
            common,
        })
    }

    fn encode_common(&self) -> Result<Arc<[u8]>, WireError> {
        let mut job = self.description.clone();
        if self.parts.len() > 1 {
            // The report of a time limit is that of all nodes, so the limit is kept here.
            job.timeout = None;
        }
        let hosts = self.parts.iter().map(|part| part.name.clone()).collect();
        LaunchOrder::encode(&CommonPart { job, hosts, surroundings: self.surroundings.clone() })
    }

    /// Something of this job could not be sent to one of its nodes, which is the job's fault, not the node's.
    pub fn handle_unsent(
        &mut self,
        host: HostId,
        is_launch: bool,
        reason: &str,
        now: Duration,
        out: &mut Actions,
    ) {
        let Some(at) = self.parts.iter().position(|part| part.host == host) else { return };
        if is_launch {
            // The node knows nothing of it.
            self.part_over(at, out);
        }
        let what =
            if is_launch { "the job cannot be launched on" } else { "the job's input cannot be sent to" };
        let message = format!("{what} {}: {reason}", self.parts[at].name);
        self.fail(Verdict::NotStarted { message, status: STATUS_RUNTIME }, None, now, out);
    }

    /// The launcher of a node has said something.
    pub fn handle_notice(&mut self, at: usize, notice: Notice, now: Duration, out: &mut Actions) {
        let Some(part) = self.parts.get_mut(at).filter(|part| part.has_launcher()) else { return };
        match notice {
            Notice::Remark(mut text) => {
                clip(&mut text, TEXT_BYTES);
                if self.remarks.len() < REMARKS && self.remarks.insert(number_of(&text)) {
                    self.tell(Reply::Remark(text), out);
                }
            }
            Notice::Listening(address) if part.step == Step::Ordered => {
                part.address = Some(address);
                part.reach(Step::Listening);
            }
            Notice::Listening(_) => {
                let message = format!("the launcher on {} says out of turn where it listens", part.name);
                self.fail(Verdict::NotStarted { message, status: STATUS_RUNTIME }, None, now, out);
            }
            Notice::Prepared => part.reach(Step::Prepared),
            Notice::Started(_) => part.reach(Step::Started),
            Notice::Failed(verdict) => self.fail(verdict, Some(at), now, out),
            Notice::Unreachable { node, mut reason } => {
                clip(&mut reason, TEXT_BYTES);
                self.suspect(at, node, &reason, now);
            }
            Notice::RanksGone(verdict) => {
                part.reach(Step::RanksGone);
                if verdict != Verdict::Success && !part.is_ending {
                    self.fail(verdict, Some(at), now, out);
                }
            }
            Notice::Blocked => part.is_blocked = true,
            // An answer of more ranks than there are is none: the node counts as silent.
            Notice::Report { round, state }
                if state.ranks.len() <= self.description.placement.ranks_on(NodeId(at as u32)) as usize =>
            {
                self.reports.handle_state(round, at, state);
            }
            Notice::Report { .. } => {}
            Notice::Over(verdict) => self.handle_over(at, verdict, now, out),
        }
        self.advance(now, out);
    }

    fn handle_over(&mut self, at: usize, verdict: Verdict, now: Duration, out: &mut Actions) {
        let part = &self.parts[at];
        let cut_short = part.step < Step::Started && !part.is_ending;
        self.part_over(at, out);
        match verdict {
            Verdict::Success if cut_short => {
                let name = &self.parts[at].name;
                let message = format!("the program launcher on {name} ended before the job was started");
                self.fail(Verdict::NotStarted { message, status: STATUS_RUNTIME }, Some(at), now, out);
            }
            Verdict::Success => {}
            verdict => self.fail(verdict, Some(at), now, out),
        }
    }

    /// A node of the job is lost.
    pub fn handle_lost_node(&mut self, host: HostId, reason: &str, now: Duration, out: &mut Actions) {
        let Some(at) = self.parts.iter().position(|part| part.host == host) else { return };
        if self.parts[at].step == Step::Over {
            return;
        }
        self.part_over(at, out);
        let (host, seen_from) = (self.parts[at].name.clone(), "the machine manager".into());
        let verdict = Verdict::NodeLost { host, seen_from, reason: reason.to_owned() };
        self.fail(verdict, Some(at), now, out);
    }

    /// Nothing of the job is left on a node.
    fn part_over(&mut self, at: usize, out: &mut Actions) {
        self.parts[at].reach(Step::Over);
        self.reports.handle_gone(at);
        let taken = self.input.handle_gone(at);
        self.tell_input_taken(taken, out);
    }

    /// The control network has started the job on all its nodes, or on none.
    pub fn handle_commit(&mut self, has_started: bool, now: Duration, out: &mut Actions) {
        if self.phase != Phase::Committing {
            return;
        }
        if has_started {
            self.phase = Phase::Running;
            self.running_since = Some(now);
            if self.parts.len() > 1 {
                self.limit_at = self.description.timeout.and_then(|limit| now.checked_add(limit));
            }
        }
        if self.verdict.is_some() {
            self.end(now, out);
        }
        self.advance(now, out);
    }

    /// `storm` has gone.
    pub fn handle_client_gone(&mut self, now: Duration, out: &mut Actions) {
        self.client = None;
        for at in 0..self.parts.len() {
            let bytes = self.outputs[at].forget();
            self.tell_output_taken(at, bytes, out);
        }
        self.fail(Verdict::interrupted(libc::SIGHUP), None, now, out);
    }

    /// The machine manager is told to end.
    pub fn handle_shutdown(&mut self, now: Duration, out: &mut Actions) {
        if self.verdict.is_none() {
            self.tell(Reply::Remark("the machine manager is being shut down".into()), out);
        }
        self.fail(Verdict::interrupted(libc::SIGTERM), None, now, out);
    }

    /// The user sends a signal.
    pub fn handle_signal(&mut self, signal: Signal, now: Duration, out: &mut Actions) {
        match self.phase {
            Phase::Running | Phase::Ending { .. } => self.tell_launchers(&Command::Forward(signal), out),
            phase if phase.is_launching() && signals::asks_to_end(signal) => {
                self.fail(Verdict::interrupted(signal), None, now, out);
            }
            _ => {}
        }
    }

    /// Input from `storm`; none at its end.
    ///
    /// # Errors
    /// It is more than `storm` may send.
    pub fn handle_input(&mut self, bytes: Vec<u8>, out: &mut Actions) -> Result<(), BeyondCredit> {
        // The end comes once, and nothing after it.
        if self.input_has_ended {
            return Err(BeyondCredit);
        }
        self.input_has_ended = bytes.is_empty();
        match self.phase {
            Phase::Queued | Phase::Minting | Phase::Ready => {
                // Within the credit, as everything that is under way: `order` passes it on.
                if self.early_input.len() + bytes.len() > bcs_protocol::node::INPUT_CREDIT as usize {
                    return Err(BeyondCredit);
                }
                self.early_input.extend(bytes);
                Ok(())
            }
            _ => self.pass_input(bytes, out),
        }
    }

    fn pass_input(&mut self, bytes: Vec<u8>, out: &mut Actions) -> Result<(), BeyondCredit> {
        self.input.handle_bytes(bytes.len())?;
        if self.input.is_closed() {
            self.tell_input_taken(Some(InputTaken { bytes: bytes.len() as u32, closed: true }), out);
            return Ok(());
        }
        let job = self.id();
        for at in self.input.open_readers() {
            self.tell_node(at, ToNode::Input { job, bytes: bytes.clone() }, out);
        }
        Ok(())
    }

    /// A node has passed on input.
    ///
    /// # Errors
    /// More than it was sent.
    pub fn handle_input_taken(
        &mut self,
        at: usize,
        bytes: u32,
        closed: bool,
        out: &mut Actions,
    ) -> Result<(), BeyondCredit> {
        let taken = self.input.handle_taken(at, bytes, closed)?;
        self.tell_input_taken(taken, out);
        Ok(())
    }

    /// A node sends output of its ranks.
    ///
    /// # Errors
    /// More than it may send.
    pub fn handle_output(
        &mut self,
        at: usize,
        is_error: bool,
        bytes: Vec<u8>,
        out: &mut Actions,
    ) -> Result<(), BeyondCredit> {
        let Some(output) = self.outputs.get_mut(at) else { return Ok(()) };
        output.handle_bytes(bytes.len())?;
        if self.client.is_some() {
            self.tell(Reply::Output { node: at as u32, is_error, bytes }, out);
        } else {
            let bytes = output.forget();
            self.tell_output_taken(at, bytes, out);
        }
        Ok(())
    }

    /// `storm` has written output.
    ///
    /// # Errors
    /// More than it was sent.
    pub fn handle_output_taken(
        &mut self,
        node: u32,
        bytes: u32,
        out: &mut Actions,
    ) -> Result<(), BeyondCredit> {
        let at = node as usize;
        let taken = self.outputs.get_mut(at).ok_or(BeyondCredit)?.handle_taken(bytes)?;
        self.tell_output_taken(at, taken, out);
        Ok(())
    }

    /// What a round of questions has found for the job itself: a deadlock, or what its ranks did when the
    /// time limit struck.
    pub fn handle_report(&mut self, purpose: &Purpose, report: String, now: Duration, out: &mut Actions) {
        match purpose {
            Purpose::Status(_) => {}
            Purpose::Hang => {
                let report = format!("deadlock: no rank of the job can go on\n{report}");
                self.fail(Verdict::Stuck(report), None, now, out);
            }
            Purpose::TimeLimit => {
                let limit = self.description.timeout.unwrap_or_default();
                self.fail(Verdict::TimedOut { limit, report }, None, now, out);
            }
        }
    }

    /// Begins a round of questions.
    pub fn ask(&mut self, number: u64, purpose: Purpose, now: Duration, out: &mut Actions) {
        // A launcher answers when its ranks are there; that the control network has started them may be known
        // here before it says so.
        let first = if self.running_since.is_some() { Step::Prepared } else { Step::Started };
        let asked: Vec<usize> =
            (0..self.parts.len()).filter(|at| (first..Step::Over).contains(&self.parts[*at].step)).collect();
        for at in &asked {
            self.tell_launcher(*at, Command::Report { round: number }, out);
        }
        self.reports.begin(number, purpose, asked, now);
    }

    /// The purpose of a round that is due: its time limit has struck, or all its ranks are said to be
    /// blocked.
    pub fn poll_question(&mut self, now: Duration) -> Option<Purpose> {
        if self.phase != Phase::Running {
            return None;
        }
        if self.limit_at.take_if(|at| now >= *at).is_some() {
            return Some(Purpose::TimeLimit);
        }
        let gone = |part: &Part| part.step >= Step::RanksGone;
        let all_blocked =
            self.parts.iter().all(|part| part.is_blocked || gone(part)) && !self.parts.iter().all(gone);
        self.reports.wants_look(all_blocked, now).then_some(Purpose::Hang)
    }

    /// Time has passed.
    pub fn handle_time(&mut self, now: Duration, out: &mut Actions) {
        if let Some((_, verdict)) = self.suspicion.take_if(|(until, _)| now >= *until) {
            self.fail(verdict, None, now, out);
        }
        match self.phase {
            phase if phase.is_launching() && now >= self.prepare_until && self.verdict.is_none() => {
                let message = why_not_started(phase, &self.parts);
                self.fail(Verdict::NotStarted { message, status: STATUS_RUNTIME }, None, now, out);
            }
            Phase::Ending { kill_at: Some(kill_at), give_up_at } if now >= kill_at => {
                self.phase = Phase::Ending { kill_at: None, give_up_at };
                self.tell_launchers(&Command::Forward(libc::SIGKILL), out);
            }
            Phase::Ending { give_up_at, .. } | Phase::Finishing { give_up_at } if now >= give_up_at => {
                let open = self.parts.iter_mut().filter(|part| part.step < Step::Over);
                let mut names = Vec::new();
                for part in open {
                    part.reach(Step::Over);
                    names.push(part.name.clone());
                }
                let text = format!(
                    "{} did not say within {} s that the job is cleaned up; look there for processes of it",
                    hosts_text(&names),
                    CLEANUP_LIMIT.as_secs()
                );
                tracing::warn!(job = self.id().0, "{text}");
                self.tell(Reply::Remark(text), out);
            }
            _ => {}
        }
        self.advance(now, out);
    }

    /// When something is due although nothing happens.
    pub fn wakes_at(&self) -> Option<Duration> {
        let phase = match self.phase {
            Phase::Queued | Phase::Minting | Phase::Ready | Phase::Preparing | Phase::Committing => {
                self.verdict.is_none().then_some(self.prepare_until)
            }
            Phase::Running => self.limit_at,
            Phase::Ending { kill_at, give_up_at } => Some(kill_at.unwrap_or(give_up_at)),
            Phase::Finishing { give_up_at } => Some(give_up_at),
            Phase::Over => None,
        };
        let suspicion = self.suspicion.as_ref().map(|(until, _)| *until);
        [phase, suspicion, self.reports.wakes_at()].into_iter().flatten().min()
    }

    /// A node cannot reach another: somebody may know why.
    fn suspect(&mut self, at: usize, node: u32, reason: &str, now: Duration) {
        let (Some(accused), witness) = (self.parts.get(node as usize), &self.parts[at].name) else { return };
        let (host, seen_from) = (accused.name.clone(), witness.clone());
        let verdict = Verdict::NodeLost { host, seen_from, reason: reason.to_owned() };
        if self.verdict.is_none() && self.suspicion.is_none() {
            self.suspicion = Some((now + CAUSE_PATIENCE, verdict));
        }
    }

    /// The job has failed, unless it has before, and what follows from that. The node that said so, if one
    /// did, ends its own ranks.
    fn fail(&mut self, mut verdict: Verdict, at: Option<usize>, now: Duration, out: &mut Actions) {
        verdict.clip_texts(TEXT_BYTES, REPORT_BYTES);
        if let Some(part) = at.and_then(|at| self.parts.get_mut(at)) {
            part.is_ending = true;
        }
        if self.verdict.is_none() {
            self.verdict = Some(verdict);
        }
        match self.phase {
            Phase::Queued | Phase::Minting | Phase::Ready | Phase::Preparing | Phase::Running => {
                self.end(now, out)
            }
            // Whether its ranks have started is known when the control network has answered: then they are
            // told.
            Phase::Committing => out.push_back(Action::Start(self.id(), StartOrder::Withdraw)),
            Phase::Ending { .. } | Phase::Finishing { .. } | Phase::Over => {}
        }
        self.advance(now, out);
    }

    fn end(&mut self, now: Duration, out: &mut Actions) {
        self.suspicion = None;
        self.phase = Phase::Ending { kill_at: Some(now + KILL_AFTER), give_up_at: now + CLEANUP_LIMIT };
        for at in 0..self.parts.len() {
            let part = &mut self.parts[at];
            if part.step == Step::Unasked {
                part.reach(Step::Over);
            }
            if part.step < Step::RanksGone && !std::mem::replace(&mut part.is_ending, true) {
                self.tell_launcher(at, Command::End, out);
            }
        }
    }

    /// What follows when nodes have come to another step.
    fn advance(&mut self, now: Duration, out: &mut Actions) {
        let all = |parts: &[Part], step| parts.iter().all(|part| part.step >= step);
        if self.phase == Phase::Preparing {
            if self.parts.iter().all(|part| part.step == Step::Listening) {
                self.send_roster(out);
            }
            if self.parts.iter().all(|part| part.step == Step::Prepared) {
                self.phase = Phase::Committing;
                let hosts = self.parts.iter().map(|part| part.host).collect();
                let slot = self.slot.unwrap_or_default();
                out.push_back(Action::Start(self.id(), StartOrder::Commit(slot, hosts)));
            }
        }
        let may_finish = matches!(self.phase, Phase::Running | Phase::Ending { .. });
        if may_finish && all(&self.parts, Step::RanksGone) {
            self.phase = Phase::Finishing { give_up_at: now + CLEANUP_LIMIT };
            self.suspicion = None;
            self.tell_launchers(&Command::Finish, out);
        }
        if matches!(self.phase, Phase::Finishing { .. }) && all(&self.parts, Step::Over) {
            self.phase = Phase::Over;
            self.tell(Reply::Over(self.verdict.clone().unwrap_or(Verdict::Success)), out);
        }
    }

    fn send_roster(&mut self, out: &mut Actions) {
        let member = |part: &Part| Some(Member { name: part.name.clone(), address: part.address? });
        let roster: Vec<Member> = self.parts.iter().filter_map(member).collect();
        self.parts.iter_mut().for_each(|part| part.reach(Step::Linking));
        self.tell_launchers(&Command::Roster(roster), out);
    }

    fn tell(&self, reply: Reply, out: &mut Actions) {
        if let Some(client) = self.client {
            out.push_back(Action::Client(client, reply));
        }
    }

    fn tell_input_taken(&self, taken: Option<InputTaken>, out: &mut Actions) {
        if let Some(InputTaken { bytes, closed }) = taken {
            self.tell(Reply::InputTaken { bytes, closed }, out);
        }
    }

    /// Tells a node, if it has a launcher that wants to know.
    fn tell_node(&self, at: usize, message: ToNode, out: &mut Actions) {
        if let Some(part) = self.parts.get(at).filter(|part| part.has_launcher()) {
            out.push_back(Action::Node(part.host, message));
        }
    }

    fn tell_output_taken(&self, at: usize, bytes: Option<u32>, out: &mut Actions) {
        if let Some(bytes) = bytes {
            self.tell_node(at, ToNode::OutputTaken { job: self.id(), bytes }, out);
        }
    }

    fn tell_launcher(&self, at: usize, command: Command, out: &mut Actions) {
        self.tell_node(at, ToNode::Launcher { job: self.id(), command }, out);
    }

    fn tell_launchers(&self, command: &Command, out: &mut Actions) {
        for at in 0..self.parts.len() {
            self.tell_launcher(at, command.clone(), out);
        }
    }
}
