//! Views: sets of nodes with a control network of their own, and who of them is alive (paper, §4.1; design
//! §6).
//!
//! An engine without I/O. Nodes that join within [`GATHER`] make one view. What is dead in a network stays
//! dead, so a node that comes back makes a new one. In each heartbeat period the beat is put to all living
//! nodes, and a Compare-And-Write asks whether all have it. When that is not answered within a period,
//! whoever has not been heard of for as many periods as may be missed is dead. Operations on sets that hold a
//! silent node wait for it, and so would questions to single nodes behind them; what is looked at is
//! therefore whether anything arrives on the link of each node, on which its end acknowledges and keeps alive
//! whatever the primitives wait for.
//!
//! ```text
//!  node:   joining ──(a view with it is open, its link is up)──► up ──► gone
//!  view:   gathering ─► binding ─► open, linking ─► beating
//! ```
//!
//! Invariants: at most one view is being formed; view numbers grow; a view opens only while no
//! Compare-And-Write that starts a job is under way.

use super::HostId;
use bcs_core::{NodeId, NodeSet};
use std::collections::VecDeque;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

/// Nodes that join within this time make one view.
pub const GATHER: Duration = Duration::from_millis(20);
/// How long a node may take to bind its end of a view's network, and then to bring up its link.
pub const JOIN_LIMIT: Duration = Duration::from_secs(10);

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViewAction {
    /// Bind an end of the network of a new view here, and tell these nodes to.
    Bind {
        /// The view.
        view: u64,
        /// Its nodes.
        hosts: Vec<HostId>,
    },
    /// Tell the nodes of a view who its members are, connect, and leave the last view.
    Open {
        /// The view.
        view: u64,
        /// Its nodes, by number from 1, and where they listen.
        roster: Vec<(HostId, SocketAddr)>,
    },
    /// Put this beat to these nodes of the open view, and ask whether all have it.
    Beat {
        /// The number of the beat.
        beat: u64,
        /// The nodes.
        nodes: NodeSet,
    },
    /// The node takes part in the control network.
    Up(HostId),
    /// The node is dead; why, as it follows on its name. It has been taken out.
    Lose(HostId, String),
}

/// How nodes are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// The time between two beats.
    pub period: Duration,
    /// How many of them a node may miss.
    pub missed: u32,
}

impl Heartbeat {
    /// A node that is not heard of for so long is dead.
    pub fn limit(&self) -> Duration {
        self.period * self.missed
    }
}

/// A view that is being formed.
#[derive(Debug)]
struct Forming {
    view: u64,
    since: Duration,
    addresses: BTreeMap<HostId, Option<SocketAddr>>,
}

/// A living node of the open view.
#[derive(Debug)]
struct Living {
    node: NodeId,
    /// When something of it was heard last; nothing until its link is up.
    heard: Option<Duration>,
}

/// The open view.
#[derive(Debug)]
struct Open {
    since: Duration,
    living: BTreeMap<HostId, Living>,
    beat: u64,
    next_beat: Duration,
    /// Since when the last beat waits for its answer.
    unanswered: Option<Duration>,
}

/// The views of the cluster.
#[derive(Debug)]
pub struct Views {
    heartbeat: Heartbeat,
    last_view: u64,
    /// Connected nodes.
    connected: BTreeSet<HostId>,
    /// Since when some of them are in no view.
    gathering: Option<Duration>,
    forming: Option<Forming>,
    open: Option<Open>,
    looked: Duration,
    actions: VecDeque<ViewAction>,
}

impl Views {
    /// No nodes.
    pub fn new(heartbeat: Heartbeat) -> Self {
        Self {
            heartbeat,
            last_view: 0,
            connected: BTreeSet::new(),
            gathering: None,
            forming: None,
            open: None,
            looked: Duration::ZERO,
            actions: VecDeque::new(),
        }
    }

    /// The next thing to do.
    pub fn poll_action(&mut self) -> Option<ViewAction> {
        self.actions.pop_front()
    }

    /// A node has connected.
    pub fn handle_joined(&mut self, host: HostId, now: Duration) {
        self.connected.insert(host);
        self.gathering.get_or_insert(now);
    }

    /// A node has gone, or its end is known from elsewhere.
    pub fn handle_gone(&mut self, host: HostId) {
        self.connected.remove(&host);
        if let Some(forming) = &mut self.forming {
            forming.addresses.remove(&host);
        }
        if let Some(open) = &mut self.open {
            open.living.remove(&host);
        }
    }

