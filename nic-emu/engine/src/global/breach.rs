//! Broken communicators across nodes ([`crate::threads::breach`]).
//!
//! The node that finds a mismatch tells all others of the communicator, each by a record of its own; it may
//! find one before its own members have made the communicator, and then waits for them, as it does not know
//! the others. Every node forgets what it had under way of the communicator's collectives: their instances
//! have failed. Records of them that are still on their way are passed over.
//!
//! ```text
//!  Broken   context     payload: the report
//! ```

use super::collectives::Collectives;
use super::error::GlobalError;
use super::point_to_point::Env;
use super::record::{Kind, Record};
use crate::matching::called::Called;
use crate::matching::mismatch::report_of_nodes;
use crate::memory::contexts::Context;
use crate::memory::groups;
use crate::threads::breach::break_context;
use bcs_core::{NodeId, Rank};

impl Collectives {
    /// Looks whether communicators have been broken since the last look: tells the other nodes, and forgets
    /// what was under way. Comes before anything that acts on collectives.
    #[inline]
    pub fn notice_breaches(&mut self, env: &mut Env<'_, '_>) -> Result<(), GlobalError> {
        if !self.untold.is_empty() {
            for (context, sides) in std::mem::take(&mut self.untold) {
                match groups::nodes(env.memory, context) {
                    Some(_) => {
                        let report = report_of_nodes(context, sides);
                        break_context(env.completer, context, &report)?;
                    }
                    None => self.untold.push((context, sides)),
                }
            }
        }
        let ever = env.memory.breaches().ever();
        if ever == self.noticed {
            return Ok(());
        }
        self.noticed = ever;
        for context in env.memory.breaches().contexts() {
            // Communicators of this node alone have no group.
            let Some(nodes) = groups::nodes(env.memory, context) else { continue };
            if self.broken.insert(context)
                && let Some(breach) = env.memory.breaches().find(context)
            {
                let mut report = env.memory.breaches().report(breach)?.into_bytes();
                report.truncate(env.payload_bytes as usize);
                let broken =
                    Record { payload: report, ..Record::new(Kind::Broken, Rank(0), &[context.0.into()]) };
                nodes
                    .iter()
                    .filter(|node| *node != self.node)
                    .for_each(|node| env.links.send(node.0, &broken));
                env.memory.breaches().set_known(context);
                self.forget_collectives(context);
            }
        }
        Ok(())
    }

    /// Members on two nodes have called what does not fit: breaks the communicator when this node knows whom
    /// to tell, which may be when its own members have made it.
    #[cold]
    pub(super) fn tell_mismatch(
        &mut self,
        env: &mut Env<'_, '_>,
        context: Context,
        sides: [(NodeId, Called); 2],
    ) -> Result<(), GlobalError> {
        if !self.untold.iter().any(|(other, _)| *other == context) {
            self.untold.push((context, sides));
        }
        self.notice_breaches(env)
    }

    /// Another node says that a communicator is broken, of which members here may not have been made yet.
    pub fn handle_broken(&mut self, env: &mut Env<'_, '_>, record: &Record) -> Result<(), GlobalError> {
        let context = Context(record.words[0] as u32);
        // It may be forgotten by now.
        if !self.broken.insert(context) {
            return Ok(());
        }
        break_context(env.completer, context, &String::from_utf8_lossy(&record.payload))?;
        env.memory.breaches().set_known(context);
        self.forget_collectives(context);
        Ok(())
    }

    fn forget_collectives(&mut self, context: Context) {
        self.gathers.forget(context);
        if self.groups.remove(&context).is_some() {
            self.moves += 1;
        }
    }
}
