//! One slice's record, local (table 5.2) and global (table 5.1). Times in nanoseconds.

use super::metric::{Metric, MetricSet};
use super::scope::Scope;
use bcs_core::SliceIndex;

/// What one node did in one slice, gathered by its Strobe Receiver (paper, table 5.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LocalRecord {
    /// The slice.
    pub slice: SliceIndex,
    /// LETTS: time since the previous slice began.
    pub letts_ns: u64,
    /// LTDEM: time of the descriptor exchange microphase.
    pub ltdem_ns: u64,
    /// LTMSM: time of the message scheduling microphase.
    pub ltmsm_ns: u64,
    /// LTR of the DH: time of the point-to-point microphase.
    pub ltp2p_ns: u64,
    /// LTR of the CH: time of the broadcast and barrier microphase.
    pub ltbbm_ns: u64,
    /// LTR of the RH: time of the reduce microphase.
    pub ltrm_ns: u64,
    /// LTTS: time to complete the slice.
    pub ltts_ns: u64,
    /// NP2PDEM: point-to-point descriptors processed in descriptor exchange.
    pub np2pdem: u64,
    /// NP2PMSM: point-to-point operations scheduled.
    pub np2pmsm: u64,
    /// NCOLLDEM: collective descriptors processed in descriptor exchange.
    pub ncolldem: u64,
    /// NCOLLMSM: collective operations scheduled.
    pub ncollmsm: u64,
    /// BPTS: processes of the node blocked during the slice.
    pub bpts: u64,
    /// UMTS: messages without a receive in the pools of the node's processes. Not in the table.
    pub umts: u64,
    /// UBTS: bytes that these take up. Not in the table.
    pub ubts: u64,
}

/// What the Strobe Sender saw of one slice (paper, table 5.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GlobalRecord {
    /// The slice.
    pub slice: SliceIndex,
    /// GETTS: time since the previous slice began.
    pub getts_ns: u64,
    /// GTDEM: time until descriptor exchange was over on all nodes.
    pub gtdem_ns: u64,
    /// GTMSM: time until message scheduling was over on all nodes.
    pub gtmsm_ns: u64,
    /// GTTS: time until the slice was complete on all nodes.
    pub gtts_ns: u64,
    /// USRTS: how often the Strobe Sender looked and found that not all nodes had reported, before the slice
    /// was over.
    pub usrts: u64,
    /// USRDEM: the same, before descriptor exchange was over.
    pub usrdem: u64,
    /// USRMSM: the same, before message scheduling was over.
    pub usrmsm: u64,
}

/// A record that an [`super::EmdsRing`] can hold.
pub trait EmdsRecord {
    /// Who records it.
    const SCOPE: Scope;
    /// Its metrics, in the order of [`values`](Self::values).
    const METRICS: &'static [Metric];
    /// The array that [`values`](Self::values) returns, one value per metric.
    type Values: AsRef<[u64]>;

    /// The slice it is about.
    fn slice(&self) -> SliceIndex;
    /// The values of its metrics.
    fn values(&self) -> Self::Values;

    /// Its metrics as a set.
    const METRIC_SET: MetricSet = MetricSet::of(Self::METRICS);
}

impl EmdsRecord for LocalRecord {
    const SCOPE: Scope = Scope::Local;
    const METRICS: &'static [Metric] = &[
        Metric::Letts,
        Metric::Ltdem,
        Metric::Ltmsm,
        Metric::Ltp2p,
        Metric::Ltbbm,
        Metric::Ltrm,
        Metric::Ltts,
        Metric::Np2pdem,
        Metric::Np2pmsm,
        Metric::Ncolldem,
        Metric::Ncollmsm,
        Metric::Bpts,
        Metric::Umts,
        Metric::Ubts,
    ];
    type Values = [u64; 14];

    fn slice(&self) -> SliceIndex {
        self.slice
    }

    fn values(&self) -> [u64; 14] {
        [
            self.letts_ns,
            self.ltdem_ns,
            self.ltmsm_ns,
            self.ltp2p_ns,
            self.ltbbm_ns,
            self.ltrm_ns,
            self.ltts_ns,
            self.np2pdem,
            self.np2pmsm,
            self.ncolldem,
            self.ncollmsm,
            self.bpts,
            self.umts,
            self.ubts,
        ]
    }
}

impl EmdsRecord for GlobalRecord {
    const SCOPE: Scope = Scope::Global;
    const METRICS: &'static [Metric] = &[
        Metric::Getts,
        Metric::Gtdem,
        Metric::Gtmsm,
        Metric::Gtts,
        Metric::Usrts,
        Metric::Usrdem,
        Metric::Usrmsm,
    ];
    type Values = [u64; 7];

    fn slice(&self) -> SliceIndex {
        self.slice
    }

    fn values(&self) -> [u64; 7] {
        [self.getts_ns, self.gtdem_ns, self.gtmsm_ns, self.gtts_ns, self.usrts, self.usrdem, self.usrmsm]
    }
}