    /// A node has bound its end of a view's network.
    pub fn handle_bound(&mut self, host: HostId, view: u64, address: SocketAddr) {
        if let Some(forming) = self.forming.as_mut().filter(|forming| forming.view == view)
            && let Some(known) = forming.addresses.get_mut(&host)
        {
            *known = Some(address);
        }
    }

    /// Something of a node has been heard on its link of the open view.
    pub fn handle_heard(&mut self, host: HostId, now: Duration) {
        let Some(living) = self.open.as_mut().and_then(|open| open.living.get_mut(&host)) else { return };
        if living.heard.replace(now).is_none() {
            self.actions.push_back(ViewAction::Up(host));
        }
    }

    /// The last beat is answered: all have it, or somebody has died.
    pub fn handle_answer(&mut self) {
        if let Some(open) = &mut self.open {
            open.unanswered = None;
        }
    }

    /// The connected nodes.
    pub fn connected(&self) -> Vec<HostId> {
        self.connected.iter().copied().collect()
    }

    /// Whether a node takes part in the open view.
    pub fn is_up(&self, host: HostId) -> bool {
        self.node_of(host).is_some()
    }

    /// The number of a node in the open view, if it takes part.
    pub fn node_of(&self, host: HostId) -> Option<NodeId> {
        let living = self.open.as_ref()?.living.get(&host)?;
        living.heard.map(|_| living.node)
    }

    /// When something of a node was heard last.
    pub fn heard_of(&self, host: HostId) -> Option<Duration> {
        self.open.as_ref()?.living.get(&host)?.heard
    }

    /// Whether a view waits to be opened: nothing should be begun on the last one.
    pub fn is_changing(&self) -> bool {
        self.forming.is_some()
    }

    /// Time has passed, and what has arrived by now was heard. A view that waits is opened only if it
    /// `may_open`.
    pub fn handle_time(&mut self, now: Duration, may_open: bool) {
        let paused = now.saturating_sub(self.looked).saturating_sub(self.heartbeat.period);
        self.looked = now;
        if !paused.is_zero() {
            self.forgive(paused, now);
        }
        self.form(now, may_open);
        self.watch(now);
    }

    /// When [`Views::handle_time`] is due.
    pub fn wakes_at(&self) -> Option<Duration> {
        let gathering = self.gathering.filter(|_| self.forming.is_none()).map(|since| since + GATHER);
        let forming = self.forming.as_ref().map(|forming| forming.since + JOIN_LIMIT);
        let open =
            self.open.as_ref().filter(|open| !open.living.is_empty()).map(|open| match open.unanswered {
                // While somebody is silent, look often: what decides is when it was heard last.
                Some(since) => (since + self.heartbeat.period).max(self.looked + self.heartbeat.period / 8),
                None => open.next_beat,
            });
        [gathering, forming, open].into_iter().flatten().min()
    }

    /// This process itself was not running for a while: nobody could be heard then.
    fn forgive(&mut self, paused: Duration, now: Duration) {
        let later = |at: &mut Duration| *at = (*at + paused).min(now);
        if let Some(forming) = &mut self.forming {
            later(&mut forming.since);
        }
        if let Some(open) = &mut self.open {
            later(&mut open.since);
            open.living.values_mut().filter_map(|living| living.heard.as_mut()).for_each(later);
            if let Some(since) = &mut open.unanswered {
                later(since);
            }
        }
    }

    fn form(&mut self, now: Duration, may_open: bool) {
        if self.forming.is_none() && self.gathering.is_some_and(|since| now >= since + GATHER) {
            self.gathering = None;
            self.last_view += 1;
            let addresses = self.connected.iter().map(|host| (*host, None)).collect();
            self.forming = Some(Forming { view: self.last_view, since: now, addresses });
            if !self.connected.is_empty() {
                let hosts = self.connected.iter().copied().collect();
                self.actions.push_back(ViewAction::Bind { view: self.last_view, hosts });
            }
        }
        let Some(forming) = &self.forming else { return };
        if now >= forming.since + JOIN_LIMIT {
            let late: Vec<HostId> =
                forming.addresses.iter().filter(|(_, at)| at.is_none()).map(|(host, _)| *host).collect();
            late.into_iter().for_each(|host| {
                self.lose(
                    host,
                    format!("did not join the control network within {} s", JOIN_LIMIT.as_secs()),
                );
            });
        }
        let Some(forming) = self.forming.take_if(|forming| {
            forming.addresses.is_empty() || (may_open && forming.addresses.values().all(Option::is_some))
        }) else {
            return;
        };
        let roster: Vec<(HostId, SocketAddr)> =
            forming.addresses.into_iter().filter_map(|(host, address)| Some((host, address?))).collect();
        if roster.is_empty() {
            return;
        }
        let living = roster
            .iter()
            .zip(1..)
            .map(|((host, _), node)| (*host, Living { node: NodeId(node), heard: None }))
            .collect();
        let next_beat = now + self.heartbeat.period;
        self.open = Some(Open { since: now, living, beat: 0, next_beat, unanswered: None });
        self.actions.push_back(ViewAction::Open { view: forming.view, roster });
    }

