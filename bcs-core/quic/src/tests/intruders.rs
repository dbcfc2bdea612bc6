//! Ends that may not be on the network: each gets a closed connection, and nobody else notices.

use super::super::frame::FrameBatch;
use super::super::socket::Datagram;
use super::*;
use bcs_core::PortRange;
use bcs_core::wire::WireMessage;
use bcs_credentials::Authority;
use bcs_fabric::tree::{Message, OPERATIONS_LIMIT, OperationId, Work};
use connection::CloseCode;
use quinn_proto::crypto::rustls::QuicClientConfig;
use quinn_proto::{ClientConfig, Connection, ConnectionError, ConnectionHandle, DatagramEvent, Dir};
use quinn_proto::{Endpoint, EndpointConfig, Event};
use std::net::UdpSocket;

/// An end that speaks QUIC, and may say whatever it likes.
struct Intruder {
    socket: Socket,
    endpoint: Endpoint,
    handle: ConnectionHandle,
    quic: Connection,
    is_connected: bool,
    lost: Option<ConnectionError>,
    /// Every datagram that it has sent.
    sent: Vec<Vec<u8>>,
    received: u64,
}

impl Intruder {
    fn dial(address: SocketAddr, name: &str, mut config: ClientConfig) -> Self {
        let credential = Authority::new("x").unwrap().issue("x").unwrap();
        let mut transports = Transports::new(&options(0, credential)).unwrap();
        config.transport_config(transports.for_member(address));
        let socket = Socket::new(socket::bind([127, 0, 0, 1].into(), PortRange::ANY).unwrap()).unwrap();
        let mut endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), None, true, None);
        let (handle, quic) = endpoint.connect(driver::now(), config, address, name).unwrap();
        let (is_connected, lost, sent, received) = (false, None, Vec::new(), 0);
        Self { socket, endpoint, handle, quic, is_connected, lost, sent, received }
    }

    fn drive(&mut self) {
        let now = driver::now();
        let mut datagrams = Vec::new();
        self.socket.receive(|datagram| datagrams.push(datagram)).unwrap();
        for Datagram { from, local_ip, ecn, bytes } in datagrams {
            let mut buffer = Vec::new();
            if let Some(DatagramEvent::ConnectionEvent(_, event)) =
                self.endpoint.handle(now, from, local_ip, ecn, bytes, &mut buffer)
            {
                self.quic.handle_event(event);
            }
        }
        if self.quic.poll_timeout().is_some_and(|at| at <= now) {
            self.quic.handle_timeout(now);
        }
        while let Some(event) = self.quic.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(self.handle, event) {
                self.quic.handle_event(event);
            }
        }
        while let Some(event) = self.quic.poll() {
            match event {
                Event::Connected => self.is_connected = true,
                Event::ConnectionLost { reason } => self.lost = Some(reason),
                Event::Stream(_) => self.received += 1,
                _ => {}
            }
        }
        let mut buffer = Vec::new();
        while let Some(transmit) = self.quic.poll_transmit(now, 1, &mut buffer) {
            self.sent.push(buffer.clone());
            self.socket.send(transmit, &buffer);
            buffer.clear();
        }
    }

    /// Sends bytes over its first stream, once it may.
    fn say(&mut self, bytes: &[u8]) {
        let stream = self.quic.streams().open(Dir::Uni).expect("two are allowed");
        assert_eq!(self.quic.send_stream(stream).write(bytes), Ok(bytes.len()));
    }

    /// Drives it and the network until its connection is closed; how.
    fn until_lost(&mut self, ports: &mut [MappedFabric]) -> ConnectionError {
        drive_until(ports, "the intruder's connection is closed", |_| {
            self.drive();
            self.lost.is_some()
        });
        self.lost.clone().unwrap()
    }

    fn until_connected(&mut self, ports: &mut [MappedFabric]) {
        drive_until(ports, "the intruder is connected", |_| {
            self.drive();
            assert_eq!(self.lost, None);
            self.is_connected && self.received > 0
        });
    }
}

