//! Telling systemd how the service is (sd_notify): a datagram to the socket that `NOTIFY_SOCKET` names, if it does.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Sends a message such as `READY=1`. Nothing is done where nobody wants to know.
///
/// # Errors
/// The socket is not there.
pub fn notify(message: &str) -> io::Result<()> {
    std::env::var_os("NOTIFY_SOCKET").map_or(Ok(()), |socket| notify_at(&socket, message))
}

fn notify_at(socket: &OsStr, message: &str) -> io::Result<()> {
    let address = match socket.as_bytes() {
        // An abstract name, whose first byte is 0.
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(socket)?,
    };
    UnixDatagram::unbound()?.send_to_addr(message.as_bytes(), &address).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_arrives_at_a_path_and_at_an_abstract_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notify");
        let name = format!("bcs-notify-{}", std::process::id());
        let listeners = [
            UnixDatagram::bind(&path).unwrap(),
            UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap(),
        ];
        for (listener, socket) in listeners.iter().zip([path.as_os_str(), OsStr::new(&format!("@{name}"))]) {
            notify_at(socket, "READY=1").unwrap();
            let mut message = [0; 16];
            let length = listener.recv(&mut message).unwrap();
            assert_eq!(&message[..length], b"READY=1");
        }
    }
}
