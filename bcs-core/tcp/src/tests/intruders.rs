//! Ends that may not be on the network: each gets a closed connection, and nobody else notices.

use super::super::memory::{LinkMemory, OwnedEnd};
use super::super::message::{HEADER_BYTES, Parcel};
use super::*;
use crate::connection::{CloseCode, GUESTS_LIMIT, HANDSHAKE_TIMEOUT};
use crate::handshake::{Handshake, HandshakeError, LinkContext, Session};
use bcs_credentials::Authority;
use bcs_fabric::tree::{Lane, Message, OPERATIONS_LIMIT, OperationId, Verdict, Work};
use bcs_link::{FaultKind, LinkFault, Protection, Side};
use rkyv::util::AlignedVec;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::io::{Read, Write};
use std::net::TcpStream;

/// An end that has dialled, and may say whatever it likes.
struct Intruder {
    owned: OwnedEnd,
    stream: TcpStream,
}

/// Shakes hands with node 0.
fn shake(ports: &mut [MappedFabric], config: Arc<ClientConfig>) -> Result<Session, HandshakeError> {
    let stream = TcpStream::connect(address(&ports[0])).unwrap();
    stream.set_nonblocking(true).unwrap();
    let mut handshake = Handshake::dial(stream, config, ServerName::try_from("node-0").unwrap()).unwrap();
    let mut result = None;
    drive_until(ports, "the intruder's handshake ends", |_| {
        result = handshake.advance().map(|done| done.then_some(())).transpose();
        result.is_some()
    });
    result.unwrap().map(|()| handshake.finish())
}

impl Intruder {
    /// Opens a link to node 0, as this node.
    fn open(session: Session, node: u32) -> Self {
        let context = LinkContext { network: NETWORK, dialler: node, acceptor: 0 };
        let mut owned = LinkMemory::map(1, LinkLayout::default()).unwrap().attach(0);
        let secrets = session.secrets(&context).unwrap();
        owned.end.open(Side::Dialler, Protection::Sealed(secrets)).unwrap();
        Self { owned, stream: session.into_stream() }
    }

    /// Drives it and the network until it is told that its link is closed, or finds that it is.
    fn until_over(&mut self, ports: &mut [MappedFabric]) -> Result<u8, LinkFault> {
        let mut over = None;
        drive_until(ports, "the intruder's link is over", |_| {
            let driven = self.owned.end.drive(self.stream.as_fd());
            over = self.owned.end.closed_by_peer().map(Ok).or(driven.err().map(Err));
            over.is_some()
        });
        over.unwrap()
    }

    fn until_up(&mut self, ports: &mut [MappedFabric]) {
        drive_until(ports, "the intruder is greeted", |_| {
            self.owned.end.drive(self.stream.as_fd()).unwrap();
            self.owned.end.is_up()
        });
    }

