//! Streams of messages between daemons: frames of [`bcs_core::wire`] over a socket, and mutual TLS 1.3 where
//! the socket leaves the machine.
//!
//! Invariant: an end that was accepted or connected by [`SecureEnds`] has proved the name that it is given
//! with. What is not a message closes the stream, and nothing else.

#[cfg(feature = "damage")]
pub mod damage;

use bcs_core::wire::{self, FrameBuffer, WireError, WireMessage};
use bcs_credentials::{self as credentials, Credential, tls};
use rustls::pki_types::ServerName;
use std::fmt;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};

/// Why a stream has ended.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The socket.
    #[error("the connection failed: {0}")]
    Socket(#[from] io::Error),
    /// It ended inside a message.
    #[error("the other end closed the connection in the middle of a message")]
    Cut,
    /// Something that is not a message.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The credential cannot be used.
    #[error("the credential of '{name}' cannot be used: {reason}; issue a new one")]
    Credential {
        /// Its name.
        name: String,
        /// Why.
        reason: String,
    },
    /// The receiver does not take a message of this length.
    #[error("{0}")]
    Refused(String),
    /// The other end has not proved who it is.
    #[error("the other end has not proved who it is: {0}")]
    Stranger(String),
}

/// Sends a message.
///
/// # Errors
/// The socket failed, or the message is longer than the receiver takes.
pub async fn send<T: WireMessage, W>(writer: &mut W, message: &T) -> Result<(), StreamError>
where
    W: AsyncWrite + Unpin,
{
    send_frame(writer, &wire::encode_frame(message)?).await
}

/// Sends a message that was encoded before ([`wire::encode_frame`]).
///
/// # Errors
/// The socket failed.
pub async fn send_frame<W: AsyncWrite + Unpin>(writer: &mut W, frame: &[u8]) -> Result<(), StreamError> {
    writer.write_all(frame).await?;
    Ok(writer.flush().await?)
}

/// Receives messages: what has been read of the next one is kept, so that waiting for it may be given up.
#[derive(Debug)]
pub struct Receiver<R> {
    reader: R,
    buffer: FrameBuffer,
}

impl<R: AsyncRead + Unpin> Receiver<R> {
    /// Receives from this end.
    pub fn new(reader: R) -> Self {
        Self { reader, buffer: FrameBuffer::default() }
    }

    /// The next message; none when the other end closed the stream in order. Cancel safe: whoever gives up
    /// waiting loses nothing.
    ///
    /// # Errors
    /// The socket failed, or what came is not a message. The stream is of no use then.
    pub async fn receive<T: WireMessage>(&mut self) -> Result<Option<T>, StreamError> {
        loop {
            if let Some(message) = self.buffer.take()? {
                return Ok(Some(message));
            }
            if !self.read().await? {
                return Ok(None);
            }
        }
    }

    /// The bytes of the next message, for [`wire::decode`]; none when the other end closed the stream in
    /// order. `admit` is asked with the length of the message before more of it is kept than has come with
    /// its beginning. Cancel safe, except that `admit` is asked again then.
    ///
    /// # Errors
    /// The socket failed, the stream ended inside a message, or `admit` says why the message is not taken.
    /// The stream is of no use then.
    pub async fn receive_bytes<T: WireMessage>(
        &mut self,
        mut admit: impl FnMut(usize) -> Result<(), String>,
    ) -> Result<Option<Vec<u8>>, StreamError> {
        let mut is_admitted = false;
        loop {
            if let Some(length) = self.buffer.announced::<T>()?.filter(|_| !is_admitted) {
                admit(length).map_err(StreamError::Refused)?;
                is_admitted = true;
            }
            if let Some(message) = self.buffer.take_bytes::<T>()? {
                return Ok(Some(message));
            }
            if !self.read().await? {
                return Ok(None);
            }
        }
    }

    /// Reads to the end of the stream, and keeps nothing of it.
    pub async fn skip(&mut self) {
        self.buffer = FrameBuffer::default();
        let mut chunk = [0; 16 << 10];
        while matches!(self.reader.read(&mut chunk).await, Ok(length) if length > 0) {}
    }

    /// Reads more. False when the other end closed the stream in order.
    async fn read(&mut self) -> Result<bool, StreamError> {
        let mut chunk = [0; 16 << 10];
        match self.reader.read(&mut chunk).await {
            Ok(0) if self.buffer.is_inside_message() => Err(StreamError::Cut),
            Ok(0) => Ok(false),
            Ok(length) => {
                self.buffer.push(&chunk[..length]);
                Ok(true)
            }
            // TLS ends that were killed do not say goodbye.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(StreamError::Cut),
            Err(error) => Err(error.into()),
        }
    }
}

/// Makes ends of streams that prove with a credential who this is, to ends that do the same.
#[derive(Clone)]
pub struct SecureEnds {
    connector: TlsConnector,
    acceptor: TlsAcceptor,
}

