//! Bytes that are no messages, for every decoder of the fabric ([`bcs_core::damage`]): what a peer sends is
//! decoded to a valid value or refused.

use super::super::connection::Hello;
use super::super::frame::{FrameBatch, FrameReader, Taken};
use super::*;
use bcs_core::damage::{damage, run};
use bcs_core::wire;
use bcs_fabric::conformance::any_message;
use bcs_fabric::tree::Message;
use bytes::Bytes;

#[test]
fn damaged_messages_are_decoded_to_valid_ones_or_refused() {
    run(|random| {
        let mut bytes = wire::encode(&any_message(random)).unwrap().to_vec();
        damage(&mut bytes, random);
        if let Ok(message) = wire::decode::<Message>(&bytes) {
            // What was decoded is whole: it can travel on.
            assert_eq!(wire::decode::<Message>(&wire::encode(&message).unwrap()), Ok(message));
        }
    });
}

#[test]
fn a_damaged_hello_is_decoded_to_a_valid_one_or_refused() {
    run(|random| {
        let hello =
            Hello { network: random.u128(..), from: NodeId(random.u32(..)), to: NodeId(random.u32(..)) };
        let mut bytes = wire::encode(&hello).unwrap().to_vec();
        damage(&mut bytes, random);
        let _ = wire::decode::<Hello>(&bytes);
    });
}

#[test]
fn damaged_credentials_are_refused_or_whole() {
    let [credential] = &credentials::mint("test", ["a"]).unwrap()[..] else { panic!("one was asked for") };
    let text = credential.to_pem();
    run(|random| {
        let mut bytes = text.clone().into_bytes();
        damage(&mut bytes, random);
        if let Ok(credential) = Credential::from_pem(&String::from_utf8_lossy(&bytes)) {
            assert!(!credential.name().is_empty());
        }
    });
}

#[test]
fn a_damaged_stream_of_frames_gives_whole_messages_until_it_is_refused() {
    run(|random| {
        let messages: Vec<Message> = (0..random.usize(1..8)).map(|_| any_message(random)).collect();
        let mut bytes: Vec<u8> = messages.iter().flat_map(|m| wire::encode_frame(m).unwrap()).collect();
        let is_damaged = random.bool();
        if is_damaged {
            damage(&mut bytes, random);
        }
        let (mut buffer, mut taken, mut rest) = (wire::FrameBuffer::default(), Vec::new(), &bytes[..]);
        while !rest.is_empty() {
            let (part, after) = rest.split_at(random.usize(1..=rest.len()));
            buffer.push(part);
            rest = after;
            loop {
                match buffer.take::<Message>() {
                    Ok(Some(message)) => taken.push(message),
                    Ok(None) => break,
                    Err(_) => return assert!(is_damaged),
                }
            }
        }
        assert!(is_damaged || taken == messages);
    });
}

#[test]
fn a_damaged_stream_gives_messages_to_a_node_which_stays_sound() {
    run(|random| {
        let mut stream = FrameBatch::default();
        for _ in 0..random.usize(1..8) {
            stream.push(random.u64(..3), any_message(random)).unwrap();
        }
        let mut bytes = stream.concatenate();
        if random.bool() {
            damage(&mut bytes, random);
        }
        let members = Arc::new(NodeSet::all(4));
        let mut node = TreeNode::new(NodeId(1), members, 2, SparseMemory::new(4096), EventTable::new(4));
        let (mut reader, mut stream) = (FrameReader::default(), Bytes::from(bytes));
        while !stream.is_empty() {
            let mut part = stream.split_to(random.usize(1..=stream.len()));
            while let Ok(Some(Taken { message, .. })) = reader.take(&mut part) {
                if node.handle_message(NodeId(random.u32(..5)), message).is_err() {
                    return;
                }
                while let Some((to, _, _)) = node.poll_transmit() {
                    assert!(to.0 < 4 && to != NodeId(1));
                }
            }
            if !part.is_empty() {
                return;
            }
        }
    });
}
