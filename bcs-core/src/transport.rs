//! What carries the network of a job between its nodes.

use crate::network_card::{NetworkCard, Provider};
use crate::units::as_text;
use rkyv::{Archive, Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What carries the network of a job on several nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Archive, Serialize, Deserialize)]
pub enum Transport {
    /// Links over TCP: the fastest in a machine room.
    #[default]
    Tcp,
    /// QUIC over UDP: for long paths, and networks that lose packets.
    Quic,
    /// RDMA by libfabric, with this provider, or the first with a network card that a node has.
    Ofi(Option<Provider>),
}

/// What users want to carry the networks of jobs.
#[derive(Clone, Debug, PartialEq, Eq, Archive, Serialize, Deserialize)]
pub enum TransportChoice {
    /// RDMA where all nodes of a job have a network card of the same provider, else TCP.
    Auto,
    /// This one.
    Transport(Transport),
}

/// Why a text is no transport.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no transport: write {WANTED}")]
pub struct TransportError(String);

/// What users can write for a transport.
pub const WANTED: &str = "auto, tcp, quic, ofi or ofi:PROVIDER";

impl Transport {
    /// Whether what travels is sealed, or can be.
    pub fn can_seal(&self) -> bool {
        !matches!(self, Self::Ofi(_))
    }

    /// What a packet filter has to let pass between nodes.
    pub fn protocol(&self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Quic => "UDP",
            Self::Ofi(_) => "TCP, and what libfabric's provider uses,",
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp => f.write_str("tcp"),
            Self::Quic => f.write_str("quic"),
            Self::Ofi(None) => f.write_str("ofi"),
            Self::Ofi(Some(provider)) => write!(f, "ofi:{provider}"),
        }
    }
}

impl FromStr for Transport {
    type Err = TransportError;

    fn from_str(text: &str) -> Result<Self, TransportError> {
        let wrong = || TransportError(text.to_owned());
        match text {
            "tcp" => Ok(Self::Tcp),
            "quic" => Ok(Self::Quic),
            "ofi" => Ok(Self::Ofi(None)),
            _ => {
                let provider = text.strip_prefix("ofi:").and_then(|name| name.parse().ok());
                Ok(Self::Ofi(Some(provider.ok_or_else(wrong)?)))
            }
        }
    }
}

impl TransportChoice {
    /// Whether jobs may be carried by what seals nothing.
    pub fn may_be_plain(&self) -> bool {
        match self {
            Self::Auto => true,
            Self::Transport(transport) => !transport.can_seal(),
        }
    }

    /// What carries the network of a job, whose nodes have these cards.
    pub fn for_nodes<'a>(&self, mut cards: impl Iterator<Item = Option<&'a NetworkCard>>) -> Transport {
        match self {
            Self::Transport(transport) => transport.clone(),
            Self::Auto => {
                let Some(Some(first)) = cards.next() else { return Transport::Tcp };
                match cards.all(|card| card.is_some_and(|card| card.provider == first.provider)) {
                    true => Transport::Ofi(Some(first.provider.clone())),
                    false => Transport::Tcp,
                }
            }
        }
    }
}

impl Default for TransportChoice {
    fn default() -> Self {
        Self::Transport(Transport::default())
    }
}

impl fmt::Display for TransportChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Transport(transport) => transport.fmt(f),
        }
    }
}

impl FromStr for TransportChoice {
    type Err = TransportError;

    fn from_str(text: &str) -> Result<Self, TransportError> {
        match text {
            "auto" => Ok(Self::Auto),
            text => text.parse().map(Self::Transport),
        }
    }
}

as_text!(TransportChoice);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_is_read_as_it_is_written() {
        let longest = format!("ofi:{}", "x".repeat(Provider::LONGEST));
        for text in ["auto", "tcp", "quic", "ofi", "ofi:verbs", "ofi:tcp;ofi_rxm", "ofi:psm3", &longest] {
            assert_eq!(text.parse::<TransportChoice>().unwrap().to_string(), text);
        }
        assert_eq!(TransportChoice::default().to_string(), "tcp");
    }

    #[test]
    fn what_is_no_transport_is_told_with_what_may_be_written() {
        let longer = format!("ofi:{}", "x".repeat(Provider::LONGEST + 1));
        for text in ["", "udp", "TCP", "ofi:", "ofi:a b", "ofi:a\0", "ofi: verbs", "ofi;verbs", &longer] {
            let error = text.parse::<TransportChoice>().unwrap_err().to_string();
            assert_eq!(error, format!("'{text}' is no transport: write {WANTED}"));
        }
    }

    #[test]
    fn the_choice_is_the_machines_where_all_nodes_have_a_card_of_one_provider() {
        let card = |provider: &str| format!("{provider} card0").parse::<NetworkCard>().unwrap();
        let (verbs, cxi) = (card("verbs"), card("cxi"));
        let ofi = Transport::Ofi(Some(verbs.provider.clone()));
        let chosen =
            |choice: TransportChoice, cards: &[Option<&NetworkCard>]| choice.for_nodes(cards.iter().copied());
        let other = NetworkCard { domain: "card1".into(), ..verbs.clone() };
        assert_eq!(chosen(TransportChoice::Auto, &[Some(&verbs), Some(&other)]), ofi);
        for cards in
            [&[][..], &[None], &[Some(&verbs), None], &[None, Some(&verbs)], &[Some(&verbs), Some(&cxi)]]
        {
            assert_eq!(chosen(TransportChoice::Auto, cards), Transport::Tcp, "{cards:?}");
        }
        let asked = TransportChoice::Transport(Transport::Quic);
        assert!(TransportChoice::Auto.may_be_plain() && TransportChoice::Transport(ofi).may_be_plain());
        assert!(!asked.may_be_plain() && !TransportChoice::default().may_be_plain());
        assert_eq!(chosen(asked, &[Some(&verbs), Some(&verbs)]), Transport::Quic);
    }
}
