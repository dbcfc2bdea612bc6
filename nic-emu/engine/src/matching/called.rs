//! What a member has called, as far as all members have to say the same.

use crate::memory::descriptor::{CollectiveDescriptor, CollectiveKind};
use crate::memory::instance::Instance;
use crate::memory::root::SidedRank;

/// What the words of operation and element type say where nothing is combined and any datatype may match.
pub(crate) const ANY_SIGNATURE: u32 = 0;

/// Operation and element type of a descriptor, as [`Instance::operation`] has them.
pub(crate) fn operation(descriptor: &CollectiveDescriptor) -> u32 {
    descriptor.op as u32 | (descriptor.element as u32) << 8
}

/// What one side called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Called {
    /// The call, as `mds::Primitive` numbers it.
    pub(crate) call: u32,
    /// A [`CollectiveKind`].
    pub(crate) kind: u32,
    /// Operation and element type, or a signature.
    pub(crate) operation: u32,
    /// The root.
    pub(crate) root: SidedRank,
    /// The bytes about which all say the same.
    pub(crate) bytes: u64,
}

impl Called {
    /// What the members have called that are in an instance.
    pub(crate) fn of(instance: &Instance) -> Self {
        Self {
            call: instance.call.get(),
            kind: instance.kind.get(),
            operation: instance.operation.get(),
            root: SidedRank(instance.root.get()),
            bytes: instance.bytes.get(),
        }
    }

    /// What a member has called.
    #[inline]
    pub(crate) fn by(descriptor: &CollectiveDescriptor) -> Self {
        Self {
            call: descriptor.call as u32,
            kind: descriptor.kind as u32,
            operation: operation(descriptor),
            root: descriptor.root,
            bytes: descriptor.agreed_bytes,
        }
    }

    /// What both sides together have called, if they fit: where nothing is combined, a datatype of which
    /// nothing is known fits every other; and who does not know the root knows neither operation nor
    /// bytes.
    #[inline]
    pub(crate) fn joined(self, other: Self) -> Option<Self> {
        if self == other { Some(self) } else { self.joined_to_another(other) }
    }

    fn joined_to_another(self, other: Self) -> Option<Self> {
        let knows_less = |one: Self, other: Self| {
            let is_same_call = (one.call, one.kind) == (other.call, other.kind);
            one.root.is_unknown() && is_same_call && one.root.is_of_the_group_of(other.root)
        };
        if knows_less(self, other) {
            return Some(other);
        }
        if knows_less(other, self) {
            return Some(self);
        }
        let known = |side: Self| combines_on_nic(side.kind) || side.operation != ANY_SIGNATURE;
        let operation = if known(self) { self.operation } else { other.operation };
        let one = Self { operation, ..self };
        let other = if known(other) { other } else { Self { operation, ..other } };
        (one == other).then_some(one)
    }
}

/// Whether the NIC combines contributions in a collective of this kind.
pub(super) fn combines_on_nic(kind: u32) -> bool {
    [CollectiveKind::Reduce as u32, CollectiveKind::Allreduce as u32].contains(&kind)
}
