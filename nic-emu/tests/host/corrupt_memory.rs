//! Bad memory and honest misfortune: what a process does to itself or writes where it should not harms no
//! more than it must, and ends in a message.

use bcs_core::event::EventId;
use bcs_core::global_memory::{GlobalAddress, GlobalVariable};
use bcs_core::{JobId, LocalRank, NodeId, NodeSet, Placement, Rank, SliceLength};
use bcs_fabric::{Assignment, Comparison, Driven, Fabric, FabricError, Road, Source, Ticket};
use nic_emu::arithmetic::Arithmetic;
use nic_emu::contexts::Context;
use nic_emu::descriptor::Check;
use nic_emu::host::mapping::create;
use nic_emu::host::{CrossMemory, NicConfig, NicHost};
use nic_emu::matching::Envelope;
use nic_emu::memory::descriptor::CollectiveKind;
use nic_emu::memory::numbers::CommRank;
use nic_emu::memory::slab::SLAB_BYTES;
use nic_emu::memory::{INSTANCES, Layout, NicMemory};
use nic_emu::port::{Collective, Port, PortError, Posted, Send};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::time::Timespec;
use std::sync::{Arc, Barrier, mpsc};
use std::time::Duration;

/// How long something may take that must not take for ever.
const LONGEST: Duration = Duration::from_secs(30);

/// NIC memory, and its descriptor.
fn nic_memory(ranks: u32) -> (NicMemory, OwnedFd) {
    let (memory, fd) = create(Layout::new(ranks, ranks, [0; 2]).unwrap(), 0, 1).unwrap();
    memory.header().cross_memory.set(1);
    memory.header().cores.set(2);
    (memory, fd)
}

/// Bytes that a file takes up.
fn taken(fd: &OwnedFd) -> u64 {
    rustix::fs::fstat(fd).unwrap().st_blocks as u64 * 512
}

/// Runs `body` in a child process; answers how it ended, as `waitpid` says.
fn in_child(body: impl FnOnce()) -> i32 {
    // SAFETY: the child runs test code that takes no lock that another thread may hold for long (glibc's
    // allocator is made safe across fork), then leaves without destructors.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "cannot fork");
    if child == 0 {
        let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).map_or(99, |()| 0);
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(code) }
    }
    let mut status = 0;
    // SAFETY: waits for a child of this process.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    status
}

/// Whatever a core dump is written to takes the first so many bytes of it.
const CORE_BYTES: u64 = 64 << 20;

#[test]
fn a_rank_that_dumps_its_core_fills_no_memory_of_the_nic() {
    let (_memory, fd) = nic_memory(2);
    let before = taken(&fd);
    let folder = std::env::temp_dir().join(format!("bcs-core-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let status = in_child(|| {
        std::env::set_current_dir(&folder).unwrap();
        let limit = libc::rlimit { rlim_cur: CORE_BYTES, rlim_max: CORE_BYTES };
        // SAFETY: sets a limit of this process, and ends it.
        unsafe {
            libc::setrlimit(libc::RLIMIT_CORE, &limit);
            libc::signal(libc::SIGSEGV, libc::SIG_DFL);
            libc::raise(libc::SIGSEGV);
        }
    });
    let dumped = libc::WCOREDUMP(status);
    let _ = std::fs::remove_dir_all(&folder);
    assert_eq!(libc::WTERMSIG(status), libc::SIGSEGV);
    let filled = taken(&fd) - before;
    assert!(filled < 1 << 20, "a core dump filled {filled} bytes");
    if !dumped {
        bcs_harness::skip("the system lets nobody dump a core here");
    }
}