/// A network of three, with its authority and a credential of node 3, which has not come.
fn network() -> (Vec<MappedFabric>, Authority, Credential) {
    let authority = Authority::new("test").unwrap();
    let credentials: Vec<Credential> = names(4).iter().map(|name| authority.issue(name).unwrap()).collect();
    let absent = credentials[3].clone();
    let mut ports = start_with(credentials, |_| {}, |addresses| addresses.to_vec());
    ports.pop();
    all_reach_all(&mut ports);
    (ports, authority, absent)
}

fn address(port: &MappedFabric) -> SocketAddr {
    port.socket.local_address().unwrap()
}

fn config(credential: &Credential, network: u128) -> ClientConfig {
    tls::configure(credential, NetworkId(network)).unwrap().client
}

/// A credential of another authority, whose holder knows (and trusts) the certificate of the network's.
fn foreign(network: &Authority, name: &str) -> Credential {
    let trusted = network.issue("any").unwrap().to_pem();
    let trusted = &pem::parse_many(trusted).unwrap()[1];
    let mut blocks = pem::parse_many(Authority::new("test").unwrap().issue(name).unwrap().to_pem()).unwrap();
    blocks[1] = trusted.clone();
    Credential::from_pem(&pem::encode_many(&blocks)).unwrap()
}

fn is_refused_by_tls(lost: &ConnectionError) -> bool {
    matches!(lost, ConnectionError::ConnectionClosed(_) | ConnectionError::TransportError(_))
}

fn was_closed_with(lost: &ConnectionError, code: CloseCode) -> bool {
    matches!(lost, ConnectionError::ApplicationClosed(close) if code.is(close.error_code))
}

/// Nobody is dead, and everything still works.
fn is_unharmed(ports: &mut [MappedFabric]) {
    all_reach_all(ports);
    assert!(ports.iter().all(|port| port.dead().is_empty()));
}

