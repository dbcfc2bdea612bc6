//! How the Buffer Receiver takes the collective descriptors of a rank (paper, §4.4): each is an arrival at a
//! collective, or one that does not fit.

use crate::matching::mismatch;
use crate::memory::Corrupt;
use crate::memory::descriptor::{CollectiveDescriptor, KIND};
use crate::memory::doorbell::RingKind;
use crate::memory::instance::InstanceState;
use crate::threads::breach;
use crate::threads::collective_list::{self, Arrival};
use crate::threads::eligible::Eligible;
use crate::threads::slice_work::{COLLECTIVES_A_SLICE, SliceWork};

/// Takes the eligible collective descriptors of a rank, until there is no room for one. Answers how many.
#[inline]
pub(crate) fn take(work: &mut SliceWork<'_>, rank: Eligible) -> Result<u32, Corrupt> {
    let (memory, local_rank, count) = (work.memory, rank.local_rank, rank.count(RingKind::Collective));
    if count == 0 {
        return Ok(0);
    }
    for (i, cell) in (0..).zip(rank.cells(memory.rank(local_rank)?, RingKind::Collective)?) {
        let words = cell.read();
        let Some(descriptor) = CollectiveDescriptor::decode(&words) else {
            return Err(Corrupt { what: "collective descriptor", value: words[KIND], limit: 0 });
        };
        if work.arrivals.len() == COLLECTIVES_A_SLICE {
            return Ok(i);
        }
        let breach = match collective_list::arrive(memory, local_rank, &descriptor)? {
            Arrival::At(instance) => {
                if !work.arrivals.contains(&instance) {
                    work.arrivals.push(instance);
                }
                continue;
            }
            Arrival::Left => continue,
            Arrival::NoRoom => return Ok(i),
            Arrival::Mismatch(instance) => {
                let report = mismatch::report(memory, local_rank, &descriptor, instance)?;
                let context = descriptor.context;
                breach::break_context(&mut work.completer, context, &report)?;
                // None where there was no room to note it: then the job is over.
                memory.breaches().find(context)
            }
            Arrival::Refused(breach) => Some(breach),
        };
        if let Some(breach) = breach {
            breach::refuse(&mut work.completer, local_rank, &descriptor, breach)?;
        }
    }
    Ok(count)
}

/// After a breach: collectives that have failed are none to act on.
#[cold]
pub(crate) fn forget_failed(work: &mut SliceWork<'_>) {
    let memory = work.memory;
    let gathers = |index: u32| {
        memory.instance(index).is_ok_and(|instance| instance.state.get() == InstanceState::Gathering as u32)
    };
    work.arrivals.retain(|index| gathers(*index));
}
