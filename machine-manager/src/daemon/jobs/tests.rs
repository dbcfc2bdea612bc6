//! The jobs among launchers that keep to the protocol, in every order of events that a seed gives; nodes are
//! lost and users go at any time.

use super::*;
use crate::daemon::ledger::Ledger;
use crate::daemon::limits::{REMARKS, REPORT_BYTES, TEXT_BYTES};
use bcs_config::UserConfig;
use bcs_core::NodeId;
use bcs_core::{PortRange, Transport};
use bcs_protocol::node::LaunchOrder;
use bcs_protocol::storm::{Mapping, Wish};
use program_launcher::control::{Command, Notice};
use program_launcher::launch::Surroundings;
use program_launcher::{Application, Verdict};
use proptest::prelude::*;
use std::sync::Arc;

const CLIENT: ClientId = ClientId(7);
const MS: Duration = Duration::from_millis(1);

fn owner(uid: u32) -> Owner {
    Owner { uid, gid: uid, name: format!("user{uid}") }
}

fn submission(ranks: u32, nodes: u32) -> Submission {
    let job = program_launcher::Job::new(vec![Application::new(ranks, "a")]);
    let wish = Wish { nodes: Some(nodes), mapping: Mapping::Node, ..Wish::default() };
    let surroundings = Surroundings { environment: vec![], directory: "/".into(), umask: 0 };
    Submission { job: job.description, wish, surroundings }
}

/// A cluster whose launchers, control network and minting do what they are told, one thing at a time.
#[derive(Default)]
struct World {
    jobs: Jobs,
    names: Vec<String>,
    now: Duration,
    /// What is on its way to the jobs, by source: in order from each, in any order between them.
    nodes: BTreeMap<HostId, VecDeque<FromNode>>,
    lost: BTreeSet<HostId>,
    orders: Vec<(HostId, LaunchOrder)>,
    minting: Vec<(JobId, usize)>,
    committing: BTreeMap<JobId, Vec<HostId>>,
    started: bool,
    ended: BTreeMap<HostId, u32>,
    finished: BTreeMap<HostId, u32>,
    ranks_gone: BTreeSet<HostId>,
    replies: Vec<Reply>,
    fails: Option<HostId>,
    /// Whether nodes take what they are sent.
    room: bool,
}

impl World {
    fn new(nodes: u32) -> Self {
        Self {
            jobs: Jobs::new("test"),
            names: (0..nodes).map(|node| format!("c{node:02}")).collect(),
            room: true,
            ..Self::default()
        }
    }

    fn submit(&mut self, ranks: u32, nodes: u32) {
        let names = self.names.clone();
        let offers: Vec<Offer<'_>> =
            (0..).zip(&names).map(|(host, name)| Offer { host: HostId(host), name, cores: 2 }).collect();
        let held = Ledger::new(UserConfig::default()).hold(1000);
        self.jobs.handle_submission(CLIENT, owner(1000), submission(ranks, nodes), held, &offers, self.now);
        self.carry_out();
    }

    fn says(&mut self, host: HostId, notice: Notice) {
        let job = JobId(1);
        self.nodes.entry(host).or_default().push_back(FromNode::Launcher { job, notice });
    }

