//! The wire format: rkyv, with every byte validated before it is used.
//!
//! Invariant: what [`decode`] returns is a valid value of its type; what arrives is never trusted. A message
//! is bounded in length before it is looked at, and an error names what was malformed.

use crate::node_set::{MAX_NODES, NodeSet};
use rkyv::api::high::{HighDeserializer, HighSerializer, HighValidator};
use rkyv::bytecheck::{CheckBytes, Verify};
use rkyv::rancor::{self, Fallible, Source, fail};
use rkyv::ser::allocator::ArenaHandle;
use rkyv::util::AlignedVec;
use rkyv::{Archive, Deserialize, Serialize};

/// A type that travels between nodes.
pub trait WireMessage: Archive + Sized {
    /// What errors call it.
    const NAME: &'static str;
    /// No encoding of it is longer than this.
    const MAX_BYTES: usize;
}

/// Why bytes are not a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Longer than any message of the type.
    #[error("{message} of {bytes} bytes is too long: at most {limit} are allowed")]
    TooLong {
        /// The message's name.
        message: &'static str,
        /// Its length.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// Not an encoding of the type.
    #[error("malformed {message} ({bytes} bytes): {reason}")]
    Malformed {
        /// The message's name.
        message: &'static str,
        /// Its length.
        bytes: usize,
        /// What the validation found.
        reason: String,
    },
}

/// Encodes a message.
///
/// # Errors
/// [`WireError::TooLong`] when the receiver would refuse it for its length.
pub fn encode<T>(message: &T) -> Result<AlignedVec, WireError>
where
    T: WireMessage + for<'a> Serialize<HighSerializer<AlignedVec, ArenaHandle<'a>, rancor::Error>>,
{
    let bytes = rkyv::to_bytes::<rancor::Error>(message).map_err(|error| WireError::Malformed {
        message: T::NAME,
        bytes: 0,
        reason: error.to_string(),
    })?;
    check_length::<T>(bytes.len())?;
    Ok(bytes)
}

/// Decodes a message that a peer has sent.
///
/// # Errors
/// The bytes are too long or not an encoding of the type.
pub fn decode<T>(bytes: &[u8]) -> Result<T, WireError>
where
    T: WireMessage,
    T::Archived: for<'a> CheckBytes<HighValidator<'a, rancor::Error>>
        + Deserialize<T, HighDeserializer<rancor::Error>>,
{
    check_length::<T>(bytes.len())?;
    let malformed = |error: rancor::Error| WireError::Malformed {
        message: T::NAME,
        bytes: bytes.len(),
        // One line: the first is the finding, the rest is where in the type it was found.
        reason: error.to_string().lines().collect::<Vec<_>>().join(" · "),
    };
    // Validation reads in place and wants the alignment of the type; a receive buffer may not have it.
    if bytes.as_ptr().addr().is_multiple_of(align_of::<T::Archived>().max(8)) {
        rkyv::from_bytes::<T, rancor::Error>(bytes).map_err(malformed)
    } else {
        let mut aligned = AlignedVec::<16>::with_capacity(bytes.len());
        aligned.extend_from_slice(bytes);
        rkyv::from_bytes::<T, rancor::Error>(&aligned).map_err(malformed)
    }
}

fn check_length<T: WireMessage>(bytes: usize) -> Result<(), WireError> {
    match bytes <= T::MAX_BYTES {
        true => Ok(()),
        false => Err(WireError::TooLong { message: T::NAME, bytes, limit: T::MAX_BYTES }),
    }
}

/// How a [`NodeSet`] travels: as its bitmap. Use with `#[rkyv(with = NodeSetDef)]`.
#[derive(Archive, Serialize, Deserialize)]
#[rkyv(remote = NodeSet, archived = ArchivedNodeSet, bytecheck(verify))]
pub struct NodeSetDef {
    #[rkyv(getter = first_word)]
    first_word: u32,
    #[rkyv(getter = words)]
    words: Vec<u64>,
}

fn first_word(set: &NodeSet) -> u32 {
    set.as_words().0
}

fn words(set: &NodeSet) -> Vec<u64> {
    set.as_words().1.to_vec()
}

/// A bitmap that reaches beyond the highest node.
#[derive(Debug, thiserror::Error)]
#[error("a node set of {words} words from word {first_word} reaches beyond node {MAX_NODES}")]
struct NodeSetTooHigh {
    first_word: u32,
    words: usize,
}

