//! The promise of a link: any process of a node goes on where another one has stopped, in mid-frame too; and
//! one that dies while it holds a lock is found.

use bcs_link::{LinkEnd, LinkLayout, LinkLock, Protection, Side, is_process_alive};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Memory that stays the same for forked processes.
fn shared_memory(bytes: usize) -> NonNull<u8> {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping at an address of the system's choice. It stays until the process ends.
    let memory = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
    assert_ne!(memory, libc::MAP_FAILED);
    NonNull::new(memory.cast()).unwrap()
}

/// Forks a process that does something and ends.
fn fork(work: impl FnOnce()) -> libc::pid_t {
    // SAFETY: the child uses what is its own and what is shared for it, and ends without unwinding into the
    // harness of the tests.
    match unsafe { libc::fork() } {
        0 => {
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            // SAFETY: it ends this process, and runs nothing of the parent's.
            unsafe { libc::_exit(i32::from(done.is_err())) }
        }
        child => {
            assert!(child > 0);
            child
        }
    }
}

fn wait_for(child: libc::pid_t) -> libc::c_int {
    let mut status = 0;
    // SAFETY: the status is borrowed.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    status
}

fn attach(memory: NonNull<u8>, layout: LinkLayout) -> LinkEnd {
    // SAFETY: the mapping is of this layout, stays, and holds a link or zeros.
    unsafe { LinkEnd::attach(memory, layout) }
}

/// Two nodes: the memory of each, and its end of a connection that takes little at a time.
fn nodes(layout: LinkLayout) -> [(NonNull<u8>, UnixStream); 2] {
    let (one, other) = UnixStream::pair().unwrap();
    [(Side::Dialler, one), (Side::Acceptor, other)].map(|(side, socket)| {
        let bytes: libc::c_int = 4096;
        // SAFETY: the option is an int, which is borrowed.
        unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_SNDBUF,
                (&raw const bytes).cast(),
                size_of_val(&bytes) as libc::socklen_t,
            )
        };
        let memory = shared_memory(layout.bytes());
        attach(memory, layout).open(side, Protection::Plain).unwrap();
        (memory, socket)
    })
}

#[test]
fn processes_that_take_turns_at_both_ends_lose_nothing() {
    const RECORDS: u32 = 400;
    let layout = LinkLayout::new(64 << 10).unwrap();
    let nodes = nodes(layout);
    let taken = shared_memory(4096);
    // SAFETY: the mapping is large enough, stays, and begins as zeros.
    let taken: &AtomicU32 = unsafe { taken.cast().as_ref() };
    let body = |number: u32| vec![number as u8; (number as usize * 977) % 30_000];
    let is_over = || taken.load(Ordering::Acquire) == RECORDS;
    // Two drivers at each node, and one of them appends or takes as well.
    let drive = |node: usize, does_more: bool| {
        let (memory, socket) = &nodes[node];
        let (mut end, mut appended) = (attach(*memory, layout), 0);
        while !is_over() {
            let has_moved = end.drive(socket.as_fd()).unwrap();
            if does_more && node == 0 && appended < RECORDS {
                appended += u32::from(end.append(&[&appended.to_le_bytes(), &body(appended)]).unwrap());
            }
            if does_more
                && node == 1
                && let Some(mut taker) = end.taker()
            {
                let next = taker.next(|record| {
                    let mut bytes = Vec::new();
                    record.append_to(0, &mut bytes);
                    let number = taken.load(Ordering::Relaxed);
                    assert_eq!(bytes[..4], number.to_le_bytes());
                    assert!(bytes[4..] == body(number));
                });
                if next.unwrap().is_some() {
                    taken.fetch_add(1, Ordering::Release);
                }
            }
            if !has_moved {
                std::thread::yield_now();
            }
        }
    };
    let children: Vec<_> = [(0, true), (0, false), (1, true), (1, false)]
        .map(|(node, does_more)| fork(|| drive(node, does_more)))
        .into();
    for child in children {
        assert_eq!(wait_for(child), 0);
    }
}

#[test]
fn a_process_that_is_killed_while_it_holds_a_lock_is_found() {
    let layout = LinkLayout::default();
    let [(memory, socket), _other] = nodes(layout);
    for lock in [LinkLock::Append, LinkLock::Take] {
        let (memory, socket) = match lock {
            LinkLock::Append => (memory, &socket),
            _ => {
                // A record to take, by way of the other node.
                let pair = self::nodes(layout);
                let mut ends = pair.each_ref().map(|(memory, _)| attach(*memory, layout));
                ends[1].append(&[b"x"]).unwrap();
                while !ends[0].has_records() {
                    for (end, (_, socket)) in ends.iter_mut().zip(&pair) {
                        end.drive(socket.as_fd()).unwrap();
                    }
                }
                (pair[0].0, &socket)
            }
        };
        let child = fork(|| {
            let end = attach(memory, layout);
            let park = || -> bool {
                loop {
                    std::thread::park();
                }
            };
            match lock {
                LinkLock::Append => {
                    let _appender = end.appender().unwrap().unwrap();
                    park();
                }
                _ => drop(end.taker().unwrap().next(|_| park())),
            }
        });
        let end = attach(memory, layout);
        while end.holder(lock).is_none() {
            std::thread::yield_now();
        }
        assert_eq!(end.holder(lock), Some(child as u32));
        assert_eq!(end.dead_holder(), None);
        // SAFETY: the child is this test's.
        unsafe { libc::kill(child, libc::SIGKILL) };
        while is_process_alive(child as u32) {
            std::thread::yield_now();
        }
        assert_eq!(end.dead_holder(), Some((lock, child as u32)));
        wait_for(child);
        assert_eq!(end.dead_holder(), Some((lock, child as u32)));
        // The lock is nobody's any more; the rest of the link is not touched.
        assert_eq!(end.append(&[b"x"]), Ok(lock != LinkLock::Append));
        assert!(attach(memory, layout).drive(socket.as_fd()).is_ok());
    }
}

#[test]
fn a_process_that_is_killed_while_it_drives_is_found_or_has_harmed_nothing() {
    let layout = LinkLayout::default();
    let mut found = Vec::new();
    // It is at work most of the time, so most of the kills find it there.
    while found.len() < 3 {
        let [(memory, socket), (other_memory, other_socket)] = nodes(layout);
        let child = fork(|| {
            let mut end = attach(memory, layout);
            loop {
                let _ = end.append(&[&[7; 5000]]);
                let _ = end.drive(socket.as_fd());
            }
        });
        let mut other = attach(other_memory, layout);
        for _ in 0..2000 {
            other.drive(other_socket.as_fd()).unwrap();
            while let Some(mut taker) = other.taker()
                && taker.next(|record| assert_eq!(record.len(), 5000)).unwrap().is_some()
            {}
        }
        // SAFETY: the child is this test's.
        unsafe { libc::kill(child, libc::SIGKILL) };
        wait_for(child);
        let mut end = attach(memory, layout);
        match end.dead_holder() {
            Some((lock, process)) => {
                assert_eq!(process, child as u32);
                // Nobody seals or opens in its stead: a number that it has taken is used by nobody else.
                let before = end.frames_sent();
                let _ = end.drive(socket.as_fd());
                assert!(lock != LinkLock::Send || end.frames_sent() == before);
                found.push(lock);
            }
            None => assert!(end.append(&[b"x"]).is_ok() && end.drive(socket.as_fd()).is_ok()),
        }
    }
}
