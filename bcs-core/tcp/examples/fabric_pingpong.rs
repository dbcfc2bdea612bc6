//! What the fabrics over real networks cost, over loopback: latency, Compare-And-Write, bandwidth, records,
//! processor time a message.
//!
//! `cargo run --release -p bcs-tcp --example fabric_pingpong -- [NETWORK [MICROSECONDS [PART]]]`: the network
//! is `tcp`, `plain` (TCP without a seal) or `quic`. A node polls for so many microseconds before it sleeps.
//! The part is `set-up`, `latency`, `rate`, `puts`, `queries`, `bandwidth` or `road` (QUIC has no road of its
//! own). Every line says how its number came about; compare numbers of one run only. In a network namespace
//! with the MTU `M`: `unshare --net sh -c 'ip link set lo mtu M up && PROGRAM tcp 200 bandwidth'`.

use bcs_core::{EventId, EventTable, GlobalAddress, GlobalVariable, NodeId, NodeSet};
use bcs_credentials as credentials;
use bcs_credentials::Credential;
use bcs_fabric::{Comparison, Condition, Driven, Fabric, Road, Source};
use bcs_quic::{MappedMemory, QuicFabric, QuicOptions, QuicPort, map_memory};
use bcs_tcp::{Member, NetworkId, TcpFabric, TcpOptions, TcpPort};
use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const MEMORY_BYTES: u64 = 1 << 20;
const LOCAL: EventId = EventId(0);
const REMOTE: EventId = EventId(1);
const STOP: EventId = EventId(2);
const AT: GlobalAddress = GlobalAddress(64);

/// A network over which it is measured.
trait Network: Driven + Sized {
    /// The networks of so many nodes, by number.
    fn join(credentials: Vec<Credential>, memory_bytes: u64, spin: Duration) -> Result<Vec<Self>>;

    /// Messages that were sent, and frames or datagrams.
    fn sent(&self) -> (u64, u64);
}

/// Joins bound ports to one network.
fn join<P, F>(
    names: Vec<String>,
    ports: Vec<P>,
    address: impl Fn(&P) -> SocketAddr,
    connect: impl Fn(P, Vec<Member>) -> Result<F>,
) -> Result<Vec<F>> {
    let member = |(name, port): (String, &P)| Member { name, address: address(port) };
    let roster: Vec<Member> = names.into_iter().zip(&ports).map(member).collect();
    ports.into_iter().map(|port| connect(port, roster.clone())).collect()
}

/// Whether frames of TCP are sealed.
static SEAL: AtomicBool = AtomicBool::new(true);

const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

impl Network for TcpFabric<MappedMemory> {
    fn join(credentials: Vec<Credential>, memory_bytes: u64, spin: Duration) -> Result<Vec<Self>> {
        let names = credentials.iter().map(Credential::name).collect();
        let seal = SEAL.load(Ordering::Relaxed);
        let bind = |credential| {
            let options = TcpOptions::new(NetworkId(1), credential, ADDRESS);
            Ok(TcpPort::bind(TcpOptions { spin, seal, ..options })?)
        };
        let ports = credentials.into_iter().map(bind).collect::<Result<_>>()?;
        join(names, ports, TcpPort::local_address, |port, roster| {
            Ok(port.connect(roster, map_memory(memory_bytes)?, EventTable::new(4))?)
        })
    }

    fn sent(&self) -> (u64, u64) {
        let statistics = self.statistics();
        (statistics.messages.sent, statistics.frames_sent)
    }
}

impl Network for QuicFabric<MappedMemory> {
    fn join(credentials: Vec<Credential>, memory_bytes: u64, spin: Duration) -> Result<Vec<Self>> {
        let names = credentials.iter().map(Credential::name).collect();
        let bind = |credential| {
            let options = QuicOptions::new(NetworkId(1), credential, ADDRESS);
            Ok(QuicPort::bind(QuicOptions { spin, ..options })?)
        };
        let ports = credentials.into_iter().map(bind).collect::<Result<_>>()?;
        join(names, ports, QuicPort::local_address, |port, roster| {
            Ok(port.connect(roster, map_memory(memory_bytes)?, EventTable::new(4))?)
        })
    }

    fn sent(&self) -> (u64, u64) {
        let statistics = self.statistics();
        (statistics.messages.sent, statistics.socket.sent)
    }
}

