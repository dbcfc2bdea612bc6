//! Plans: what a persistent collective finds out once, for all its starts.
//!
//! What the user wants is known when the request is made, and so is whether all members have reserved a slab
//! for it. The first start asks where members are and which algorithm is the one; later ones take that. A
//! slab that this algorithm has no use for is released.
//!
//! The slab is why contributions of up to a slab go through the NIC as those of calls that block do: of
//! requests any number may be under way, in a different order at each member, but none of them waits for
//! another one's slab.

use super::nodes::Nodes;
use crate::error::MpiResult;
use crate::object::wanted::Wanted;
use crate::process::{Process, ready, with};
use nic_emu::memory::numbers::SlabId;
use nic_emu::port::Port;
use std::cell::{Cell, OnceCell};
use std::future::poll_fn;
use std::rc::Rc;

/// The plan of a persistent collective.
#[derive(Debug)]
pub struct Plan {
    /// Algorithms that the user wants.
    pub wanted: Wanted,
    slab: Cell<Option<SlabId>>,
    choice: OnceCell<usize>,
    nodes: OnceCell<Rc<Nodes>>,
}

impl Plan {
    /// One of a collective of which nothing else is known. If its contributions `need_slab`, one is reserved,
    /// if there is one.
    pub fn new(process: &mut Process, wanted: Wanted, needs_slab: bool) -> Self {
        let slab = if needs_slab { process.port.reserve_slab() } else { None };
        Self { wanted, slab: Cell::new(slab), choice: OnceCell::new(), nodes: OnceCell::new() }
    }

    /// The slab for contributions.
    #[inline]
    pub fn slab(&self) -> Option<SlabId> {
        self.slab.get()
    }

    /// Releases the slab, if there is one: when the request is freed, or has no use for it.
    pub fn release_slab(&self, process: &mut Process) {
        if let Some(slab) = self.slab.take() {
            process.port.release_slab(slab);
        }
    }

    /// Whether there is a slab for the next start: its own, or, while others still read that, any one as long
    /// as most are free. So a root may run ahead.
    #[inline]
    pub fn is_idle(&self, port: &mut Port) -> bool {
        self.slab.get().is_none_or(|slab| port.has_idle(slab) || port.has_many_slabs())
    }

    /// Waits for that.
    ///
    /// # Errors
    /// None that are its own.
    pub async fn idle(&self) -> MpiResult {
        let mut waits = false;
        poll_fn(|_| {
            ready(with(|process| {
                let is_idle = self.is_idle(&mut process.port);
                // Nobody wakes a rank when its slab is given back.
                match (is_idle, waits) {
                    (false, false) => process.progress.unwoken += 1,
                    (true, true) => process.progress.unwoken -= 1,
                    _ => {}
                }
                waits = !is_idle;
                Ok(is_idle.then_some(()))
            }))
        })
        .await
    }

    /// The number of the algorithm, which is chosen once. `keeps` says whether it uses the slab.
    pub fn choice(&self, choose: impl FnOnce() -> usize, keeps: impl FnOnce(usize) -> bool) -> usize {
        *self.choice.get_or_init(|| {
            let number = choose();
            if !keeps(number) {
                // It fails outside of an operation alone, where there is none to keep.
                let _ = with(|process| {
                    self.release_slab(process);
                    Ok(())
                });
            }
            number
        })
    }

    /// Where members are, which is asked once.
    ///
    /// # Errors
    /// Those of `ask`.
    pub fn nodes(&self, ask: impl FnOnce() -> MpiResult<Rc<Nodes>>) -> MpiResult<Rc<Nodes>> {
        if let Some(nodes) = self.nodes.get() {
            return Ok(nodes.clone());
        }
        let nodes = ask()?;
        Ok(self.nodes.get_or_init(|| nodes).clone())
    }
}