    fn carry_out(&mut self) {
        let room = self.room;
        loop {
            let Some(action) = self.jobs.poll_action() else {
                match self.jobs.order_next(|_| room, self.now) {
                    true => continue,
                    false => break,
                }
            };
            match action {
                Action::Node(host, _) if self.lost.contains(&host) => {}
                Action::Launch { host, .. } if self.lost.contains(&host) => {}
                Action::Launch { job, host, at } => {
                    let order = self.jobs.launch_order(job, at).unwrap().unwrap();
                    let first = match order.network {
                        Some(_) => Notice::Listening(([10, 0, 0, 1], 4000).into()),
                        None => Notice::Prepared,
                    };
                    self.orders.push((host, order));
                    self.says(host, first);
                }
                Action::Node(host, ToNode::Launcher { command, .. }) => self.command(host, command),
                Action::Node(..) => {}
                Action::Client(client, reply) => {
                    assert_eq!(client, CLIENT);
                    assert!(
                        !matches!(self.replies.last(), Some(Reply::Over(_) | Reply::Refused { .. })),
                        "the last word is the last"
                    );
                    self.replies.push(reply);
                }
                Action::Mint { job, members, .. } => self.minting.push((job, members.len())),
                Action::Start(job, StartOrder::Commit(_, hosts)) => {
                    assert!(self.committing.insert(job, hosts).is_none(), "a job is started once");
                }
                Action::Start(job, StartOrder::Withdraw) => {
                    if self.committing.remove(&job).is_some() {
                        self.jobs.handle_commit(job, false, self.now);
                    }
                }
                Action::Start(_, StartOrder::Forget) => {}
                other => panic!("everybody keeps the protocol: {other:?}"),
            }
        }
    }

    fn command(&mut self, host: HostId, command: Command) {
        match command {
            Command::Roster(roster) => {
                assert_eq!(roster.len(), self.orders.len());
                self.says(host, Notice::Prepared);
            }
            Command::End => {
                *self.ended.entry(host).or_default() += 1;
                self.leave_ranks(host, Verdict::Success);
            }
            Command::Finish => {
                *self.finished.entry(host).or_default() += 1;
                assert!(
                    self.ranks_gone.iter().chain(&self.lost).collect::<BTreeSet<_>>().len()
                        >= self.orders.len()
                );
                self.says(host, Notice::Over(Verdict::Success));
            }
            _ => {}
        }
    }

    fn leave_ranks(&mut self, host: HostId, verdict: Verdict) {
        if self.ranks_gone.insert(host) {
            self.says(host, Notice::RanksGone(verdict));
        }
    }

    /// Lets one of the things happen that can. False when there are none.
    fn step(&mut self, choice: usize) -> bool {
        let talking: Vec<HostId> =
            self.nodes.iter().filter(|(_, queue)| !queue.is_empty()).map(|(host, _)| *host).collect();
        let running: Vec<HostId> = self
            .orders
            .iter()
            .map(|(host, _)| *host)
            .filter(|host| self.started && !self.ranks_gone.contains(host) && !self.lost.contains(host))
            .collect();
        let (mints, commits) = (self.minting.len(), self.committing.len());
        let all = talking.len() + mints + commits + running.len();
        if all == 0 {
            return false;
        }
        let mut choice = choice % all;
        self.now += MS;
        if let Some(host) = talking.get(choice) {
            let message = self.nodes.get_mut(host).and_then(VecDeque::pop_front).unwrap();
            self.jobs.handle_node(*host, message, self.now);
            self.carry_out();
            return true;
        }
        choice -= talking.len();
        if choice < mints {
            let (job, members) = self.minting.remove(choice);
            let network = |_| JobNetwork {
                id: 1,
                credential: "key".into(),
                listen: [0; 4].into(),
                ports: PortRange::ANY,
                transport: Transport::default(),
                seal: true,
            };
            self.jobs.handle_keys(job, Ok((0..members).map(network).collect()), self.now);
            self.carry_out();
            return true;
        }
        choice -= mints;
        if choice < commits {
            let (job, hosts) = self.committing.pop_first().unwrap();
            // As the control network does: with a dead node, nothing is started; it is withdrawn in a moment.
            if hosts.iter().any(|host| self.lost.contains(host)) {
                self.committing.insert(job, hosts);
                return true;
            }
            self.started = true;
            for host in hosts {
                self.says(host, Notice::Started(vec![1]));
            }
            self.jobs.handle_commit(job, true, self.now);
            self.carry_out();
            return true;
        }
        choice -= commits;
        let host = running[choice];
        if self.fails == Some(host) {
            let verdict = failure();
            self.says(host, Notice::Failed(verdict.clone()));
            self.leave_ranks(host, verdict);
        } else {
            self.leave_ranks(host, Verdict::Success);
        }
        true
    }