// SAFETY: the fields have been validated by the derived check before this is called; nothing in this type
// is unsafe to use with any value, this only refuses sets that the representation does not allow.
unsafe impl<C: Fallible + ?Sized> Verify<C> for ArchivedNodeSet
where
    C::Error: Source,
{
    fn verify(&self, _: &mut C) -> Result<(), C::Error> {
        let (first_word, words) = (self.first_word.to_native(), self.words.len());
        if first_word as usize + words > (MAX_NODES / u64::BITS) as usize {
            fail!(NodeSetTooHigh { first_word, words });
        }
        Ok(())
    }
}

impl From<NodeSetDef> for NodeSet {
    /// The bounds were verified with the bytes.
    fn from(set: NodeSetDef) -> Self {
        Self::from_words(set.first_word, &set.words).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::NodeId;
    use proptest::prelude::*;

    #[derive(Archive, Serialize, Deserialize, Debug, PartialEq, Clone)]
    struct Roster {
        name: String,
        #[rkyv(with = NodeSetDef)]
        nodes: NodeSet,
        lead: Option<NodeId>,
    }

    impl WireMessage for Roster {
        const NAME: &'static str = "roster";
        const MAX_BYTES: usize = 4096;
    }

    fn roster() -> impl Strategy<Value = Roster> {
        let nodes = proptest::collection::vec(0..9000u32, 0..20);
        (".{0,20}", nodes, proptest::option::of(0..9u32)).prop_map(|(name, nodes, lead)| Roster {
            name,
            nodes: nodes.into_iter().map(NodeId).collect(),
            lead: lead.map(NodeId),
        })
    }

    proptest! {
        #[test]
        fn a_message_is_decoded_from_its_encoding_at_any_alignment(roster in roster(), shift in 0..9usize) {
            let encoded = encode(&roster).unwrap();
            let mut shifted = vec![0; shift];
            shifted.extend_from_slice(&encoded);
            prop_assert_eq!(decode::<Roster>(&shifted[shift..]), Ok(roster));
        }

        #[test]
        fn damaged_bytes_are_decoded_to_a_valid_message_or_refused(
            roster in roster(), damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
            cut in any::<prop::sample::Index>()
        ) {
            let mut bytes = encode(&roster).unwrap().to_vec();
            for (index, value) in damage { let index = index.index(bytes.len()); bytes[index] = value; }
            if let Ok(other) = decode::<Roster>(&bytes) { prop_assert!(other.nodes.last().is_none_or(|node| node.0 < MAX_NODES)); }
            bytes.truncate(cut.index(bytes.len()));
            let _ = decode::<Roster>(&bytes);
        }
    }

    #[test]
    fn an_error_names_what_was_malformed() {
        let too_long = decode::<Roster>(&[0; 4097]).unwrap_err().to_string();
        assert_eq!(too_long, "roster of 4097 bytes is too long: at most 4096 are allowed");
        let malformed = decode::<Roster>(&[0xff; 64]).unwrap_err().to_string();
        assert!(malformed.starts_with("malformed roster (64 bytes): "), "{malformed}");
        let long_name = Roster { name: "x".repeat(5000), nodes: NodeSet::new(), lead: None };
        assert!(matches!(encode(&long_name), Err(WireError::TooLong { message: "roster", .. })));
    }

    #[test]
    fn a_node_set_beyond_the_highest_node_is_refused() {
        #[derive(Archive, Serialize, Deserialize)]
        struct Forged {
            name: String,
            first_word: u32,
            words: Vec<u64>,
            lead: Option<NodeId>,
        }
        impl WireMessage for Forged {
            const NAME: &'static str = "forged roster";
            const MAX_BYTES: usize = 4096;
        }
        let forged = |first_word| Forged { name: String::new(), first_word, words: vec![1], lead: None };
        // The forgery has the layout of a roster, or the first decode would not succeed.
        let good = decode::<Roster>(&encode(&forged(2)).unwrap()).unwrap();
        assert_eq!(good.nodes, NodeSet::single(NodeId(128)));
        let refused = decode::<Roster>(&encode(&forged(MAX_NODES / 64)).unwrap()).unwrap_err();
        assert!(refused.to_string().contains("reaches beyond node"), "{refused}");
    }
}
