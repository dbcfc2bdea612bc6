//! A rank's outstanding requests: which request slots it uses, and what for. Private to the rank's process.

use crate::memory::REQUESTS;

/// What a request was posted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A send to this rank of the job.
    Send {
        /// The receiver.
        destination: u32,
    },
    /// A receive to this buffer.
    Receive {
        /// Its address.
        address: u64,
        /// Its length.
        capacity: u64,
    },
    /// A collective.
    Collective,
}

/// The outstanding requests of a rank.
///
/// Slots freed last are used first: they are the ones in a cache.
#[derive(Debug, Default)]
pub struct Outstanding {
    purposes: Vec<Option<Purpose>>,
    free: Vec<u32>,
}

impl Outstanding {
    /// A slot for a new request; none when all are in use.
    #[inline]
    pub fn add(&mut self, purpose: Purpose) -> Option<u32> {
        if let Some(request) = self.free.pop() {
            self.purposes[request as usize] = Some(purpose);
            return Some(request);
        }
        if self.purposes.len() == REQUESTS {
            return None;
        }
        self.purposes.push(Some(purpose));
        Some(self.purposes.len() as u32 - 1)
    }

    /// What a request was posted for; none when it is not outstanding.
    #[inline]
    pub fn purpose(&self, request: u32) -> Option<Purpose> {
        self.purposes.get(request as usize).copied().flatten()
    }

    /// Takes a complete request: its slot is free.
    #[inline]
    pub fn take(&mut self, request: u32) -> Option<Purpose> {
        let purpose = self.purposes.get_mut(request as usize)?.take();
        if purpose.is_some() {
            self.free.push(request);
        }
        purpose
    }

    /// All outstanding requests.
    pub fn requests(&self) -> Vec<u32> {
        (0..self.purposes.len() as u32).filter(|&r| self.purposes[r as usize].is_some()).collect()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_taken_request_is_taken_once_and_its_slot_is_used_again() {
        let mut outstanding = Outstanding::default();
        let first = outstanding.add(Purpose::Collective).unwrap();
        let second = outstanding.add(Purpose::Send { destination: 3 }).unwrap();
        assert_ne!(first, second);
        assert_eq!(outstanding.take(first), Some(Purpose::Collective));
        assert_eq!(outstanding.take(first), None);
        assert_eq!(outstanding.requests(), vec![second]);
        assert_eq!(outstanding.add(Purpose::Collective), Some(first));
    }
}
