//! The advance of operations of several steps while the rank is in any MPI call (MPI-5.0, §3.7.4, §6.12;
//! design §4).
//!
//! An operation is a future. It is polled by whoever is in MPI: every wait and every test advances all that
//! are under way, so they complete in any order, whatever the program waits for. What the NIC does of an
//! operation it does without the rank.

use super::guard::Guard;
use super::task::poll;
use crate::error::MpiResult;
use std::task::Poll;

/// Waits for room that lie in each other at most and advance operations: so deep the stack may get.
const MAKERS_OF_ROOM: u32 = 8;

impl Guard {
    /// Advances every operation that is under way, as far as it goes now.
    ///
    /// # Errors
    /// What ends the job; other errors are for those who complete the operation.
    #[inline]
    pub fn advance(&mut self) -> MpiResult {
        let rests = self.progress.tasks.is_empty() || self.progress.makers_of_room > MAKERS_OF_ROOM;
        if rests { Ok(()) } else { self.advance_all() }
    }

    #[inline(never)]
    fn advance_all(&mut self) -> MpiResult {
        // Other threads may take, add and put back tasks meanwhile: turns are counted, and each takes the
        // first.
        for _ in 0..self.progress.tasks.len() {
            let Some(mut task) = self.progress.tasks.pop_front() else { break };
            match poll(self, task.future.as_mut()) {
                Poll::Pending => self.progress.tasks.push_back(task),
                Poll::Ready(Err(error)) if error.problem().ends_job() => return Err(error),
                Poll::Ready(result) => {
                    // What the operation kept goes before its end is seen.
                    drop(task.future);
                    task.end.set(result);
                }
            }
        }
        Ok(())
    }

    /// Has the NIC and the operations of several steps go on.
    pub(crate) fn make_progress(&mut self) -> MpiResult {
        self.port.progress()?;
        self.advance()
    }

    /// Looks, and, where nothing is found, again after some progress: what a call does that does not wait.
    #[inline]
    pub(crate) fn look_twice<T>(
        &mut self,
        mut look: impl FnMut(&mut Guard) -> MpiResult<Option<T>>,
    ) -> MpiResult<Option<T>> {
        if let Some(found) = look(self)? {
            return Ok(Some(found));
        }
        self.make_progress()?;
        look(self)
    }
}
