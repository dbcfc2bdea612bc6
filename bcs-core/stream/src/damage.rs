//! Damaged streams at a receiver, for the tests of decoders (`bcs_core::damage`).

use crate::{Receiver, StreamError};
use bcs_core::damage::{DamagedStream, Rng, allocated};
use bcs_core::wire::WireMessage;
use std::fmt::Debug;
use tokio::io::AsyncWriteExt;

/// Receives a damaged stream in parts of any size, and checks that all arrives that has to, and after it
/// nothing.
///
/// # Panics
/// Something else arrives, or it takes too much memory.
pub fn check_receiver<T>(stream: &DamagedStream<T>, random: &mut Rng)
where
    T: WireMessage + Clone + Debug + PartialEq,
{
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime without drivers");
    runtime.block_on(async {
        let (mut far, near) = tokio::io::duplex(random.usize(1..4096));
        let keeps_open = stream.is_refused && random.bool();
        let sending = async {
            let mut rest = &stream.bytes[..];
            while !rest.is_empty() {
                let (part, after) = rest.split_at(random.usize(1..=rest.len()));
                // It may be closed before all is sent.
                if far.write_all(part).await.is_err() {
                    return None;
                }
                rest = after;
            }
            keeps_open.then_some(far)
        };
        let receiving = async {
            let mut receiver = Receiver::new(near);
            for message in &stream.messages {
                assert_eq!(receiver.receive::<T>().await.expect("a message").as_ref(), Some(message));
            }
            // It stays as it is: who asks again is told the same.
            for _ in 0..2 {
                match receiver.receive::<T>().await {
                    Err(StreamError::Wire(_)) => assert!(stream.is_refused),
                    Ok(None) | Err(StreamError::Cut) => assert!(!stream.is_refused),
                    other => panic!("{other:?}"),
                }
            }
        };
        let before = allocated();
        tokio::join!(sending, receiving);
        let (bytes, most) = (allocated() - before, stream.most_allocated());
        let sent = stream.bytes.len();
        assert!(bytes <= most, "{bytes} bytes of memory for {sent} that were sent, {most} at most");
    });
}
