//! Where a rank opens an endpoint of its own: a launcher tells its ranks in their environment.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// Where a rank opens its endpoint, as text: `ADDRESS PROVIDER`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointPlace {
    /// The node's address in the job's network.
    pub address: IpAddr,
    /// The provider, as libfabric names it.
    pub provider: String,
}

impl EndpointPlace {
    /// The variable in which a launcher tells its ranks.
    pub const VARIABLE: &str = "BCS_CARD";
}

impl fmt::Display for EndpointPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.address, self.provider)
    }
}

impl FromStr for EndpointPlace {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (address, provider) = text.split_once(' ').ok_or(())?;
        Ok(Self { address: address.parse().map_err(drop)?, provider: provider.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_as_they_are_written() {
        for text in ["127.0.0.1 tcp;ofi_rxm", "fd00::1 verbs", "10.0.0.1 a b"] {
            assert_eq!(text.parse::<EndpointPlace>().unwrap().to_string(), text);
        }
        for text in ["", "tcp", "127.0.0.1", "300.0.0.1 tcp"] {
            assert_eq!(text.parse::<EndpointPlace>(), Err(()), "{text}");
        }
    }
}
