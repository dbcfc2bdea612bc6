//! The address of this node that other nodes reach: that of the configured interface, or the one by which the
//! node reaches its manager.

use std::ffi::CStr;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ptr;

/// Why the configured interface cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// There is no such interface, or it has no address.
    #[error(
        "the interface '{interface}' of the configuration has no {family} address here; see ip address, and correct nodes.interface"
    )]
    None {
        /// As it is configured.
        interface: String,
        /// What was looked for.
        family: &'static str,
    },
    /// The kernel does not list interfaces.
    #[error("cannot list the interfaces of this node: {0}")]
    List(#[from] io::Error),
}

/// The address to listen at: `interface` is an address or the name of an interface, `towards_manager` the
/// local address of the stream to the manager.
///
/// # Errors
/// The interface has no address of the same kind.
pub fn listen_address(interface: Option<&str>, towards_manager: IpAddr) -> Result<IpAddr, AddressError> {
    let Some(interface) = interface else { return Ok(towards_manager) };
    if let Ok(address) = interface.parse() {
        return Ok(address);
    }
    let wanted = |address: &IpAddr| address.is_ipv4() == towards_manager.is_ipv4();
    let none = || AddressError::None {
        interface: interface.to_owned(),
        family: if towards_manager.is_ipv4() { "IPv4" } else { "IPv6" },
    };
    addresses(interface)?.into_iter().find(wanted).ok_or_else(none)
}

/// The addresses of an interface, but for those that need the interface's number to be used.
fn addresses(interface: &str) -> io::Result<Vec<IpAddr>> {
    let mut list: *mut libc::ifaddrs = ptr::null_mut();
    // SAFETY: on success `list` is a linked list that stays as it is until it is freed, once, below; names
    // are strings, and addresses are of the type that their family says.
    unsafe {
        if libc::getifaddrs(&mut list) != 0 {
            return Err(io::Error::last_os_error());
        }
        let (mut found, mut next) = (Vec::new(), list);
        while let Some(entry) = next.as_ref() {
            next = entry.ifa_next;
            let is_named = CStr::from_ptr(entry.ifa_name).to_bytes() == interface.as_bytes();
            let Some(address) = entry.ifa_addr.as_ref().filter(|_| is_named) else { continue };
            match i32::from(address.sa_family) {
                libc::AF_INET => {
                    let address = ptr::read_unaligned(entry.ifa_addr.cast::<libc::sockaddr_in>());
                    found.push(Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr)).into());
                }
                libc::AF_INET6 => {
                    let address = ptr::read_unaligned(entry.ifa_addr.cast::<libc::sockaddr_in6>());
                    let address = Ipv6Addr::from(address.sin6_addr.s6_addr);
                    if !address.is_unicast_link_local() {
                        found.push(address.into());
                    }
                }
                _ => {}
            }
        }
        libc::freeifaddrs(list);
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_is_the_configured_one_or_that_of_the_interface_or_that_towards_the_manager() {
        let towards: IpAddr = "10.1.2.3".parse().unwrap();
        assert_eq!(listen_address(None, towards).unwrap(), towards);
        assert_eq!(listen_address(Some("10.9.9.9"), towards).unwrap().to_string(), "10.9.9.9");
        assert_eq!(listen_address(Some("lo"), towards).unwrap(), IpAddr::from(Ipv4Addr::LOCALHOST));
        let refused = listen_address(Some("ib77"), towards).unwrap_err().to_string();
        assert!(refused.contains("'ib77'") && refused.contains("nodes.interface"), "{refused}");
    }
}
