//! Telling systemd how the service is (sd_notify): a datagram to the socket that `NOTIFY_SOCKET` names, if it
//! does.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;
use tokio::time::MissedTickBehavior;

/// Sends a message such as `READY=1`. Nothing is done where nobody wants to know.
///
/// # Errors
/// The socket is not there.
pub fn notify(message: &str) -> io::Result<()> {
    std::env::var_os("NOTIFY_SOCKET").map_or(Ok(()), |socket| notify_at(&socket, message))
}

/// Tells systemd that this process is alive, twice as often as it wants to hear of it (`WatchdogSec`): from
/// the thread that does everything else, so that it is not told by a process that hangs. Ends at once where
/// nobody wants to know.
pub async fn keep_watchdog_quiet() {
    let Some(every) = watchdog_period() else { return };
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if let Err(error) = notify("WATCHDOG=1") {
            tracing::warn!(%error, "systemd cannot be told that this is alive");
        }
    }
}

/// How often systemd's watchdog is to hear that this process is alive: twice in its time (`WatchdogSec`).
/// Nothing where there is none.
pub fn watchdog_period() -> Option<Duration> {
    let variable = |name| env::var(name).ok();
    watchdog(variable("WATCHDOG_USEC"), variable("WATCHDOG_PID"), std::process::id())
}

/// The same, by what systemd has put into its environment.
fn watchdog(microseconds: Option<String>, of: Option<String>, own: u32) -> Option<Duration> {
    let is_ours = of.is_none_or(|pid| pid.parse() == Ok(own));
    let patience = microseconds?.parse().ok().map(Duration::from_micros)?;
    Some(patience / 2).filter(|every| is_ours && !every.is_zero())
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
    fn watchdog_hears_of_the_process_that_it_watches_twice_in_its_time() {
        let told = |microseconds: &str, pid: Option<&str>| {
            watchdog(Some(microseconds.into()), pid.map(str::to_owned), 17)
        };
        assert_eq!(told("30000000", Some("17")), Some(Duration::from_secs(15)));
        assert_eq!(told("3000", None), Some(Duration::from_micros(1500)));
        assert_eq!(
            [told("3000", Some("18")), told("0", None), told("soon", None), watchdog(None, None, 17)],
            [None; 4]
        );
    }

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
