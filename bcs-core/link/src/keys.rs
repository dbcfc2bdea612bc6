//! Keys, nonces, and when keys change.
//!
//! Each direction of a link begins with a secret of its own from the TLS exporter, and both ends go the same
//! way from there: key and mask of nonces are derived from the secret, and after [`RENEW_FRAMES`] frames or
//! [`RENEW_BYTES`] bytes the secret is replaced by one that is derived from it. Both ends count the same
//! frames, so nothing is said about it on the wire; and a secret that was replaced is nowhere any more.
//!
//! The nonce of a frame is its number since the start of the link, mixed with the mask as in TLS 1.3 (RFC
//! 8446, §5.3). Invariant: a number is counted in shared memory, under the lock of the direction, *before* it
//! is used. A process that dies in between leaves the lock held, so nobody seals under that number again.
//!
//! Secrets lie in the link's shared memory, because whoever drives needs them. That memory belongs to the
//! processes of one job on one node, has no name, and is left out of core dumps by whoever maps it;
//! [`Keys::wipe`] overwrites them at the end. The expanded keys are each process's own, and in no dump
//! either.

use super::seal::{KEY_BYTES, Key, NONCE_BYTES, Refused, SECRET_BYTES, derive, wipe};
use super::state::Keys;
use std::fmt;
use std::sync::atomic::Ordering::Relaxed;

/// No secret seals more frames than this.
pub(crate) const RENEW_FRAMES: u64 = 1 << 24;

/// No secret seals more bytes than this.
pub(crate) const RENEW_BYTES: u64 = 1 << 36;

const KEY: &[u8] = b"bcs-link/1 key";
const MASK: &[u8] = b"bcs-link/1 nonce";
const NEXT: &[u8] = b"bcs-link/1 next";

/// The secrets of a link, one for each direction, as one end sees them. They are wiped when they are dropped.
pub struct LinkSecrets {
    pub(crate) outgoing: [u8; SECRET_BYTES],
    pub(crate) incoming: [u8; SECRET_BYTES],
}

impl LinkSecrets {
    /// The secrets with which this end sends and receives.
    pub fn new(outgoing: [u8; SECRET_BYTES], incoming: [u8; SECRET_BYTES]) -> Self {
        Self { outgoing, incoming }
    }
}

impl fmt::Debug for LinkSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LinkSecrets").finish_non_exhaustive()
    }
}

impl Drop for LinkSecrets {
    fn drop(&mut self) {
        wipe(&mut self.outgoing);
        wipe(&mut self.incoming);
    }
}

/// When secrets are replaced. Both ends have the same limits; only tests have others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RenewalLimits {
    pub frames: u64,
    pub bytes: u64,
}

impl Default for RenewalLimits {
    fn default() -> Self {
        Self { frames: RENEW_FRAMES, bytes: RENEW_BYTES }
    }
}

/// What a process has expanded of the secret of an epoch.
#[derive(Debug)]
pub(crate) struct Cipher {
    epoch: u64,
    pub key: Key,
    mask: [u8; NONCE_BYTES],
}

impl Cipher {
    fn new(epoch: u64, secret: &[u8; SECRET_BYTES]) -> Result<Self, Refused> {
        let mut key = derive::<KEY_BYTES>(secret, KEY)?;
        let cipher = Key::new(&key).and_then(|key| Ok(Self { epoch, key, mask: derive(secret, MASK)? }));
        wipe(&mut key);
        cipher
    }

    /// The cipher of the first epoch.
    pub fn first(secret: &[u8; SECRET_BYTES]) -> Result<Self, Refused> {
        Self::new(0, secret)
    }

    /// The nonce of a frame.
    pub fn nonce(&self, sequence: u64) -> [u8; NONCE_BYTES] {
        let mut nonce = self.mask;
        for (byte, number) in nonce.iter_mut().rev().zip(sequence.to_le_bytes()) {
            *byte ^= number;
        }
        nonce
    }
}

impl Keys {
    /// Begins with a secret.
    pub fn install(&self, secret: &[u8; SECRET_BYTES]) {
        for (word, bytes) in self.secret.iter().zip(secret.as_chunks::<8>().0) {
            word.store(u64::from_le_bytes(*bytes), Relaxed);
        }
    }

    fn secret(&self) -> [u8; SECRET_BYTES] {
        let mut secret = [0; SECRET_BYTES];
        for (word, bytes) in self.secret.iter().zip(secret.as_chunks_mut::<8>().0) {
            *bytes = word.load(Relaxed).to_le_bytes();
        }
        secret
    }

