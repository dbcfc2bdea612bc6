//! The microphases of a time slice (paper, §4.2, figure 4.4).

use mds::LocalRecord;

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

    /// Where a record of EMDS says how long it took.
    pub(crate) fn length_in(self, record: &mut LocalRecord) -> &mut u64 {
        match self {
            Microphase::DescriptorExchange => &mut record.ltdem_ns,
            Microphase::MessageScheduling => &mut record.ltmsm_ns,
            Microphase::PointToPoint => &mut record.ltp2p_ns,
            Microphase::BarrierAndBroadcast => &mut record.ltbbm_ns,
            Microphase::Reduce => &mut record.ltrm_ns,
        }
    }
}