/// A network of nodes in this process, all links up.
fn start<F: Network>(nodes: u32, memory_bytes: u64, spin: Duration) -> Result<Vec<F>> {
    let names: Vec<String> = (0..nodes).map(|node| format!("node-{node}")).collect();
    let credentials = credentials::mint("pingpong", names.iter().map(String::as_str))?;
    let mut fabrics = F::join(credentials, memory_bytes, spin)?;
    let all = NodeSet::all(nodes);
    fabrics.iter_mut().for_each(|fabric| fabric.begin_connect(&all));
    while fabrics.iter().any(|fabric| !fabric.unconnected().is_empty()) {
        fabrics.iter_mut().try_for_each(Fabric::progress)?;
    }
    Ok(fabrics)
}

/// The processor time that this process has used.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[allow(clippy::disallowed_methods)]
fn now() -> Instant {
    Instant::now()
}

fn microseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn messages(fabrics: &[impl Network]) -> u64 {
    fabrics.iter().map(|fabric| fabric.sent().0).sum()
}

fn put(
    fabric: &mut impl Fabric,
    bytes: &[u8],
    to: u32,
    event: Option<EventId>,
    remote: EventId,
) -> Result<()> {
    Ok(fabric.xfer_and_signal(Source::Bytes(bytes), &NodeSet::single(NodeId(to)), AT, event, Some(remote))?)
}

/// Ends the other node, whose thread waits for that, and leaves its network.
fn stop(fabric: &mut impl Driven, other: ScopedJoinHandle<'_, Result<()>>) -> Result<()> {
    put(fabric, &[], 1, Some(LOCAL), STOP)?;
    fabric.wait_event(LOCAL)?;
    fabric.leave(Duration::from_secs(5));
    other.join().map_err(|_| "the other node's thread failed")?
}

/// Two nodes, a thread each: half a round trip of 8-byte puts.
fn latency<F: Network>(spin: Duration) -> Result<()> {
    const ROUNDS: usize = 3000;
    let mut fabrics = start::<F>(2, MEMORY_BYTES, spin)?;
    let (Some(mut b), Some(mut a)) = (fabrics.pop(), fabrics.pop()) else { return Ok(()) };
    let (processor, began) = (processor_time(), now());
    let (rounds, (elapsed, processor), frames) = std::thread::scope(|scope| {
        let other = scope.spawn(move || -> Result<()> {
            for _ in 0..ROUNDS {
                b.wait_event(REMOTE)?;
                put(&mut b, &[1; 8], 0, None, REMOTE)?;
            }
            b.wait_event(STOP)?;
            b.leave(Duration::from_secs(5));
            Ok(())
        });
        let (mut rounds, before) = (Vec::new(), a.sent().1);
        for _ in 0..ROUNDS {
            let began = now();
            put(&mut a, &[1; 8], 1, None, REMOTE)?;
            a.wait_event(REMOTE)?;
            rounds.push(microseconds(began.elapsed()) / 2.0);
        }
        let used = (began.elapsed(), processor_time() - processor);
        let frames = a.sent().1 - before;
        put(&mut a, &[1; 8], 1, Some(LOCAL), STOP)?;
        a.wait_event(LOCAL)?;
        a.leave(Duration::from_secs(5));
        other.join().map_err(|_| "the other node's thread failed")??;
        Result::Ok((rounds, used, frames))
    })?;
    println!(
        "8-byte put, one way, a thread a node, {:>5.0} us of polling: {:>7.1} us (median); {:>5.1} us of processor time a put, {:.1} frames, {:.0} % busy",
        microseconds(spin),
        median(rounds),
        microseconds(processor) / (2 * ROUNDS) as f64,
        frames as f64 / ROUNDS as f64,
        100.0 * processor.as_secs_f64() / elapsed.as_secs_f64()
    );
    Ok(())
}

/// All nodes driven by one thread, so that its time is the processor time of all: a put and its
/// acknowledgement.
fn cost_of_puts<F: Network>() -> Result<()> {
    const ROUNDS: usize = 5000;
    let mut fabrics = start::<F>(2, MEMORY_BYTES, Duration::ZERO)?;
    for burst in [1, 16] {
        let (before, began) = (messages(&fabrics), processor_time());
        for _ in 0..ROUNDS / burst {
            for _ in 0..burst {
                put(&mut fabrics[0], &[1; 8], 1, Some(LOCAL), REMOTE)?;
            }
            let mut complete = 0;
            while complete < burst as u32 {
                fabrics.iter_mut().try_for_each(Fabric::progress)?;
                complete += fabrics[0].test_event(LOCAL)?;
            }
        }
        let (took, sent) = (processor_time() - began, messages(&fabrics) - before);
        println!(
            "8-byte put and its completion, {burst:>2} at a time, one thread: {:>6.1} us of processor time a put, {:.2} us a message",
            microseconds(took) / (ROUNDS / burst * burst) as f64,
            microseconds(took) / sent as f64
        );
    }
    Ok(())
}

