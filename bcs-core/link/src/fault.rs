//! Why a link has ended before its time.
//!
//! A fault is found by whoever drives the link, and concerns everybody who uses it. So it is one word in the
//! link's shared memory: the first fault stays, and every later call of any process answers with it.

use std::fmt;

/// What kind of fault it is; [`LinkFault`] has the value that belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum FaultKind {
    /// A position in shared memory that cannot be.
    Memory = 1,
    /// A frame that the other end has not sealed, or not as the next one. The value is its number.
    Forged,
    /// A frame longer than any. The value is its length.
    TooLong,
    /// Where a frame is to be, the other end speaks TLS: it has refused the handshake.
    Refused,
    /// More records than there was credit for. The value is the length of the frame.
    Flooded,
    /// Credit for more than was sent, or for less than before. The value is the position.
    Credit,
    /// A frame that may not come now. The value is its kind.
    Kind,
    /// The other end has rings of another size. The value is that size.
    RingBytes,
    /// The connection has ended without a close. The value is how much of a frame had come.
    Ended,
    /// The system refuses to send or to receive. The value is the error's number.
    Socket,
    /// The library for cryptography refuses to seal or to renew a key.
    Cryptography,
    /// A process failed while it held a lock of the link.
    Panicked,
    /// The owner has taken the link down.
    Closed,
}

const KINDS: [FaultKind; 13] = [
    FaultKind::Memory,
    FaultKind::Forged,
    FaultKind::TooLong,
    FaultKind::Refused,
    FaultKind::Flooded,
    FaultKind::Credit,
    FaultKind::Kind,
    FaultKind::RingBytes,
    FaultKind::Ended,
    FaultKind::Socket,
    FaultKind::Cryptography,
    FaultKind::Panicked,
    FaultKind::Closed,
];

/// The bits of a fault's word that hold its value.
const VALUE_BITS: u32 = 56;

/// A fault. It is final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub struct LinkFault {
    /// What kind of fault.
    pub kind: FaultKind,
    /// What belongs to it.
    pub value: u64,
}

impl LinkFault {
    pub(crate) fn new(kind: FaultKind, value: u64) -> Self {
        Self { kind, value: value & ((1 << VALUE_BITS) - 1) }
    }

    /// As it stands in shared memory; never zero.
    pub(crate) fn to_word(self) -> u64 {
        (self.kind as u64) << VALUE_BITS | self.value
    }

    /// The fault of a word; none when the word is zero. A word that is no fault is damaged memory.
    pub(crate) fn from_word(word: u64) -> Option<Self> {
        let code = (word >> VALUE_BITS) as u8;
        match KINDS.iter().find(|kind| **kind as u8 == code) {
            Some(kind) => Some(Self::new(*kind, word)),
            None if word == 0 => None,
            None => Some(Self::new(FaultKind::Memory, word)),
        }
    }
}

impl fmt::Display for LinkFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.value;
        match self.kind {
            FaultKind::Memory => write!(f, "the link's shared memory is damaged: {value:#x} stands there"),
            FaultKind::Forged => write!(f, "frame {value} is not the next one that the other end has sealed"),
            FaultKind::TooLong => write!(f, "a frame of {value} bytes is announced, which is too long"),
            FaultKind::Refused => f.write_str("the other end has refused the handshake"),
            FaultKind::Flooded => write!(f, "a frame of {value} bytes came without credit for it"),
            FaultKind::Credit => {
                write!(f, "the other end says that it has taken {value} bytes, which cannot be")
            }
            FaultKind::Kind => write!(f, "a frame of kind {value} came, which cannot come there"),
            FaultKind::RingBytes => {
                write!(f, "the other end has rings of {value} bytes; all nodes need rings of one size")
            }
            FaultKind::Ended if value == 0 => f.write_str("the connection has ended without a close"),
            FaultKind::Ended => write!(f, "the connection has ended after {value} bytes of a frame"),
            FaultKind::Socket => {
                let error = std::io::Error::from_raw_os_error(value as i32);
                write!(f, "cannot send or receive on the link's socket: {error}")
            }
            FaultKind::Cryptography => f.write_str("the library for cryptography refuses to seal a frame"),
            FaultKind::Panicked => write!(f, "process {value} failed while it held a lock of the link"),
            FaultKind::Closed => f.write_str("this node has taken the link down"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_what_their_words_say_and_no_word_is_lost() {
        for (kind, code) in KINDS.into_iter().zip(1..) {
            assert_eq!(kind as u8, code);
            let fault = LinkFault::new(kind, u64::MAX);
            assert_eq!(LinkFault::from_word(fault.to_word()), Some(fault));
            assert_ne!(LinkFault::new(kind, 0).to_word(), 0);
        }
        assert_eq!(LinkFault::from_word(0), None);
        assert_eq!(LinkFault::from_word(7).unwrap().kind, FaultKind::Memory);
        assert_eq!(LinkFault::from_word(0xee << VALUE_BITS).unwrap().kind, FaultKind::Memory);
    }
}
