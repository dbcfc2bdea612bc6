//! The doors themselves: the Unix socket for local users, whose directory is this manager's alone, and the
//! ports for everybody else. Who comes through them is for [`super::listen`].

use super::listen::Reception;
use bcs_config::MANAGER_SOCKET;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::{TcpListener, UnixListener};

/// Why a door cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum DoorError {
    /// Another machine manager runs.
    #[error("another machine manager runs here: it holds {}; end it first", .0.display())]
    Taken(PathBuf),
    /// Others could put something into the directory of the socket.
    #[error(
        "the directory {} (paths.run) has to be of the user of the machine manager, writable by nobody else, and no symbolic link", .0.display()
    )]
    Shared(PathBuf),
    /// A file or directory of the Unix socket.
    #[error("cannot {what} {}: {error}", path.display())]
    File {
        /// What was to be done with it.
        what: &'static str,
        /// Which one.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The name of the manager's host.
    #[error(
        "cannot find the address of the machine manager's host '{host}': {error}; correct cluster.manager in the configuration"
    )]
    Name {
        /// The host.
        host: String,
        /// Why.
        error: io::Error,
    },
    /// The thread.
    #[error("cannot start the thread of the doors: {0}")]
    Thread(io::Error),
    /// The port.
    #[error(
        "cannot listen on {address}: {error}; is cluster.manager a name of this host, and cluster.port free?"
    )]
    Port {
        /// The address.
        address: String,
        /// Why.
        error: io::Error,
    },
}

/// The Unix socket, which is taken away when this is dropped.
#[derive(Debug)]
pub struct LocalDoor {
    path: PathBuf,
    /// Whoever has it locked is the manager; the kernel unlocks it when the process ends, however it does.
    _lock: File,
}

impl LocalDoor {
    /// Makes this process the one that may open it in this directory, which is made if it is not there.
    ///
    /// # Errors
    /// Another manager lives, or the kernel refuses something.
    pub fn reserve(run: &Path) -> Result<Self, DoorError> {
        fs::create_dir_all(run).map_err(failed("make the directory", run))?;
        let directory = fs::symlink_metadata(run).map_err(failed("look at the directory", run))?;
        let is_own = directory.is_dir() && directory.uid() == rustix::process::geteuid().as_raw();
        if !is_own || directory.mode() & 0o022 != 0 {
            return Err(DoorError::Shared(run.to_owned()));
        }
        let lock_path = run.join("manager.lock");
        // Whoever may read it could lock it.
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&lock_path)
            .and_then(|lock| lock.set_permissions(Permissions::from_mode(0o600)).map(|()| lock))
            .map_err(failed("open the lock file", &lock_path))?;
        match rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self { path: run.join(MANAGER_SOCKET), _lock: lock }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(DoorError::Taken(lock_path)),
            Err(error) => Err(failed("lock", &lock_path)(error.into())),
        }
    }

    /// Opens it. A socket that a dead manager has left is replaced.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn open(&self) -> Result<UnixListener, DoorError> {
        let path = &self.path;
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed("replace the socket", path)(error));
            }
            _ => {}
        }
        let listener = UnixListener::bind(path).map_err(failed("make the socket", path))?;
        // Who connects is proved by the kernel, so everybody may.
        fs::set_permissions(path, Permissions::from_mode(0o666))
            .map_err(failed("open to all users the socket", path))?;
        Ok(listener)
    }
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> DoorError {
    let path = path.to_owned();
    move |error| DoorError::File { what, path, error }
}

impl Drop for LocalDoor {
    fn drop(&mut self) {
        // A socket that stays behind is replaced by the next manager.
        let _ = fs::remove_file(&self.path);
    }
}

/// Listens on all addresses of a host's name.
///
/// # Errors
/// The name has none, or one of them cannot be listened on.
async fn open_ports(host: &str, port: u16) -> Result<Vec<TcpListener>, DoorError> {
    let no_name = |error| DoorError::Name { host: host.to_owned(), error };
    let addresses: Vec<_> = tokio::net::lookup_host((host, port)).await.map_err(no_name)?.collect();
    let mut listeners = Vec::new();
    let mut last = None;
    for address in addresses {
        match TcpListener::bind(address).await {
            Ok(listener) => listeners.push(listener),
            Err(error) => last = Some(DoorError::Port { address: address.to_string(), error }),
        }
    }
    // A host may have addresses of a kind that is switched off.
    match (listeners.is_empty(), last) {
        (false, _) => Ok(listeners),
        (true, Some(error)) => Err(error),
        (true, None) => Err(no_name(io::Error::other("it has no address"))),
    }
}

/// Opens all doors, which are served by a thread of their own from then on: proving who somebody is, reading
/// and writing hold up no decision. Answers with where it listens.
///
/// # Errors
/// A door cannot be opened, or the kernel gives no thread.
pub fn open(
    reception: &Arc<Reception>,
    door: &LocalDoor,
    host: &str,
    port: u16,
) -> Result<Vec<String>, DoorError> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(DoorError::Thread)?;
    let (ports, local) = runtime.block_on(async {
        let ports = open_ports(host, port).await?;
        // Who sees the socket finds the manager ready.
        Ok::<_, DoorError>((ports, door.open()?))
    })?;
    let addresses = ports.iter().filter_map(|port| Some(port.local_addr().ok()?.to_string())).collect();
    let reception = reception.clone();
    let serve = move || {
        for port in ports {
            runtime.spawn(reception.clone().serve_port(port));
        }
        runtime.block_on(reception.serve_local(local));
    };
    std::thread::Builder::new().name("doors".into()).spawn(serve).map_err(DoorError::Thread)?;
    Ok(addresses)
}
