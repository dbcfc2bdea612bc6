//! Writes between the buffers of ranks that are threads of one process, as a network card makes them: in
//! pieces, later, and sometimes not at all.

use crate::random::Random;
use nic_emu::channel::Buffer;
use nic_emu::global::{BufferWrites, Invitation, Opened};
use std::cell::Cell;
use std::collections::BTreeMap;

thread_local! {
    /// Messages of this thread's clusters that were written so.
    static DELIVERED: Cell<u64> = const { Cell::new(0) };
}

/// How many messages were written so in this thread.
pub fn delivered() -> u64 {
    DELIVERED.get()
}

/// What tells whether an address is that of an endpoint of this kind.
const ADDRESS: [u8; 5] = *b"here!";
/// What a key is made of.
const KEY: u64 = 0x5eed;

#[derive(Debug, Default)]
pub struct WritesInProcess {
    open: BTreeMap<u64, Buffer>,
    /// What is under way: from where, and how many bytes are there.
    under_way: Vec<(Invitation, Buffer, u64)>,
    /// Bytes that go at once; 0: the next ones fail.
    piece: u64,
}

impl WritesInProcess {
    /// Goes on differently from now on.
    pub fn shuffle(&mut self, random: &mut Random) {
        self.piece = if random.once_in(5) { 0 } else { 1 + random.below(100_000) as u64 };
    }
}

impl BufferWrites for WritesInProcess {
    fn least_bytes(&self) -> u64 {
        1
    }

    fn open(&mut self, landing: u64, buffer: Buffer) -> Option<Opened<'_>> {
        if self.piece == 0 {
            return None;
        }
        assert!(self.open.insert(landing, buffer).is_none(), "a landing's name is its own");
        Some(Opened { at: buffer.address, key: KEY ^ landing, address: &ADDRESS })
    }

    fn close_unless(&mut self, is_there: &mut dyn FnMut(u64) -> bool) {
        self.open.retain(|landing, _| is_there(*landing));
    }

    fn begin(&mut self, invited: &Invitation, from: Buffer, address: &[u8]) -> bool {
        assert_eq!((address, invited.key), (&ADDRESS[..], KEY ^ invited.landing));
        assert_eq!(from.bytes, invited.bytes);
        if self.piece != 0 {
            self.under_way.push((*invited, from, 0));
        }
        self.piece != 0
    }

    fn go_on(&mut self) -> bool {
        let mut moved = 0;
        for (invited, from, there) in &mut self.under_way {
            let bytes = self.piece.min(invited.bytes - *there);
            let (from, to) = ((from.address + *there) as *const u8, (invited.at + *there) as *mut u8);
            // SAFETY: both buffers are of ranks of this process, of requests that are not complete.
            unsafe { from.copy_to_nonoverlapping(to, bytes as usize) };
            *there += bytes;
            moved += bytes;
        }
        moved != 0
    }

    fn take_over(&mut self, over: &mut dyn FnMut(&Invitation, bool) -> bool) {
        let has_failed = self.piece == 0;
        self.under_way.retain(|(invited, _, there)| {
            let is_whole = *there == invited.bytes;
            let is_told = (is_whole || has_failed) && over(invited, is_whole);
            DELIVERED.set(DELIVERED.get() + u64::from(is_told && is_whole));
            !is_told
        });
    }
}
