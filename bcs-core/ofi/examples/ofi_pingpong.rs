//! What messages and puts cost over libfabric, and over `bcs-tcp` beside it, over loopback.
//!
//! `cargo run --release -p bcs-ofi --example ofi_pingpong -- [NETWORK..]`: a network is `tcp` (sealed),
//! `plain` (TCP without a seal) or a provider of libfabric, such as `tcp;ofi_rxm` or `shm`. Two nodes, a
//! thread each, which poll. Compare numbers of one run only.

use bcs_core::{EventId, EventTable, GlobalAddress, NodeId, NodeSet};
use bcs_credentials::{Credential, mint};
use bcs_fabric::{DrivenRoad, FabricError, Source};
use bcs_ofi::{Member, NetworkId, OfiOptions, OfiPort};
use bcs_quic::map_memory;
use bcs_tcp::{TcpOptions, TcpPort};
use std::error::Error;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const MEMORY_BYTES: u64 = 4 << 20;
const LOCAL: EventId = EventId(0);
const REMOTE: EventId = EventId(1);
const LARGE: usize = 1 << 20;

#[allow(clippy::disallowed_methods)]
fn now() -> Instant {
    Instant::now()
}

/// Both nodes of a network.
fn start(network: &str) -> Result<[Box<dyn DrivenRoad>; 2]> {
    let names = ["a", "b"];
    let credentials = mint("pingpong", names)?;
    let options = |credential: Credential| TcpOptions {
        seal: network != "plain",
        spin: Duration::from_secs(1),
        ..TcpOptions::new(NetworkId(1), credential, ADDRESS)
    };
    let member = |name: &str, address: std::net::SocketAddr| Member { name: name.to_owned(), address };
    let mut nodes: Vec<Box<dyn DrivenRoad>> = Vec::new();
    if matches!(network, "tcp" | "plain") {
        let bind = |credential| TcpPort::bind(options(credential));
        let ports = credentials.into_iter().map(bind).collect::<std::result::Result<Vec<_>, _>>()?;
        let roster: Vec<_> =
            names.iter().zip(&ports).map(|(name, port)| member(name, port.local_address())).collect();
        for port in ports {
            nodes.push(Box::new(port.connect(
                roster.clone(),
                map_memory(MEMORY_BYTES)?,
                EventTable::new(2),
            )?));
        }
    } else {
        let bind = |credential: Credential| {
            let links = options(credential.clone());
            let provider = Some(network.to_owned());
            OfiPort::bind(OfiOptions {
                links,
                ..OfiOptions::new(NetworkId(1), credential, ADDRESS, provider)
            })
        };
        let ports = credentials.into_iter().map(bind).collect::<std::result::Result<Vec<_>, _>>()?;
        let roster: Vec<_> =
            names.iter().zip(&ports).map(|(name, port)| member(name, port.local_address())).collect();
        for port in ports {
            nodes.push(Box::new(port.connect(
                roster.clone(),
                map_memory(MEMORY_BYTES)?,
                EventTable::new(2),
            )?));
        }
    }
    let all = NodeSet::all(2);
    nodes.iter_mut().for_each(|node| node.begin_connect(&all));
    while nodes.iter().any(|node| !node.unconnected().is_empty()) {
        nodes.iter_mut().try_for_each(|node| node.progress())?;
    }
    nodes.try_into().map_err(|_| "a network of two nodes has two".into())
}

/// Sends a record, as soon as there is room for it.
fn send(node: &mut dyn DrivenRoad, to: NodeId, record: &[u8]) -> Result<()> {
    loop {
        match node.send(to, &[record]) {
            Ok(()) => return Ok(()),
            Err(FabricError::Busy { .. }) => node.progress()?,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits for so many records, which are all that are under way.
fn receive(node: &mut dyn DrivenRoad, records: usize) -> Result<()> {
    let mut seen = 0;
    while seen < records {
        seen += node.poll(&mut |_, record| {
            std::hint::black_box(record);
        })?;
    }
    Ok(())
}

fn put(node: &mut dyn DrivenRoad, to: NodeId, bytes: &[u8]) -> Result<()> {
    let to = NodeSet::single(to);
    Ok(node.xfer_and_signal(Source::Bytes(bytes), &to, GlobalAddress(64), Some(LOCAL), Some(REMOTE))?)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

const ROUNDS: usize = 1000;
const TRANSFERS: usize = 100;
const WARM_UP: usize = 50;

/// What the first node does; the answers of the second one are below.
fn measure(network: &str) -> Result<()> {
    let [mut a, mut b] = start(network)?;
    let (first, second) = (NodeId(0), NodeId(1));
    let chunk = a.record_bytes().min(64 << 10);
    let large = vec![7; LARGE];
    std::thread::scope(|scope| {
        let other = scope.spawn(move || -> Result<()> {
            for _ in 0..ROUNDS + WARM_UP {
                receive(&mut *b, 1)?;
                send(&mut *b, first, &[2; 8])?;
            }
            for _ in 0..ROUNDS + WARM_UP {
                b.wait_event(REMOTE)?;
                put(&mut *b, first, &[2; 8])?;
            }
            receive(&mut *b, TRANSFERS * LARGE.div_ceil(chunk))?;
            send(&mut *b, first, &[])?;
            b.wait_event(REMOTE)?;
            b.leave(Duration::from_secs(5));
            Ok(())
        });
        let round = |act: &mut dyn FnMut() -> Result<()>| -> Result<f64> {
            let began = now();
            act()?;
            Ok(began.elapsed().as_secs_f64() * 1e6 / 2.0)
        };
        let mut records = Vec::new();
        for _ in 0..ROUNDS + WARM_UP {
            records.push(round(&mut || {
                send(&mut *a, second, &[1; 8])?;
                receive(&mut *a, 1)
            })?);
        }
        let mut puts = Vec::new();
        for _ in 0..ROUNDS + WARM_UP {
            puts.push(round(&mut || {
                put(&mut *a, second, &[1; 8])?;
                a.wait_event(REMOTE).map(drop).map_err(Into::into)
            })?);
        }
        let began = now();
        for _ in 0..TRANSFERS {
            large.chunks(chunk).try_for_each(|record| send(&mut *a, second, record))?;
        }
        receive(&mut *a, 1)?;
        let rate = (TRANSFERS * LARGE) as f64 / began.elapsed().as_secs_f64() / 1e9;
        put(&mut *a, second, &[])?;
        a.leave(Duration::from_secs(5));
        other.join().map_err(|_| "the other node's thread failed")??;
        println!(
            "{network:<14} 8 bytes one way: a record {:>6.1} us, a put {:>6.1} us (medians of {ROUNDS}); 1 MB in records of {chunk} bytes: {rate:.2} GB/s",
            median(records),
            median(puts),
        );
        Ok(())
    })
}

fn main() -> Result<()> {
    let mut networks: Vec<String> = std::env::args().skip(1).collect();
    if networks.is_empty() {
        networks = ["tcp", "plain", "tcp;ofi_rxm", "net", "shm"].map(str::to_owned).into();
    }
    networks.iter().try_for_each(|network| measure(network))
}