    fn lose(&mut self, host: HostId) {
        self.lost.insert(host);
        self.nodes.remove(&host);
        self.jobs.handle_lost_node(host, "is gone", self.now);
        self.carry_out();
    }

    fn verdict(&self) -> Option<&Verdict> {
        match self.replies.last() {
            Some(Reply::Over(verdict)) => Some(verdict),
            _ => None,
        }
    }
}

fn failure() -> Verdict {
    Verdict::Stuck("first".into())
}

proptest! {
    #[test]
    fn a_job_ends_with_one_verdict_and_nothing_is_left_whatever_happens_when(
        nodes in 1u32..5, choices in proptest::collection::vec(any::<usize>(), 80), fails in proptest::option::of(0u32..5),
        loss in proptest::option::of((0usize..40, 0u32..5)), going in proptest::option::of(0usize..40)
    ) {
        let mut world = World::new(nodes);
        world.fails = fails.map(HostId);
        world.submit(nodes * 2, nodes);
        let mut gone = false;
        for (at, choice) in choices.into_iter().enumerate() {
            if let Some((_, host)) = loss.filter(|(when, host)| *when == at && *host < nodes) {
                world.lose(HostId(host));
            }
            if going == Some(at) && world.verdict().is_none() {
                gone = true;
                world.jobs.handle_client_gone(CLIENT, world.now);
                world.carry_out();
            }
            world.step(choice);
        }
        while world.step(0) {}
        prop_assert!(world.jobs.is_empty(), "nothing is left: {:?}", world.jobs);
        prop_assert!(world.jobs.queue.is_idle());
        prop_assert!(world.ended.values().chain(world.finished.values()).all(|times| *times == 1));
        prop_assert!(!world.started || world.orders.len() == nodes as usize, "on all nodes or on none");
        if !gone {
            let undisturbed = world.lost.is_empty() && fails.is_none_or(|host| host >= nodes);
            match world.verdict() {
                Some(Verdict::Success) => prop_assert!(world.started && fails.is_none_or(|host| host >= nodes || world.lost.contains(&HostId(host)))),
                Some(verdict) => prop_assert!(!undisturbed, "{verdict:?}"),
                None => prop_assert!(false, "no verdict: {:?}", world.replies),
            }
        }
    }
}

#[test]
fn launchers_that_do_not_get_ready_are_named_with_what_they_have_not_done() {
    let mut world = World::new(3);
    world.submit(3, 3);
    while world.step(0) && world.committing.is_empty() {
        if world.nodes.values().map(VecDeque::len).sum::<usize>() == 3 {
            world.nodes.remove(&HostId(1));
            break;
        }
    }
    while world.step(0) {}
    let at = world.jobs.wakes_at().unwrap();
    assert_eq!(at, PREPARE_LIMIT);
    world.now = at;
    world.jobs.handle_time(at);
    world.carry_out();
    while world.step(0) {}
    let message = world.verdict().unwrap().message().unwrap();
    assert!(message.contains("after 15 s host c01 had not made the job's launcher ready"), "{message}");
    assert!(!world.started);
}

#[test]
fn a_node_that_cannot_be_reached_is_the_verdict_only_if_nobody_knows_the_cause_in_time() {
    for cause in [false, true] {
        let mut world = World::new(2);
        world.submit(2, 2);
        while !world.started {
            world.step(0);
        }
        let unreachable = Notice::Unreachable { node: 1, reason: "timed out".into() };
        let message = FromNode::Launcher { job: JobId(1), notice: unreachable };
        world.jobs.handle_node(HostId(0), message, world.now);
        world.carry_out();
        assert!(world.ended.is_empty());
        if cause {
            world.says(HostId(1), Notice::Failed(failure()));
            world.leave_ranks(HostId(1), failure());
        } else {
            world.now += CAUSE_PATIENCE;
            world.jobs.handle_time(world.now);
            world.carry_out();
        }
        while world.step(0) {}
        let expected =
            Verdict::NodeLost { host: "c01".into(), seen_from: "c00".into(), reason: "timed out".into() };
        assert_eq!(world.verdict(), Some(&if cause { failure() } else { expected }));
    }
}

