//! Who gets a link, and that no byte is lost between TLS and frames.

use super::super::memory::{LinkMemory, OwnedEnd};
use super::*;
use crate::handshake::{Handshake, HandshakeError, LinkContext, Session};
use bcs_credentials::{Authority, name_in, tls};
use bcs_link::{FaultKind, Protection, Side};
use rustls::pki_types::ServerName;
use std::io::Write;
use std::net::{TcpListener, TcpStream};

const PROTOCOL: &str = "bcs-link-test";

/// The two ends of a TCP connection.
fn connection() -> [TcpStream; 2] {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let dialled = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let accepted = listener.accept().unwrap().0;
    [dialled, accepted].map(|stream| {
        stream.set_nonblocking(true).unwrap();
        stream.set_nodelay(true).unwrap();
        stream
    })
}

fn credentials() -> (Authority, [Credential; 2]) {
    let authority = Authority::new("test").unwrap();
    let members = ["node-0", "node-1"].map(|name| authority.issue(name).unwrap());
    (authority, members)
}

/// A handshake of two ends: node 0 dials node 1.
fn shake(
    dialler: &Credential,
    acceptor: &Credential,
    protocols: [&str; 2],
) -> [Result<Session, HandshakeError>; 2] {
    let [dialled, accepted] = connection();
    let client = tls::mutual(dialler, protocols[0]).unwrap().0;
    let server = tls::mutual(acceptor, protocols[1]).unwrap().1;
    let name = ServerName::try_from("node-1").unwrap();
    let mut ends = [
        Some(Handshake::dial(dialled, Arc::new(client), name).unwrap()),
        Some(Handshake::accept(accepted, Arc::new(server)).unwrap()),
    ];
    let mut results = [None, None];
    while results.iter().any(Option::is_none) {
        for (end, result) in ends.iter_mut().zip(&mut results) {
            let Some(mut handshake) = end.take() else { continue };
            match handshake.advance() {
                Ok(false) => *end = Some(handshake),
                Ok(true) => *result = Some(Ok(handshake.finish())),
                Err(error) => *result = Some(Err(error)),
            }
        }
    }
    results.map(Option::unwrap)
}

fn context() -> LinkContext {
    LinkContext { network: 7, dialler: 0, acceptor: 1 }
}

/// An end over a session.
struct Linked {
    owned: OwnedEnd,
    stream: TcpStream,
}

fn open(session: Session, context: &LinkContext) -> Linked {
    let mut owned = LinkMemory::map(1, LinkLayout::default()).unwrap().attach(0);
    let secrets = session.secrets(context).unwrap();
    owned.end.open(session.side(), Protection::Sealed(secrets)).unwrap();
    Linked { owned, stream: session.into_stream() }
}

#[test]
fn members_prove_who_they_are_and_their_link_comes_up_with_all_that_was_appended_before() {
    let (_, [dialler, acceptor]) = credentials();
    let [dialled, accepted] = shake(&dialler, &acceptor, [PROTOCOL; 2]).map(Result::unwrap);
    assert_eq!(name_in(dialled.peer_certificate().unwrap()).unwrap(), "node-1");
    assert_eq!(name_in(accepted.peer_certificate().unwrap()).unwrap(), "node-0");
    let mut ends = [dialled, accepted].map(|session| open(session, &context()));
    for end in &ends {
        assert_eq!(end.owned.end.append(&[b"first"]), Ok(true));
    }
    // The end that dialled says nothing before it has been greeted.
    assert_eq!(ends[0].owned.end.drive(ends[0].stream.as_fd()), Ok(false));
    while !ends.iter().all(|linked| linked.owned.end.has_records()) {
        for linked in &mut ends {
            linked.owned.end.drive(linked.stream.as_fd()).unwrap();
        }
    }
    for linked in &ends {
        let mut taker = linked.owned.end.taker().unwrap();
        let mut bytes = [0; 8];
        assert_eq!(taker.next(|record| record.copy(0, &mut bytes)).unwrap(), Some(5));
        assert_eq!(&bytes[..5], b"first");
    }
}

#[test]
fn ends_that_mean_different_links_have_different_keys() {
    let other = LinkContext { network: 8, ..context() };
    let turned = LinkContext { dialler: 1, acceptor: 0, ..context() };
    for meant in [other, turned] {
        let (_, [dialler, acceptor]) = credentials();
        let [dialled, accepted] = shake(&dialler, &acceptor, [PROTOCOL; 2]).map(Result::unwrap);
        let [mut dialled, mut accepted] = [open(dialled, &context()), open(accepted, &meant)];
        accepted.owned.end.drive(accepted.stream.as_fd()).unwrap();
        let fault = loop {
            if let Err(fault) = dialled.owned.end.drive(dialled.stream.as_fd()) {
                break fault;
            }
        };
        assert_eq!(fault.kind, FaultKind::Forged);
    }
}