    /// Counts a frame of so many bytes, and answers its number. If the secret is used up it is replaced
    /// before.
    pub fn count(&self, bytes: usize, is_sealed: bool, limits: RenewalLimits) -> Result<u64, Refused> {
        let bytes = bytes as u64;
        if is_sealed {
            let (frames, so_far) = (self.frames.load(Relaxed), self.bytes.load(Relaxed));
            let is_used_up = frames >= limits.frames || so_far.saturating_add(bytes) > limits.bytes;
            let (frames, so_far) = if is_used_up { (0, 0) } else { (frames, so_far) };
            if is_used_up {
                self.renew()?;
            }
            self.frames.store(frames + 1, Relaxed);
            self.bytes.store(so_far + bytes, Relaxed);
        }
        let sequence = self.sequence.load(Relaxed);
        self.sequence.store(sequence.checked_add(1).ok_or(Refused)?, Relaxed);
        Ok(sequence)
    }

    fn renew(&self) -> Result<(), Refused> {
        let mut secret = self.secret();
        let next = derive::<SECRET_BYTES>(&secret, NEXT);
        wipe(&mut secret);
        let mut next = next?;
        self.install(&next);
        wipe(&mut next);
        self.epoch.store(self.epoch.load(Relaxed) + 1, Relaxed);
        Ok(())
    }

    /// The cipher of the present secret, from what this process has expanded before or anew.
    pub fn cipher<'a>(&self, expanded: &'a mut Option<Cipher>) -> Result<&'a Cipher, Refused> {
        let epoch = self.epoch.load(Relaxed);
        let cipher = match expanded.take().filter(|cipher| cipher.epoch == epoch) {
            Some(cipher) => cipher,
            None => {
                let mut secret = self.secret();
                let cipher = Cipher::new(epoch, &secret);
                wipe(&mut secret);
                cipher?
            }
        };
        Ok(expanded.insert(cipher))
    }

    /// Overwrites the secret.
    pub fn wipe(&self) {
        self.secret.iter().for_each(|word| word.store(0, Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::sync::atomic::AtomicU64;

    fn keys() -> Keys {
        let keys = Keys {
            sequence: AtomicU64::new(0),
            epoch: AtomicU64::new(0),
            frames: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            secret: Default::default(),
        };
        keys.install(&[9; SECRET_BYTES]);
        keys
    }

    #[test]
    fn no_key_meets_a_nonce_twice_and_keys_are_renewed_before_their_limits() {
        let (keys, limits) = (keys(), RenewalLimits { frames: 5, bytes: 100 });
        let (mut expanded, mut seen, mut epochs) = (None, HashSet::new(), Vec::new());
        for sequence in 0..40 {
            let bytes = if sequence < 20 { 0 } else { 30 };
            assert_eq!(keys.count(bytes, true, limits), Ok(sequence));
            assert!(keys.frames.load(Relaxed) <= limits.frames && keys.bytes.load(Relaxed) <= limits.bytes);
            let cipher = keys.cipher(&mut expanded).unwrap();
            assert!(seen.insert((cipher.epoch, cipher.nonce(sequence))));
            epochs.push(cipher.epoch);
        }
        // Five frames each, and then three of 30 bytes each, of which four would be too many.
        assert_eq!(epochs[..20], [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3]);
        assert_eq!(epochs[20..27], [4, 4, 4, 5, 5, 5, 6]);
    }

    #[test]
    fn both_ends_go_the_same_way_and_old_secrets_are_gone() {
        let (one, other, limits) = (keys(), keys(), RenewalLimits { frames: 3, bytes: 1 << 30 });
        let first = one.secret();
        for _ in 0..7 {
            assert_eq!(one.count(8, true, limits), other.count(8, true, limits));
        }
        assert_eq!(one.secret(), other.secret());
        assert_ne!(one.secret(), first);
        one.wipe();
        assert_eq!(one.secret(), [0; SECRET_BYTES]);
    }

    #[test]
    fn numbers_end_rather_than_begin_again() {
        let keys = keys();
        keys.sequence.store(u64::MAX, Relaxed);
        assert_eq!(keys.count(0, true, RenewalLimits::default()), Err(Refused));
        assert_eq!(keys.count(0, false, RenewalLimits::default()), Err(Refused));
    }
}
