//! Mutual TLS 1.3: what both ends of a link prove to each other.
//!
//! Both show a certificate of the network's authority and have its key. The end that dials insists on the name that
//! the roster gives the node it dials; the end that accepts reads the name and looks it up in its roster.
//! The network's id is the application protocol (ALPN), so ends of different networks part in the handshake.
//! Nothing is resumed: every link is a full handshake, and data before its end (0-RTT) is not accepted.

use super::options::{BindError, NetworkId};
use crate::credentials::{self, Credential};
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{ClientConfig, ServerConfig, TransportConfig};
use rustls::RootCertStore;
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::CertificateDer;
use rustls::server::WebPkiClientVerifier;
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

/// The fastest of the suites of TLS 1.3 on processors with AES instructions, and one key exchange: all ends are alike.
fn provider() -> CryptoProvider {
    CryptoProvider {
        cipher_suites: vec![ring::cipher_suite::TLS13_AES_128_GCM_SHA256],
        kx_groups: vec![ring::kx_group::X25519],
        ..ring::default_provider()
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
    let provider = Arc::new(provider());
    let mut roots = RootCertStore::empty();
    roots.add(credential.authority().clone()).map_err(|error| unusable(&error))?;
    let roots = Arc::new(roots);
    let chain = vec![credential.certificate().clone()];
    let alpn = vec![format!("bcs-fabric/1/{network}").into_bytes()];

    let verifier = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone())
        .build()
        .map_err(|error| unusable(&error))?;
    let mut server = rustls::ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| unusable(&error))?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain.clone(), credential.key())
        .map_err(|error| unusable(&error))?;
    server.alpn_protocols = alpn.clone();
    server.send_tls13_tickets = 0;
    server.max_early_data_size = 0;

    let mut client = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| unusable(&error))?
        .with_root_certificates(roots)
        .with_client_auth_cert(chain, credential.key())
        .map_err(|error| unusable(&error))?;
    client.alpn_protocols = alpn;
    client.resumption = Resumption::disabled();
    client.enable_early_data = false;

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
