//! The standard streams of a job on their way through the machine manager: how much of them may be under way.
//!
//! Invariant: of a job's output the manager holds at most [`OUTPUT_CREDIT`] bytes for each of its nodes, and
//! of its input at most [`INPUT_CREDIT`], whoever is slow. Who sends more than its credit does not keep the
//! protocol, and loses its connection.

use bcs_protocol::node::{INPUT_CREDIT, OUTPUT_CREDIT};

/// So much must have been written before the node hears of it, unless nothing is under way any more: few
/// messages, and nobody ever waits for one that does not come.
const TAKEN_BATCH: u32 = OUTPUT_CREDIT / 8;

/// The other end has sent more than it may, or has taken more than it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BeyondCredit;

/// The output of one node.
#[derive(Clone, Copy, Debug, Default)]
pub struct Output {
    /// Sent to `storm`, and not yet written there.
    under_way: u32,
    /// Written, and the node does not know it yet.
    taken: u32,
}

impl Output {
    /// The node has sent so many bytes.
    ///
    /// # Errors
    /// They are more than it may.
    pub fn handle_bytes(&mut self, bytes: usize) -> Result<(), BeyondCredit> {
        let room = OUTPUT_CREDIT - self.under_way - self.taken;
        match u32::try_from(bytes) {
            Ok(bytes) if bytes <= room => self.under_way += bytes,
            _ => return Err(BeyondCredit),
        }
        Ok(())
    }

    /// `storm` has written so many bytes. Answers how many the node is to be told of, if any.
    ///
    /// # Errors
    /// They are more than it was sent.
    pub fn handle_taken(&mut self, bytes: u32) -> Result<Option<u32>, BeyondCredit> {
        self.under_way = self.under_way.checked_sub(bytes).ok_or(BeyondCredit)?;
        self.taken += bytes;
        let tell = self.taken > 0 && (self.taken >= TAKEN_BATCH || self.under_way == 0);
        Ok(tell.then(|| std::mem::take(&mut self.taken)))
    }

    /// Nobody reads any more: everything counts as written.
    pub fn forget(&mut self) -> Option<u32> {
        let bytes = std::mem::take(&mut self.under_way) + std::mem::take(&mut self.taken);
        (bytes > 0).then_some(bytes)
    }
}

/// What one node has done with the job's input.
#[derive(Clone, Copy, Debug)]
struct Reader {
    part: usize,
    taken: u64,
    is_closed: bool,
}

/// The input of a job, which goes to each node that has a rank that reads it.
#[derive(Clone, Debug, Default)]
pub struct Input {
    readers: Vec<Reader>,
    sent: u64,
    /// So much `storm` knows to be taken.
    told: u64,
    is_closed: bool,
}

/// What `storm` is to be told of its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputTaken {
    /// How many bytes more were passed on to all who read.
    pub bytes: u32,
    /// Nobody reads any more.
    pub closed: bool,
}

impl Input {
    /// Input for these parts of a job.
    pub fn new(parts: impl IntoIterator<Item = usize>) -> Self {
        let readers: Vec<Reader> =
            parts.into_iter().map(|part| Reader { part, taken: 0, is_closed: false }).collect();
        Self { is_closed: readers.is_empty(), readers, sent: 0, told: 0 }
    }

    /// Whether nobody reads.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// The parts of the job that still read.
    pub fn open_readers(&self) -> Vec<usize> {
        self.readers.iter().filter(|reader| !reader.is_closed).map(|reader| reader.part).collect()
    }

    /// `storm` has sent so many bytes, for all who still read.
    ///
    /// # Errors
    /// They are more than it may send.
    pub fn handle_bytes(&mut self, bytes: usize) -> Result<(), BeyondCredit> {
        let sent = self.sent + bytes as u64;
        // What was sent before `storm` could know that nobody reads is within its credit as well.
        if sent - self.told > u64::from(INPUT_CREDIT) {
            return Err(BeyondCredit);
        }
        self.sent = sent;
        if self.is_closed {
            // Thrown away: `storm` is told so by its caller.
            self.told = sent;
        }
        Ok(())
    }

