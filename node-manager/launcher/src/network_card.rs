//! The network card of a node that writes into other nodes' memory, as libfabric finds it.

use bcs_core::NetworkCard;
use std::net::IpAddr;
use std::path::Path;
use std::process::{Command, Stdio};

/// The first network card that libfabric finds, or that of a provider.
///
/// # Errors
/// Why there is none.
pub fn find(provider: Option<&str>, address: IpAddr) -> Result<NetworkCard, String> {
    let promises = bcs_ofi::survey(provider, address).map_err(|error| error.to_string())?;
    Ok(NetworkCard { provider: promises.provider, domain: promises.domain })
}

/// A process of the program launcher that says the same ([`told`]).
pub fn question(launcher: &Path, provider: Option<&str>, address: IpAddr) -> Command {
    let mut command = Command::new(launcher);
    command.arg("--rdma").arg(address.to_string()).args(provider);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What such a process has printed.
pub fn told(text: &str) -> Option<NetworkCard> {
    let (provider, domain) = text.lines().next()?.split_once(' ')?;
    Some(NetworkCard { provider: provider.into(), domain: domain.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_read_as_it_is_printed() {
        let card = NetworkCard { provider: "verbs;ofi_rxm".into(), domain: "mlx5_0".into() };
        assert_eq!(told("verbs;ofi_rxm mlx5_0\n"), Some(card));
        for nothing in ["", "\n", "verbs\n"] {
            assert_eq!(told(nothing), None, "{nothing:?}");
        }
    }
}