    fn watch(&mut self, now: Duration) {
        let Heartbeat { period, .. } = self.heartbeat;
        let limit = self.heartbeat.limit();
        let Some(open) = &mut self.open else { return };
        let is_late = now >= open.since + JOIN_LIMIT;
        let is_stuck = open.unanswered.is_some_and(|since| now >= since + period);
        let silent: Vec<(HostId, String)> = open
            .living
            .iter()
            .filter_map(|(host, living)| match living.heard {
                None if is_late => {
                    let limit = JOIN_LIMIT.as_secs();
                    Some((
                        *host,
                        format!("could not be reached over UDP within {limit} s, though it is connected"),
                    ))
                }
                Some(heard) if is_stuck && now >= heard + limit => {
                    Some((*host, format!("does not answer since {:.1} s", (now - heard).as_secs_f64())))
                }
                _ => None,
            })
            .collect();
        silent.into_iter().for_each(|(host, reason)| self.lose(host, reason));
        let Some(open) = &mut self.open else { return };
        if open.unanswered.is_none() && now >= open.next_beat {
            let up = open.living.values().filter(|living| living.heard.is_some());
            let nodes: NodeSet = up.map(|living| living.node).collect();
            open.next_beat = (open.next_beat + period).max(now);
            if !nodes.is_empty() {
                open.beat += 1;
                open.unanswered = Some(now);
                self.actions.push_back(ViewAction::Beat { beat: open.beat, nodes });
            }
        }
    }

