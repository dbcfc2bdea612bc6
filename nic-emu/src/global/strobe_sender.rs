//! SS, the Strobe Sender of global slices (paper, §4.2; table 5.1). It runs on the job's lead node.
//!
//! It strobes a microphase with Xfer-And-Signal and asks with Compare-And-Write whether all nodes have completed it, again and
//! again until they have; then it asks what the rest of the slice needs, and skips what no node needs. With elastic slices
//! it asks at the end of a slice whether any node wants another, and by the same operation tells all that there is none: then it
//! rests until a node rings.
//!
//! ```text
//!  resting ─► strobe ─► is it over everywhere? ─► what comes next? ─► strobe ...
//!     ▲                      │ no: ask again            │ nothing
//!     └──── nobody wants a slice ◄──────────────────────┘
//! ```

use super::layout::{ARRIVED, GlobalLayout, RUNG};
use crate::microphase::Microphase;
use bcs_core::{Assignment, Comparison, Condition, Fabric, FabricError, NodeSet, SliceIndex, Source, Ticket};
use mds::GlobalRecord;

/// "No microphase" where a microphase's number is meant.
pub const END: u64 = Microphase::ALL.len() as u64;
/// The word of a microstrobe; without a microphase it says that all rest.
fn strobe(slice: u64, microphase: Option<Microphase>) -> u64 {
    slice << 3 | microphase.map_or(0, |microphase| microphase as u64 + 1)
}

/// A strobe word's slice and microphase; no microphase when all rest.
pub fn read_strobe(word: u64) -> (u64, Option<Microphase>) {
    (
        word >> 3,
        (word & 7).checked_sub(1).and_then(|microphase| Microphase::ALL.get(microphase as usize).copied()),
    )
}

/// The word in which a node says that it has completed a microphase, and what it needs next in this slice.
pub fn progress(slice: u64, done: Microphase, need: Option<Microphase>) -> u64 {
    slice << 6 | (done as u64) << 3 | number(need)
}

/// The word in which a node says what it wants of the next slice: larger for earlier microphases, 0 for nothing.
pub fn want(need: Option<Microphase>) -> u64 {
    END - number(need)
}

/// The word with which a node rings, resting after this slice.
pub fn bell(slice: u64, need: Microphase) -> u64 {
    strobe(slice, Some(need))
}

/// The first microphase that somebody has rung for here, resting after this slice. A bell that was rung before all rested was for a slice that
/// has been.
pub fn read_bells(
    layout: &GlobalLayout,
    fabric: &impl Fabric,
    here: u32,
    slice: u64,
) -> Result<Option<Microphase>, FabricError> {
    let mut first = None;
    for node in layout.ringers(here) {
        if let (after, Some(need)) = read_strobe(fabric.load(layout.bell(node))?)
            && after == slice
        {
            first = [first, Some(need)].into_iter().flatten().min();
        }
    }
    Ok(first)
}

fn number(microphase: Option<Microphase>) -> u64 {
    microphase.map_or(END, |m| m as u64)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Between slices.
    Resting,
    /// A microphase is to be strobed.
    Strobe(Microphase),
    /// The strobe is out; it is to be asked whether the microphase is over, once the lead itself is done with it or, for the first time, at once.
    AskOver(Microphase, bool),
    /// The answer is awaited.
    Over(Microphase, Ticket),
    /// It is to be asked whether all nodes need nothing before this number.
    AskNext(Microphase, u64),
    Next(Microphase, u64, Ticket),
    /// It is to be asked whether anybody wants another slice.
    AskRest,
    Rest(Ticket),
    /// Somebody does: with which microphase does it begin?
    AskFirst(u64),
    First(u64, Ticket),
}

/// What the lead node itself says.
#[derive(Clone, Copy, Debug)]
pub struct Own {
    /// The slice and microphase that it has completed last; none while it is at one.
    pub done: Option<(u64, Microphase)>,
    /// What it needs next in the slice.
    pub need: Option<Microphase>,
    /// What it wants of the next slice.
    pub wants: Option<Microphase>,
}

