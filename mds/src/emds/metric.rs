//! The metrics of tables 5.1 and 5.2: their names, sets of them, and one slice's record of them. Times in
//! nanoseconds.

use super::scope::Scope;
use bcs_core::SliceIndex;
use std::fmt;

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

macro_rules! metrics {
    ($(
        $(#[$about:meta])+
        $record:ident $scope:ident { $($variant:ident $field:ident $name:literal $unit:literal $doc:literal)+ }
    )+) => {
        /// A metric of EMDS (paper, tables 5.1 and 5.2; UMTS and UBTS are not in them).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Metric {
            $($(#[doc = concat!($name, ": ", $doc)] $variant,)+)+
        }

        impl Metric {
            /// Every metric; the local ones, then the global ones.
            pub const ALL: &[Self] = &[$($(Self::$variant,)+)+];

            /// The metric's name in the paper.
            pub const fn name(self) -> &'static str {
                match self { $($(Self::$variant => $name,)+)+ }
            }

            /// What it means, in a line.
            pub const fn meaning(self) -> &'static str {
                match self { $($(Self::$variant => $doc,)+)+ }
            }

            /// The unit of its values: `ns`, or empty for a count.
            pub const fn unit(self) -> &'static str {
                match self { $($(Self::$variant => $unit,)+)+ }
            }

            /// Whether it is recorded on every node or once for all.
            pub const fn scope(self) -> Scope {
                match self { $($(Self::$variant)|+ => Scope::$scope,)+ }
            }
        }

        $(
            $(#[$about])+
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
            pub struct $record {
                /// The slice.
                pub slice: SliceIndex,
                $(#[doc = concat!($name, ": ", $doc)] pub $field: u64,)+
            }

            impl EmdsRecord for $record {
                const SCOPE: Scope = Scope::$scope;
                const METRICS: &'static [Metric] = &[$(Metric::$variant,)+];
                type Values = [u64; Self::METRICS.len()];

                fn slice(&self) -> SliceIndex {
                    self.slice
                }

                fn values(&self) -> Self::Values {
                    [$(self.$field,)+]
                }
            }
        )+
    };
}

// The order is that of the words in a record of the ring.
metrics! {
    /// What one node did in one slice, gathered by its Strobe Receiver (paper, table 5.2).
    LocalRecord Local {
        Letts    letts_ns "LETTS"    "ns" "time since the previous slice began on the node"
        Ltdem    ltdem_ns "LTDEM"    "ns" "time of the descriptor exchange microphase on the node"
        Ltmsm    ltmsm_ns "LTMSM"    "ns" "time of the message scheduling microphase on the node"
        Ltp2p    ltp2p_ns "LTP2P"    "ns" "time of the point-to-point microphase on the node (routine DH)"
        Ltbbm    ltbbm_ns "LTBBM"    "ns" "time of the broadcast and barrier microphase on the node (routine CH)"
        Ltrm     ltrm_ns  "LTRM"     "ns" "time of the reduce microphase on the node (routine RH)"
        Ltts     ltts_ns  "LTTS"     "ns" "time to complete the slice on the node"
        Np2pdem  np2pdem  "NP2PDEM"  ""   "point-to-point descriptors processed in descriptor exchange"
        Np2pmsm  np2pmsm  "NP2PMSM"  ""   "point-to-point operations scheduled in message scheduling"
        Ncolldem ncolldem "NCOLLDEM" ""   "collective descriptors processed in descriptor exchange"
        Ncollmsm ncollmsm "NCOLLMSM" ""   "collective operations scheduled in message scheduling"
        Bpts     bpts     "BPTS"     ""   "processes of the node blocked during the slice"
        Umts     umts     "UMTS"     ""   "messages without a receive in the pools of the node's processes"
        Ubts     ubts     "UBTS"     ""   "bytes that these take up"
    }
    /// What the Strobe Sender saw of one slice (paper, table 5.1).
    GlobalRecord Global {
        Getts    getts_ns "GETTS"    "ns" "time since the previous slice began, at the strobe sender"
        Gtdem    gtdem_ns "GTDEM"    "ns" "time until descriptor exchange was over on all nodes"
        Gtmsm    gtmsm_ns "GTMSM"    "ns" "time until message scheduling was over on all nodes"
        Gtts     gtts_ns  "GTTS"     "ns" "time until the slice was complete on all nodes"
        Usrts    usrts    "USRTS"    ""   "unsuccessful synchronisation retries before the slice was over"
        Usrdem   usrdem   "USRDEM"   ""   "unsuccessful synchronisation retries before descriptor exchange was over"
        Usrmsm   usrmsm   "USRMSM"   ""   "unsuccessful synchronisation retries before message scheduling was over"
    }
}

impl Metric {
    /// The metric of that name, whatever its case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|m| m.name().eq_ignore_ascii_case(name))
    }

    /// The name of its column in files and tables: the name in lower case, and the unit.
    pub fn column(self) -> String {
        let name = self.name().to_ascii_lowercase();
        if self.unit().is_empty() { name } else { format!("{name}_{}", self.unit()) }
    }

    const fn bit(self) -> u32 {
        1 << self as u8
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A set of metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub struct MetricSet(u32);

impl MetricSet {
    /// Every metric.
    pub const ALL: Self = Self((1 << Metric::ALL.len()) - 1);

    /// Whether `metric` is in the set.
    pub const fn contains(self, metric: Metric) -> bool {
        self.0 & metric.bit() != 0
    }

    /// How many metrics are in the set.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether no metric is in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The metrics, in the order of [`Metric::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Metric> {
        Metric::ALL.iter().copied().filter(move |m| self.contains(*m))
    }

    /// The set as a word of NIC memory.
    pub(super) const fn to_word(self) -> u64 {
        self.0 as u64
    }

    /// The set of a word; `None` if it has bits of no metric.
    pub(super) fn from_word(word: u64) -> Option<Self> {
        u32::try_from(word).ok().map(Self).filter(|s| s.0 & !Self::ALL.0 == 0)
    }

    /// The metrics that are in both.
    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The set of `metrics`, as a constant.
    pub(super) const fn of(metrics: &[Metric]) -> Self {
        let mut bits = 0;
        let mut i = 0;
        while i < metrics.len() {
            bits |= metrics[i].bit();
            i += 1;
        }
        Self(bits)
    }
}

impl FromIterator<Metric> for MetricSet {
    fn from_iter<T: IntoIterator<Item = Metric>>(metrics: T) -> Self {
        Self(metrics.into_iter().fold(0, |bits, m| bits | m.bit()))
    }
}

const _: () = assert!(Metric::ALL.len() <= 31, "a set of metrics is a u32, and ALL shifts by their number");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_of_the_papers_tables_is_there() {
        let tables = "GETTS GTDEM GTMSM GTTS USRTS USRDEM USRMSM \
                      LETTS LTDEM LTMSM LTTS NP2PDEM NP2PMSM NCOLLDEM NCOLLMSM BPTS LTP2P LTBBM LTRM";
        let others = "UMTS UBTS";
        let names = tables.split_whitespace().chain(others.split_whitespace());
        let found: MetricSet = names.map(|n| Metric::from_name(n).expect(n)).collect();
        assert_eq!(found, MetricSet::ALL);
        assert_eq!(Metric::from_name("LTFOO"), None);
    }

    #[test]
    fn a_word_with_bits_of_no_metric_is_no_set() {
        assert_eq!(MetricSet::from_word(MetricSet::ALL.to_word()), Some(MetricSet::ALL));
        assert_eq!(MetricSet::from_word(1 << Metric::ALL.len()), None);
        assert_eq!(MetricSet::from_word(1 << 40), None);
    }
}