#[test]
fn a_launch_is_encoded_once_however_many_nodes_are_told_it() {
    let mut world = World::new(5);
    world.submit(5, 5);
    while world.step(0) {}
    assert_eq!(world.verdict(), Some(&Verdict::Success));
    let orders: Vec<&LaunchOrder> = world.orders.iter().map(|(_, order)| order).collect();
    assert_eq!(orders.len(), 5);
    for (at, order) in orders.iter().enumerate() {
        assert!(Arc::ptr_eq(&order.common, &orders[0].common), "all share the bytes");
        let launch = LaunchOrder::clone(order).into_launch().unwrap();
        assert_eq!((launch.node, launch.hosts.len()), (NodeId(at as u32), 5));
    }
    // Only the orders hold them: the job has let go of what it told.
    assert_eq!(Arc::strong_count(&orders[0].common), 5);
}

#[test]
fn a_job_is_ordered_when_each_of_its_nodes_has_room_and_nobody_is_lost_for_it() {
    let mut world = World::new(2);
    world.room = false;
    world.submit(2, 2);
    while world.step(0) {}
    assert!(world.orders.is_empty() && world.jobs.wants_room());
    world.room = true;
    world.carry_out();
    assert_eq!(world.orders.len(), 2);
    while world.step(0) {}
    assert_eq!(world.verdict(), Some(&Verdict::Success));

    // And what cannot be sent at all ends its job alone.
    let mut world = World::new(1);
    world.submit(1, 1);
    world.nodes.clear();
    world.jobs.handle_unsent(JobId(1), HostId(0), true, "it is too long", world.now);
    world.carry_out();
    let message = world.verdict().unwrap().message().unwrap();
    assert!(message.contains("cannot be launched on c00: it is too long"), "{message}");
    assert!(world.jobs.is_empty());
}

#[test]
fn the_nodes_of_a_job_are_ordered_one_by_one_as_they_have_room() {
    let mut world = World::new(4);
    world.room = false;
    world.submit(4, 4);
    while world.step(0) {}
    for ordered in 1..4 {
        assert!(world.jobs.order_next(|_| true, world.now));
        world.carry_out();
        assert_eq!((world.orders.len(), world.jobs.wants_room()), (ordered, true));
        // What launchers say meanwhile is heard.
        while world.step(0) {}
    }
    // It is ended on the nodes that know of it, and on no others.
    world.jobs.handle_client_gone(CLIENT, world.now);
    world.carry_out();
    while world.step(0) {}
    assert_eq!((world.ended.len(), world.jobs.is_empty()), (3, true));
}

#[test]
fn a_job_without_keys_is_over_at_once() {
    let mut world = World::new(2);
    world.submit(2, 2);
    let (job, _) = world.minting.remove(0);
    world.jobs.handle_keys(job, Err("no randomness".into()), world.now);
    world.carry_out();
    let message = world.verdict().unwrap().message().unwrap();
    assert!(message.contains("no randomness"), "{message}");
    assert!(world.jobs.is_empty());
}

#[test]
fn input_ends_once_and_what_comes_before_the_order_is_within_the_credit() {
    let mut world = World::new(1);
    world.room = false;
    world.submit(1, 1);
    let mut say = |bytes: usize| {
        world.jobs.handle_request(CLIENT, Request::Input(vec![0; bytes]), MS);
        let mut closed = false;
        while let Some(action) = world.jobs.poll_action() {
            closed |= matches!(action, Action::CloseClient(CLIENT, _));
        }
        closed
    };
    assert!(!say(bcs_protocol::node::INPUT_CREDIT as usize) && say(1));
    assert!(!say(0) && say(0) && say(1));
}

