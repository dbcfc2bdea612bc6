//! The table of broken communicators in NIC memory (`crate::threads::breach`).
//!
//! Invariants: a breach is forgotten when all members of this node have left the communicator, and the other
//! nodes know of it. Contexts are not given twice, so what is found is that of the communicator that is asked
//! for.

use crate::memory::sync::{AtomicU32, Ordering};
use crate::memory::text::Text;
use crate::memory::{Context, Corrupt, checked};

/// Broken communicators at the same time that members have not freed; an intercommunicator may be three,
/// with what its groups have by themselves. With so many no communicator is made any more
/// ([`crate::memory::contexts::take`]); one more ends the job, whatever its error handler.
pub const BREACHES: usize = 256;

/// A broken communicator.
#[repr(C, align(64))]
struct Breach {
    /// Its collectives' context; 0 where there is none.
    context: AtomicU32,
    /// Members of this node that have left it, of so many; 0 until one leaves.
    left: AtomicU32,
    members: AtomicU32,
    /// 1 once all nodes of the communicator know.
    known: AtomicU32,
    /// The report.
    text: Text,
}

/// All broken communicators with members on this node. All zeros at first.
#[repr(C, align(64))]
pub struct Breaches {
    /// How many there are.
    count: AtomicU32,
    /// How many there have been.
    ever: AtomicU32,
    breaches: [Breach; BREACHES],
}

impl Breaches {
    /// The breach of this context, if it is broken. While no communicator is, that is one look at a line that
    /// hardly anybody writes.
    #[inline]
    pub fn find(&self, context: Context) -> Option<u32> {
        if self.count.load(Ordering::Acquire) == 0 { None } else { self.search(context) }
    }

    /// True when there is no room for one more.
    pub(crate) fn is_full(&self) -> bool {
        self.count.load(Ordering::Acquire) as usize >= BREACHES
    }

    #[cold]
    fn search(&self, context: Context) -> Option<u32> {
        let found =
            self.breaches.iter().position(|breach| breach.context.load(Ordering::Acquire) == context.0);
        found.filter(|_| context.0 != 0).map(|index| index as u32)
    }

    /// The report of a breach.
    ///
    /// # Errors
    /// [`Corrupt`] when there is none of this number.
    pub fn report(&self, breach: u32) -> Result<String, Corrupt> {
        Ok(self.breaches[checked("breach", breach, BREACHES)?].text.read())
    }

    /// How many there have been: changes with each.
    #[inline]
    pub(crate) fn ever(&self) -> u32 {
        self.ever.load(Ordering::Acquire)
    }

    /// The contexts that are broken.
    pub(crate) fn contexts(&self) -> Vec<Context> {
        let all = self.breaches.iter().map(|breach| breach.context.load(Ordering::Acquire));
        all.filter(|context| *context != 0).map(Context).collect()
    }

    fn of(&self, context: Context) -> Option<&Breach> {
        self.breaches.get(self.find(context)? as usize)
    }

    /// A member of this node leaves a communicator, of which there are `members`.
    pub fn leave(&self, context: Context, members: u32) {
        let Some(breach) = self.of(context) else { return };
        breach.members.store(members, Ordering::SeqCst);
        breach.left.fetch_add(1, Ordering::SeqCst);
        self.forget_if_left(breach, context);
    }

    /// All nodes of a communicator know that it is broken.
    pub(crate) fn set_known(&self, context: Context) {
        let Some(breach) = self.of(context) else { return };
        breach.known.store(1, Ordering::SeqCst);
        self.forget_if_left(breach, context);
    }

    fn forget_if_left(&self, breach: &Breach, context: Context) {
        let members = breach.members.load(Ordering::SeqCst);
        let is_left = members != 0 && breach.left.load(Ordering::SeqCst) == members;
        // The last to leave and whoever tells the other nodes may both find that it is over.
        if is_left
            && breach.known.load(Ordering::SeqCst) != 0
            && breach.context.compare_exchange(context.0, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        {
            self.count.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Notes a breach; none when there is no room for one more. `known` says that there are no other nodes to
    /// be told. The caller holds the run token.
    pub(crate) fn add(&self, context: Context, report: &str, known: bool) -> Option<u32> {
        let free = self.breaches.iter().position(|breach| breach.context.load(Ordering::Acquire) == 0)?;
        let breach = &self.breaches[free];
        breach.left.store(0, Ordering::Relaxed);
        breach.members.store(0, Ordering::Relaxed);
        breach.known.store(known.into(), Ordering::Relaxed);
        breach.text.write(report);
        breach.context.store(context.0, Ordering::Release);
        self.ever.fetch_add(1, Ordering::AcqRel);
        self.count.fetch_add(1, Ordering::AcqRel);
        Some(free as u32)
    }
}