/// The Strobe Sender.
#[derive(Debug)]
pub struct StrobeSender {
    layout: GlobalLayout,
    all: NodeSet,
    period_ns: u64,
    next_ns: u64,
    state: State,
    /// A bell was rung that has not been looked at.
    rung: bool,
    slice: u64,
    started_ns: u64,
    microphase_ns: u64,
    record: GlobalRecord,
    finished: Option<GlobalRecord>,
}

impl StrobeSender {
    /// A Strobe Sender before the first slice. `period_ns` is 0 for elastic slices.
    pub fn new(layout: GlobalLayout, period_ns: u64) -> Self {
        Self {
            layout,
            all: NodeSet::all(layout.nodes),
            period_ns,
            next_ns: 0,
            state: State::Resting,
            rung: false,
            slice: 0,
            started_ns: 0,
            microphase_ns: 0,
            record: GlobalRecord::default(),
            finished: None,
        }
    }

    /// When it has to be polled at the latest, if nothing arrives.
    pub fn next_ns(&self) -> Option<u64> {
        (self.period_ns != 0 && self.state == State::Resting).then_some(self.next_ns)
    }

    /// Takes the record of a slice that is over.
    pub fn take_record(&mut self) -> Option<GlobalRecord> {
        self.finished.take()
    }

    /// Goes on. True if something was done.
    ///
    /// # Errors
    /// A node died.
    pub fn poll(&mut self, fabric: &mut impl Fabric, now_ns: u64, own: Own) -> Result<bool, FabricError> {
        let mut moved = false;
        self.rung |= fabric.test_event(RUNG)? > 0;
        loop {
            let next = match self.step(fabric, now_ns, own) {
                Ok(next) => next,
                // Too much is under way here: the same again at the next poll.
                Err(FabricError::Busy { .. }) => None,
                Err(error) => return Err(error),
            };
            let Some(next) = next else { return Ok(moved) };
            let is_retry = matches!((self.state, next), (State::Over(..), State::AskOver(..)));
            self.state = next;
            moved = true;
            if is_retry {
                // This node's own part may be what is missing: it has to get its turn.
                return Ok(moved);
            }
        }
    }

    fn step(
        &mut self,
        fabric: &mut impl Fabric,
        now_ns: u64,
        own: Own,
    ) -> Result<Option<State>, FabricError> {
        Ok(match self.state {
            State::Resting => self.first_wish(fabric, now_ns, own.wants)?.map(|first| {
                self.begin(now_ns);
                State::Strobe(first)
            }),
            State::Strobe(microphase) => {
                let word = strobe(self.slice, Some(microphase));
                let at = self.layout.strobe().address();
                fabric.xfer_and_signal(
                    Source::Bytes(&word.to_le_bytes()),
                    &self.all,
                    at,
                    None,
                    Some(ARRIVED),
                )?;
                // Contributions that go up to the lead are not there before it is done.
                let at_once = microphase < Microphase::BarrierAndBroadcast;
                Some(State::AskOver(microphase, at_once))
            }
            // A question keeps what else comes to a node waiting there, until it is answered.
            State::AskOver(microphase, false) if own.done != Some((self.slice, microphase)) => None,
            State::AskOver(microphase, _) => {
                let value = self.slice << 6 | (microphase as u64) << 3;
                let ticket = self.ask_progress(fabric, value)?;
                Some(State::Over(microphase, ticket))
            }
            State::Over(microphase, ticket) => match fabric.test_query(ticket) {
                None => None,
                Some(answer) => Some(match answer? {
                    true => self.over(microphase, now_ns, own.need),
                    false => {
                        self.retry(microphase);
                        State::AskOver(microphase, false)
                    }
                }),
            },
            State::AskNext(done, candidate) if candidate == done as u64 + 1 => {
                Some(self.after(candidate, now_ns))
            }
            State::AskNext(done, candidate) => {
                let ticket = self.ask_progress(fabric, self.slice << 6 | (done as u64) << 3 | candidate)?;
                Some(State::Next(done, candidate, ticket))
            }
            State::Next(done, candidate, ticket) => match fabric.test_query(ticket) {
                None => None,
                Some(answer) => Some(if answer? {
                    self.after(candidate, now_ns)
                } else {
                    State::AskNext(done, candidate - 1)
                }),
            },
            State::AskRest => match own.wants {
                Some(wants) => Some(State::AskFirst(wants as u64)),
                None => {
                    let rest = Assignment { variable: self.layout.strobe(), value: strobe(self.slice, None) };
                    Some(State::Rest(self.ask_wants(fabric, END, Some(rest))?))
                }
            },
            State::Rest(ticket) => match fabric.test_query(ticket) {
                None => None,
                Some(answer) => Some(if answer? { State::Resting } else { State::AskFirst(END - 1) }),
            },
            State::AskFirst(0) => {
                self.begin(now_ns);
                Some(State::Strobe(Microphase::DescriptorExchange))
            }
            State::AskFirst(candidate) => {
                Some(State::First(candidate, self.ask_wants(fabric, candidate, None)?))
            }
            State::First(candidate, ticket) => match fabric.test_query(ticket) {
                None => None,
                Some(answer) => Some(match answer? {
                    true => {
                        self.begin(now_ns);
                        State::Strobe(Microphase::ALL[candidate as usize])
                    }
                    false => State::AskFirst(candidate - 1),
                }),
            },
        })
    }