#[test]
fn a_program_that_locks_all_its_memory_fills_none_of_the_nic() {
    let locked = 42;
    let status = in_child(|| {
        // SAFETY: locks memory of this process, which ends soon.
        if unsafe { libc::mlockall(libc::MCL_FUTURE) } != 0 {
            bcs_harness::skip("this user may not lock memory");
            return;
        }
        // Of a failure the child must not fill the machine's memory.
        let limit = libc::rlimit { rlim_cur: 16 << 30, rlim_max: 16 << 30 };
        // SAFETY: sets a limit of this process.
        unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) };
        let (_memory, fd) = nic_memory(1);
        let filled = taken(&fd);
        if filled >= 1 << 20 {
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(locked) }
        }
    });
    assert!(
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0,
        "locked memory was filled: {status:#x}"
    );
}

#[test]
fn nobody_can_change_the_size_of_nic_memory_below_the_others() {
    let (_memory, fd) = nic_memory(1);
    assert_eq!(rustix::fs::ftruncate(&fd, 0), Err(rustix::io::Errno::PERM));
    assert_eq!(rustix::fs::ftruncate(&fd, 1 << 40), Err(rustix::io::Errno::PERM));
}

#[test]
fn of_processes_that_become_the_same_rank_at_the_same_time_one_does_and_the_others_are_told() {
    for _ in 0..20 {
        let memory = Arc::new(nic_memory(1).0);
        let start = Barrier::new(4);
        let opened: Vec<_> = std::thread::scope(|scope| {
            let open = || {
                start.wait();
                Port::open(memory.clone(), LocalRank(0)).map(drop)
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(open)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(opened.iter().filter(|opened| opened.is_ok()).count(), 1, "{opened:?}");
        let told = |opened: &&Result<(), PortError>| {
            opened.as_ref().is_err_and(|error| {
                let pid = std::process::id();
                error.to_string().contains(&format!("process {pid} already"))
            })
        };
        assert_eq!(opened.iter().filter(told).count(), 3, "{opened:?}");
    }
}

#[test]
fn a_rank_in_another_pid_namespace_turns_cross_memory_attach_off() {
    let host = NicHost::create(&config(1)).unwrap();
    assert_eq!(host.memory().header().cross_memory.get(), 1);
    let status = in_child(|| {
        // SAFETY: children of this process will be in a namespace of their own.
        if unsafe { libc::unshare(libc::CLONE_NEWPID) } != 0 {
            bcs_harness::skip("this user may not make a pid namespace");
            return;
        }
        let status = in_child(|| {
            Port::open(host.memory().clone(), LocalRank(0)).unwrap();
            assert_eq!(host.memory().header().cross_memory.get(), 0);
        });
        assert_eq!(status, 0);
    });
    assert_eq!(status, 0);
}

/// Runs slices until there is nothing to do.
fn run(port: &mut Port) {
    while port.lend().unwrap() {}
}

/// A message of a megabyte from rank 0, of which a slice has made a transfer; then `harm`, and rank 1 moves
/// it. Answers what came, and what another buffer of rank 1 holds then.
fn receive_after(harm: impl FnOnce(&NicMemory, &mut [u8])) -> (Result<(), PortError>, Vec<u8>, Vec<u8>) {
    let memory = Arc::new(nic_memory(2).0);
    let [mut sender, mut receiver] = [0, 1].map(|rank| Port::open(memory.clone(), LocalRank(rank)).unwrap());
    let data = vec![7u8; 1 << 20];
    let (mut buffer, mut other) = (vec![0u8; data.len()], vec![0u8; 4 * data.len()]);
    let send = Send {
        context: Context(2),
        source: CommRank(0),
        tag: 1,
        destination: Rank(1),
        synchronous: false,
        check: Check::NONE,
        signature: 0,
    };
    // SAFETY: the data lives until the end of the function.
    let posted = unsafe { sender.post_send(&send, data.as_ptr(), data.len()) }.unwrap();
    assert!(matches!(posted, Posted::Request(_)));
    let envelope = Envelope { context: Context(2), source: CommRank(0), tag: 1 };
    // SAFETY: the buffer lives until the end of the function.
    let request = unsafe { receiver.post_receive(&envelope, buffer.as_mut_ptr(), buffer.len()) }.unwrap();
    run(&mut sender);
    harm(&memory, &mut other);
    let mut moved = Ok(());
    for _ in 0..1_000 {
        match receiver.progress().and_then(|_| receiver.test(request)) {
            Ok(None) => {}
            Ok(Some(_)) => break,
            Err(error) => {
                moved = Err(error);
                break;
            }
        }
    }
    (moved, buffer, other)
}

#[test]
fn a_receive_writes_to_its_own_buffer_and_nowhere_else_whatever_nic_memory_says() {
    let (moved, buffer, other) = receive_after(|memory, other| {
        memory.transfer(0).unwrap().destination_address.set(other.as_mut_ptr() as u64);
    });
    assert!(other.iter().all(|byte| *byte == 0), "another buffer was written");
    assert!(moved.is_ok() && buffer.iter().all(|byte| *byte == 7), "{moved:?}");
}

#[test]
fn a_receive_writes_nothing_behind_its_buffer_whatever_nic_memory_says() {
    let (moved, ..) = receive_after(|memory, _| {
        let transfer = memory.transfer(0).unwrap();
        transfer.bytes.set(3 << 20);
        transfer.granted.store(3 << 20, std::sync::atomic::Ordering::Release);
        transfer.cursor.store(1 << 20, std::sync::atomic::Ordering::Release);
    });
    let told = moved.expect_err("a range that is not in the buffer").to_string();
    assert!(told.contains("NIC memory is corrupt: end of a range of a message"), "{told}");
}

/// Whether `body` comes to an end.
fn ends<T: std::marker::Send + 'static>(body: impl FnOnce() -> T + std::marker::Send + 'static) -> Option<T> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(body()));
    receiver.recv_timeout(LONGEST).ok()
}

