//! Providers that are not there, and what those promise that are.

use super::*;
use bcs_harness::skip;
use bcs_libfabric::Offer;
use std::net::Ipv4Addr;

const LOOPBACK: std::net::IpAddr = std::net::IpAddr::V4(Ipv4Addr::LOCALHOST);

#[test]
fn a_provider_that_is_named_and_not_there_is_said_with_those_that_are() {
    let error = survey(Some("no-such-provider"), LOOPBACK).unwrap_err();
    if let OfiError::Missing { .. } = error {
        assert!(error.to_string().contains("apt-get install libfabric1"), "{error}");
        return skip(error);
    }
    let text = error.to_string();
    assert!(matches!(error, OfiError::NoProvider { .. }), "{text}");
    assert!(text.contains("no provider 'no-such-provider'") && text.contains("'ofi:tcp;ofi_rxm'"), "{text}");
    assert!(text.contains("name one of them"), "{text}");
    let credential = bcs_credentials::mint("test", ["a"]).unwrap().remove(0);
    let bound = OfiPort::bind(options(credential, "no-such-provider"));
    assert!(matches!(bound, Err(OfiBindError::Ofi(OfiError::NoProvider { .. }))), "{bound:?}");
}

#[test]
fn promises_are_those_of_the_provider() {
    if is_there("tcp;ofi_rxm") {
        let promises = survey(Some("tcp;ofi_rxm"), LOOPBACK).unwrap();
        assert_eq!(promises.order, SignalOrder::WriteAfterWrite, "{promises:?}");
        assert!(promises.is_manual && promises.write_bytes >= 4096, "{promises:?}");
    }
    if is_there("sockets") {
        let offer = Offer::choose(Some("sockets"), Some(SignalOrder::Completion), LOOPBACK).unwrap();
        assert_eq!(offer.promises.order, SignalOrder::Completion);
        assert!(!offer.promises.is_manual && !offer.promises.wakes, "{:?}", offer.promises);
    }
}

#[test]
fn options_and_rosters_that_cannot_be_are_refused() {
    if !is_there("tcp;ofi_rxm") {
        return;
    }
    let credential = bcs_credentials::mint("test", ["a"]).unwrap().remove(0);
    let options = options(credential, "tcp;ofi_rxm");
    let mut odd = options.clone();
    odd.links.ring_bytes = 100_000;
    let refused = OfiPort::bind(odd);
    assert!(
        matches!(refused, Err(OfiBindError::Links(BindError::Option { option: "ring_bytes", .. }))),
        "{refused:?}"
    );
    let port = OfiPort::bind(options).unwrap();
    let roster = vec![Member { name: "b".into(), address: port.local_address() }];
    let joined = port.connect(roster, SparseMemory::new(64), EventTable::new(1));
    assert!(matches!(joined, Err(OfiJoinError::Roster(RosterError::Missing { members: 1, .. }))));
    assert_eq!(NetworkId(NETWORK).to_string().len(), 32);
}
