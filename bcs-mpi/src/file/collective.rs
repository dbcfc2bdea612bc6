//! Collective accesses: by two phases where these pay, or by each member itself.

use super::background;
use super::direction::Direction;
use super::domains::{Domains, Said};
use super::errors::Failed;
use super::independent::{self, Manner};
use super::memory::Bytes;
use super::two_phase::{End, Exchange};
use crate::collective::gather_small;
use crate::error::MpiResult;
use crate::object::file::hints::FileHints;
use crate::object::file::opened::Opened;
use crate::object::file::view::Region;
use crate::progress::{Membership, Party};
use rustix::io::Errno;
use std::sync::Arc;

/// What a member brings to a collective access.
pub(super) struct Joint {
    /// The members, three times: in what they say of the access, in the exchange, and in what has come of it.
    pub parties: [Party; 3],
    /// The file.
    pub opened: Arc<Opened>,
    /// The bytes of the file that this member wants.
    pub region: Region,
    /// Its memory.
    pub memory: Bytes,
    /// Its hints.
    pub hints: FileHints,
    /// How it would make its access itself.
    pub manner: Manner,
    /// Which way the bytes go.
    pub direction: Direction,
}

/// An access of one member, in the call or in the background; answers the bytes.
///
/// # Errors
/// The system fails.
pub(super) async fn by_itself(
    waits: bool,
    opened: Arc<Opened>,
    (region, memory): (Region, Bytes),
    manner: Manner,
    direction: Direction,
) -> MpiResult<usize> {
    let file = opened.clone();
    let access = move || match direction {
        Direction::Read => independent::read(&opened, &region, &memory, manner),
        Direction::Write => independent::write(&opened, &region, &memory, manner).map(|()| region.bytes),
    };
    background::run(waits, access).await?.map_err(|failed| failed.of(&file))
}

/// What has come of an access at a member: errno, the byte at which it happened, what was done, and the end
/// of the file.
const OUTCOME_BYTES: usize = 24;

fn encode(End { failed, file_end }: End) -> [u8; OUTCOME_BYTES] {
    let (errno, at, action) = failed.map_or((0, 0, 0), |failed| {
        let action = ACTIONS.iter().position(|action| *action == failed.action).unwrap_or(0);
        (failed.errno.raw_os_error() as u32, failed.at, action as u32)
    });
    let mut bytes = [0; OUTCOME_BYTES];
    bytes[..4].copy_from_slice(&errno.to_le_bytes());
    bytes[4..8].copy_from_slice(&action.to_le_bytes());
    bytes[8..16].copy_from_slice(&at.to_le_bytes());
    bytes[16..].copy_from_slice(&file_end.to_le_bytes());
    bytes
}

fn decode(bytes: &[u8; OUTCOME_BYTES]) -> End {
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
    let (errno, action) = (word(0) as u32, (word(0) >> 32) as usize);
    let action = ACTIONS.get(action).copied().unwrap_or(ACTIONS[0]);
    let failed =
        (errno != 0).then(|| Failed { errno: Errno::from_raw_os_error(errno as i32), at: word(8), action });
    End { failed, file_end: word(16) }
}

/// What can fail.
const ACTIONS: [&str; 3] = ["read", "written", "locked"];

/// The access of all members; answers this one's bytes.
///
/// # Errors
/// The system or the NIC fails, at any member.
pub(super) async fn access(joint: Joint) -> MpiResult<usize> {
    let Joint { parties, opened, mut region, memory, hints, manner, direction } = joint;
    let [saying, exchanging, ending] = parties;
    let waits = saying.blocks;
    let file_bytes = match direction {
        Direction::Read => rustix::fs::fstat(&opened.fd).map_or(0, |stat| stat.st_size as u64),
        Direction::Write => 0,
    };
    let of_file = (opened.block_bytes, file_bytes);
    let said = Said::of(&region, (&hints, direction), of_file, manner.is_atomic);
    let domains = if saying.size == 1 {
        None
    } else {
        let nodes = saying.nodes()?;
        let all = gather_small(saying, said.encode()).await?;
        let all: Vec<Said> = all.iter().map(Said::decode).collect();
        Domains::of(&all, &nodes, direction).map(|domains| (domains, all))
    };
    let Some((domains, all)) = domains else {
        return by_itself(waits, opened, (region, memory), manner, direction).await;
    };
    if direction == Direction::Read {
        // What is behind the end of the file nobody asks for.
        region.bytes = region.bytes_before(Domains::file_bytes(&all));
    }
    let reaches: Vec<_> = all.iter().map(Said::reach).collect();
    let exchange = Exchange {
        party: &exchanging,
        domains: &domains,
        opened: &opened,
        region: &region,
        memory: &memory,
        manner,
    };
    let end = match direction {
        Direction::Read => exchange.read(&reaches).await?,
        Direction::Write => exchange.write(&reaches).await?,
    };
    let ends = gather_small(ending, encode(end)).await?;
    let ends: Vec<End> = ends.iter().map(decode).collect();
    if let Some(failed) = ends.iter().filter_map(|end| end.failed).min_by_key(|failed| failed.at) {
        return Err(failed.of(&opened));
    }
    let file_end = ends.iter().map(|end| end.file_end).min().unwrap_or(u64::MAX);
    Ok(if file_end == u64::MAX { region.bytes } else { region.bytes_before(file_end) })
}
