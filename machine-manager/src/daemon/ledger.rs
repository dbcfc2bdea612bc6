//! What is held for each user: connections and bytes. Whoever holds something has a [`Share`] or [`Held`] of
//! the ledger, and gives it back by dropping it, so that nothing is counted twice or for ever.

use bcs_config::UserConfig;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;

/// A user has more than anybody may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "more than {limit} bytes would be held for this user: its jobs, what it sends and what it does not read; wait until some of that is over"
)]
pub struct BeyondLimit {
    /// What a user may have (`held_bytes` of `[users]`).
    pub limit: u64,
}

/// What all users have.
#[derive(Debug)]
pub struct Ledger {
    limits: UserConfig,
    users: Mutex<HashMap<u32, Account>>,
}

#[derive(Debug)]
struct Account {
    connections: u32,
    bytes: u64,
    /// Whoever decodes a long message holds it.
    decoding: Arc<Semaphore>,
}

impl Account {
    fn is_closed(&self) -> bool {
        self.connections == 0 && self.bytes == 0
    }
}

impl Ledger {
    /// Of nobody.
    pub fn new(limits: UserConfig) -> Arc<Self> {
        Arc::new(Self { limits, users: Mutex::default() })
    }

    /// What a user may have.
    pub fn limits(&self) -> &UserConfig {
        &self.limits
    }

    /// One more connection of a user, if it may have one.
    pub fn connect(self: &Arc<Self>, uid: u32) -> Option<Share> {
        self.change(uid, |account| {
            let may = account.connections < self.limits.connections;
            account.connections += u32::from(may);
            may.then(|| Share { ledger: self.clone(), uid, decoding: account.decoding.clone() })
        })
    }

    /// Nothing yet, for a user.
    pub fn hold(self: &Arc<Self>, uid: u32) -> Held {
        Held { ledger: self.clone(), uid, bytes: 0 }
    }

    /// Whether nothing is held for anybody.
    pub fn is_empty(&self) -> bool {
        self.users().is_empty()
    }

    fn users(&self) -> MutexGuard<'_, HashMap<u32, Account>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, uid: u32, change: impl FnOnce(&mut Account) -> T) -> T {
        let mut users = self.users();
        let account = users.entry(uid).or_insert_with(|| Account {
            connections: 0,
            bytes: 0,
            decoding: Arc::new(Semaphore::new(1)),
        });
        let done = change(account);
        if account.is_closed() {
            users.remove(&uid);
        }
        done
    }
}

/// A connection of a user, counted while this lives.
#[derive(Debug)]
pub struct Share {
    ledger: Arc<Ledger>,
    uid: u32,
    decoding: Arc<Semaphore>,
}

impl Share {
    /// Nothing yet, for the user of this connection.
    pub fn hold(&self) -> Held {
        self.ledger.hold(self.uid)
    }

    /// What one connection of a user at a time may have: the right to have a long message decoded.
    pub fn decoding(&self) -> Arc<Semaphore> {
        self.decoding.clone()
    }

    /// What a user may have.
    pub fn limits(&self) -> &UserConfig {
        &self.ledger.limits
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.ledger.change(self.uid, |account| account.connections -= 1);
    }
}

/// Bytes that are held for a user, counted while this lives.
#[derive(Debug)]
pub struct Held {
    ledger: Arc<Ledger>,
    uid: u32,
    bytes: u64,
}

impl Held {
    /// So many bytes more.
    ///
    /// # Errors
    /// The user would have more than it may; nothing is added.
    pub fn grow(&mut self, bytes: u64) -> Result<(), BeyondLimit> {
        let limit = self.ledger.limits.held_bytes;
        self.ledger.change(self.uid, |account| {
            let all =
                account.bytes.checked_add(bytes).filter(|all| *all <= limit).ok_or(BeyondLimit { limit })?;
            account.bytes = all;
            Ok(())
        })?;
        self.bytes += bytes;
        Ok(())
    }

    /// So many bytes fewer.
    pub fn shrink(&mut self, bytes: u64) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.ledger.change(self.uid, |account| account.bytes -= bytes);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.shrink(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_no_more_than_it_may_and_others_have_theirs() {
        let limits = UserConfig { connections: 2, held_bytes: 100_000, ..UserConfig::default() };
        let ledger = Ledger::new(limits);
        let (first, second) = (ledger.connect(1).unwrap(), ledger.connect(1).unwrap());
        assert!(ledger.connect(1).is_none() && ledger.connect(2).is_some());
        drop(second);
        let again = ledger.connect(1).unwrap();
        let (mut one, mut two, mut other) = (first.hold(), again.hold(), ledger.hold(2));
        one.grow(60_000).unwrap();
        assert_eq!(two.grow(60_000), Err(BeyondLimit { limit: 100_000 }));
        assert_eq!(two.grow(u64::MAX), Err(BeyondLimit { limit: 100_000 }));
        other.grow(100_000).unwrap();
        one.shrink(20_000);
        two.grow(60_000).unwrap();
        drop((first, again, one, two, other));
        assert!(ledger.is_empty(), "{ledger:?}");
    }
}
