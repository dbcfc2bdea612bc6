//! Abort: the first rank that ends the job says so in NIC memory, with its exit code and a message (MPI-5.0,
//! `MPI_Abort`).

use crate::memory::{LocalRank, NicMemory};

/// In the record: the NIC itself.
const BY_NIC: u32 = u32::MAX - 1;
/// In the record: the launcher.
const BY_LAUNCHER: u32 = u32::MAX;

/// Says that a rank ends the job. Only the first to say so is heard; answers whether it was. Another one may
/// still be writing then: who ends at once waits for that ([`AbortRecord::is_said`]).
///
/// [`AbortRecord::is_said`]: crate::memory::abort_record::AbortRecord::is_said
pub fn say(memory: &NicMemory, local_rank: LocalRank, code: i32, message: &str) -> bool {
    memory.header().abort.say(local_rank.0 + 1, code, message)
}

/// Says that the NIC ends the job, whoever ran it at that moment, because the ranks ask for what cannot be
/// done. Only the first is heard.
pub fn say_of_nic(memory: &NicMemory, message: &str) {
    memory.header().abort.say(BY_NIC, 0, message);
}

/// What the NIC said when it ended the job, if it did.
pub fn said_by_nic(memory: &NicMemory) -> Option<String> {
    let record = &memory.header().abort;
    (record.said_by() == BY_NIC).then(|| record.read().1)
}

/// The exit code and the message of a rank's abort, if it was the first.
pub fn said_by_rank(memory: &NicMemory, local_rank: LocalRank) -> Option<(i32, String)> {
    let record = &memory.header().abort;
    (record.said_by() == local_rank.0 + 1).then(|| record.read())
}

/// The launcher ends the job: ranks that wait see it and leave.
pub fn end_job(memory: &NicMemory) {
    memory.header().abort.end(BY_LAUNCHER);
}
