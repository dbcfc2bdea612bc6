//! What carries the network of a job between its nodes: the table of transports, and what users choose.

use crate::network_card::{NetworkCard, Provider};
use crate::units::as_text;
use rkyv::{Archive, Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Gives the table of transports to a macro, which makes of it what it needs.
///
/// A line has the name that users write, which is that of the file in
/// `node-manager/launcher/src/launcher/network` too; the variant, with what may stand behind the name and a
/// colon; whether what travels is sealed, or can be; and what a packet filter has to let pass between nodes.
#[macro_export]
macro_rules! with_transports {
    ($make:ident!) => {
        $make! {
            /// Links over TCP: the fastest in a machine room.
            tcp: Tcp, true, "TCP";
            /// QUIC over UDP: for long paths, and networks that lose packets.
            quic: Quic, true, "UDP";
            /// RDMA by libfabric, with this provider, or the first with a network card that a node has.
            ofi: Ofi(Provider "PROVIDER"), false, "TCP, and what libfabric's provider uses,";
        }
    };
}

/// Makes [`Transport`] of the table.
macro_rules! transports {
    ($(
        $(#[$doc:meta])*
        $name:ident: $transport:ident $(($detail:ident $written:literal))?, $seals:literal, $protocol:literal;
    )+) => {
        /// What carries the network of a job on several nodes.
        #[derive(Clone, Debug, PartialEq, Eq, Archive, Serialize, Deserialize)]
        pub enum Transport {
            $($(#[$doc])* $transport $((Option<$detail>))?,)+
        }

        /// What users can write for a transport.
        pub const WANTED: &str = concat!(
            "one of auto",
            $(", ", stringify!($name), $(", ", stringify!($name), ":", $written,)?)+
        );

        /// The same in short, for a usage line.
        pub const VALUE_NAME: &str =
            concat!("auto", $("|", stringify!($name), $("[:", $written, "]",)?)+);

        impl Transport {
            /// Its name, and what stands behind that and a colon.
            fn written(&self) -> (&'static str, Option<&dyn fmt::Display>) {
                let (name, mut detail) = match self {
                    $(Self::$transport { .. } => (stringify!($name), None),)+
                };
                $($(
                    if let Self::$transport(Some(given)) = self {
                        let given: &$detail = given;
                        detail = Some(given as &dyn fmt::Display);
                    }
                )?)+
                (name, detail)
            }

            /// The one of this name, and with this behind it.
            fn named(name: &str, mut detail: Option<&str>) -> Option<Self> {
                let transport = match name {
                    $(stringify!($name) => {
                        Self::$transport $((detail.take().map(str::parse::<$detail>).transpose().ok()?))?
                    })+
                    _ => return None,
                };
                detail.is_none().then_some(transport)
            }

            /// Whether what travels is sealed, or can be.
            pub fn can_seal(&self) -> bool {
                match self {
                    $(Self::$transport { .. } => $seals,)+
                }
            }

            /// What a packet filter has to let pass between nodes.
            pub fn protocol(&self) -> &'static str {
                match self {
                    $(Self::$transport { .. } => $protocol,)+
                }
            }
        }
    };
}

with_transports!(transports!);

impl Default for Transport {
    fn default() -> Self {
        Self::Tcp
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.written() {
            (name, None) => f.write_str(name),
            (name, Some(detail)) => write!(f, "{name}:{detail}"),
        }
    }
}

impl FromStr for Transport {
    type Err = TransportError;

    fn from_str(text: &str) -> Result<Self, TransportError> {
        let (name, detail) = match text.split_once(':') {
            None => (text, None),
            Some((name, detail)) => (name, Some(detail)),
        };
        Self::named(name, detail).ok_or_else(|| TransportError(text.to_owned()))
    }
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
        for text in [
            "",
            "udp",
            "TCP",
            "ofi:",
            "tcp:",
            "quic:x",
            "ofi:a b",
            "ofi:a\0",
            "ofi: verbs",
            "ofi;verbs",
            &longer,
        ] {
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
