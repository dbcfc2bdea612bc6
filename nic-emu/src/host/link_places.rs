//! Which descriptors of a rank's process are those of the links to other nodes: a launcher says it in the
//! environment of its ranks, as text.

use rustix::fd::{BorrowedFd, RawFd};
use rustix::fs::{FileType, fstat};
use std::fmt;
use std::io;
use std::str::FromStr;

/// Which descriptors of a process are those of the links, as text: `MEMORY:RING_BYTES:STRIDE_BYTES:NODES` and
/// then for each link `,NODE:SOCKET:INODE`, or `,NODE` if it has no socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkPlaces {
    /// The descriptor of their memory.
    pub memory: RawFd,
    /// Bytes of each of a link's two rings.
    pub ring_bytes: usize,
    /// Bytes from the beginning of a link to that of the next one.
    pub stride_bytes: usize,
    /// Nodes of the job.
    pub nodes: u32,
    /// Of each link that is up, the node, and if it has a socket the descriptor of that, and its inode.
    pub links: Vec<(u32, Option<(RawFd, u64)>)>,
}

impl fmt::Display for LinkPlaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { memory, ring_bytes, stride_bytes, nodes, links } = self;
        write!(f, "{memory}:{ring_bytes}:{stride_bytes}:{nodes}")?;
        links.iter().try_for_each(|(node, socket)| match socket {
            Some((socket, inode)) => write!(f, ",{node}:{socket}:{inode}"),
            None => write!(f, ",{node}"),
        })
    }
}

impl FromStr for LinkPlaces {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        fn numbers(text: &str) -> Option<Vec<u64>> {
            text.split(':').map(|number| number.parse().ok()).collect()
        }
        let mut parts = text.split(',');
        let first = parts.next().and_then(numbers).ok_or(())?;
        let [memory, ring_bytes, stride_bytes, nodes] = first.try_into().map_err(drop)?;
        let link = |part| match *numbers(part)? {
            [node] => Some((u32::try_from(node).ok()?, None)),
            [node, socket, inode] => {
                Some((u32::try_from(node).ok()?, Some((RawFd::try_from(socket).ok()?, inode))))
            }
            _ => None,
        };
        Ok(Self {
            memory: memory.try_into().map_err(drop)?,
            ring_bytes: ring_bytes.try_into().map_err(drop)?,
            stride_bytes: stride_bytes.try_into().map_err(drop)?,
            nodes: nodes.try_into().map_err(drop)?,
            links: parts.map(link).collect::<Option<_>>().ok_or(())?,
        })
    }
}

/// The inode of a socket; none if it is none.
pub fn socket_inode(socket: BorrowedFd<'_>) -> Option<u64> {
    let stat = fstat(socket).ok()?;
    (FileType::from_raw_mode(stat.st_mode) == FileType::Socket).then_some(stat.st_ino)
}

/// The places of links, for who starts a process that inherits them.
///
/// # Errors
/// The system has no more descriptors.
pub fn places_of(
    links: &bcs_fabric::LinkDescriptors<'_>,
    nodes: u32,
    mut inherit: impl FnMut(BorrowedFd<'_>) -> io::Result<RawFd>,
) -> io::Result<LinkPlaces> {
    let memory = inherit(links.memory)?;
    let &bcs_fabric::LinkDescriptors { ring_bytes, stride_bytes, .. } = links;
    let mut places = Vec::with_capacity(links.links.len());
    for (node, socket) in &links.links {
        let socket = match socket {
            None => None,
            Some(socket) => match socket_inode(*socket) {
                Some(inode) => Some((inherit(*socket)?, inode)),
                None => continue,
            },
        };
        places.push((node.0, socket));
    }
    Ok(LinkPlaces { memory, ring_bytes, stride_bytes, nodes, links: places })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_as_they_are_written_and_nothing_else_is() {
        let links = vec![(1, Some((130, 77))), (2, Some((131, 1 << 40))), (3, None)];
        for links in [Vec::new(), links] {
            let places = LinkPlaces { memory: 129, ring_bytes: 4096, stride_bytes: 8192, nodes: 3, links };
            assert_eq!(places.to_string().parse(), Ok(places));
        }
        for text in [
            "",
            "1",
            "1:2",
            "1:2:3",
            "1:2:3:4:5",
            "a:2:3:4",
            "1:2:3:4,",
            "1:2:3:4,5:6",
            "1:2:3:4,5:6:7:8",
            "1:2:3:-4",
            "1:2:3:99999999999",
        ] {
            assert_eq!(text.parse::<LinkPlaces>(), Err(()), "{text}");
        }
    }
}
