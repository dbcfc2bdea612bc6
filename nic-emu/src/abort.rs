//! Abort: the first rank that ends the job says so in NIC memory, with its exit code and a message (MPI-5.0, `MPI_Abort`).

use crate::memory::{ABORT_MESSAGE_BYTES, NicMemory};
use crate::sync::Ordering;

/// Says that a rank ends the job. Only the first to say so is heard; answers whether it was.
pub fn say(memory: &NicMemory, local_index: u32, code: i32, message: &str) -> bool {
    publish(memory, local_index + 1, code, message)
}

/// Says that the NIC ends the job, whoever ran it at that moment, because the ranks ask for what cannot be done. Only the first is heard.
pub fn say_of_nic(memory: &NicMemory, message: &str) {
    publish(memory, BY_NIC, 0, message);
}

/// What the NIC said when it ended the job, if it did.
pub fn said_by_nic(memory: &NicMemory) -> Option<String> {
    (memory.header().aborted.0.load(Ordering::Acquire) == BY_NIC).then(|| read(memory).1)
}

/// In the word that tells who aborted first: the NIC itself.
const BY_NIC: u32 = u32::MAX - 1;

fn publish(memory: &NicMemory, who: u32, code: i32, message: &str) -> bool {
    let header = memory.header();
    // Code and message first: who sees the abort sees them. A second aborter overwrites them only while the first one has not
    // published, and then one of the two is the first.
    if header.aborted.0.load(Ordering::Acquire) != 0 {
        return false;
    }
    header.abort_code.set(code as u32);
    let bytes = &message.as_bytes()[..message.len().min(ABORT_MESSAGE_BYTES)];
    header.abort_length.set(bytes.len() as u32);
    for (word, chunk) in header.abort_message.iter().zip(bytes.chunks(8)) {
        let mut padded = [0; 8];
        padded[..chunk.len()].copy_from_slice(chunk);
        word.store(u64::from_ne_bytes(padded), Ordering::Relaxed);
    }
    header.aborted.0.compare_exchange(0, who, Ordering::AcqRel, Ordering::Acquire).is_ok()
}

/// The launcher ends the job: ranks that wait see it and leave.
pub fn end_job(memory: &NicMemory) {
    let _ = memory.header().aborted.0.compare_exchange(0, u32::MAX, Ordering::AcqRel, Ordering::Acquire);
}

/// The exit code and the message of the abort.
pub fn read(memory: &NicMemory) -> (i32, String) {
    let header = memory.header();
    let mut bytes: Vec<u8> =
        header.abort_message.iter().flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes()).collect();
    bytes.truncate(header.abort_length.get() as usize);
    (header.abort_code.get() as i32, String::from_utf8_lossy(&bytes).into_owned())
}
