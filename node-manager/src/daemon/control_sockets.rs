//! The UDP sockets of this node's ends of control networks.
//!
//! Each view has a network of its own, and a socket of its own on this node, so that what is still on its way
//! from the last view is nobody's. Anybody on the node may bind the ports that networks take theirs of. So
//! the daemon binds as many as it ever needs when it needs the first, and keeps them: the socket that a view
//! has left is that of a later one.

use bcs_core::PortRange;
use bcs_quic as quic;
use bcs_quic::BindError;
use std::io;
use std::net::{IpAddr, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};

/// Of the view that is being left, the one that the node is on, and the one that is being formed.
const KEPT: usize = 3;

/// All of them.
#[derive(Debug, Default)]
pub struct ControlSockets(Mutex<Held>);

#[derive(Debug, Default)]
struct Held {
    /// Where they are.
    address: Option<IpAddr>,
    /// Those that no view has.
    free: Vec<UdpSocket>,
    /// How many there are, those of views included.
    count: usize,
}

/// A socket that a view has until this is dropped.
#[derive(Debug)]
pub struct KeptSocket {
    socket: UdpSocket,
    address: IpAddr,
    home: Arc<ControlSockets>,
}

impl ControlSockets {
    /// A socket for the next view.
    ///
    /// # Errors
    /// None is free, and none can be bound.
    pub fn take(self: &Arc<Self>, address: IpAddr, ports: PortRange) -> Result<KeptSocket, BindError> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if held.address != Some(address) {
            // The node has another address than it had.
            *held = Held { address: Some(address), ..Held::default() };
        }
        let kept = |socket| KeptSocket { socket, address, home: self.clone() };
        while held.count < KEPT {
            match quic::bind_socket(address, ports) {
                Ok(socket) => {
                    held.free.push(socket);
                    held.count += 1;
                }
                Err(error) if held.free.is_empty() => return Err(error),
                // It will do for this view.
                Err(_) => break,
            }
        }
        if let Some(socket) = held.free.pop() {
            return Ok(kept(socket));
        }
        // Leaving views takes its time.
        let socket = quic::bind_socket(address, ports)?;
        held.count += 1;
        Ok(kept(socket))
    }
}

impl KeptSocket {
    /// A handle of it, for the view's network.
    ///
    /// # Errors
    /// There are no descriptors left.
    pub fn handle(&self) -> io::Result<UdpSocket> {
        self.socket.try_clone()
    }
}

impl Drop for KeptSocket {
    fn drop(&mut self) {
        let mut held = self.home.0.lock().unwrap_or_else(PoisonError::into_inner);
        if held.address != Some(self.address) {
            return;
        }
        match self.socket.try_clone() {
            Ok(socket) if held.count <= KEPT => held.free.push(socket),
            // More than are needed.
            _ => held.count -= 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn port(kept: &KeptSocket) -> u16 {
        kept.handle().unwrap().local_addr().unwrap().port()
    }

    #[test]
    fn sockets_are_bound_once_and_go_from_view_to_view() {
        let ports: PortRange = "22100-22103".parse().unwrap();
        let sockets = Arc::new(ControlSockets::default());
        let first = sockets.take(HOME, ports).unwrap();
        // Somebody takes what is left.
        let others: Vec<_> = ports.ports().filter_map(|port| UdpSocket::bind((HOME, port)).ok()).collect();
        assert_eq!(others.len(), 1, "three are kept");
        let (second, third) = (sockets.take(HOME, ports).unwrap(), sockets.take(HOME, ports).unwrap());
        assert!(matches!(sockets.take(HOME, ports), Err(BindError::Taken { .. })));
        let port_of_first = port(&first);
        drop(first);
        assert_eq!(port(&sockets.take(HOME, ports).unwrap()), port_of_first);
        drop(others);
        let (again, more) = (sockets.take(HOME, ports).unwrap(), sockets.take(HOME, ports).unwrap());
        drop((again, more, second, third));
        let held = sockets.0.lock().unwrap();
        assert_eq!((held.count, held.free.len()), (KEPT, KEPT));
    }
}
