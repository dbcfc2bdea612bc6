//! The way to the manager: its Unix socket on its own host, where the kernel says who we are; TLS with the
//! user's credential from elsewhere.

use bcs_config::{Config, MANAGER_SOCKET};
use bcs_credentials::{Credential, CredentialError, MANAGER, USER_PREFIX};
use bcs_protocol::storm::ALPN;
use bcs_stream::{Receiver, SecureEnds, StreamError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

/// Names the file of the user's credential.
pub const CREDENTIAL: &str = "BCS_CREDENTIAL";

/// The user's credential, below the home directory.
const USER_CREDENTIAL: &str = ".config/bcs-mpi/user.pem";

/// How long the manager's host may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long until the manager's socket is tried again when too many others wait there.
const KNOCK_AGAIN: Duration = Duration::from_millis(5);

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The manager's socket is there, and is of no use.
    #[error("the machine manager does not answer at {}: {error}; is it running? (systemctl status machine-manager)", path.display())]
    Socket {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The manager is elsewhere, and we have nothing to show it.
    #[error(
        "the machine manager does not run on this host (there is no {}), and there is no credential at {} to reach it on {manager}; \
         start it here, or ask for a credential (storm cluster user NAME makes one on {manager})",
        socket.display(),
        credential.display()
    )]
    NoCredential {
        /// Where its socket would be.
        socket: PathBuf,
        /// Where the credential would be.
        credential: PathBuf,
        /// Its host.
        manager: String,
    },
    /// The manager's socket is out of our reach, and we have nothing to show it elsewhere.
    #[error(
        "this user may not use {}: {error}, and there is no credential at {} to reach the machine manager on {manager} in another way; \
         let users into {} if it is the manager's (chmod 755, as root), or ask for a credential (storm cluster user NAME makes one on {manager})",
        socket.display(),
        credential.display(),
        socket.parent().unwrap_or(socket).display()
    )]
    NotOurs {
        /// The socket, as far as we can tell.
        socket: PathBuf,
        /// Why.
        error: io::Error,
        /// Where the credential would be.
        credential: PathBuf,
        /// The manager's host.
        manager: String,
    },
    /// The credential is of no use.
    #[error("{0}")]
    Credential(#[from] CredentialError),
    /// The credential is that of a host, or of the manager.
    #[error(
        "{} is the credential of {}, and the machine manager on {manager} runs jobs for users only; \
         ask for a user's (storm cluster user NAME makes one on {manager})",
        credential.display(),
        if name == MANAGER { "the machine manager".into() } else { format!("host '{name}'") }
    )]
    NotAUser {
        /// The file.
        credential: PathBuf,
        /// For whom it is.
        name: String,
        /// The manager's host.
        manager: String,
    },
    /// The manager's host does not answer.
    #[error("cannot reach the machine manager at {address}: {error}; is it running, and is the port open?")]
    Unreachable {
        /// Where it should be.
        address: String,
        /// Why.
        error: io::Error,
    },
    /// Who answers is not the manager, or does not take us for a user.
    #[error("the machine manager at {address} and this user do not trust each other: {error}")]
    Untrusted {
        /// Where it should be.
        address: String,
        /// Why.
        error: StreamError,
    },
}

/// A connection to the manager.
pub struct Connection {
    /// For requests.
    pub writer: Box<dyn AsyncWrite + Send + Unpin>,
    /// Of replies.
    pub replies: Receiver<Box<dyn AsyncRead + Send + Unpin>>,
    /// Where the manager is, for messages: `at /run/bcs-mpi/manager.sock`.
    pub at: String,
}

/// Connects to the manager of a cluster.
///
/// # Errors
/// It cannot be reached, or there is nothing to show it.
pub async fn connect(config: &Config) -> Result<Connection, ConnectError> {
    connect_with(config, credential_file()).await
}

async fn connect_with(config: &Config, file: PathBuf) -> Result<Connection, ConnectError> {
    let path = config.paths.run.join(MANAGER_SOCKET);
    let refusal = match knock(&path).await {
        Ok(stream) => {
            let (reader, writer) = stream.into_split();
            let at = format!("at {}", path.display());
            return Ok(Connection { writer: Box::new(writer), replies: Receiver::new(Box::new(reader)), at });
        }
        // The manager is on another host.
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        // Whether it is here or not we may not see; it can be reached as from elsewhere.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Some(error),
        Err(error) => return Err(ConnectError::Socket { path, error }),
    };
    let manager = config.cluster.manager.clone();
    if !file.exists() {
        return Err(match refusal {
            None => ConnectError::NoCredential { socket: path, credential: file, manager },
            Some(error) => ConnectError::NotOurs { socket: path, error, credential: file, manager },
        });
    }
    let credential = Credential::load(&file)?;
    let name = credential.name();
    if !name.starts_with(USER_PREFIX) {
        return Err(ConnectError::NotAUser { credential: file, name, manager });
    }
    let address = format!("{manager}:{}", config.cluster.port);
    let untrusted = |error| ConnectError::Untrusted { address: address.clone(), error };
    let ends = SecureEnds::new(&credential, ALPN).map_err(untrusted)?;
    let dialled = tokio::time::timeout(PATIENCE, TcpStream::connect((manager.as_str(), config.cluster.port)));
    let socket = dialled
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
        .map_err(|error| ConnectError::Unreachable { address: address.clone(), error })?;
    let stream = ends.connect(socket, MANAGER).await.map_err(untrusted)?;
    let (reader, writer) = tokio::io::split(stream);
    let at = format!("at {address}");
    Ok(Connection { writer: Box::new(writer), replies: Receiver::new(Box::new(reader)), at })
}

/// Connects to the manager's socket. More may wait there than the system keeps; the manager takes them in a
/// moment.
async fn knock(path: &Path) -> io::Result<UnixStream> {
    let knocking = async {
        loop {
            match UnixStream::connect(path).await {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    tokio::time::sleep(KNOCK_AGAIN).await
                }
                connected => return connected,
            }
        }
    };
    tokio::time::timeout(PATIENCE, knocking).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

fn credential_file() -> PathBuf {
    let named = std::env::var_os(CREDENTIAL).filter(|named| !named.is_empty());
    named.map_or_else(
        || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(USER_CREDENTIAL),
        PathBuf::from,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_socket_that_is_not_ours_to_see_is_told_as_that_with_what_to_do() {
        let directory = tempfile::tempdir().unwrap();
        let run = directory.path().join("run");
        std::fs::create_dir(&run).unwrap();
        let listener = std::os::unix::net::UnixListener::bind(run.join(MANAGER_SOCKET)).unwrap();
        std::fs::set_permissions(&run, PermissionsExt::from_mode(0o000)).unwrap();
        let mut config = Config::default();
        config.paths.run = run.clone();
        // What root may always do, this thread may not for a while.
        // SAFETY: they change what this thread may do with files, and no memory.
        let own = unsafe { libc::setfsuid(65534) } as u32;
        let connected = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(connect_with(&config, directory.path().join("user.pem")));
        // SAFETY: as above.
        unsafe { libc::setfsuid(own) };
        std::fs::set_permissions(&run, PermissionsExt::from_mode(0o700)).unwrap();
        drop(listener);
        let Err(error) = connected else { panic!("a user who may not see the socket is connected to it") };
        let text = error.to_string();
        let hint = format!("let users into {}", run.display());
        assert!(text.contains("may not use") && text.contains(&hint), "{text}");
        assert!(text.contains("storm cluster user") && !text.contains("is it running"), "{text}");
    }
}
