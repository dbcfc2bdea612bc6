//! The network card of a node that writes into other nodes' memory, as libfabric finds it.

use bcs_core::network_card::{NetworkCard, NetworkCardError, Provider, ProviderError};
use std::net::IpAddr;
use std::path::Path;
use std::process::{Command, Stdio};

/// The first network card that libfabric finds, or that of a provider.
///
/// # Errors
/// Why there is none.
pub fn find(provider: Option<&str>, address: IpAddr) -> Result<NetworkCard, String> {
    let promises = bcs_ofi::survey(provider, address).map_err(|error| error.to_string())?;
    let provider = promises.provider.parse().map_err(|error: ProviderError| error.to_string())?;
    Ok(NetworkCard { provider, domain: promises.domain })
}

/// A process of the program launcher that says the same ([`told`]).
pub fn question(launcher: &Path, provider: Option<&Provider>, address: IpAddr) -> Command {
    let mut command = Command::new(launcher);
    command.arg("--rdma").arg(address.to_string()).args(provider.map(Provider::as_str));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What such a process has printed.
///
/// # Errors
/// It has printed no card: it found none, and has said why on its standard error.
pub fn told(text: &str) -> Result<NetworkCard, NetworkCardError> {
    text.trim_end_matches('\n').parse()
}
