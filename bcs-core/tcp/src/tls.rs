//! What both ends of a link prove to each other, by mutual TLS ([`bcs_credentials::tls`]).
//!
//! The end that dials insists on the name that the roster gives the node it dials; the end that accepts reads
//! the name and looks it up in its roster. The network's id, and whether its frames are sealed, is the
//! application protocol (ALPN), so ends of different networks part in the handshake.

use bcs_credentials::{Credential, tls};
use bcs_fabric::{BindError, NetworkId};
use rustls::{ClientConfig, ServerConfig};
use std::sync::Arc;

/// Both ends' configuration.
#[derive(Clone, Debug)]
pub(crate) struct Configs {
    pub client: Arc<ClientConfig>,
    pub server: Arc<ServerConfig>,
}

/// Makes the configuration of a member.
///
/// # Errors
/// The credential cannot be used.
pub(crate) fn configure(
    credential: &Credential,
    network: NetworkId,
    seal: bool,
) -> Result<Configs, BindError> {
    let protection = if seal { "sealed" } else { "plain" };
    let configs = tls::mutual(credential, &format!("bcs-link/2/{protection}/{network}"));
    let (client, server) = configs
        .map_err(|error| BindError::Credential { name: credential.name(), reason: error.to_string() })?;
    Ok(Configs { client: Arc::new(client), server: Arc::new(server) })
}
