//! Rings, doorbells, the run token, wait words and the abort record under every interleaving:
//! `RUSTFLAGS="--cfg loom" cargo test -p nic-engine --test loom --release`.
#![cfg(loom)]

use bcs_core::LocalRank;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering, fence};
use loom::thread;
use nic_engine::memory::abort_record::AbortRecord;
use nic_engine::memory::claims::Claims;
use nic_engine::memory::doorbell::{Heads, HeadsWord, RingKind};
use nic_engine::memory::ring::{Cell, Ring};
use nic_engine::memory::token::{Holder, RunToken};
use nic_engine::memory::wait_word::WaitWord;

struct Nic {
    token: RunToken,
    doorbell: HeadsWord,
    taken: HeadsWord,
    cells: [Cell; 2],
    /// Only the holder touches it: sum and number of the entries taken.
    sum: AtomicU64,
    count: AtomicU64,
}

impl Nic {
    fn new() -> Self {
        Self {
            token: RunToken::default(),
            doorbell: HeadsWord::default(),
            taken: HeadsWord::default(),
            cells: Default::default(),
            sum: AtomicU64::new(0),
            count: AtomicU64::new(0),
        }
    }

    fn drive(&self, holder: Holder) {
        if self.doorbell.peek() != self.taken.peek() && self.token.try_take(holder) {
            let heads = self.doorbell.read();
            let mut taken = self.taken.read();
            while heads.ahead_of(taken, RingKind::Send) > 0 {
                let entry = Ring::new(&self.cells).cell(taken.get(RingKind::Send)).read();
                assert!(entry.iter().all(|&w| w == entry[0]), "a torn entry: {entry:?}");
                self.sum.store(self.sum.load(Ordering::Relaxed) + entry[0], Ordering::Relaxed);
                self.count.store(self.count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                taken = taken.advanced(RingKind::Send);
            }
            self.taken.publish(taken);
            self.token.release();
        }
    }
}

#[test]
fn every_posted_entry_is_taken_once_and_whole_with_two_holders() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let nic = Arc::new(Nic::new());
        let poster = {
            let nic = nic.clone();
            thread::spawn(move || {
                let mut heads = Heads(0);
                for value in 1..=3u64 {
                    while heads.ahead_of(nic.taken.read(), RingKind::Send) >= 2 {
                        nic.drive(Holder::rank(LocalRank(0)));
                        thread::yield_now();
                    }
                    Ring::new(&nic.cells).cell(heads.get(RingKind::Send)).write(&[value; 8]);
                    heads = heads.advanced(RingKind::Send);
                    nic.doorbell.publish(heads);
                }
            })
        };
        nic.drive(Holder::rank(LocalRank(1)));
        poster.join().unwrap();
        nic.drive(Holder::rank(LocalRank(1)));
        assert!(nic.token.try_take(Holder::rank(LocalRank(1))));
        assert_eq!((nic.sum.load(Ordering::Relaxed), nic.count.load(Ordering::Relaxed)), (6, 3));
    });
}

#[test]
fn of_two_who_end_the_job_at_once_one_is_heard_and_what_is_read_is_its_own() {
    loom::model(|| {
        let record = Arc::new(AbortRecord::<2>::default());
        let (short, long) = ("no mesh", "no room for more");
        let rank = {
            let record = record.clone();
            thread::spawn(move || record.say(1, 7, short))
        };
        let nic = {
            let record = record.clone();
            thread::spawn(move || record.say(2, 0, long))
        };
        match record.said_by() {
            0 => {}
            1 => assert_eq!(record.read(), (7, short.to_owned())),
            _ => assert_eq!(record.read(), (0, long.to_owned())),
        }
        let heard = (rank.join().unwrap(), nic.join().unwrap());
        match record.said_by() {
            1 => assert_eq!((heard, record.read()), ((true, false), (7, short.to_owned()))),
            2 => assert_eq!((heard, record.read()), ((false, true), (0, long.to_owned()))),
            other => panic!("said by {other}"),
        }
    });
}

