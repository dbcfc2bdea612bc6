//! Network cards that write into other nodes' memory, and who drives them, as libfabric names both.

use rkyv::bytecheck::Verify;
use rkyv::rancor::{Fallible, Source, fail};
use rkyv::{Archive, Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A provider of libfabric: `verbs`, `cxi`, `tcp;ofi_rxm`, .. Its name has letters, digits, `_`, `-`, `.`
/// and `;`, at most [`Provider::LONGEST`] of them; others are refused also where they arrive by network.
#[derive(Clone, Debug, PartialEq, Eq, Archive, Serialize, Deserialize)]
#[rkyv(bytecheck(verify))]
pub struct Provider(String);

/// A name that no provider of libfabric has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' names no provider of libfabric: names have letters, digits, _, -, . and ;, at most {limit} of them",
    limit = Provider::LONGEST
)]
pub struct ProviderError(String);

impl Provider {
    /// The longest name, in bytes.
    pub const LONGEST: usize = 64;

    /// As libfabric takes it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Provider {
    type Err = ProviderError;

    fn from_str(name: &str) -> Result<Self, ProviderError> {
        let can_be_named = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.;".contains(&byte);
        match (1..=Self::LONGEST).contains(&name.len()) && name.bytes().all(can_be_named) {
            true => Ok(Self(name.to_owned())),
            false => Err(ProviderError(name.to_owned())),
        }
    }
}

// SAFETY: the derived check has validated the text before this is called; nothing is unsafe to use with any
// text, this only refuses those that are no name.
unsafe impl<C: Fallible + ?Sized> Verify<C> for ArchivedProvider
where
    C::Error: Source,
{
    fn verify(&self, _: &mut C) -> Result<(), C::Error> {
        match self.0.as_str().parse::<Provider>() {
            Ok(_) => Ok(()),
            Err(error) => fail!(error),
        }
    }
}

/// A network card that writes into the memory of another node by itself. As text: `verbs mlx5_0`.
#[derive(Clone, Debug, PartialEq, Eq, Archive, Serialize, Deserialize)]
pub struct NetworkCard {
    /// Who drives it.
    pub provider: Provider,
    /// The card: libfabric's domain (`mlx5_0`).
    pub domain: String,
}

/// A text that is no network card.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkCardError {
    /// Only one word, or none.
    #[error("'{0}' is no network card, which is a provider and a domain of libfabric, as in 'verbs mlx5_0'")]
    NoDomain(String),
    /// A provider that cannot be.
    #[error(transparent)]
    Provider(#[from] ProviderError),
}

impl fmt::Display for NetworkCard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.provider, self.domain)
    }
}

impl FromStr for NetworkCard {
    type Err = NetworkCardError;

    fn from_str(text: &str) -> Result<Self, NetworkCardError> {
        let (provider, domain) =
            text.split_once(' ').ok_or_else(|| NetworkCardError::NoDomain(text.to_owned()))?;
        Ok(Self { provider: provider.parse()?, domain: domain.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{self, WireMessage};

    impl WireMessage for NetworkCard {
        const NAME: &'static str = "a network card";
        const MAX_BYTES: usize = 1 << 10;
    }

    /// Names of the longest kind, and one more.
    fn longest() -> [String; 2] {
        [Provider::LONGEST, Provider::LONGEST + 1].map(|length| "x".repeat(length))
    }

    #[test]
    fn a_card_is_read_as_it_is_written() {
        let [longest, longer] = longest();
        for provider in ["verbs", "cxi", "tcp;ofi_rxm", "psm3", "x-1.2", &longest] {
            let card: NetworkCard = format!("{provider} mlx5_0").parse().unwrap();
            assert_eq!((card.provider.as_str(), &*card.domain), (provider, "mlx5_0"));
            assert_eq!(card.to_string(), format!("{provider} mlx5_0"));
        }
        for none in ["", "verbs"] {
            let error = none.parse::<NetworkCard>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("'{none}' is no network card")), "{error}");
        }
        for wrong in ["", "a b", "ver\0bs", "ähre", &longer] {
            let error = wrong.parse::<Provider>().unwrap_err();
            assert!(error.to_string().starts_with(&format!("'{wrong}' names no provider")), "{error}");
        }
    }

    #[test]
    fn a_name_that_no_provider_has_is_refused_where_it_arrives() {
        let [longest, longer] = longest();
        let card = |provider: &str| NetworkCard { provider: Provider(provider.into()), domain: "0".into() };
        let travelled = |card: &NetworkCard| wire::decode::<NetworkCard>(&wire::encode(card).unwrap());
        for good in ["v", "tcp;ofi_rxm", &longest] {
            assert_eq!(travelled(&card(good)).unwrap(), card(good));
        }
        for wrong in ["", "verbs\nforged line", "../verbs", "ver bs", &longer] {
            let error = travelled(&card(wrong)).unwrap_err().to_string();
            assert!(error.contains("a network card"), "{error}");
        }
    }
}