    fn lose(&mut self, host: HostId, reason: String) {
        self.handle_gone(host);
        self.actions.push_back(ViewAction::Lose(host, reason));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const HEARTBEAT: Heartbeat = Heartbeat { period: Duration::from_millis(100), missed: 3 };
    const HOSTS: [HostId; 3] = [HostId(0), HostId(1), HostId(2)];

    fn at(port: u16) -> SocketAddr {
        ([10, 0, 0, 1], port).into()
    }

    fn take(views: &mut Views) -> Vec<ViewAction> {
        std::iter::from_fn(|| views.poll_action()).collect()
    }

    /// Views with these nodes up, at the time that is answered.
    fn up(hosts: &[HostId]) -> (Views, Duration) {
        let mut views = Views::new(HEARTBEAT);
        let mut now = MS;
        hosts.iter().for_each(|host| views.handle_joined(*host, now));
        now += GATHER;
        views.handle_time(now, true);
        hosts.iter().for_each(|host| views.handle_bound(*host, 1, at(1)));
        views.handle_time(now, true);
        hosts.iter().for_each(|host| views.handle_heard(*host, now));
        take(&mut views);
        (views, now)
    }

    #[test]
    fn nodes_that_join_together_make_one_view_which_opens_when_all_are_bound_and_nothing_is_being_started() {
        let mut views = Views::new(HEARTBEAT);
        views.handle_joined(HOSTS[0], MS);
        views.handle_time(2 * MS, true);
        views.handle_joined(HOSTS[2], 3 * MS);
        assert_eq!(take(&mut views), []);
        assert_eq!(views.wakes_at(), Some(MS + GATHER));
        views.handle_time(MS + GATHER, true);
        let hosts = vec![HOSTS[0], HOSTS[2]];
        assert_eq!(take(&mut views), [ViewAction::Bind { view: 1, hosts }]);
        views.handle_bound(HOSTS[0], 1, at(1));
        views.handle_bound(HOSTS[2], 7, at(7));
        views.handle_time(30 * MS, true);
        assert_eq!(take(&mut views), []);
        views.handle_bound(HOSTS[2], 1, at(3));
        views.handle_time(31 * MS, false);
        assert_eq!(take(&mut views), [], "something is being started on the last view");
        views.handle_time(32 * MS, true);
        let roster = vec![(HOSTS[0], at(1)), (HOSTS[2], at(3))];
        assert_eq!(take(&mut views), [ViewAction::Open { view: 1, roster }]);
        assert!(!views.is_up(HOSTS[0]));
        views.handle_heard(HOSTS[0], 33 * MS);
        assert_eq!(take(&mut views), [ViewAction::Up(HOSTS[0])]);
        assert_eq!((views.node_of(HOSTS[0]), views.node_of(HOSTS[2])), (Some(NodeId(1)), None));
    }

    #[test]
    fn a_beat_goes_out_each_period_and_the_next_one_when_it_is_answered() {
        let (mut views, begun) = up(&HOSTS);
        let beat = |beat| ViewAction::Beat { beat, nodes: NodeSet::range(1..4) };
        for number in 1..5 {
            let now = begun + HEARTBEAT.period * number;
            assert_eq!(views.wakes_at(), Some(now));
            views.handle_time(now, true);
            assert_eq!(take(&mut views), [beat(number.into())]);
            HOSTS.iter().for_each(|host| views.handle_heard(*host, now));
            views.handle_answer();
        }
    }

    #[test]
    fn who_is_not_heard_of_for_the_periods_that_it_may_miss_is_lost_and_nobody_else() {
        let (mut views, begun) = up(&HOSTS);
        let mut lost = None;
        for step in 1..60 {
            let now = begun + 10 * MS * step;
            // Nobody's answer to the beat comes, but two are heard of.
            [HOSTS[0], HOSTS[2]].iter().for_each(|host| views.handle_heard(*host, now));
            views.handle_time(now, true);
            for action in take(&mut views) {
                if let ViewAction::Lose(host, reason) = action {
                    assert_eq!(lost.replace((host, reason, now - begun)), None);
                }
            }
        }
        assert_eq!(lost, Some((HOSTS[1], "does not answer since 0.3 s".into(), HEARTBEAT.limit())));
        assert!(views.is_up(HOSTS[0]) && !views.is_up(HOSTS[1]));
    }

    #[test]
    fn a_pause_of_the_manager_itself_makes_nobody_dead() {
        let (mut views, begun) = up(&HOSTS);
        views.handle_time(begun + HEARTBEAT.period, true);
        let much_later = begun + HEARTBEAT.period + Duration::from_secs(5);
        views.handle_time(much_later, true);
        assert!(!take(&mut views).iter().any(|action| matches!(action, ViewAction::Lose(..))));
        // From now on they have to be heard of again.
        for step in 1..50 {
            views.handle_time(much_later + 10 * MS * step, true);
        }
        let lost = take(&mut views).into_iter().filter(|action| matches!(action, ViewAction::Lose(..)));
        assert_eq!(lost.count(), 3);
    }

    #[test]
    fn a_node_that_comes_back_makes_a_new_view_and_one_that_does_not_bind_holds_it_up_for_a_time_only() {
        let (mut views, begun) = up(&HOSTS);
        views.handle_gone(HOSTS[1]);
        assert_eq!(take(&mut views), []);
        views.handle_joined(HOSTS[1], begun);
        let mut now = begun + GATHER;
        views.handle_time(now, true);
        assert_eq!(take(&mut views), [ViewAction::Bind { view: 2, hosts: HOSTS.to_vec() }]);
        views.handle_bound(HOSTS[0], 2, at(1));
        views.handle_bound(HOSTS[1], 2, at(2));
        let mut seen = Vec::new();
        while !seen.iter().any(|action| matches!(action, ViewAction::Open { .. })) {
            now += 50 * MS;
            assert!(now < begun + 2 * JOIN_LIMIT);
            HOSTS.iter().for_each(|host| views.handle_heard(*host, now));
            views.handle_answer();
            views.handle_time(now, true);
            seen.extend(
                take(&mut views).into_iter().filter(|action| !matches!(action, ViewAction::Beat { .. })),
            );
        }
        assert!(
            matches!(&seen[..], [ViewAction::Lose(HostId(2), _), ViewAction::Open { view: 2, roster }] if roster.len() == 2),
            "{seen:?}"
        );
    }
}
