//! The standard input on its way to the job: as much of it is read as the manager takes, and none if no rank
//! reads it.

use super::descriptor::Descriptor;
use bcs_protocol::node::INPUT_CREDIT;
use program_launcher::StdinTo;
use program_launcher::output::standard;
use rustix::io::Errno;
use std::io;
use tokio::io::Interest;

const CHUNK_BYTES: usize = 64 << 10;

/// The job's input.
pub(super) struct Input {
    /// None when nothing more is to be read.
    source: Option<Descriptor>,
    /// Bytes that may still be sent before the manager says that some were taken.
    credit: u32,
}

impl Input {
    pub(super) fn new(to: StdinTo) -> io::Result<Self> {
        let mut input = Self { source: None, credit: INPUT_CREDIT };
        if to == StdinTo::None {
            input.close();
        } else {
            input.source = Some(Descriptor::new(0, Interest::READABLE)?);
        }
        Ok(input)
    }

    /// The next bytes; none at the end. Never comes back while nothing may be read. Cancel safe.
    pub(super) async fn next(&mut self) -> Vec<u8> {
        loop {
            let Some(source) = self.source.as_ref().filter(|_| self.credit > 0) else {
                return std::future::pending().await;
            };
            source.ready().await;
            let mut chunk = vec![0; CHUNK_BYTES.min(self.credit as usize)];
            match rustix::io::read(source.fd(), &mut chunk) {
                Ok(length) if length > 0 => {
                    chunk.truncate(length);
                    self.credit -= length as u32;
                    return chunk;
                }
                Err(Errno::INTR | Errno::AGAIN) => {}
                // A terminal whose foreground we are not in: it will have something for us when we are.
                Err(Errno::IO) if rustix::termios::isatty(source.fd()) => source.forget(),
                Ok(_) | Err(_) => {
                    self.source = None;
                    return Vec::new();
                }
            }
        }
    }

    /// The manager has passed some on.
    pub(super) fn taken(&mut self, bytes: u32) {
        self.credit = self.credit.saturating_add(bytes).min(INPUT_CREDIT);
    }

    /// Nobody reads it: whoever writes to it is to see that.
    pub(super) fn close(&mut self) {
        self.source = None;
        let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC;
        if rustix::termios::isatty(standard(0)) {
            return;
        }
        if let Ok(null) = rustix::fs::open("/dev/null", flags, rustix::fs::Mode::empty()) {
            let _ = rustix::stdio::dup2_stdin(&null);
        }
    }
}
