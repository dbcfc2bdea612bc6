//! What carries the network of a job between its nodes.

use crate::units::as_text;
use rkyv::{Archive, Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What carries the network of a job on several nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Archive, Serialize, Deserialize)]
pub enum Transport {
    /// Links over TCP: the fastest in a machine room.
    #[default]
    Tcp,
    /// QUIC over UDP: for long paths, and networks that lose packets.
    Quic,
}

/// Why a text is no transport.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no transport: write tcp or quic")]
pub struct TransportError(String);

impl Transport {
    /// The protocol that a packet filter has to let pass between nodes.
    pub fn protocol(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Quic => "UDP",
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp => "tcp",
            Self::Quic => "quic",
        })
    }
}

impl FromStr for Transport {
    type Err = TransportError;

    fn from_str(text: &str) -> Result<Self, TransportError> {
        [Self::Tcp, Self::Quic]
            .into_iter()
            .find(|transport| transport.to_string() == text)
            .ok_or_else(|| TransportError(text.to_owned()))
    }
}

as_text!(Transport);