    fn say(&self, message: Message) -> bool {
        let mut parcel = Parcel::new(Lane::Control, 0, message, AlignedVec::new()).unwrap();
        let mut ring = self.owned.end.appender().unwrap().unwrap();
        parcel.append(&mut ring, LinkLayout::default().record_bytes()).unwrap()
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
    port.listener.local_addr().unwrap()
}

fn config(credential: &Credential, network: u128) -> Arc<ClientConfig> {
    tls::configure(credential, NetworkId(network), true).unwrap().client
}

/// A credential of another authority, whose holder knows (and trusts) the certificate of the network's.
fn foreign(network: &Authority, name: &str) -> Credential {
    let trusted = network.issue("any").unwrap().to_pem();
    let trusted = &pem::parse_many(trusted).unwrap()[1];
    let mut blocks = pem::parse_many(Authority::new("test").unwrap().issue(name).unwrap().to_pem()).unwrap();
    blocks[1] = trusted.clone();
    Credential::from_pem(&pem::encode_many(&blocks)).unwrap()
}

/// Nobody is dead, and everything still works.
fn is_unharmed(ports: &mut [MappedFabric]) {
    all_reach_all(ports);
    assert!(ports.iter().all(|port| port.dead().is_empty()));
}

/// Somebody is refused: in the handshake, or, as who dials is through with it first, right behind it.
fn is_refused(ports: &mut [MappedFabric], config: Arc<ClientConfig>) {
    if let Ok(session) = shake(ports, config) {
        let over = Intruder::open(session, 3).until_over(ports);
        let fault = over.unwrap_err();
        assert!(matches!(fault.kind, FaultKind::Refused | FaultKind::Ended), "{fault}");
    }
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
    anonymous.alpn_protocols = vec![format!("bcs-link/2/sealed/{}", NetworkId(NETWORK)).into_bytes()];
    let before = ports[0].statistics().refused_connections;
    is_refused(&mut ports, Arc::new(anonymous));
    is_refused(&mut ports, config(&foreign(&authority, "node-3"), NETWORK));
    assert_eq!(ports[0].statistics().refused_connections - before, 2);
    is_unharmed(&mut ports);
}

#[test]
fn who_belongs_to_another_network_or_wants_no_seal_gets_a_closed_connection() {
    let (mut ports, _, member) = network();
    let plain = tls::configure(&member, NetworkId(NETWORK), false).unwrap().client;
    for config in [config(&member, NETWORK + 1), plain] {
        let refused = shake(&mut ports, config);
        assert!(matches!(refused, Err(HandshakeError::Tls(_))), "{refused:?}");
    }
    is_unharmed(&mut ports);
}

#[test]
fn who_proves_a_name_that_is_not_in_the_roster_gets_a_closed_connection() {
    let (mut ports, authority, _) = network();
    // A name of nobody, and the name of the node itself.
    for name in ["node-9", "node-0"] {
        let credential = authority.issue(name).unwrap();
        let session = shake(&mut ports, config(&credential, NETWORK)).unwrap();
        let over = Intruder::open(session, 3).until_over(&mut ports);
        assert_eq!(over.unwrap_err().kind, FaultKind::Ended, "{name}");
    }
    // The name of a member that is there already: there is one link, and it stays.
    let credential = authority.issue("node-1").unwrap();
    let session = shake(&mut ports, config(&credential, NETWORK)).unwrap();
    let over = Intruder::open(session, 1).until_over(&mut ports);
    assert_eq!(over, Ok(CloseCode::Crossed as u8));
    is_unharmed(&mut ports);
}

#[test]
fn who_answers_with_another_name_than_the_one_that_was_dialled_is_not_talked_to() {
    // Node 1 of the roster is somebody with a credential of the network, but for another name.
    let authority = Authority::new("test").unwrap();
    let impostor = TcpPort::bind(options(NETWORK, authority.issue("node-7").unwrap())).unwrap();
    let own = TcpPort::bind(options(NETWORK, authority.issue("node-0").unwrap())).unwrap();
    let member = |name: &str, port: &TcpPort| Member { name: name.into(), address: port.local_address() };
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
fn a_member_that_sends_what_is_no_message_loses_its_link_and_the_others_go_on() {
    type Says = fn(&Intruder) -> bool;
    let no_header: Says = |intruder| intruder.owned.end.append(&[b"short"]).unwrap();
    let garbage: Says = |intruder| intruder.owned.end.append(&[&[0xee; 4000]]).unwrap();
    let no_message: Says = |intruder| {
        let mut record = [0; HEADER_BYTES + 100];
        (record[0], record[4]) = (1, 100);
        intruder.owned.end.append(&[&record]).unwrap()
    };
    // An operation that nobody has begun is decided.
    let impossible: Says = |intruder| {
        let operation = OperationId { initiator: NodeId(3), sequence: 1 };
        let (verdict, below) = (Verdict::Order(5), NodeSet::new());
        intruder.say(Message::Decide { operation, wave: 2, verdict, settled_below: 0, below })
    };
    // More operations than one member may have under way.
    let too_many: Says = |intruder| {
        let sequences = 1..=OPERATIONS_LIMIT as u64 + 1;
        sequences.into_iter().all(|sequence| intruder.say(put_to_node_0(sequence, NodeId(3), false, 0)))
    };
    for says in [no_header, garbage, no_message, impossible, too_many] {
        let (mut ports, _, member) = network();
        let session = shake(&mut ports, config(&member, NETWORK)).unwrap();
        let mut intruder = Intruder::open(session, 3);
        intruder.until_up(&mut ports);
        assert!(says(&intruder));
        assert_eq!(intruder.until_over(&mut ports), Ok(CloseCode::Protocol as u8));
        let gone = NodeSet::single(NodeId(3));
        drive_until(&mut ports, "all know of it", |ports| ports.iter().all(|port| port.dead() == gone));
        assert!(ports[0].broken_link(NodeId(3)).unwrap().contains("does not keep the protocol"));
        all_reach_all(&mut ports);
    }
}

#[test]
fn a_member_whose_frames_are_damaged_loses_its_link_and_the_others_go_on() {
    let (mut ports, _, member) = network();
    let session = shake(&mut ports, config(&member, NETWORK)).unwrap();
    let mut intruder = Intruder::open(session, 3);
    intruder.until_up(&mut ports);
    // Somebody on the way has put bytes between its frames.
    intruder.stream.write_all(&[0; 64]).unwrap();
    assert_eq!(intruder.until_over(&mut ports).unwrap_err().kind, FaultKind::Ended);
    assert!(ports[0].broken_link(NodeId(3)).unwrap().contains("not the next one"));
    all_reach_all(&mut ports);
}

#[test]
fn a_member_that_asks_without_end_and_takes_no_answer_loses_its_link() {
    let (mut ports, _, member) = network();
    let session = shake(&mut ports, config(&member, NETWORK)).unwrap();
    let mut intruder = Intruder::open(session, 3);
    intruder.until_up(&mut ports);
    // Each of its operations is over at once, and answered; what comes back it does not take.
    let mut sequence = 1;
    drive_until(&mut ports, "it has lost its link", |ports| {
        for _ in 0..500 {
            if !intruder.say(put_to_node_0(sequence, NodeId(3), true, sequence)) {
                break;
            }
            sequence += 1;
        }
        let _ = intruder.owned.end.drive(intruder.stream.as_fd());
        ports[0].broken_link(NodeId(3)).is_some() || intruder.owned.end.closed_by_peer().is_some()
    });
    let why = ports[0].broken_link(NodeId(3)).unwrap();
    assert!(why.contains("does not take the answers"), "{why}");
    all_reach_all(&mut ports);
}

#[test]
fn a_flood_of_connections_is_bounded_and_members_still_get_in() {
    let (mut ports, _, member) = network();
    let to = address(&ports[0]);
    // Connections that say nothing, or garbage: more than are kept.
    let mut strangers = Vec::new();
    for number in 0..GUESTS_LIMIT + 40 {
        let mut stranger = TcpStream::connect(to).unwrap();
        if number % 3 == 0 {
            let _ = stranger.write_all(&[number as u8; 100]);
        }
        stranger.set_nonblocking(true).unwrap();
        strangers.push(stranger);
        ports[0].progress().unwrap();
    }
    drive_until(&mut ports, "those that spoke are refused", |ports| {
        ports[0].statistics().refused_connections as usize >= GUESTS_LIMIT / 3
    });
    is_unharmed(&mut ports);
    // When their time is up, the others are closed, and members find a place.
    crate::driver::AHEAD.set(HANDSHAKE_TIMEOUT + Duration::from_secs(1));
    drive_until(&mut ports, "all strangers are refused", |_| {
        strangers.iter_mut().all(|stranger| {
            let ended = stranger.read(&mut [0; 256]);
            ended.map_or_else(|error| error.kind() != io::ErrorKind::WouldBlock, |bytes| bytes == 0)
        })
    });
    let session = shake(&mut ports, config(&member, NETWORK)).unwrap();
    let mut intruder = Intruder::open(session, 3);
    intruder.until_up(&mut ports);
    is_unharmed(&mut ports);
}
