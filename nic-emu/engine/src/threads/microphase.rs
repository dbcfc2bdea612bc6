//! The microphases of a time slice (paper, §4.2, figure 4.4).

/// A microphase. Two make up global message scheduling, three message transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Microphase {
    /// Descriptor exchange (DEM): BS, BR.
    DescriptorExchange = 0,
    /// Message scheduling (MSM): BR.
    MessageScheduling = 1,
    /// Point-to-point (P2P): DH.
    PointToPoint = 2,
    /// Barrier and broadcast (BBM): CH.
    BarrierAndBroadcast = 3,
    /// Reduce (RM): RH.
    Reduce = 4,
}

impl Microphase {
    /// All, in the order of a slice.
    pub const ALL: [Microphase; 5] = [
        Microphase::DescriptorExchange,
        Microphase::MessageScheduling,
        Microphase::PointToPoint,
        Microphase::BarrierAndBroadcast,
        Microphase::Reduce,
    ];
}
