//! Rings, doorbells, the run token, wait words and the abort record under every interleaving:
//! `RUSTFLAGS="--cfg loom" cargo test -p nic-engine --test loom --release`.
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering, fence};
use loom::thread;
use nic_engine::memory::abort_record::AbortRecord;
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
            cells: [Cell::new(), Cell::new()],
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
                        nic.drive(Holder::rank(0));
                        thread::yield_now();
                    }
                    Ring::new(&nic.cells).cell(heads.get(RingKind::Send)).write(&[value; 8]);
                    heads = heads.advanced(RingKind::Send);
                    nic.doorbell.publish(heads);
                }
            })
        };
        nic.drive(Holder::rank(1));
        poster.join().unwrap();
        nic.drive(Holder::rank(1));
        assert!(nic.token.try_take(Holder::rank(1)));
        assert_eq!((nic.sum.load(Ordering::Relaxed), nic.count.load(Ordering::Relaxed)), (6, 3));
    });
}

#[test]
fn of_two_who_end_the_job_at_once_one_is_heard_and_what_is_read_is_its_own() {
    loom::model(|| {
        let record = Arc::new(AbortRecord::<2>::new());
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
        let (word, doorbell) = (Arc::new(WaitWord::new()), Arc::new(HeadsWord::default()));
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