#[test]
fn who_is_not_who_it_has_to_be_gets_no_session() {
    let (authority, [dialler, acceptor]) = credentials();
    let stranger = Authority::new("test").unwrap().issue("node-0").unwrap();
    let impostor = authority.issue("node-7").unwrap();
    for (dialler, acceptor, protocols) in [
        // Of another authority, either end.
        (&stranger, &acceptor, [PROTOCOL; 2]),
        (&dialler, &stranger, [PROTOCOL; 2]),
        // Not the one that was dialled.
        (&dialler, &impostor, [PROTOCOL; 2]),
        // Of another network.
        (&dialler, &acceptor, [PROTOCOL, "bcs-link-other"]),
    ] {
        let [dialled, accepted] = shake(dialler, acceptor, protocols);
        assert!(accepted.is_err());
        if let Ok(session) = dialled {
            // In TLS 1.3 the end that dials is through before it is refused; it is not greeted.
            let mut linked = open(session, &context());
            let fault = loop {
                match linked.owned.end.drive(linked.stream.as_fd()) {
                    Ok(_) => std::thread::yield_now(),
                    Err(fault) => break fault,
                }
            };
            assert!(matches!(fault.kind, FaultKind::Refused | FaultKind::Ended), "{fault}");
        }
    }
}

#[test]
fn an_acceptor_that_will_not_have_the_link_says_so_in_one_frame() {
    for is_sealed in [true, false] {
        let (_, [dialler, acceptor]) = credentials();
        let [dialled, accepted] = shake(&dialler, &acceptor, [PROTOCOL; 2]).map(Result::unwrap);
        let secrets = accepted.secrets(&context()).unwrap();
        accepted.refuse(is_sealed.then_some(&secrets), 3).unwrap();
        let mut owned = LinkMemory::map(1, LinkLayout::default()).unwrap().attach(0);
        let end = &mut owned.end;
        let protection = match is_sealed {
            true => Protection::Sealed(dialled.secrets(&context()).unwrap()),
            false => Protection::Plain,
        };
        end.open(Side::Dialler, protection).unwrap();
        let stream = dialled.into_stream();
        while end.closed_by_peer().is_none() {
            end.drive(stream.as_fd()).unwrap();
        }
        assert_eq!((end.closed_by_peer(), end.is_up()), (Some(3), false));
    }
}

#[test]
fn garbage_before_or_behind_a_handshake_gives_no_link() {
    let (_, [dialler, acceptor]) = credentials();
    let server = Arc::new(tls::mutual(&acceptor, PROTOCOL).unwrap().1);
    for garbage in [&[0; 64][..], b"GET / HTTP/1.1\r\n\r\n", &[0x16, 3, 1, 0xff, 0xff, 1], &[0xff; 4096]] {
        let [mut dialled, accepted] = connection();
        dialled.write_all(garbage).unwrap();
        drop(dialled);
        let mut handshake = Handshake::accept(accepted, server.clone()).unwrap();
        let refused = loop {
            match handshake.advance() {
                Ok(done) => assert!(!done),
                Err(error) => break error,
            }
        };
        assert!(matches!(
            refused,
            HandshakeError::Tls(_) | HandshakeError::Ended | HandshakeError::Socket(_)
        ));
    }
    // A dialler that does not wait for its greeting: what it says too early is lost with its own link.
    let [dialled, accepted] = connection();
    let client = Arc::new(tls::mutual(&dialler, PROTOCOL).unwrap().0);
    let name = ServerName::try_from("node-1").unwrap();
    let mut dialling = Handshake::dial(dialled, client, name).unwrap();
    let mut accepting = Handshake::accept(accepted, server).unwrap();
    while !dialling.advance().unwrap() {
        // The acceptor reads nothing more before the dialler has said too much.
        if !dialling.wants_write() {
            assert!(!accepting.advance().unwrap());
        }
    }
    let mut stream = dialling.finish().into_stream();
    stream.write_all(&[0; 64]).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    if let Ok(true) = accepting.advance() {
        let mut linked = open(accepting.finish(), &context());
        drop(stream);
        let fault = loop {
            if let Err(fault) = linked.owned.end.drive(linked.stream.as_fd()) {
                break fault;
            }
        };
        assert!(!linked.owned.end.is_up(), "{fault}");
    }
}
