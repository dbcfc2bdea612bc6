//! What synchronisation waits for: that what was asked is carried out, and that answers have come.

use super::asking::{member_of, send_batch};
use super::target::Target;
use crate::api::bcs_test;
use crate::constants::*;
use crate::error::MpiResult;
use crate::object::datatype::table::predefined_type;
use crate::object::window::{Answer, AnswerEnd, Extents};
use crate::process::Guard;
use mds::Primitive;
use nic_emu::memory::numbers::{CommRank, RequestId};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};

/// Of whom something is awaited.
pub(super) enum Whom<'a> {
    /// A member.
    One(CommRank),
    /// These.
    Some(&'a [CommRank]),
    /// All.
    All,
}

/// How far operations are to be complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// Buffers of this process may be used again.
    Here,
    /// They have left in order: what is sent to the target now comes after them.
    InOrder,
    /// They are carried out at the target.
    There,
}

/// Completes the operations of these members.
///
/// # Errors
/// The NIC fails.
pub(super) fn complete(
    process: &mut Guard,
    call: Primitive,
    win: MPI_Win,
    whom: &Whom<'_>,
    extent: Extent,
) -> MpiResult {
    // What this process has stored itself others see before they are told that it is there.
    fence(Ordering::SeqCst);
    let window = process.windows.named(win)?;
    if window.asked.is_empty() {
        return Ok(());
    }
    let members: Vec<CommRank> = match whom {
        Whom::One(member) => window.asked.contains_key(member).then_some(*member).into_iter().collect(),
        Whom::Some(members) => {
            members.iter().copied().filter(|member| window.asked.contains_key(member)).collect()
        }
        Whom::All => window.asked.keys().copied().collect(),
    };
    // To all at once: then each is waited for.
    let (mut confirmations, mut by_others) = (Vec::new(), Vec::new());
    let mine = process.is_shared().then(|| Arc::new(AtomicBool::new(false)));
    for member in &members {
        let target = member_of(process, win, *member)?;
        let confirmed = send_batch(process, call, &target, extent == Extent::There)?;
        confirmations.extend(confirmed);
        let Some(asked) = process.windows.named_mut(win)?.asked.get_mut(member) else { continue };
        by_others.append(&mut asked.awaited);
        // Another thread may ask for what this one is about to wait for.
        asked.awaited.extend(mine.clone());
    }
    for request in confirmations {
        bcs_test(process, call, request)?;
    }
    for member in &members {
        let asked = process.windows.named_mut(win)?.asked.get_mut(member);
        for answer in asked.map(|asked| std::mem::take(&mut asked.answers)).unwrap_or_default() {
            receive(process, call, answer)?;
        }
    }
    let is_over = |over: &Arc<AtomicBool>| over.load(Ordering::Acquire);
    if let Some(first) = members.first()
        && !by_others.iter().all(is_over)
    {
        let what = member_of(process, win, *first)?.waiting(call);
        process.wait_for_some(&what, |_| Ok(by_others.iter().all(is_over).then_some(())))?;
    }
    if let Some(mine) = mine {
        mine.store(true, Ordering::Release);
    }
    Ok(())
}

/// Waits for an answer, and puts it where the program wants it.
///
/// # Errors
/// The NIC fails.
pub(super) fn receive(process: &mut Guard, call: Primitive, answer: Answer) -> MpiResult {
    for request in &answer.requests {
        bcs_test(process, call, *request)?;
    }
    answer.end.put();
    Ok(())
}

/// Looks whether all of these are complete that are left; takes those that are.
///
/// # Errors
/// The NIC fails.
pub(super) fn have_come(process: &mut Guard, requests: &mut Vec<RequestId>) -> MpiResult<bool> {
    while let Some(request) = requests.last() {
        if process.port.test(*request)?.is_none() {
            return Ok(false);
        }
        requests.pop();
    }
    Ok(true)
}

/// Waits until what was asked of a target so far is carried out.
///
/// # Errors
/// The NIC fails.
pub(super) fn confirm(process: &mut Guard, call: Primitive, target: &Target) -> MpiResult {
    if let Some(request) = send_batch(process, call, target, true)? {
        bcs_test(process, call, request)?;
    }
    Ok(())
}

impl AnswerEnd {
    /// Puts what has come where the program wants it.
    pub(super) fn put(self) {
        match self {
            AnswerEnd::InPlace | AnswerEnd::Gone(_) => {}
            // SAFETY: the promise of `Elements::new`: the operation is over only now.
            AnswerEnd::Unpack(staged) => unsafe { staged.unpack(usize::MAX) },
            AnswerEnd::Extents(extents) => extents.put(),
        }
    }
}

impl Extents {
    /// Packs the values of the elements to where they go.
    fn put(self) {
        let Self { elements, datatype, to, staged } = self;
        let Some(of) = predefined_type(datatype) else { return };
        let count = elements.len() as i64 / of.extent();
        let layout = of.layout(count);
        // SAFETY: there are so many elements, and room for their values at `to`, which belongs to the
        // operation until now.
        unsafe {
            layout.cursor().pack(elements.as_ptr(), to, layout.bytes());
            if let Some(staged) = staged {
                staged.unpack(usize::MAX);
            }
        }
    }
}
