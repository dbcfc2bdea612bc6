//! The fabric of one node: the node set is {self}, and a strobe is a function call (design §2).
//!
//! Invariant: every operation has taken effect when its call returns; atomicity and order are those of
//! calls. The state is nothing but the memory and the events, so when both lie in a mapping that several
//! processes share, each of them can have its own `LocalFabric` over them, and whoever holds the NIC's run
//! token goes on where the last one stopped. No call allocates.

use super::{
    Assignment, Comparison, Fabric, FabricError, Operation, Source, Ticket, check_event, check_nodes,
};
use bcs_core::event::{EventId, EventTable};
use bcs_core::global_memory::{FlatMemory, GlobalAddress, GlobalMemory, GlobalVariable, MemoryView};
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;

/// A fabric whose only member is the node itself.
#[derive(Debug)]
pub struct LocalFabric {
    node: NodeId,
    own: NodeSet,
    memory: FlatMemory,
    events: EventTable,
}

impl LocalFabric {
    /// The fabric of `node` over registered memory and events.
    pub fn new(node: NodeId, memory: FlatMemory, events: EventTable) -> Self {
        Self { node, own: NodeSet::single(node), memory, events }
    }

    fn check_nodes(&self, operation: Operation, nodes: &NodeSet) -> Result<(), FabricError> {
        const NONE: NodeSet = NodeSet::new();
        check_nodes(operation, nodes, &self.own, &NONE)
    }
}

impl Fabric for LocalFabric {
    fn xfer_and_signal(
        &mut self,
        source: Source<'_>,
        destinations: &NodeSet,
        at: GlobalAddress,
        local_event: Option<EventId>,
        remote_event: Option<EventId>,
    ) -> Result<(), FabricError> {
        const OPERATION: Operation = Operation::XferAndSignal;
        self.check_nodes(OPERATION, destinations)?;
        for event in [local_event, remote_event].into_iter().flatten() {
            check_event(OPERATION, event, self.events.count())?;
        }
        match source {
            Source::Bytes(data) => self.memory.write(at, data),
            Source::Shared(data) => self.memory.write(at, data),
            Source::Global { at: from, bytes } => self.memory.copy_within(from, at, bytes),
        }
        .map_err(FabricError::memory(OPERATION))?;
        for event in [remote_event, local_event].into_iter().flatten() {
            self.events.signal(event);
        }
        Ok(())
    }

    fn test_event(&mut self, event: EventId) -> Result<u32, FabricError> {
        let count = self.events.count();
        self.events.take(event).ok_or(FabricError::NoSuchEvent {
            operation: Operation::TestEvent,
            event,
            count,
        })
    }

    /// The answer is known at once: the ticket *is* the answer, and can be taken any number of times.
    fn compare_and_write(
        &mut self,
        nodes: &NodeSet,
        comparison: Comparison,
        assignment: Option<Assignment>,
    ) -> Result<Ticket, FabricError> {
        const OPERATION: Operation = Operation::CompareAndWrite;
        self.check_nodes(OPERATION, nodes)?;
        let memory_error = FabricError::memory(OPERATION);
        let variable = self.memory.load(comparison.variable).map_err(&memory_error)?;
        if let Some(assignment) = assignment {
            let at = assignment.variable.address();
            self.memory.check(at, GlobalVariable::BYTES).map_err(&memory_error)?;
        }
        let holds = comparison.condition.holds(variable, comparison.value);
        if let (true, Some(assignment)) = (holds, assignment) {
            self.memory.store(assignment.variable, assignment.value).map_err(&memory_error)?;
        }
        Ok(Ticket(holds.into()))
    }

    fn test_query(&mut self, ticket: Ticket) -> Option<Result<bool, FabricError>> {
        Some(match ticket {
            Ticket(0) => Ok(false),
            Ticket(1) => Ok(true),
            unknown => Err(FabricError::UnknownTicket(unknown)),
        })
    }

    fn read(&self, at: GlobalAddress, into: &mut [u8]) -> Result<(), FabricError> {
        self.memory.read(at, into).map_err(FabricError::memory(Operation::Read))
    }

    fn view(&self, at: GlobalAddress, bytes: u64) -> Result<Option<MemoryView<'_>>, FabricError> {
        self.memory.view(at, bytes).map_err(FabricError::memory(Operation::Read))
    }

    fn load(&self, variable: GlobalVariable) -> Result<u64, FabricError> {
        self.memory.load(variable).map_err(FabricError::memory(Operation::Read))
    }

    fn progress(&mut self) -> Result<(), FabricError> {
        Ok(())
    }

    /// Events come from this process, which would wait for itself, or from another that shares the
    /// mapping; only the second can end a wait, and who shares memory has better ways to wait.
    fn wait(&mut self) -> Result<(), FabricError> {
        Err(FabricError::Stalled { node: self.node })
    }

    fn take_failure(&mut self) -> Option<FabricError> {
        None
    }

    fn node(&self) -> NodeId {
        self.node
    }

    fn members(&self) -> NodeSet {
        self.own.clone()
    }

    fn dead(&self) -> NodeSet {
        NodeSet::new()
    }

    /// A node that runs this call is not dead, and there is no other.
    fn declare_dead(&mut self, node: NodeId) -> Result<(), FabricError> {
        const OPERATION: Operation = Operation::DeclareDead;
        self.check_nodes(OPERATION, &NodeSet::single(node))?;
        Err(FabricError::SelfDead { operation: OPERATION, node })
    }

    fn memory_bytes(&self) -> u64 {
        self.memory.size_bytes()
    }

    fn event_count(&self) -> u32 {
        self.events.count()
    }

    fn store(&mut self, variable: GlobalVariable, value: u64) -> Result<(), FabricError> {
        self.memory.store(variable, value).map_err(FabricError::memory(Operation::XferAndSignal))
    }
}
