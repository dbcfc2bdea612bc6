//! How much of a job's output and input may be under way: nobody's slow terminal, and no rank that does not
//! read, takes more memory than its credit. No I/O.

use super::limits::CHUNK_BYTES;
use bcs_protocol::node::{INPUT_CREDIT, OUTPUT_CREDIT};
use std::collections::VecDeque;

/// Output that may be read of the job's pipes.
#[derive(Debug)]
pub struct OutputCredit {
    left: u32,
}

impl Default for OutputCredit {
    fn default() -> Self {
        Self { left: OUTPUT_CREDIT }
    }
}

impl OutputCredit {
    /// How many bytes may be read now; 0 is none.
    pub fn chunk(&self) -> usize {
        CHUNK_BYTES.min(self.left as usize)
    }

    /// So many were read, no more than [`OutputCredit::chunk`] said.
    pub fn spend(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(u32::try_from(bytes).unwrap_or(u32::MAX));
    }

    /// So many were written at the other end. It is never more than all, whatever is said.
    pub fn give_back(&mut self, bytes: u32) {
        self.left = self.left.saturating_add(bytes).min(OUTPUT_CREDIT);
    }
}

/// More input than its credit allows has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("more input has come than the {INPUT_CREDIT} bytes that may be under way")]
pub struct TooMuchInput;

/// Input on its way into a job's pipe.
#[derive(Debug, Default)]
pub struct InputQueue {
    waiting: VecDeque<u8>,
    /// What has gone and has not been told.
    taken: u32,
    has_ended: bool,
    /// Nobody reads it any more; and whether that was told.
    is_closed: bool,
    closing_told: bool,
}

impl InputQueue {
    /// Bytes have come; none is the end.
    ///
    /// # Errors
    /// More are under way than may be.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), TooMuchInput> {
        if bytes.is_empty() {
            self.has_ended = true;
        } else if self.is_closed {
            self.taken = self.taken.saturating_add(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        } else if self.waiting.len() + bytes.len() > INPUT_CREDIT as usize {
            return Err(TooMuchInput);
        } else {
            self.waiting.extend(bytes);
        }
        Ok(())
    }

    /// What can be written now.
    pub fn front(&self) -> &[u8] {
        self.waiting.as_slices().0
    }

    /// So many of it were written.
    pub fn handle_written(&mut self, bytes: usize) {
        self.waiting.drain(..bytes.min(self.waiting.len()));
        self.taken += bytes as u32;
    }

    /// Nobody reads: what waits counts as taken, and so does what still comes.
    pub fn handle_closed(&mut self) {
        self.is_closed = true;
        let waiting = std::mem::take(&mut self.waiting);
        self.taken += waiting.len() as u32;
    }

    /// Whether all has been written that will ever come, or nobody reads: the pipe can be closed.
    pub fn is_finished(&self) -> bool {
        self.is_closed || self.has_ended && self.waiting.is_empty()
    }

    /// What to tell of what was taken: how many bytes, and whether nobody reads any more. Told once.
    pub fn poll_taken(&mut self) -> Option<(u32, bool)> {
        let news = self.taken > 0 || self.is_closed && !self.closing_told;
        self.closing_told |= self.is_closed;
        news.then(|| (std::mem::take(&mut self.taken), self.is_closed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_more_output_is_read_than_is_given_back() {
        let mut credit = OutputCredit::default();
        let mut read = 0;
        while credit.chunk() > 0 {
            read += credit.chunk();
            credit.spend(credit.chunk());
        }
        assert_eq!(read, OUTPUT_CREDIT as usize);
        credit.give_back(10);
        assert_eq!(credit.chunk(), 10);
        credit.give_back(u32::MAX);
        assert_eq!(credit.left, OUTPUT_CREDIT);
    }

    #[test]
    fn input_that_nobody_reads_is_taken_and_said_to_be_closed() {
        let mut queue = InputQueue::default();
        queue.push(b"abc").unwrap();
        queue.handle_closed();
        assert!(queue.is_finished() && queue.front().is_empty());
        assert_eq!((queue.poll_taken(), queue.poll_taken()), (Some((3, true)), None));
        queue.push(b"de").unwrap();
        assert_eq!((queue.poll_taken(), queue.poll_taken()), (Some((2, true)), None));
    }

    #[test]
    fn more_input_than_its_credit_is_refused() {
        let mut queue = InputQueue::default();
        queue.push(&vec![0; INPUT_CREDIT as usize]).unwrap();
        assert_eq!(queue.push(b"x"), Err(TooMuchInput));
        queue.handle_written(1);
        queue.push(b"x").unwrap();
    }

    proptest! {
        #[test]
        fn input_comes_out_as_it_went_in_and_all_of_it_is_told(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..50), 0..20), steps in prop::collection::vec(1..60usize, 1..20)
        ) {
            let mut queue = InputQueue::default();
            let (mut written, mut told, mut steps) = (Vec::new(), 0, steps.into_iter().cycle());
            for piece in &pieces {
                queue.push(piece).unwrap();
                let bytes = steps.next().unwrap().min(queue.front().len());
                written.extend_from_slice(&queue.front()[..bytes]);
                queue.handle_written(bytes);
                told += queue.poll_taken().map_or(0, |(bytes, closed)| { assert!(!closed); bytes });
            }
            queue.push(&[]).unwrap();
            while !queue.is_finished() {
                let bytes = queue.front().len();
                prop_assert!(bytes > 0);
                written.extend_from_slice(queue.front());
                queue.handle_written(bytes);
            }
            told += queue.poll_taken().map_or(0, |(bytes, _)| bytes);
            let all = pieces.concat();
            prop_assert_eq!(told as usize, all.len());
            prop_assert_eq!(written, all);
        }
    }
}