impl fmt::Debug for SecureEnds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecureEnds").finish_non_exhaustive()
    }
}

impl SecureEnds {
    /// For this credential, and this protocol: ends of different protocols part in the handshake.
    ///
    /// # Errors
    /// [`StreamError::Credential`].
    pub fn new(credential: &Credential, protocol: &str) -> Result<Self, StreamError> {
        let (client, server) = tls::mutual(credential, protocol).map_err(|error| {
            StreamError::Credential { name: credential.name(), reason: error.to_string() }
        })?;
        Ok(Self { connector: Arc::new(client).into(), acceptor: Arc::new(server).into() })
    }

    /// Goes on as the end that dialled, with somebody who has to prove to be `name`.
    ///
    /// # Errors
    /// The other end is somebody else, or the socket failed.
    pub async fn connect(&self, socket: TcpStream, name: &str) -> Result<TlsStream<TcpStream>, StreamError> {
        socket.set_nodelay(true)?;
        let name = ServerName::try_from(name.to_owned())
            .map_err(|_| StreamError::Stranger(format!("'{name}' is no name that a credential can have")))?;
        Ok(self.connector.connect(name, socket).await?.into())
    }

    /// Goes on as the end that was dialled. Answers with the name that the other end has proved.
    ///
    /// # Errors
    /// The other end has no credential of the authority, or the socket failed.
    pub async fn accept(&self, socket: TcpStream) -> Result<(TlsStream<TcpStream>, String), StreamError> {
        socket.set_nodelay(true)?;
        let stream = self.acceptor.accept(socket).await?;
        let proved = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
        let name = proved
            .and_then(credentials::name_in)
            .ok_or_else(|| StreamError::Stranger("its certificate has no name".into()))?;
        Ok((stream.into(), name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rkyv::{Archive, Deserialize, Serialize};
    use tokio::net::TcpListener;

    #[derive(Archive, Serialize, Deserialize, Debug, PartialEq)]
    struct Greeting(String);

    impl WireMessage for Greeting {
        const NAME: &'static str = "greeting";
        const MAX_BYTES: usize = 100_000;
    }

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
    }

    fn ends(names: [&str; 2]) -> [SecureEnds; 2] {
        let credentials = credentials::mint("test", names).unwrap();
        [&credentials[0], &credentials[1]].map(|credential| SecureEnds::new(credential, "test/1").unwrap())
    }

    async fn meet(
        dialler: &SecureEnds,
        acceptor: &SecureEnds,
        expected: &str,
    ) -> (Result<TlsStream<TcpStream>, StreamError>, Result<(TlsStream<TcpStream>, String), StreamError>)
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (accepted, _) = listener.accept().await.unwrap();
        tokio::join!(dialler.connect(socket, expected), acceptor.accept(accepted))
    }

    #[test]
    fn both_ends_know_who_the_other_is_and_messages_arrive_whole() {
        runtime().block_on(async {
            let [storm, manager] = ends(["alice", "manager"]);
            let (ours, theirs) = meet(&storm, &manager, "manager").await;
            let (mut ours, (theirs, name)) = (ours.unwrap(), theirs.unwrap());
            assert_eq!(name, "alice");
            let long = Greeting("good morning ".repeat(5000));
            let sending = async {
                send(&mut ours, &long).await.unwrap();
                send(&mut ours, &Greeting("bye".into())).await.unwrap();
                ours.shutdown().await.unwrap();
            };
            let receiving = async {
                let mut receiver = Receiver::new(theirs);
                assert_eq!(receiver.receive::<Greeting>().await.unwrap().unwrap(), long);
                assert_eq!(receiver.receive::<Greeting>().await.unwrap().unwrap().0, "bye");
                assert!(receiver.receive::<Greeting>().await.unwrap().is_none());
            };
            tokio::join!(sending, receiving);
        });
    }

    #[test]
    fn an_end_of_another_authority_or_with_another_name_is_refused() {
        runtime().block_on(async {
            let [alice, manager] = ends(["alice", "manager"]);
            let [eve, _] = ends(["eve", "manager"]);
            let (ours, theirs) = meet(&eve, &manager, "manager").await;
            assert!(ours.is_err() && theirs.is_err());
            let (ours, _) = meet(&manager, &alice, "manager").await;
            assert!(ours.is_err(), "alice is not the manager");
        });
    }

    #[test]
    fn a_message_that_is_too_long_is_neither_sent_nor_taken() {
        runtime().block_on(async {
            let (mut ours, theirs) = tokio::io::duplex(1 << 20);
            let long = Greeting("x".repeat(200_000));
            assert!(matches!(
                send(&mut ours, &long).await,
                Err(StreamError::Wire(WireError::TooLong { .. }))
            ));
            ours.write_all(&200_000_u32.to_le_bytes()).await.unwrap();
            let taken = Receiver::new(theirs).receive::<Greeting>().await;
            assert!(matches!(taken, Err(StreamError::Wire(WireError::TooLong { .. }))));
        });
    }
}
