//! What two nodes tell each other over the links on which they have proved who they are: where the other one
//! may write, and that a node leaves.
//!
//! ```text
//! 0      1         2        4                12            20           28        36    44      48
//! ┌──────┬─────────┬────────┬────────────────┬─────────────┬────────────┬─────────┬─────┬───────┬──────────┬─────────┐
//! │ kind │ version │ name's │ bytes of rings │ bytes of    │ signals at │ ring at │ key │ form  │ name of  │ address │
//! │      │         │ length │                │ the window  │            │         │     │       │ provider │         │
//! └──────┴─────────┴────────┴────────────────┴─────────────┴────────────┴─────────┴─────┴───────┴──────────┴─────────┘
//! ```
//!
//! That is a greeting; integers are little-endian. A farewell has the position up to which its sender has
//! sent, and the answer to it nothing. A node reads letters of members only, and believes nothing in them
//! that would make it read or write its own memory elsewhere.

/// The form of greetings, and what follows them. Nodes of one network have the same.
const VERSION: u8 = 2;

/// Where a node may write into another one's memory, and how it reaches it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Greeting {
    /// The size of the rings of the node's links.
    pub ring_bytes: u64,
    /// The size of the range into which the ring is written: as large, or smaller.
    pub window_bytes: u64,
    /// Where the signals are, and where that range begins, as remote writes name them.
    pub signals_at: u64,
    pub window_at: u64,
    pub key: u64,
    /// The form of the provider's addresses.
    pub address_format: u32,
    pub provider: String,
    pub address: Vec<u8>,
}

/// A letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Letter {
    Greeting(Box<Greeting>),
    /// The node leaves; it has sent all up to this position, which is not known where the link is not up.
    Farewell(u64),
    /// All that a node which leaves has sent was taken.
    Answer,
}

/// Why a letter cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LetterError {
    #[error("a letter of {bytes} bytes and kind {kind} is none")]
    Strange { kind: u8, bytes: usize },
    #[error(
        "it speaks version {0} of this network, and this node speaks {VERSION}; install one version everywhere"
    )]
    Version(u8),
}

const GREETING: u8 = 1;
const FAREWELL: u8 = 2;
const ANSWER: u8 = 3;

const HEAD_BYTES: usize = 48;

impl Greeting {
    /// Whether the ring is written itself: its signals lie behind it, and behind a slab's before it.
    pub fn is_of_ring(&self) -> bool {
        self.signals_at == self.window_at.wrapping_add(self.ring_bytes)
            && self.window_bytes == self.ring_bytes
    }
}

impl Letter {
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Greeting(greeting) => {
                let name = greeting.provider.as_bytes();
                let mut bytes = vec![GREETING, VERSION];
                bytes.extend((name.len() as u16).to_le_bytes());
                let Greeting { ring_bytes, window_bytes, signals_at, window_at, key, .. } = **greeting;
                let words = [ring_bytes, window_bytes, signals_at, window_at, key];
                bytes.extend(words.into_iter().flat_map(u64::to_le_bytes));
                bytes.extend(greeting.address_format.to_le_bytes());
                bytes.extend(name);
                bytes.extend(&greeting.address);
                bytes
            }
            Self::Farewell(position) => {
                let mut bytes = vec![FAREWELL, VERSION];
                bytes.extend(position.to_le_bytes());
                bytes
            }
            Self::Answer => vec![ANSWER, VERSION],
        }
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, LetterError> {
        let strange =
            || LetterError::Strange { kind: bytes.first().copied().unwrap_or(0), bytes: bytes.len() };
        let (&[kind, version], rest) = bytes.split_first_chunk::<2>().ok_or_else(strange)?;
        if version != VERSION {
            return Err(LetterError::Version(version));
        }
        match kind {
            GREETING if bytes.len() >= HEAD_BYTES => {
                let word = |at: usize| {
                    let mut word = [0; 8];
                    word.copy_from_slice(&bytes[at..at + 8]);
                    u64::from_le_bytes(word)
                };
                let name_bytes = usize::from(u16::from_le_bytes([bytes[2], bytes[3]]));
                let (name, address) = bytes[HEAD_BYTES..].split_at_checked(name_bytes).ok_or_else(strange)?;
                Ok(Self::Greeting(Box::new(Greeting {
                    ring_bytes: word(4),
                    window_bytes: word(12),
                    signals_at: word(20),
                    window_at: word(28),
                    key: word(36),
                    address_format: u32::from_le_bytes([bytes[44], bytes[45], bytes[46], bytes[47]]),
                    provider: String::from_utf8_lossy(name).into_owned(),
                    address: address.to_vec(),
                })))
            }
            FAREWELL => {
                let position = rest.try_into().map_err(|_| strange())?;
                Ok(Self::Farewell(u64::from_le_bytes(position)))
            }
            ANSWER if rest.is_empty() => Ok(Self::Answer),
            _ => Err(strange()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::damage::{damage, noise, run};

    fn greeting() -> Letter {
        Letter::Greeting(Box::new(Greeting {
            ring_bytes: 256 << 10,
            window_bytes: 64 << 10,
            signals_at: 0x7f00_0000_1000,
            window_at: 0x7f00_0000_2000,
            key: u64::MAX - 5,
            address_format: 2,
            provider: "tcp;ofi_rxm".into(),
            address: vec![7; 16],
        }))
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        for letter in [greeting(), Letter::Farewell(1 << 40), Letter::Answer] {
            assert_eq!(Letter::decode(&letter.encode()), Ok(letter));
        }
    }

    #[test]
    fn what_is_no_letter_is_refused() {
        assert!(matches!(Letter::decode(&[]), Err(LetterError::Strange { kind: 0, bytes: 0 })));
        assert_eq!(Letter::decode(&[GREETING, 9]), Err(LetterError::Version(9)));
        assert!(Letter::decode(&[FAREWELL, VERSION, 0]).is_err());
        assert!(Letter::decode(&[ANSWER, VERSION, 0]).is_err());
        let mut long_name = greeting().encode();
        long_name[2..4].copy_from_slice(&[0xff; 2]);
        assert!(Letter::decode(&long_name).is_err());
        run(|random| {
            let mut bytes = if random.bool() { greeting().encode() } else { noise(100, random) };
            damage(&mut bytes, random);
            // It is read or refused; nothing else.
            let _ = Letter::decode(&bytes);
        });
    }
}
