//! The wire format: rkyv, with every byte validated before it is used.
//!
//! Invariant: what [`decode`] returns is a valid value of its type; what arrives is never trusted. A message
//! is bounded in length before it is looked at, and an error names what was malformed.

use crate::node_set::{MAX_NODES, NodeSet};
use crate::placement::Placement;
use rkyv::api::high::{HighDeserializer, HighSerializer, HighValidator};
use rkyv::bytecheck::{CheckBytes, Verify};
use rkyv::rancor::{self, Fallible, Source, fail};
use rkyv::ser::allocator::ArenaHandle;
use rkyv::util::AlignedVec;
use rkyv::{Archive, Deserialize, Serialize};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// A type that travels between nodes.
pub trait WireMessage:
    for<'a> Serialize<HighSerializer<AlignedVec, ArenaHandle<'a>, rancor::Error>>
    + Archive<
        Archived: for<'a> CheckBytes<HighValidator<'a, rancor::Error>>
                      + Deserialize<Self, HighDeserializer<rancor::Error>>,
    > + Sized
{
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
pub fn encode<T: WireMessage>(message: &T) -> Result<AlignedVec, WireError> {
    encode_in(message, AlignedVec::new())
}

/// Encodes a message in memory that was used before; what is in it is lost.
///
/// # Errors
/// As [`encode`].
pub fn encode_in<T: WireMessage>(message: &T, mut room: AlignedVec) -> Result<AlignedVec, WireError> {
    room.clear();
    let encoded = rkyv::api::high::to_bytes_in::<_, rancor::Error>(message, room);
    let bytes = encoded.map_err(|error| WireError::Malformed {
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
pub fn decode<T: WireMessage>(bytes: &[u8]) -> Result<T, WireError> {
    check_length::<T>(bytes.len())?;
    let malformed = |error: rancor::Error| WireError::Malformed {
        message: T::NAME,
        bytes: bytes.len(),
        // One line: the first is the finding, the rest is where in the type it was found.
        reason: error.to_string().lines().collect::<Vec<_>>().join(" · "),
    };
    // Validation reads in place and wants the alignment of all that the message holds, also behind pointers:
    // that of the buffer that it was encoded in. A receive buffer may not have it.
    if bytes.as_ptr().addr().is_multiple_of(AlignedVec::<16>::ALIGNMENT) {
        rkyv::from_bytes::<T, rancor::Error>(bytes).map_err(malformed)
    } else {
        let mut aligned = AlignedVec::<16>::with_capacity(bytes.len());
        aligned.extend_from_slice(bytes);
        rkyv::from_bytes::<T, rancor::Error>(&aligned).map_err(malformed)
    }
}

/// The bytes before each message of a stream: its length, little-endian.
const HEADER_BYTES: usize = 4;

/// Encodes a message for a stream: its length, then its bytes.
///
/// # Errors
/// [`WireError::TooLong`] when the receiver would refuse it for its length.
pub fn encode_frame<T: WireMessage>(message: &T) -> Result<Vec<u8>, WireError> {
    let bytes = encode(message)?;
    let mut frame = Vec::with_capacity(HEADER_BYTES + bytes.len());
    frame.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    frame.extend_from_slice(&bytes);
    Ok(frame)
}

/// What has arrived of a stream of messages, whoever reads it from where. Of a message that is too long
/// nothing is kept.
#[derive(Debug, Default)]
pub struct FrameBuffer {
    bytes: Vec<u8>,
    /// What has been taken at the beginning.
    taken: usize,
}

impl FrameBuffer {
    /// Adds what has arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.taken > 0 {
            self.bytes.drain(..self.taken);
            self.taken = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Takes the next message, if all of it has arrived.
    ///
    /// # Errors
    /// It is too long or malformed. The stream is of no use then: where the next message begins is not known.
    pub fn take<T: WireMessage>(&mut self) -> Result<Option<T>, WireError> {
        let Some(message) = self.whole::<T>()? else { return Ok(None) };
        let (length, message) = (message.len(), decode(message)?);
        self.taken += HEADER_BYTES + length;
        Ok(Some(message))
    }

    /// How long the next message is, without its header, as soon as that has arrived.
    ///
    /// # Errors
    /// It is too long.
    pub fn announced<T: WireMessage>(&self) -> Result<Option<usize>, WireError> {
        let Some(header) = self.bytes[self.taken..].first_chunk::<HEADER_BYTES>() else { return Ok(None) };
        let length = u32::from_le_bytes(*header) as usize;
        check_length::<T>(length)?;
        Ok(Some(length))
    }

    /// Takes the bytes of the next message as they are, if all of it has arrived, for [`decode`].
    ///
    /// # Errors
    /// It is too long.
    pub fn take_bytes<T: WireMessage>(&mut self) -> Result<Option<Vec<u8>>, WireError> {
        let Some(message) = self.whole::<T>()?.map(<[u8]>::to_vec) else { return Ok(None) };
        self.taken += HEADER_BYTES + message.len();
        if !self.is_inside_message() {
            // What was long is not kept for what may be short.
            *self = Self::default();
        }
        Ok(Some(message))
    }

    /// The bytes of the next message, if all of it has arrived.
    fn whole<T: WireMessage>(&self) -> Result<Option<&[u8]>, WireError> {
        let length = self.announced::<T>()?;
        Ok(length.and_then(|length| self.bytes[self.taken + HEADER_BYTES..].get(..length)))
    }

    /// Whether a message has arrived in part.
    pub fn is_inside_message(&self) -> bool {
        self.bytes.len() > self.taken
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

/// How a [`Placement`] travels: as the node of each rank. Use with `#[rkyv(with = PlacementDef)]`.
#[derive(Archive, Serialize, Deserialize)]
#[rkyv(remote = Placement, archived = ArchivedPlacement, bytecheck(verify))]
pub struct PlacementDef {
    #[rkyv(getter = nodes_of_ranks)]
    nodes_of_ranks: Vec<u32>,
}

fn nodes_of_ranks(placement: &Placement) -> Vec<u32> {
    placement.clone().into()
}

// SAFETY: as above: the fields are valid, and this only refuses nodes that are no placement.
unsafe impl<C: Fallible + ?Sized> Verify<C> for ArchivedPlacement
where
    C::Error: Source,
{
    fn verify(&self, _: &mut C) -> Result<(), C::Error> {
        let nodes: Vec<u32> = self.nodes_of_ranks.iter().map(|node| node.to_native()).collect();
        match Placement::by_rank(&nodes) {
            Ok(_) => Ok(()),
            Err(error) => fail!(error),
        }
    }
}

impl From<PlacementDef> for Placement {
    /// That it is one was verified with the bytes.
    fn from(placement: PlacementDef) -> Self {
        Self::by_rank(&placement.nodes_of_ranks).unwrap_or_else(|_| Self::one_node(1))
    }
}

/// How an [`OsString`] travels: as its bytes. Use with `#[rkyv(with = OsStringDef)]`.
#[derive(Archive, Serialize, Deserialize)]
#[rkyv(remote = OsString)]
pub struct OsStringDef {
    #[rkyv(getter = bytes_of_text)]
    bytes: Vec<u8>,
}

fn bytes_of_text(text: &OsString) -> Vec<u8> {
    text.as_bytes().to_vec()
}

impl From<OsStringDef> for OsString {
    fn from(text: OsStringDef) -> Self {
        Self::from_vec(text.bytes)
    }
}

/// How a [`PathBuf`] travels: as its bytes. Use with `#[rkyv(with = PathBufDef)]`.
#[derive(Archive, Serialize, Deserialize)]
#[rkyv(remote = PathBuf)]
pub struct PathBufDef {
    #[rkyv(getter = bytes_of_path)]
    bytes: Vec<u8>,
}

#[expect(clippy::ptr_arg, reason = "what a getter is called with")]
fn bytes_of_path(path: &PathBuf) -> Vec<u8> {
    path.as_os_str().as_bytes().to_vec()
}

impl From<PathBufDef> for PathBuf {
    fn from(path: PathBufDef) -> Self {
        OsString::from_vec(path.bytes).into()
    }
}

/// How a variable of the environment travels, which is a pair of texts. Use with `#[rkyv(with =
/// VariableDef)]`.
#[derive(Archive, Serialize, Deserialize)]
#[rkyv(remote = Variable)]
pub struct VariableDef(#[rkyv(with = OsStringDef)] OsString, #[rkyv(with = OsStringDef)] OsString);

/// A variable of the environment: its name and its value.
pub type Variable = (OsString, OsString);

impl From<VariableDef> for Variable {
    fn from(variable: VariableDef) -> Self {
        (variable.0, variable.1)
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

    proptest! {
        #[test]
        fn a_stream_of_messages_is_the_same_however_it_is_cut(
            rosters in proptest::collection::vec(roster(), 0..5), cuts in proptest::collection::vec(1..50usize, 1..20)
        ) {
            let stream: Vec<u8> = rosters.iter().flat_map(|roster| encode_frame(roster).unwrap()).collect();
            let (mut buffer, mut arrived, mut rest) = (FrameBuffer::default(), Vec::new(), &stream[..]);
            for cut in cuts.iter().cycle() {
                let (head, tail) = rest.split_at((*cut).min(rest.len()));
                buffer.push(head);
                while let Some(roster) = buffer.take::<Roster>().unwrap() { arrived.push(roster); }
                rest = tail;
                if rest.is_empty() { break; }
            }
            prop_assert_eq!(arrived, rosters);
            prop_assert!(!buffer.is_inside_message());
        }
    }

    #[test]
    fn what_lies_behind_a_pointer_is_decoded_at_any_alignment() {
        #[derive(Archive, Serialize, Deserialize, Debug, PartialEq)]
        struct Network(Box<(u128, String)>);
        impl WireMessage for Network {
            const NAME: &'static str = "network";
            const MAX_BYTES: usize = 4096;
        }
        let network = Network(Box::new((1 << 100, "long enough to lie elsewhere".into())));
        let encoded = encode(&network).unwrap();
        let mut shifted = AlignedVec::<16>::new();
        for shift in 0..17 {
            shifted.clear();
            shifted.resize(shift, 0);
            shifted.extend_from_slice(&encoded);
            assert_eq!(decode::<Network>(&shifted[shift..]).as_ref(), Ok(&network), "shifted by {shift}");
        }
    }

    #[test]
    fn a_frame_that_is_too_long_is_refused_by_its_header_alone() {
        let mut buffer = FrameBuffer::default();
        buffer.push(&4097_u32.to_le_bytes());
        assert!(matches!(buffer.take::<Roster>(), Err(WireError::TooLong { bytes: 4097, .. })));
    }

    #[test]
    fn texts_and_paths_that_are_no_unicode_arrive_as_they_were() {
        #[derive(Archive, Serialize, Deserialize, Debug, PartialEq)]
        struct Texts {
            #[rkyv(with = OsStringDef)]
            program: OsString,
            #[rkyv(with = rkyv::with::Map<VariableDef>)]
            variables: Vec<Variable>,
            #[rkyv(with = rkyv::with::Map<PathBufDef>)]
            directory: Option<PathBuf>,
            #[rkyv(with = PlacementDef)]
            placement: Placement,
        }
        impl WireMessage for Texts {
            const NAME: &'static str = "texts";
            const MAX_BYTES: usize = 4096;
        }
        let texts = Texts {
            program: OsString::from_vec(vec![0xff, b'a', 0x80]),
            variables: vec![("A".into(), OsString::from_vec(vec![0xfe])), (OsString::new(), "x".into())],
            directory: Some(OsString::from_vec(vec![b'/', 0xc0]).into()),
            placement: Placement::by_rank(&[0, 1, 1, 0, 2]).unwrap(),
        };
        assert_eq!(decode::<Texts>(&encode(&texts).unwrap()), Ok(texts));
    }

    #[test]
    fn a_placement_with_a_gap_is_refused() {
        #[derive(Archive, Serialize, Deserialize)]
        struct Honest(#[rkyv(with = PlacementDef)] Placement);
        #[derive(Archive, Serialize, Deserialize)]
        struct Forged(Vec<u32>);
        impl WireMessage for Honest {
            const NAME: &'static str = "placement";
            const MAX_BYTES: usize = 4096;
        }
        impl WireMessage for Forged {
            const NAME: &'static str = "forged placement";
            const MAX_BYTES: usize = 4096;
        }
        let of = |nodes: &[u32]| decode::<Honest>(&encode(&Forged(nodes.to_vec())).unwrap());
        assert_eq!(of(&[0, 1]).unwrap().0.nodes(), 2);
        assert!(of(&[0, 2]).is_err() && of(&[]).is_err());
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