    /// A node has passed on so many bytes. Answers what `storm` is to be told.
    ///
    /// # Errors
    /// They are more than it was sent.
    pub fn handle_taken(
        &mut self,
        part: usize,
        bytes: u32,
        closed: bool,
    ) -> Result<Option<InputTaken>, BeyondCredit> {
        let sent = self.sent;
        if let Some(reader) = self.readers.iter_mut().find(|reader| reader.part == part) {
            reader.taken += u64::from(bytes);
            reader.is_closed |= closed;
            if reader.taken > sent {
                return Err(BeyondCredit);
            }
        }
        Ok(self.news())
    }

    /// A node reads no more.
    pub fn handle_gone(&mut self, part: usize) -> Option<InputTaken> {
        self.readers
            .iter_mut()
            .filter(|reader| reader.part == part)
            .for_each(|reader| reader.is_closed = true);
        self.news()
    }

    fn news(&mut self) -> Option<InputTaken> {
        let open = self.readers.iter().filter(|reader| !reader.is_closed);
        let taken = open.map(|reader| reader.taken).min();
        let closed = taken.is_none() && !std::mem::replace(&mut self.is_closed, taken.is_none());
        let taken = taken.unwrap_or(self.sent).max(self.told);
        let bytes = (taken - self.told) as u32;
        self.told = taken;
        (bytes > 0 || closed).then_some(InputTaken { bytes, closed: self.is_closed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_node_may_send_its_credit_and_more_only_when_some_was_written() {
        let mut output = Output::default();
        output.handle_bytes(OUTPUT_CREDIT as usize).unwrap();
        assert_eq!(output.handle_bytes(1), Err(BeyondCredit));
        assert_eq!(output.handle_taken(TAKEN_BATCH), Ok(Some(TAKEN_BATCH)));
        output.handle_bytes(TAKEN_BATCH as usize).unwrap();
        assert_eq!(output.handle_taken(OUTPUT_CREDIT + 1), Err(BeyondCredit));
    }

    #[test]
    fn input_counts_as_taken_when_the_slowest_reader_has_it_and_the_closed_ones_do_not_count() {
        let mut input = Input::new([0, 2]);
        input.handle_bytes(100).unwrap();
        assert_eq!(input.open_readers(), [0, 2]);
        assert_eq!(input.handle_taken(0, 60, false), Ok(None));
        assert_eq!(input.handle_taken(2, 50, false), Ok(Some(InputTaken { bytes: 50, closed: false })));
        assert_eq!(input.handle_taken(2, 0, true), Ok(Some(InputTaken { bytes: 10, closed: false })));
        input.handle_bytes(7).unwrap();
        assert_eq!(input.open_readers(), [0]);
        assert_eq!(input.handle_gone(0), Some(InputTaken { bytes: 47, closed: true }));
        assert_eq!(input.handle_gone(0), None);
        assert!(Input::new([]).is_closed());
        let mut beyond = Input::new([1]);
        assert!(beyond.handle_bytes(INPUT_CREDIT as usize + 1).is_err());
        assert_eq!(beyond.handle_taken(1, 1, false), Err(BeyondCredit));
    }

    proptest! {
        /// A node that stops when its credit is used up, and a `storm` that writes everything sooner or
        /// later, never wait for each other.
        #[test]
        fn output_is_never_stuck(chunks in proptest::collection::vec((1u32..70_000, 1u32..70_000), 1..200)) {
            let (mut output, mut room, mut unwritten) = (Output::default(), OUTPUT_CREDIT, 0u32);
            for (send, write) in chunks {
                let send = send.min(room);
                output.handle_bytes(send as usize).unwrap();
                room -= send;
                unwritten += send;
                let write = write.min(unwritten);
                unwritten -= write;
                room += output.handle_taken(write).unwrap().unwrap_or(0);
                prop_assert!(room > 0 || unwritten > 0);
            }
            room += output.handle_taken(unwritten).unwrap().unwrap_or(0);
            prop_assert_eq!(room, OUTPUT_CREDIT);
        }
    }
}