fn collective(kind: CollectiveKind, rank: u32, sequence: u32) -> Collective {
    Collective {
        kind,
        operation: (0, 0),
        context: Context(3),
        comm: (CommRank(rank).into(), 2),
        root: CommRank(0).into(),
        call: 0,
        most_bytes: 0,
        sequence,
        local: (rank as u16, 2),
    }
}

fn reach_barrier(port: &mut Port, rank: u32, sequence: u32) {
    let barrier = collective(CollectiveKind::Barrier, rank, sequence);
    // SAFETY: no data.
    unsafe { port.post_collective(&barrier, std::ptr::null(), 0, true, None) }.unwrap();
}

#[test]
fn a_contribution_larger_than_a_slab_is_refused_and_one_of_a_slab_is_not() {
    let memory = Arc::new(nic_memory(2).0);
    let mut port = Port::open(memory, LocalRank(0)).unwrap();
    let data = vec![7u8; SLAB_BYTES + 1];
    let board = collective(CollectiveKind::Board, 0, 1);
    // SAFETY: the data has as many bytes.
    let told = unsafe { port.post_collective(&board, data.as_ptr(), SLAB_BYTES + 1, true, None) };
    let told = told.expect_err("more than a slab").to_string();
    assert!(told.contains("8193 bytes to a collective (Board)") && told.contains("8192 bytes"), "{told}");
    // SAFETY: as above.
    let told = unsafe { port.post_collective(&board, data.as_ptr(), SLAB_BYTES, false, None) };
    assert!(told.unwrap().is_none());
}

#[test]
fn a_list_of_collectives_that_goes_in_a_circle_is_an_error_and_no_walk_without_end() {
    let looked = ends(|| {
        let memory = Arc::new(nic_memory(2).0);
        let mut ports = [0, 1].map(|rank| Port::open(memory.clone(), LocalRank(rank)).unwrap());
        reach_barrier(&mut ports[0], 0, 1);
        run(&mut ports[0]);
        let first = memory.instance(0).unwrap();
        assert_eq!((first.context.get(), first.sequence.get()), (Context(3), 1));
        first.links().set(1, 0);
        // As many further on, so that it is looked for in the same chain.
        reach_barrier(&mut ports[1], 1, 1 + INSTANCES as u32);
        ports[1].lend().map_err(|error| error.to_string())
    });
    let told = looked.expect("the walk ends").expect_err("a circle");
    assert!(told.contains("NIC memory is corrupt: length of a list"), "{told}");
}

