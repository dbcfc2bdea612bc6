//! Who is at the other end, and the first secrets: mutual TLS 1.3 over the connection, of which nothing is
//! left when the link opens.
//!
//! ```text
//!  dialler                                    acceptor
//!     │ ClientHello ───────────────────────────► │
//!     │ ◄──────── ServerHello … Certificate … Finished
//!     │ Certificate … Finished ────────────────► │ complete: reads no more TLS
//!     │ complete: reads no more TLS              │
//!     │ ◄──────────────────────── hello (frame) ─│ or a close (frame), or an alert (TLS)
//!     │ hello (frame), records … ──────────────► │
//! ```
//!
//! Why no byte is lost between TLS and frames: the acceptor's TLS takes what has come, but behind the
//! dialler's Finished nothing comes before the acceptor's hello, which it sends after it has stopped reading
//! TLS. The dialler has all that the acceptor's TLS says before its own Finished (there are no tickets), and
//! stops reading when that is written. A dialler that sends more than it may ends only its own link: its
//! first frame is missing.

use bcs_link::{LinkSecrets, Refused, SECRET_BYTES, Side, refusal};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection};
use std::fmt;
use std::io::{self, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// What the exporter's bytes are for.
const LABEL: &[u8] = b"EXPORTER-bcs-link-1";

/// Why a handshake has failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HandshakeError {
    /// The other end has hung up.
    #[error("it closed the connection in mid-handshake")]
    Ended,
    /// The connection failed.
    #[error("the connection failed in mid-handshake: {0}")]
    Socket(#[source] io::Error),
    /// The other end is not who it has to be, or does not speak TLS.
    #[error("the handshake failed: {0}")]
    Tls(#[from] rustls::Error),
    /// The other end has not agreed to speak as a link.
    #[error("the other end does not speak the protocol of links")]
    Protocol,
    /// The library for cryptography has refused.
    #[error("the library for cryptography refuses to seal a frame")]
    Cryptography,
}

impl From<Refused> for HandshakeError {
    fn from(Refused: Refused) -> Self {
        Self::Cryptography
    }
}

/// Which link it is: both ends have to mean the same one, or they have different keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinkContext {
    /// The id of the network.
    pub network: u128,
    /// The number of the node that dialled.
    pub dialler: u32,
    /// The number of the node that accepted.
    pub acceptor: u32,
}

/// A handshake under way, over a connection that does not block.
pub(crate) struct Handshake {
    tls: Box<Connection>,
    stream: TcpStream,
    side: Side,
}

impl fmt::Debug for Handshake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handshake")
            .field("side", &self.side)
            .field("stream", &self.stream)
            .finish_non_exhaustive()
    }
}

impl Handshake {
    /// Begins as the end that dialled, which insists on this name at the other end.
    ///
    /// # Errors
    /// The configuration cannot be used.
    pub fn dial(
        stream: TcpStream,
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
    ) -> Result<Self, HandshakeError> {
        let tls = Box::new(ClientConnection::new(config, name)?.into());
        Ok(Self { tls, stream, side: Side::Dialler })
    }

    /// Begins as the end that accepted.
    ///
    /// # Errors
    /// The configuration cannot be used.
    pub fn accept(stream: TcpStream, config: Arc<ServerConfig>) -> Result<Self, HandshakeError> {
        let tls = Box::new(ServerConnection::new(config)?.into());
        Ok(Self { tls, stream, side: Side::Acceptor })
    }

    /// Goes on as far as it can without waiting. True when the handshake is complete, for
    /// [`Handshake::finish`].
    ///
    /// # Errors
    /// It has failed. The other end has been told, as far as it listens.
    pub fn advance(&mut self) -> Result<bool, HandshakeError> {
        loop {
            while self.tls.wants_write() {
                match self.tls.write_tls(&mut self.stream) {
                    Ok(_) => {}
                    Err(error) if is_early(&error) => return Ok(false),
                    Err(error) => return Err(HandshakeError::Socket(error)),
                }
            }
            if !self.tls.is_handshaking() {
                return match self.tls.alpn_protocol() {
                    Some(_) => Ok(true),
                    None => Err(HandshakeError::Protocol),
                };
            }
            match self.tls.read_tls(&mut self.stream) {
                Ok(0) => return Err(HandshakeError::Ended),
                Ok(_) => {}
                Err(error) if is_early(&error) => return Ok(false),
                Err(error) => return Err(HandshakeError::Socket(error)),
            }
            if let Err(error) = self.tls.process_new_packets() {
                // The alert goes as far as the connection takes it; the error is what counts.
                let _ = self.tls.write_tls(&mut self.stream);
                return Err(error.into());
            }
        }
    }

    /// Whether it waits until the connection takes more.
    pub fn wants_write(&self) -> bool {
        self.tls.wants_write()
    }

    /// The connection and what was agreed on it. Call it when [`Handshake::advance`] says that the handshake
    /// is complete.
    pub fn finish(self) -> Session {
        Session { tls: self.tls, stream: self.stream, side: self.side }
    }
}

impl AsFd for Handshake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

fn is_early(error: &io::Error) -> bool {
    // A connection that is not there yet is early, too.
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted | io::ErrorKind::NotConnected
    )
}

/// A complete handshake, and its connection.
pub(crate) struct Session {
    tls: Box<Connection>,
    stream: TcpStream,
    side: Side,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("side", &self.side)
            .field("stream", &self.stream)
            .finish_non_exhaustive()
    }
}

impl Session {
    /// The certificate that the other end has shown, and for which it has the key.
    pub fn peer_certificate(&self) -> Option<&CertificateDer<'static>> {
        self.tls.peer_certificates()?.first()
    }

    /// Which side this end is.
    pub fn side(&self) -> Side {
        self.side
    }

    /// The secrets of the link.
    ///
    /// # Errors
    /// TLS refuses to export them.
    pub fn secrets(&self, link: &LinkContext) -> Result<LinkSecrets, HandshakeError> {
        let from_dialler = self.export(link, Side::Dialler)?;
        let from_acceptor = self.export(link, Side::Acceptor)?;
        Ok(match self.side {
            Side::Dialler => LinkSecrets::new(from_dialler, from_acceptor),
            Side::Acceptor => LinkSecrets::new(from_acceptor, from_dialler),
        })
    }

    /// The secret of the direction in which this side sends.
    fn export(&self, link: &LinkContext, sender: Side) -> Result<[u8; SECRET_BYTES], rustls::Error> {
        let mut context = link.network.to_le_bytes().to_vec();
        context.extend(link.dialler.to_le_bytes());
        context.extend(link.acceptor.to_le_bytes());
        context.push(match sender {
            Side::Dialler => 0,
            Side::Acceptor => 1,
        });
        self.tls.export_keying_material([0; SECRET_BYTES], LABEL, Some(&context))
    }

    /// TLS is over: the connection, for frames alone.
    pub fn into_stream(self) -> TcpStream {
        self.stream
    }

    /// The end that accepted will not have the link, and says why. The secrets are none on a network without
    /// seals.
    ///
    /// # Errors
    /// The other end cannot be told.
    pub fn refuse(mut self, secrets: Option<&LinkSecrets>, code: u8) -> Result<(), HandshakeError> {
        let frame = refusal(secrets, code)?;
        self.stream.write_all(&frame).map_err(HandshakeError::Socket)
    }
}
