//! Tells systemd that the daemon is ready, where it asks for that (`Type=notify`; `sd_notify(3)`).

use std::env;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Says a state, as `READY=1`, to the socket that `NOTIFY_SOCKET` names: a path, or an abstract name after `@`.
///
/// # Errors
/// The socket is named and cannot be reached.
pub fn notify(state: &str) -> io::Result<()> {
    let Some(name) = env::var_os("NOTIFY_SOCKET") else { return Ok(()) };
    let address = match name.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(&name)?,
    };
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address).map(drop)
}
