//! The microphases of a time slice (paper, §4.2, figure 4.4), and the NIC threads that each of them wakes.

use crate::memory::Corrupt;
use crate::threads::nic_thread::NicThread;
use crate::threads::slice_work::SliceWork;
use mds::LocalRecord;

/// Makes [`Microphase`] and what follows from the table below.
macro_rules! microphases {
    ($($(#[$doc:meta])* $microphase:ident $(($length_ns:ident))?: $($thread:ty),+;)+) => {
        /// A microphase. Two make up global message scheduling, three message transmission.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Microphase {
            $($(#[$doc])* $microphase,)+
        }

        impl Microphase {
            /// All, in the order of a slice.
            pub const ALL: [Microphase; [$(Microphase::$microphase),+].len()] =
                [$(Microphase::$microphase),+];

            /// Notes in a record of EMDS how long it took.
            pub(crate) fn note_length(self, record: &mut LocalRecord, ns: u64) {
                match self {
                    $(Microphase::$microphase => { $(record.$length_ns = ns;)? })+
                }
            }

            /// True when its threads have nothing to do in this slice.
            #[inline]
            pub(crate) fn is_idle(self, work: &SliceWork<'_>) -> bool {
                match self {
                    $(Microphase::$microphase => $(<$thread as NicThread>::is_idle(work))&&+,)+
                }
            }

            /// Runs its threads, one after the other.
            #[inline]
            pub(crate) fn run(self, work: &mut SliceWork<'_>) -> Result<(), Corrupt> {
                match self {
                    $(Microphase::$microphase => {
                        $(<$thread as NicThread>::run(work)?;)+
                        Ok(())
                    })+
                }
            }
        }
    };
}

// In the order of a slice: microphase (where EMDS records its length): its NIC threads.
microphases! {
    /// Descriptor exchange (DEM).
    DescriptorExchange(ltdem_ns): super::buffer_sender::BufferSender;
    /// Message scheduling (MSM).
    MessageScheduling(ltmsm_ns): super::buffer_receiver::BufferReceiver;
    /// Point-to-point (P2P).
    PointToPoint(ltp2p_ns): super::dma_helper::DmaHelper;
    /// Barrier and broadcast (BBM).
    BarrierAndBroadcast(ltbbm_ns): super::collective_helper::CollectiveHelper;
    /// Reduce (RM).
    Reduce(ltrm_ns): super::reduce_helper::ReduceHelper;
}
