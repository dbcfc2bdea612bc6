//! A boxed fabric is a fabric: who drives one need not know which network it is.

use super::{Assignment, Comparison, Fabric, FabricError, Source, Ticket};
use bcs_core::event::EventId;
use bcs_core::global_memory::{GlobalAddress, GlobalVariable, MemoryView};
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;

impl<F: Fabric + ?Sized> Fabric for Box<F> {
    fn xfer_and_signal(
        &mut self,
        source: Source<'_>,
        destinations: &NodeSet,
        at: GlobalAddress,
        local_event: Option<EventId>,
        remote_event: Option<EventId>,
    ) -> Result<(), FabricError> {
        (**self).xfer_and_signal(source, destinations, at, local_event, remote_event)
    }

    fn test_event(&mut self, event: EventId) -> Result<u32, FabricError> {
        (**self).test_event(event)
    }

    fn compare_and_write(
        &mut self,
        nodes: &NodeSet,
        comparison: Comparison,
        assignment: Option<Assignment>,
    ) -> Result<Ticket, FabricError> {
        (**self).compare_and_write(nodes, comparison, assignment)
    }

    fn test_query(&mut self, ticket: Ticket) -> Option<Result<bool, FabricError>> {
        (**self).test_query(ticket)
    }

    fn read(&self, at: GlobalAddress, into: &mut [u8]) -> Result<(), FabricError> {
        (**self).read(at, into)
    }

    fn view(&self, at: GlobalAddress, bytes: u64) -> Result<Option<MemoryView<'_>>, FabricError> {
        (**self).view(at, bytes)
    }

    fn load(&self, variable: GlobalVariable) -> Result<u64, FabricError> {
        (**self).load(variable)
    }

    fn progress(&mut self) -> Result<(), FabricError> {
        (**self).progress()
    }

    fn wait(&mut self) -> Result<(), FabricError> {
        (**self).wait()
    }

    fn take_failure(&mut self) -> Option<FabricError> {
        (**self).take_failure()
    }

    fn node(&self) -> NodeId {
        (**self).node()
    }

    fn members(&self) -> NodeSet {
        (**self).members()
    }

    fn dead(&self) -> NodeSet {
        (**self).dead()
    }

    fn declare_dead(&mut self, node: NodeId) -> Result<(), FabricError> {
        (**self).declare_dead(node)
    }
}