/// A round that finds nothing to do.
fn cost_of_idle_rounds<F: Network>() -> Result<()> {
    const ROUNDS: u32 = 200_000;
    let mut fabrics = start::<F>(2, MEMORY_BYTES, Duration::ZERO)?;
    let began = processor_time();
    for _ in 0..ROUNDS {
        fabrics[0].progress()?;
    }
    let took = processor_time() - began;
    println!(
        "a round that finds nothing: {:.2} us of processor time",
        microseconds(took) / f64::from(ROUNDS)
    );
    Ok(())
}

/// All nodes driven by one thread: a Compare-And-Write over all of them.
fn compare_and_write<F: Network>(nodes: u32) -> Result<()> {
    const ROUNDS: usize = 1500;
    let mut fabrics = start::<F>(nodes, MEMORY_BYTES, Duration::ZERO)?;
    let variable = GlobalVariable::at(AT)?;
    let comparison = Comparison { variable, condition: Condition::Equal, value: 0 };
    let all = NodeSet::all(nodes);
    let (before, began) = (messages(&fabrics), processor_time());
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let began = now();
        let ticket = fabrics[0].compare_and_write(&all, comparison, None)?;
        let answer = loop {
            fabrics.iter_mut().try_for_each(Fabric::progress)?;
            if let Some(answer) = fabrics[0].test_query(ticket) {
                break answer?;
            }
        };
        assert!(answer, "the comparison holds");
        rounds.push(microseconds(began.elapsed()));
    }
    let (took, sent) = (processor_time() - began, messages(&fabrics) - before);
    println!(
        "Compare-And-Write over {nodes:>2} nodes, one thread for all: {:>7.1} us (median); {:>5.2} us of processor time a message",
        median(rounds),
        microseconds(took) / sent as f64
    );
    Ok(())
}

/// Two nodes, a thread each, both polling: windows of puts of 8 bytes, one window complete before the next
/// begins.
fn rate<F: Network>() -> Result<()> {
    const WINDOW: usize = 64;
    const ROUNDS: usize = 500;
    let data = [1; 8];
    let (times, processor) = windows::<F>(&data, WINDOW, ROUNDS)?;
    println!(
        "8-byte put, {WINDOW} at a time, a thread a node: {:>5.2} M/s (median); {:.2} us of processor time a put",
        WINDOW as f64 / median(times) / 1e6,
        microseconds(processor) / (WINDOW * ROUNDS) as f64
    );
    Ok(())
}

/// Two nodes, a thread each, both polling: windows of puts of a size, one window complete before the next
/// begins.
fn bandwidth<F: Network>(bytes: usize, window: usize, rounds: usize) -> Result<()> {
    let (times, processor) = windows::<F>(&vec![0x5a; bytes], window, rounds)?;
    println!(
        "put of {:>5} KiB, {window:>2} at a time, a thread a node: {:>8.1} MB/s (median); {:.2} ns of processor time a byte",
        bytes >> 10,
        (bytes * window) as f64 / median(times) / 1e6,
        processor.as_secs_f64() * 1e9 / (bytes * window * rounds) as f64
    );
    Ok(())
}

/// The seconds that each window took, and the processor time of all.
fn windows<F: Network>(data: &[u8], window: usize, rounds: usize) -> Result<(Vec<f64>, Duration)> {
    let mut fabrics = start::<F>(2, data.len() as u64 + MEMORY_BYTES, Duration::from_millis(1))?;
    let (Some(mut b), Some(mut a)) = (fabrics.pop(), fabrics.pop()) else {
        return Ok((Vec::new(), Duration::ZERO));
    };
    let processor = processor_time();
    let times: Vec<f64> = std::thread::scope(|scope| {
        let other = scope.spawn(move || -> Result<()> {
            b.wait_event(STOP)?;
            b.leave(Duration::from_secs(5));
            Ok(())
        });
        let mut times = Vec::new();
        for _ in 0..rounds {
            let began = now();
            for _ in 0..window {
                put(&mut a, data, 1, Some(LOCAL), REMOTE)?;
            }
            let mut complete = 0;
            while complete < window as u32 {
                complete += a.wait_event(LOCAL)?;
            }
            times.push(began.elapsed().as_secs_f64());
        }
        stop(&mut a, other)?;
        Result::Ok(times)
    })?;
    Ok((times, processor_time() - processor))
}