#[test]
fn a_sleeper_finds_what_was_posted_or_is_woken_for_it() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let (word, doorbell) = (Arc::new(WaitWord::default()), Arc::new(HeadsWord::default()));
        let posters = [RingKind::Send, RingKind::Receive].map(|kind| {
            let (word, doorbell) = (word.clone(), doorbell.clone());
            thread::spawn(move || {
                if kind == RingKind::Send {
                    doorbell.publish(Heads(0).advanced(kind));
                    fence(Ordering::SeqCst);
                }
                // Others wake for what is no business of this sleeper's. Whoever takes the word wakes its
                // owner.
                word.take();
            })
        });
        let finds = || {
            word.announce(2);
            doorbell.peek() != Heads(0)
        };
        let mut found = finds();
        word.retract();
        // The second time a word that was taken late may meet.
        found |= finds();
        for poster in posters {
            poster.join().unwrap();
        }
        assert!(found || word.peek() == 0, "asleep for ever");
    });
}

/// A sender's ring, its receiver's claims, and what processors have taken for the receiver.
struct Claimed {
    token: RunToken,
    doorbell: HeadsWord,
    taken: HeadsWord,
    cells: [Cell; 2],
    claims: Claims,
    queued: [AtomicU64; 2],
}

const SENDER: LocalRank = LocalRank(0);

impl Claimed {
    fn new() -> Self {
        Self {
            token: RunToken::default(),
            doorbell: HeadsWord::default(),
            taken: HeadsWord::default(),
            cells: Default::default(),
            claims: Claims::default(),
            queued: [AtomicU64::new(0), AtomicU64::new(0)],
        }
    }

    fn run_slice(&self, holder: Holder) {
        if !self.token.try_take(holder) {
            return;
        }
        let (heads, mut taken) = (self.doorbell.read(), self.taken.read());
        while heads.ahead_of(taken, RingKind::Send) > 0 {
            let place = taken.get(RingKind::Send);
            let label = Ring::new(&self.cells).cell(place).label();
            if !self.claims.is_passed_over(SENDER, label) {
                let queued = &self.queued[place as usize];
                queued.store(queued.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            }
            taken = taken.advanced(RingKind::Send);
        }
        self.taken.publish(taken);
        self.token.release();
    }

    fn is_in_ring(&self, place: u32) -> bool {
        Heads::distance(self.taken.peek().get(RingKind::Send), place) < 2
    }

    /// What the port of a rank does: whether it has the message that it found.
    fn claim(&self, place: u32, label: u64) -> bool {
        let before = self.claims.claimed(SENDER);
        self.claims.claim(SENDER, label);
        if self.token.looks_free() && self.is_in_ring(place) {
            return true;
        }
        while !self.token.try_take(Holder::rank(LocalRank(1))) {
            thread::yield_now();
        }
        let holds = self.is_in_ring(place) || self.claims.was_passed_over(SENDER, label);
        if !holds {
            self.claims.retract(SENDER, before);
        }
        self.token.release();
        holds
    }
}

#[test]
fn a_message_is_claimed_by_its_receiver_or_taken_by_a_slice_and_never_both() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let nic = Arc::new(Claimed::new());
        let threads: Vec<_> = [true, false]
            .into_iter()
            .map(|sends| {
                let nic = nic.clone();
                thread::spawn(move || {
                    if sends {
                        let mut heads = Heads(0);
                        for label in 1..=2 {
                            let place = heads.get(RingKind::Send);
                            Ring::new(&nic.cells).cell(place).write_labelled(&[7; 8], label);
                            heads = heads.advanced(RingKind::Send);
                            nic.doorbell.publish(heads);
                        }
                    }
                    nic.run_slice(Holder::rank(LocalRank(if sends { 0 } else { 2 })));
                })
            })
            .collect();
        let mut claimed = [0; 2];
        for place in 0..2u32 {
            let cell = Ring::new(&nic.cells).cell(place);
            let label = cell.label();
            if Heads::of_label(label) != Heads::after(place) {
                break;
            }
            assert_eq!(cell.read()[..7], [7; 7]);
            if !nic.claim(place, label) {
                break;
            }
            claimed[place as usize] = 1;
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        nic.run_slice(Holder::NIC_THREAD);
        for place in 0..2 {
            let queued = nic.queued[place].load(Ordering::Relaxed);
            assert_eq!(claimed[place] + queued, 1, "message {place}: claimed {claimed:?}");
        }
    });
}