    /// With which microphase a slice is to begin, if one is.
    fn first_wish(
        &mut self,
        fabric: &impl Fabric,
        now_ns: u64,
        wants: Option<Microphase>,
    ) -> Result<Option<Microphase>, FabricError> {
        if let Some(beat) = now_ns.checked_div(self.period_ns) {
            if now_ns < self.next_ns {
                return Ok(None);
            }
            self.next_ns = (beat + 1) * self.period_ns;
            return Ok(Some(Microphase::DescriptorExchange));
        }
        let mut first = wants;
        if !std::mem::take(&mut self.rung) {
            return Ok(first);
        }
        first = [first, read_bells(&self.layout, fabric, 0, self.slice)?].into_iter().flatten().min();
        Ok(first)
    }

    fn begin(&mut self, now_ns: u64) {
        self.slice += 1;
        let elapsed = if self.slice == 1 { 0 } else { now_ns.saturating_sub(self.started_ns) };
        self.record =
            GlobalRecord { slice: SliceIndex(self.slice), getts_ns: elapsed, ..GlobalRecord::default() };
        self.started_ns = now_ns;
        self.microphase_ns = now_ns;
    }

    fn retry(&mut self, microphase: Microphase) {
        self.record.usrts += 1;
        match microphase {
            Microphase::DescriptorExchange => self.record.usrdem += 1,
            Microphase::MessageScheduling => self.record.usrmsm += 1,
            _ => {}
        }
    }

    fn over(&mut self, microphase: Microphase, now_ns: u64, need: Option<Microphase>) -> State {
        let elapsed = now_ns.saturating_sub(self.microphase_ns);
        self.microphase_ns = now_ns;
        match microphase {
            Microphase::DescriptorExchange => {
                self.record.gtdem_ns = elapsed;
                return State::Strobe(Microphase::MessageScheduling);
            }
            Microphase::MessageScheduling => self.record.gtmsm_ns = elapsed,
            _ => {}
        }
        // What the lead itself needs is the latest that can come next.
        State::AskNext(microphase, number(need.filter(|need| *need > microphase)))
    }

    fn after(&mut self, candidate: u64, now_ns: u64) -> State {
        if let Some(next) = Microphase::ALL.get(candidate as usize) {
            return State::Strobe(*next);
        }
        self.record.gtts_ns = now_ns.saturating_sub(self.started_ns);
        self.finished = Some(self.record);
        if self.period_ns != 0 { State::Resting } else { State::AskRest }
    }

    fn ask_progress(&self, fabric: &mut impl Fabric, value: u64) -> Result<Ticket, FabricError> {
        let (variable, condition) = (self.layout.progress(), Condition::GreaterEqual);
        fabric.compare_and_write(&self.all, Comparison { variable, condition, value }, None)
    }

    /// Asks whether nobody wants anything before this number.
    fn ask_wants(
        &self,
        fabric: &mut impl Fabric,
        candidate: u64,
        assignment: Option<Assignment>,
    ) -> Result<Ticket, FabricError> {
        let comparison = Comparison {
            variable: self.layout.wants(),
            condition: Condition::Less,
            value: END - candidate + 1,
        };
        fabric.compare_and_write(&self.all, comparison, assignment)
    }
}
