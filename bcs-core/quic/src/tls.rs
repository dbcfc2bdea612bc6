//! What both ends of a link prove to each other, by mutual TLS ([`bcs_credentials::tls`]).
//!
//! The end that dials insists on the name that the roster gives the node it dials; the end that accepts reads
//! the name and looks it up in its roster. The network's id is the application protocol (ALPN), so ends of
//! different networks part in the handshake.

use bcs_credentials as credentials;
use bcs_credentials::Credential;
use bcs_credentials::tls;
use bcs_fabric::{BindError, NetworkId};
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{ClientConfig, ServerConfig, TransportConfig};
use rustls::pki_types::CertificateDer;
use std::any::Any;
use std::sync::Arc;

/// Both ends' configuration, but for the transport, which follows from the path.
pub struct Configs {
    pub client: ClientConfig,
    pub server: ServerConfig,
}

impl std::fmt::Debug for Configs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Configs").finish_non_exhaustive()
    }
}

impl Configs {
    /// For dialling over a path.
    pub fn client_over(&self, transport: Arc<TransportConfig>) -> ClientConfig {
        let mut client = self.client.clone();
        client.transport_config(transport);
        client
    }

    /// For accepting over a path.
    pub fn server_over(&self, transport: Arc<TransportConfig>) -> Arc<ServerConfig> {
        let mut server = self.server.clone();
        server.transport_config(transport);
        Arc::new(server)
    }
}

/// Makes the configuration of a member.
///
/// # Errors
/// The credential cannot be used.
pub fn configure(credential: &Credential, network: NetworkId) -> Result<Configs, BindError> {
    let unusable = |reason: &dyn std::fmt::Display| BindError::Credential {
        name: credential.name(),
        reason: reason.to_string(),
    };
    let (client, server) =
        tls::mutual(credential, &format!("bcs-fabric/1/{network}")).map_err(|error| unusable(&error))?;
    let server = QuicServerConfig::try_from(server).map_err(|error| unusable(&error))?;
    let mut server = ServerConfig::with_crypto(Arc::new(server));
    // A node stays where the roster says it is.
    server.migration(false);
    let client = QuicClientConfig::try_from(client).map_err(|error| unusable(&error))?;
    Ok(Configs { client: ClientConfig::new(Arc::new(client)), server })
}

/// The name that a peer has proved, of what quinn says of its identity after the handshake.
pub fn proved_name(identity: Option<Box<dyn Any>>) -> Option<String> {
    let chain = identity?.downcast::<Vec<CertificateDer<'static>>>().ok()?;
    credentials::name_in(chain.first()?)
}
