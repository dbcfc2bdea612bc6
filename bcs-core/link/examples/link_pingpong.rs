//! What a link costs: two processes over loopback, each of which drives its end while it waits.
//!
//! `cargo run --release -p bcs-link --example link_pingpong [sealed|plain]`, both when none is named. Latency
//! is half a round trip, the best of sixty short series; rates, too.

use bcs_link::{LinkEnd, LinkLayout, LinkSecrets, Protection, SECRET_BYTES, Side};
use std::error::Error;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::time::Instant;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const SERIES: usize = 60;

/// One end, and the connection that it drives.
struct End {
    link: LinkEnd,
    stream: TcpStream,
    is_dialler: bool,
    bytes: Vec<u8>,
}

impl End {
    fn new(stream: TcpStream, side: Side, is_sealed: bool) -> Result<Self> {
        let layout = LinkLayout::default();
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping at an address of the system's choice, which stays until the process ends.
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), layout.bytes(), protection, flags, -1, 0) };
        let memory =
            NonNull::new(memory.cast::<u8>()).filter(|memory| memory.as_ptr().cast() != libc::MAP_FAILED);
        // SAFETY: the mapping is of this layout, and of zeros.
        let mut link = unsafe { LinkEnd::attach(memory.ok_or("no memory")?, layout) };
        let is_dialler = side == Side::Dialler;
        // What a seal costs does not depend on who knows the secrets.
        let secrets = match side {
            Side::Dialler => LinkSecrets::new([1; SECRET_BYTES], [2; SECRET_BYTES]),
            Side::Acceptor => LinkSecrets::new([2; SECRET_BYTES], [1; SECRET_BYTES]),
        };
        link.open(side, if is_sealed { Protection::Sealed(secrets) } else { Protection::Plain })?;
        Ok(Self { link, stream, is_dialler, bytes: vec![0; 70_000] })
    }

    fn send(&mut self, record: &[u8]) -> Result<()> {
        while !self.link.append(&[record])? {
            self.link.drive(self.stream.as_fd())?;
        }
        self.link.drive_sending(self.stream.as_fd())?;
        Ok(())
    }

    fn receive(&mut self) -> Result<usize> {
        loop {
            if let Some(mut taker) = self.link.taker()
                && let Some(bytes) = taker.next(|record| record.copy(0, &mut self.bytes))?
            {
                return Ok(bytes);
            }
            self.link.drive(self.stream.as_fd())?;
        }
    }

    /// Drives until nothing waits to be sent.
    fn flush(&mut self) -> Result<()> {
        while self.link.queued_bytes() > 0 || self.link.has_to_send() {
            self.link.drive(self.stream.as_fd())?;
        }
        Ok(())
    }

    fn latency(&mut self, bytes: usize, rounds: usize) -> Result<f64> {
        let record = vec![1; bytes];
        let mut best = f64::MAX;
        for _ in 0..SERIES {
            let began = now();
            for _ in 0..rounds {
                if self.is_dialler {
                    self.send(&record)?;
                    self.receive()?;
                } else {
                    self.receive()?;
                    self.send(&record)?;
                }
            }
            best = best.min(began.elapsed().as_secs_f64() / rounds as f64 / 2.0);
        }
        Ok(best)
    }

    /// Records of one size one way, as fast as they go, and an answer: seconds a record.
    fn rate(&mut self, bytes: usize, records: usize) -> Result<f64> {
        let record = vec![1; bytes];
        let mut best = f64::MAX;
        for _ in 0..SERIES {
            let began = now();
            if self.is_dialler {
                let mut sent = 0;
                while sent < records {
                    if let Some(mut appender) = self.link.appender()? {
                        while sent < records && appender.push(&[&record])? {
                            sent += 1;
                        }
                    }
                    self.link.drive(self.stream.as_fd())?;
                }
                self.flush()?;
                self.receive()?;
            } else {
                let mut came = 0;
                while came < records {
                    if let Some(mut taker) = self.link.taker() {
                        while came < records
                            && taker.next(|record| record.copy(0, &mut self.bytes))?.is_some()
                        {
                            came += 1;
                        }
                    }
                    self.link.drive(self.stream.as_fd())?;
                }
                self.send(b"answer")?;
            }
            best = best.min(began.elapsed().as_secs_f64() / records as f64);
        }
        Ok(best)
    }

    fn run(&mut self, name: &str) -> Result<()> {
        let small = self.latency(8, 1000)?;
        let large = self.latency(64 << 10, 200)?;
        let rate = self.rate(8, 100_000)?;
        let bulk = self.rate(64 << 10, 400)?;
        self.flush()?;
        if self.is_dialler {
            println!(
                "{name}: 8 B one way {:.2} us, 64 KB one way {:.2} us, 8 B records {:.1} M/s, 64 KB records {:.2} GB/s",
                small * 1e6,
                large * 1e6,
                1e-6 / rate,
                65_536e-9 / bulk
            );
        }
        Ok(())
    }
}

#[allow(clippy::disallowed_methods)]
fn now() -> Instant {
    Instant::now()
}

/// Runs as one end of a connection.
fn run(stream: TcpStream, side: Side, name: &str) -> Result<()> {
    stream.set_nonblocking(true)?;
    stream.set_nodelay(true)?;
    End::new(stream, side, name == "sealed")?.run(name)
}

fn both(name: &str) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    // SAFETY: this process has one thread.
    let child = unsafe { libc::fork() };
    match child {
        0 => {
            let done = run(TcpStream::connect(address)?, Side::Dialler, name);
            std::process::exit(i32::from(done.inspect_err(|error| eprintln!("{error}")).is_err()))
        }
        _ => {
            run(listener.accept()?.0, Side::Acceptor, name)?;
            let mut status = 0;
            // SAFETY: the status is borrowed.
            unsafe { libc::waitpid(child, &raw mut status, 0) };
            if status == 0 { Ok(()) } else { Err("the other process failed".into()) }
        }
    }
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [] => ["sealed", "plain"].into_iter().try_for_each(both),
        [name @ ("sealed" | "plain")] => both(name),
        _ => Err("usage: link_pingpong [sealed|plain]".into()),
    }
}