#[test]
fn texts_of_launchers_are_cut_and_forgotten_and_answers_of_too_many_ranks_are_none() {
    let mut world = World::new(1);
    world.submit(1, 1);
    let say = |world: &mut World, notice| {
        world.jobs.handle_node(HostId(0), FromNode::Launcher { job: JobId(1), notice }, MS);
        world.carry_out();
    };
    for number in 0..3 * REMARKS {
        say(&mut world, Notice::Remark(format!("{number}{}", "x".repeat(1 << 20))));
    }
    let remarks = world.replies.iter().filter_map(|reply| match reply {
        Reply::Remark(text) => Some(text.len()),
        _ => None,
    });
    let lengths: Vec<usize> = remarks.collect();
    assert!(lengths.len() == REMARKS && lengths.iter().all(|length| *length < TEXT_BYTES + 8), "{lengths:?}");
    let kept = format!("{:?}", world.jobs).len();
    assert!(kept < 100_000, "{kept} bytes of text are kept");
    while !world.started {
        world.step(0);
    }
    let report = "rank 0 waits\n".repeat(1 << 20);
    say(&mut world, Notice::Failed(Verdict::Stuck(report)));
    while world.step(0) {}
    let Some(Verdict::Stuck(report)) = world.verdict() else { panic!("{:?}", world.verdict()) };
    assert!(report.len() < REPORT_BYTES + 8, "{}", report.len());
}

#[test]
fn a_job_is_asked_by_some_at_a_time_and_by_nobody_without_end() {
    let mut world = World::new(1);
    world.submit(1, 1);
    while !world.started {
        world.step(0);
    }
    while world.jobs.job(JobId(1)).unwrap().running_since().is_none() {
        world.step(0);
    }
    let mut refused = 0;
    for client in 100..120 {
        world.jobs.handle_status(ClientId(client), &owner(1000), JobId(1), world.now);
        while let Some(action) = world.jobs.poll_action() {
            refused += usize::from(matches!(action, Action::Client(_, Reply::Refused { .. })));
        }
    }
    assert_eq!(refused, 20 - QUESTIONS);
}

#[test]
fn another_user_does_not_see_a_job_and_its_own_user_and_root_do() {
    let mut world = World::new(1);
    world.submit(1, 1);
    let mut ask = |uid| {
        world.jobs.handle_status(ClientId(9), &owner(uid), JobId(1), MS);
        loop {
            match world.jobs.poll_action() {
                Some(Action::Client(ClientId(9), reply)) => break reply,
                Some(_) => {}
                None => panic!("no answer"),
            }
        }
    };
    assert!(matches!(ask(1001), Reply::Refused { reason, .. } if reason == "job 1 is another user's"));
    for uid in [1000, 0] {
        assert!(
            matches!(ask(uid), Reply::Status(text) if text == "job 1 of user1000: 1 rank on host c00, is being launched\n")
        );
    }
}

#[test]
fn the_least_loaded_nodes_get_the_next_job() {
    let mut jobs = Jobs::new("test");
    let offers: Vec<Offer<'_>> = ["a", "b", "c"]
        .iter()
        .zip(0..)
        .map(|(name, host)| Offer { host: HostId(host), name, cores: 2 })
        .collect();
    let mut hosts = Vec::new();
    for client in 0..4 {
        let held = Ledger::new(UserConfig::default()).hold(1);
        jobs.handle_submission(ClientId(client), owner(1), submission(2, 1), held, &offers, MS);
        while let Some(action) = jobs.poll_action() {
            if let Action::Client(_, Reply::Accepted { hosts: its, .. }) = action {
                hosts.extend(its);
            }
        }
    }
    assert_eq!(hosts, ["a", "b", "c", "a"]);
    assert_eq!(jobs.loads()[&HostId(0)], (4, vec![JobId(1), JobId(4)]));
}