/// A job of a rank a node.
fn config(nodes: u32) -> NicConfig {
    NicConfig {
        job: JobId(1),
        placement: Placement::by_rank(&(0..nodes).collect::<Vec<_>>()).unwrap(),
        node: NodeId(0),
        slice: SliceLength::Elastic,
        arithmetic: Arithmetic::Native,
        cross_memory: CrossMemory::WhereFaster,
        unexpected_bytes: nic_emu::memory::unexpected::DEFAULT_LIMIT_BYTES,
        context_slots: nic_emu::memory::contexts::SLOTS,
        emds: None,
        nic_core: None,
    }
}

/// A network whose driver has a fault.
struct Broken(OwnedFd);

fn fault() -> ! {
    panic!("the network's driver has a fault")
}

impl AsFd for Broken {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Fabric for Broken {
    fn xfer_and_signal(
        &mut self,
        _: Source<'_>,
        _: &NodeSet,
        _: GlobalAddress,
        _: Option<EventId>,
        _: Option<EventId>,
    ) -> Result<(), FabricError> {
        fault()
    }

    fn test_event(&mut self, _: EventId) -> Result<u32, FabricError> {
        fault()
    }

    fn compare_and_write(
        &mut self,
        _: &NodeSet,
        _: Comparison,
        _: Option<Assignment>,
    ) -> Result<Ticket, FabricError> {
        fault()
    }

    fn test_query(&mut self, _: Ticket) -> Option<Result<bool, FabricError>> {
        fault()
    }

    fn read(&self, _: GlobalAddress, _: &mut [u8]) -> Result<(), FabricError> {
        fault()
    }

    fn load(&self, _: GlobalVariable) -> Result<u64, FabricError> {
        fault()
    }

    fn progress(&mut self) -> Result<(), FabricError> {
        fault()
    }

    fn wait(&mut self) -> Result<(), FabricError> {
        fault()
    }

    fn take_failure(&mut self) -> Option<FabricError> {
        fault()
    }

    fn node(&self) -> NodeId {
        NodeId(0)
    }

    fn members(&self) -> NodeSet {
        fault()
    }

    fn dead(&self) -> NodeSet {
        fault()
    }

    fn declare_dead(&mut self, _: NodeId) -> Result<(), FabricError> {
        fault()
    }
}

impl Road for Broken {
    fn record_bytes(&self) -> usize {
        fault()
    }

    fn send(&mut self, _: NodeId, _: &[&[u8]]) -> Result<(), FabricError> {
        fault()
    }

    fn poll(&mut self, _: &mut dyn FnMut(NodeId, &[u8])) -> Result<usize, FabricError> {
        fault()
    }
}

impl Driven for Broken {
    fn timeout(&self) -> Option<Duration> {
        fault()
    }

    fn why_lost(&self, _: NodeId) -> Option<String> {
        fault()
    }

    fn begin_connect(&mut self, _: &NodeSet) {
        fault()
    }

    fn unconnected(&self) -> NodeSet {
        fault()
    }

    fn leave(&mut self, _: Duration) {
        fault()
    }
}

#[test]
fn a_panic_of_the_nic_thread_rings_the_alarm_and_is_told() {
    let mut host = NicHost::create(&config(2)).unwrap();
    host.start(Some(Box::new(Broken(host.descriptor().try_clone_to_owned().unwrap())))).unwrap();
    let mut alarm = [PollFd::from_borrowed_fd(host.alarm(), PollFlags::IN)];
    let limit = Timespec { tv_sec: LONGEST.as_secs() as i64, tv_nsec: 0 };
    assert_eq!(poll(&mut alarm, Some(&limit)), Ok(1), "nobody is told");
    let told = host.finding().expect("a finding").to_string();
    assert!(told.contains("its thread panicked (the network's driver has a fault)"), "{told}");
    host.stop();
}