#[test]
fn who_shows_no_certificate_or_one_of_another_authority_gets_a_closed_connection() {
    let (mut ports, authority, member) = network();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(member.authority().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut anonymous = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    anonymous.alpn_protocols = vec![format!("bcs-fabric/1/{}", NetworkId(NETWORK)).into_bytes()];
    let anonymous = ClientConfig::new(Arc::new(QuicClientConfig::try_from(anonymous).unwrap()));
    let foreign = config(&foreign(&authority, "node-3"), NETWORK);
    let before = ports[0].statistics().refused_connections;
    for config in [anonymous, foreign] {
        let mut intruder = Intruder::dial(address(&ports[0]), "node-0", config);
        let lost = intruder.until_lost(&mut ports);
        assert!(is_refused_by_tls(&lost), "{lost:?}");
        assert_eq!(intruder.received, 0, "it was told something");
    }
    assert_eq!(ports[0].statistics().refused_connections - before, 2);
    is_unharmed(&mut ports);
}

#[test]
fn who_belongs_to_another_network_gets_a_closed_connection() {
    let (mut ports, _, member) = network();
    let mut intruder = Intruder::dial(address(&ports[0]), "node-0", config(&member, NETWORK + 1));
    let lost = intruder.until_lost(&mut ports);
    assert!(is_refused_by_tls(&lost) && !intruder.is_connected, "{lost:?}");
    is_unharmed(&mut ports);
}

#[test]
fn who_proves_a_name_that_is_not_in_the_roster_gets_a_closed_connection() {
    let (mut ports, authority, _) = network();
    // A name of nobody, and the name of the node itself.
    for name in ["node-9", "node-0"] {
        let credential = authority.issue(name).unwrap();
        let mut intruder = Intruder::dial(address(&ports[0]), "node-0", config(&credential, NETWORK));
        let lost = intruder.until_lost(&mut ports);
        assert!(was_closed_with(&lost, CloseCode::Stranger), "{name}: {lost:?}");
        assert_eq!(intruder.received, 0, "it was told something");
    }
    // The name of a member that is there already: there is one link, and it stays.
    let credential = authority.issue("node-1").unwrap();
    let mut intruder = Intruder::dial(address(&ports[0]), "node-0", config(&credential, NETWORK));
    let lost = intruder.until_lost(&mut ports);
    assert!(was_closed_with(&lost, CloseCode::Crossed), "{lost:?}");
    is_unharmed(&mut ports);
}

#[test]
fn who_answers_with_another_name_than_the_one_that_was_dialled_is_not_talked_to() {
    // Node 1 of the roster is somebody with a credential of the network, but for another name.
    let authority = Authority::new("test").unwrap();
    let impostor = QuicPort::bind(options(NETWORK, authority.issue("node-7").unwrap())).unwrap();
    let own = QuicPort::bind(options(NETWORK, authority.issue("node-0").unwrap())).unwrap();
    let member = |name: &str, port: &QuicPort| Member { name: name.into(), address: port.local_address() };
    let roster = |other| vec![member("node-0", &own), member(other, &impostor)];
    let (rosters, memory) = ([roster("node-1"), roster("node-7")], || map_memory(4096).unwrap());
    let [right, wrong] = rosters;
    let mut ports = vec![
        own.connect(right, memory(), EventTable::new(2)).unwrap(),
        impostor.connect(wrong, memory(), EventTable::new(2)).unwrap(),
    ];
    let secret = Source::Bytes(b"secret");
    ports[0].xfer_and_signal(secret, &NodeSet::all(2), GlobalAddress(0), Some(EventId(0)), None).unwrap();
    drive_until(&mut ports, "the impostor is found out", |ports| {
        ports[0].dead() == NodeSet::single(NodeId(1))
    });
    assert!(matches!(ports[0].test_event(EventId(0)), Err(FabricError::NodeDead { .. })));
    assert_eq!(ports[1].links[0].statistics.received, 0);
    let mut found = [0; 6];
    ports[1].read(GlobalAddress(0), &mut found).unwrap();
    assert_eq!(found, [0; 6]);
}

#[test]
fn a_member_that_sends_what_is_no_message_loses_its_connection_and_the_others_go_on() {
    let too_long = [(Message::MAX_BYTES as u32 + 1).to_le_bytes().as_slice(), &[0; 12]].concat();
    let mut garbage = vec![0xee; 4000];
    garbage[..16].copy_from_slice(&[100, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    // An operation that nobody has begun is decided.
    let mut impossible = FrameBatch::default();
    let operation = bcs_fabric::tree::OperationId { initiator: NodeId(3), sequence: 1 };
    let verdict = bcs_fabric::tree::Verdict::Order(5);
    let below = NodeSet::new();
    let decide = Message::Decide { operation, wave: 2, verdict, settled_below: 0, below };
    impossible.push(0, decide).unwrap();
    // More operations than one member may have under way.
    let mut too_many = FrameBatch::default();
    for sequence in 1..=OPERATIONS_LIMIT as u64 + 1 {
        too_many.push(0, put_to_node_0(sequence, NodeId(3), false, 0)).unwrap();
    }
    for said in [too_long, garbage, impossible.concatenate(), too_many.concatenate()] {
        let (mut ports, _, member) = network();
        let mut intruder = Intruder::dial(address(&ports[0]), "node-0", config(&member, NETWORK));
        intruder.until_connected(&mut ports);
        intruder.say(&said);
        let lost = intruder.until_lost(&mut ports);
        assert!(was_closed_with(&lost, CloseCode::Protocol), "{lost:?}");
        let gone = NodeSet::single(NodeId(3));
        drive_until(&mut ports, "all know of it", |ports| ports.iter().all(|port| port.dead() == gone));
        assert!(ports[0].broken_link(NodeId(3)).unwrap().contains("does not keep the protocol"));
        all_reach_all(&mut ports);
    }
}

/// An operation of a member, as its end on node 0 hears of it.
fn put_to_node_0(sequence: u64, initiator: NodeId, sole: bool, settled_below: u64) -> Message {
    Message::Prepare {
        operation: OperationId { initiator, sequence },
        work: Work::Put { at: GlobalAddress(0), bytes: 0, remote_event: None },
        base: 0,
        settled_below,
        sole,
        awaited: true,
        below: NodeSet::new(),
        payload: bytes::Bytes::new(),
    }
}

#[test]
fn a_member_that_asks_without_end_and_takes_no_answer_loses_its_connection() {
    let (mut ports, _, member) = network();
    let mut intruder = Intruder::dial(address(&ports[0]), "node-0", config(&member, NETWORK));
    intruder.until_connected(&mut ports);
    let stream = intruder.quic.streams().open(Dir::Uni).expect("two are allowed");
    // Each of its operations is over at once, and answered; what comes back it does not read.
    let (mut said, mut sequence) = (Vec::new(), 0);
    drive_until(&mut ports, "it has lost its connection", |_| {
        if said.is_empty() {
            let mut batch = FrameBatch::default();
            for _ in 0..1000 {
                sequence += 1;
                batch.push(0, put_to_node_0(sequence, NodeId(3), true, sequence)).unwrap();
            }
            said = batch.concatenate();
        }
        if let Ok(written) = intruder.quic.send_stream(stream).write(&said) {
            said.drain(..written);
        }
        intruder.drive();
        intruder.lost.is_some()
    });
    let lost = intruder.lost.clone().unwrap();
    assert!(was_closed_with(&lost, CloseCode::Protocol), "{lost:?}");
    let why = ports[0].broken_link(NodeId(3)).unwrap();
    assert!(why.contains("does not take the answers"), "{why}");
    all_reach_all(&mut ports);
}

#[test]
fn datagrams_of_garbage_and_handshakes_that_are_played_again_have_no_effect() {
    let (mut ports, _, member) = network();
    let to = address(&ports[0]);
    let mut honest = Intruder::dial(to, "node-0", config(&member, NETWORK));
    honest.until_connected(&mut ports);
    let before = ports[0].links[3].statistics;
    // Everything that it has sent so far is sent again, by somebody else, whole and damaged.
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..20 {
        for datagram in &honest.sent {
            socket.send_to(datagram, to).unwrap();
            let mut damaged = datagram.clone();
            for _ in 0..random.usize(1..9) {
                let at = random.usize(..damaged.len());
                damaged[at] = random.u8(..);
            }
            socket.send_to(&damaged, to).unwrap();
            let count = random.usize(..1400);
            let noise: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(count).collect();
            socket.send_to(&noise, to).unwrap();
        }
        for port in &mut ports {
            port.progress().unwrap();
        }
    }
    is_unharmed(&mut ports);
    assert_eq!(ports[0].links[3].statistics, before);
    assert_eq!(honest.lost, None, "the member whose handshake was played again has lost its link");
    honest.drive();
    assert_eq!(honest.lost, None);
}

#[test]
fn a_flood_of_handshakes_is_bounded_and_members_still_get_in() {
    let (mut ports, authority, member) = network();
    let to = address(&ports[0]);
    // Beginnings of handshakes without end, more than are kept.
    let stranger = foreign(&authority, "node-3");
    for _ in 0..400 {
        let mut beginning = Intruder::dial(to, "node-0", config(&stranger, NETWORK));
        beginning.drive();
    }
    ports[0].progress().unwrap();
    let kept = ports[0].unproved;
    assert!(kept <= 40, "{kept} beginnings are kept");
    let mut honest = Intruder::dial(to, "node-0", config(&member, NETWORK));
    honest.until_connected(&mut ports);
    is_unharmed(&mut ports);
}
