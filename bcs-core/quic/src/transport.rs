//! How QUIC is set for a cluster: short round trips, much bandwidth, few losses.
//!
//! Datagrams are as large as the path takes. The kernel knows what the first link of the path takes; that
//! size is tried, and half of it, so that a path with a narrower link further on gets along too. Trying costs
//! the receiver some nanoseconds for each byte of padding, so no more sizes are tried than these.

use super::options::QuicOptions;
use super::socket;
use bcs_fabric::{BindError, Silence};
use quinn_proto::congestion::CubicConfig;
use quinn_proto::{AckFrequencyConfig, IdleTimeout, MtuDiscoveryConfig, TransportConfig, VarInt};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// What a round trip is taken for before one was measured: it decides how soon a lost first datagram is
/// repeated.
const INITIAL_ROUND_TRIP: Duration = Duration::from_millis(5);

/// How many bytes may be under way before anything is known about the path.
const INITIAL_WINDOW_BYTES: u64 = 256 * 1024;

/// Every so many datagrams are acknowledged at once, and each of them within a time.
const ACKNOWLEDGE_EVERY: u8 = 8;
const ACKNOWLEDGE_WITHIN: Duration = Duration::from_millis(5);

/// The size of datagrams that every path takes.
pub const LEAST_DATAGRAM_BYTES: u16 = 1200;

/// The bounds of a window: a fragment and more, and what QUIC can say.
const WINDOW_BYTES: std::ops::RangeInclusive<u32> = 1 << 16..=1 << 30;

/// The settings for paths of all sizes.
#[derive(Debug)]
pub struct Transports {
    keep_alive: Duration,
    /// QUIC's own: none where hosts are asked (`host`).
    idle_timeout: Option<IdleTimeout>,
    window_bytes: u32,
    datagram_bytes: u16,
    /// By the address at the other end.
    paths: HashMap<IpAddr, u16>,
    /// By the size of datagrams.
    settings: HashMap<u16, Arc<TransportConfig>>,
}

impl Transports {
    /// Checks the options that concern it.
    ///
    /// # Errors
    /// One cannot be.
    pub fn new(options: &QuicOptions) -> Result<Self, BindError> {
        let QuicOptions { keep_alive, window_bytes, datagram_bytes, .. } = *options;
        let refused = |option, value: &dyn std::fmt::Debug, why| {
            Err(BindError::Option { option, value: format!("{value:?}"), why })
        };
        let idle_timeout = match IdleTimeout::try_from(options.idle_timeout) {
            Ok(timeout) if options.idle_timeout >= Duration::from_millis(1) => timeout,
            _ => return refused("idle_timeout", &options.idle_timeout, "at least 1 ms"),
        };
        if keep_alive.is_zero() || keep_alive >= options.idle_timeout {
            return refused("keep_alive", &keep_alive, "above zero, and shorter than the idle timeout");
        }
        if !(LEAST_DATAGRAM_BYTES..=65_527).contains(&datagram_bytes) {
            return refused("datagram_bytes", &datagram_bytes, "1200 to 65527");
        }
        if !WINDOW_BYTES.contains(&window_bytes) {
            return refused("window_bytes", &window_bytes, "64 KiB to 1 GiB");
        }
        let idle_timeout = (options.silence == Silence::Fabric).then_some(idle_timeout);
        let (paths, settings) = (HashMap::new(), HashMap::new());
        Ok(Self { keep_alive, idle_timeout, window_bytes, datagram_bytes, paths, settings })
    }

    /// The settings for the path to an address of the roster.
    pub fn for_member(&mut self, address: SocketAddr) -> Arc<TransportConfig> {
        // A path that the kernel does not know takes what every path takes.
        let path = || socket::path_datagram_bytes(address).unwrap_or(LEAST_DATAGRAM_BYTES);
        let bytes = *self.paths.entry(address.ip()).or_insert_with(path);
        self.with_datagrams_of(bytes.clamp(LEAST_DATAGRAM_BYTES, self.datagram_bytes))
    }

    /// The settings for any other path: nothing is looked up or kept for it.
    pub fn for_stranger(&mut self) -> Arc<TransportConfig> {
        self.with_datagrams_of(LEAST_DATAGRAM_BYTES)
    }

    fn with_datagrams_of(&mut self, bytes: u16) -> Arc<TransportConfig> {
        if let Some(settings) = self.settings.get(&bytes) {
            return settings.clone();
        }
        let settings = Arc::new(self.make(bytes));
        self.settings.insert(bytes, settings.clone());
        settings
    }

    fn make(&self, datagram_bytes: u16) -> TransportConfig {
        let mut discovery = MtuDiscoveryConfig::default();
        // QUIC tries the middle between the least and the most, and goes on until what it could win is less
        // than this: with three eighths of the distance it tries the most next, and then no more.
        let distance = datagram_bytes - LEAST_DATAGRAM_BYTES;
        discovery.upper_bound(datagram_bytes).minimum_change((distance / 8 * 3).max(1));
        let mut acknowledgements = AckFrequencyConfig::default();
        acknowledgements
            .ack_eliciting_threshold(ACKNOWLEDGE_EVERY.into())
            .max_ack_delay(Some(ACKNOWLEDGE_WITHIN));
        let mut congestion = CubicConfig::default();
        congestion.initial_window(INITIAL_WINDOW_BYTES);
        let mut transport = TransportConfig::default();
        transport
            .max_concurrent_bidi_streams(0u8.into())
            .max_concurrent_uni_streams(2u8.into())
            .datagram_receive_buffer_size(None)
            .stream_receive_window(self.window_bytes.into())
            // The streams' windows bound what a connection keeps; bulk must not use up what control needs.
            .receive_window(VarInt::MAX)
            .send_window(u64::MAX)
            .max_idle_timeout(self.idle_timeout)
            .keep_alive_interval(Some(self.keep_alive))
            .initial_rtt(INITIAL_ROUND_TRIP)
            .mtu_discovery_config((distance > 0).then_some(discovery))
            .ack_frequency_config(Some(acknowledgements))
            .congestion_controller_factory(Arc::new(congestion));
        transport
    }
}
