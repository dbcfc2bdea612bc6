//! Mutual TLS 1.3 with the credentials of a network: both ends show a certificate of its authority and have
//! its key.
//!
//! Nothing is resumed: every link is a full handshake, and data before its end (0-RTT) is not accepted.

use crate::Credential;
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::error::Error;
use std::sync::Arc;

/// The fastest of the suites of TLS 1.3 on processors with AES instructions, and one key exchange: all ends
/// are alike.
fn provider() -> CryptoProvider {
    CryptoProvider {
        cipher_suites: vec![ring::cipher_suite::TLS13_AES_128_GCM_SHA256],
        kx_groups: vec![ring::kx_group::X25519],
        ..ring::default_provider()
    }
}

/// The configurations of an end that dials and of one that accepts, for this application protocol (ALPN)
/// alone.
///
/// # Errors
/// The credential cannot be used.
pub fn mutual(
    credential: &Credential,
    protocol: &str,
) -> Result<(ClientConfig, ServerConfig), Box<dyn Error + Send + Sync>> {
    let provider = Arc::new(provider());
    let mut roots = RootCertStore::empty();
    roots.add(credential.authority().clone())?;
    let roots = Arc::new(roots);
    let chain = vec![credential.certificate().clone()];
    let protocols = vec![protocol.as_bytes().to_vec()];

    let verifier = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone()).build()?;
    let mut server = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain.clone(), credential.key())?;
    server.alpn_protocols = protocols.clone();
    server.send_tls13_tickets = 0;
    server.max_early_data_size = 0;

    let mut client = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_client_auth_cert(chain, credential.key())?;
    client.alpn_protocols = protocols;
    client.resumption = Resumption::disabled();
    client.enable_early_data = false;
    Ok((client, server))
}