/// Two nodes, a thread each, both polling: half a round trip of records by the road.
fn road_latency(bytes: usize, rounds: usize) -> Result<()> {
    let mut fabrics = start::<TcpFabric<MappedMemory>>(2, MEMORY_BYTES, Duration::ZERO)?;
    let (Some(mut b), Some(mut a)) = (fabrics.pop(), fabrics.pop()) else { return Ok(()) };
    let record = vec![1; bytes];
    let pass = |fabric: &mut TcpFabric<MappedMemory>, to: u32| -> Result<()> {
        while let Err(busy) = fabric.send(NodeId(to), &[&record]) {
            if !matches!(busy, bcs_fabric::FabricError::Busy { .. }) {
                return Err(busy.into());
            }
            fabric.progress()?;
        }
        Ok(())
    };
    let times = std::thread::scope(|scope| {
        let other = scope.spawn(|| -> Result<()> {
            for _ in 0..rounds {
                while b.poll(&mut |_, _| ())? == 0 {}
                pass(&mut b, 0)?;
            }
            b.wait_event(STOP)?;
            b.leave(Duration::from_secs(5));
            Ok(())
        });
        let mut times = Vec::new();
        for _ in 0..rounds {
            let began = now();
            pass(&mut a, 1)?;
            while a.poll(&mut |_, _| ())? == 0 {}
            times.push(microseconds(began.elapsed()) / 2.0);
        }
        stop(&mut a, other)?;
        Result::Ok(times)
    })?;
    let best = times.iter().copied().fold(f64::MAX, f64::min);
    println!(
        "record of {bytes:>5} B, one way, a thread a node, both polling: {:>7.1} us (median), {best:.1} (best)",
        median(times)
    );
    Ok(())
}

/// What it takes to mint the keys of a network, and to bring up its links.
fn set_up<F: Network>() -> Result<()> {
    const NODES: usize = 16;
    let names: Vec<String> = (0..NODES).map(|node| format!("node-{node}")).collect();
    let began = now();
    credentials::mint("job", names.iter().map(String::as_str))?;
    let minted = began.elapsed();
    let began = now();
    drop(start::<F>(NODES as u32, MEMORY_BYTES, Duration::ZERO)?);
    let links = NODES * (NODES - 1) / 2;
    println!(
        "keys of {NODES} nodes: {:.1} ms; {links} links up, one thread: {:.1} ms, {:.2} ms a link",
        minted.as_secs_f64() * 1e3,
        began.elapsed().as_secs_f64() * 1e3,
        began.elapsed().as_secs_f64() * 1e3 / links as f64
    );
    Ok(())
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let network = arguments.first().map_or("tcp", String::as_str);
    let spin = Duration::from_micros(arguments.get(1).map_or(Ok(200), |argument| argument.parse())?);
    let is_wanted = |part: &str| arguments.get(2).is_none_or(|wanted| wanted == part);
    match network {
        "quic" => return measure::<QuicFabric<MappedMemory>>(spin, is_wanted),
        "tcp" | "plain" => SEAL.store(network == "tcp", Ordering::Relaxed),
        other => return Err(format!("'{other}' is no network: write tcp, plain or quic").into()),
    }
    measure::<TcpFabric<MappedMemory>>(spin, is_wanted)?;
    if is_wanted("road") {
        road_latency(8, 20_000)?;
        road_latency(64 << 10, 4000)?;
    }
    Ok(())
}

fn measure<F: Network>(spin: Duration, is_wanted: impl Fn(&str) -> bool) -> Result<()> {
    if is_wanted("set-up") {
        set_up::<F>()?;
    }
    if is_wanted("latency") {
        latency::<F>(Duration::ZERO)?;
        latency::<F>(spin)?;
    }
    if is_wanted("rate") {
        rate::<F>()?;
    }
    if is_wanted("puts") {
        cost_of_puts::<F>()?;
        cost_of_idle_rounds::<F>()?;
    }
    if is_wanted("queries") {
        for nodes in [2, 4, 8, 16] {
            compare_and_write::<F>(nodes)?;
        }
    }
    if is_wanted("bandwidth") {
        bandwidth::<F>(64 << 10, 16, 400)?;
        bandwidth::<F>(1 << 20, 1, 400)?;
        bandwidth::<F>(4 << 20, 1, 100)?;
    }
    Ok(())
}
