//! Labelled output: whole lines, each with the rank that wrote it.
//!
//! The invariant: two lines are never mixed, on one descriptor or on two that lead to the same place,
//! and memory is bounded: a line is held until it ends, up to [`LONGEST_LINE`], and when the reader
//! of our output is slow, the ranks wait on their pipes.

use crate::watch::{Interest, Ready, Watch};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A line that is longer is cut here and goes on in a line of its own, with its label.
pub const LONGEST_LINE: usize = 64 * 1024;

/// When so much waits to be written, ranks are no longer read.
const SINK_FULL: usize = 1024 * 1024;

/// What is written at once. A pipe that is ready to be written has room for a page, so that the
/// launcher never blocks on it.
const WRITE_AT_ONCE: usize = 4096;

/// Puts the bytes of one stream together to labelled lines.
#[derive(Debug)]
pub struct LineAssembler {
    label: Vec<u8>,
    partial: Vec<u8>,
}

impl LineAssembler {
    /// For the output of this rank.
    pub fn new(rank: u32) -> Self {
        Self { label: format!("[{rank}] ").into_bytes(), partial: Vec::new() }
    }

    /// Takes bytes as they come, and appends the lines that they complete.
    pub fn push(&mut self, mut bytes: &[u8], lines: &mut Vec<u8>) {
        while !bytes.is_empty() {
            let room = LONGEST_LINE - self.partial.len();
            let line_end = bytes.iter().take(room).position(|byte| *byte == b'\n');
            let taken = line_end.map_or(bytes.len().min(room), |end| end + 1);
            let (head, rest) = bytes.split_at(taken);
            self.partial.extend_from_slice(head);
            bytes = rest;
            if line_end.is_some() || self.partial.len() == LONGEST_LINE {
                self.finish(lines);
            }
        }
    }

    /// Ends the line that is unfinished, if there is one.
    pub fn finish(&mut self, lines: &mut Vec<u8>) {
        if !self.partial.is_empty() {
            lines.extend_from_slice(&self.label);
            lines.append(&mut self.partial);
            if lines.last() != Some(&b'\n') {
                lines.push(b'\n');
            }
        }
    }
}

#[derive(Debug)]
struct Stream {
    reader: Option<OwnedFd>,
    assembler: LineAssembler,
    sink: usize,
}

#[derive(Debug)]
struct Sink {
    fd: BorrowedFd<'static>,
    waiting: Vec<u8>,
    written: usize,
    /// Whether the streams are not read because too much waits here.
    is_full: bool,
    is_gone: bool,
}

/// The outputs of all ranks on their way to those of `storm`.
#[derive(Debug)]
pub struct Output {
    streams: Vec<Stream>,
    sinks: Vec<Sink>,
}

impl Output {
    /// From no rank yet, to these two descriptors.
    pub fn new(stdout: BorrowedFd<'static>, stderr: BorrowedFd<'static>) -> Self {
        let sink = |fd| Sink { fd, waiting: Vec::new(), written: 0, is_full: false, is_gone: false };
        let sinks =
            if is_same_place(stdout, stderr) { vec![sink(stdout)] } else { vec![sink(stdout), sink(stderr)] };
        Self { streams: Vec::new(), sinks }
    }

    /// Makes the pipes of a rank; gives the ends that it writes to, output and error.
    pub fn connect(&mut self, rank: u32, watch: &Watch) -> io::Result<[OwnedFd; 2]> {
        Ok([self.connect_one(rank, 0, watch)?, self.connect_one(rank, 1, watch)?])
    }

    fn connect_one(&mut self, rank: u32, which: usize, watch: &Watch) -> io::Result<OwnedFd> {
        let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        rustix::fs::fcntl_setfl(&reader, rustix::fs::OFlags::NONBLOCK)?;
        watch.add(&reader, Ready::Stream(self.streams.len() as u32), Interest::Read)?;
        let sink = which.min(self.sinks.len() - 1);
        self.streams.push(Stream { reader: Some(reader), assembler: LineAssembler::new(rank), sink });
        Ok(writer)
    }

    /// Reads what a stream has, and passes it on.
    pub fn stream_ready(&mut self, index: u32, watch: &Watch) {
        let Some(stream) = self.streams.get_mut(index as usize) else { return };
        let sink = stream.sink;
        stream.read(&mut self.sinks[sink], watch);
        self.write_out(sink, watch);
    }

    /// Writes on, as there is room again.
    pub fn sink_ready(&mut self, index: u32, watch: &Watch) {
        if let Some(sink) = self.sinks.get(index as usize) {
            watch.remove(sink.fd);
            self.write_out(index as usize, watch);
        }
    }

    fn write_out(&mut self, index: usize, watch: &Watch) {
        let sink = &mut self.sinks[index];
        let is_blocked = sink.write();
        if is_blocked {
            // Already watched is as good as watched.
            let _ = watch.add(sink.fd, Ready::Sink(index as u32), Interest::Write);
        }
        let (was_full, is_full) = (sink.is_full, sink.waiting() >= SINK_FULL);
        sink.is_full = is_full;
        let is_gone = sink.is_gone;
        if is_gone || was_full != is_full {
            for (number, stream) in self.streams.iter_mut().enumerate() {
                let Some(reader) = stream.reader.as_ref().filter(|_| stream.sink == index) else { continue };
                if is_gone || is_full {
                    watch.remove(reader);
                } else {
                    let _ = watch.add(reader, Ready::Stream(number as u32), Interest::Read);
                }
                if is_gone {
                    // Nobody reads us: the ranks are told as they would be by a shell's pipe.
                    stream.reader = None;
                }
            }
        }
    }

    /// Takes what is left in the pipes, now that no rank writes any more, ends unfinished lines, and writes
    /// everything out. When `control` is ready while that takes time, `is_given_up` says whether nobody waits
    /// for the rest.
    pub fn finish<C: AsFd>(
        &mut self,
        watch: &Watch,
        control: &mut C,
        mut is_given_up: impl FnMut(&mut C) -> bool,
    ) {
        for stream in &mut self.streams {
            let sink = &mut self.sinks[stream.sink];
            // Bounded: a pipe holds no more than its capacity once nobody writes, and a process that
            // could not be killed does not keep us here.
            for _ in 0..64 {
                if stream.read(sink, watch) == 0 {
                    break;
                }
            }
            stream.assembler.finish(&mut sink.waiting);
            stream.reader = None;
        }
        for sink in &mut self.sinks {
            while sink.write() {
                let mut wait = [PollFd::new(&sink.fd, PollFlags::OUT), PollFd::new(control, PollFlags::IN)];
                let has_come = match poll(&mut wait, None) {
                    Ok(_) => !wait[1].revents().is_empty(),
                    Err(Errno::INTR) => false,
                    Err(_) => return,
                };
                if has_come && is_given_up(control) {
                    return;
                }
            }
        }
    }
}

impl Stream {
    /// Reads once; gives how much.
    fn read(&mut self, sink: &mut Sink, watch: &Watch) -> usize {
        let Some(reader) = &self.reader else { return 0 };
        let mut chunk = [0; 64 * 1024];
        match rustix::io::read(reader, &mut chunk) {
            Ok(length) if length > 0 => {
                self.assembler.push(&chunk[..length], &mut sink.waiting);
                length
            }
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Ok(_) | Err(_) => {
                self.assembler.finish(&mut sink.waiting);
                watch.remove(reader);
                self.reader = None;
                0
            }
        }
    }
}

impl Sink {
    fn waiting(&self) -> usize {
        self.waiting.len() - self.written
    }

    /// Writes as much as goes without blocking. Whether something is left that there is no room for.
    fn write(&mut self) -> bool {
        while self.waiting() > 0 && !self.is_gone {
            if !is_ready(self.fd, PollFlags::OUT) {
                return true;
            }
            let end = self.waiting.len().min(self.written + WRITE_AT_ONCE);
            match rustix::io::write(self.fd, &self.waiting[self.written..end]) {
                Ok(length) => self.written += length,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return true,
                Err(_) => self.is_gone = true,
            }
        }
        self.waiting.clear();
        self.written = 0;
        false
    }
}

/// A descriptor that this process has had from its start: 0, 1 or 2.
pub fn standard(number: i32) -> BorrowedFd<'static> {
    // SAFETY: Rust's runtime opens descriptors 0, 1 and 2 if whoever started us did not, and nothing in
    // `storm` or a launcher closes them; descriptor 0 is replaced in place.
    unsafe { BorrowedFd::borrow_raw(number) }
}

/// Whether two descriptors lead to the same file, terminal or pipe.
pub fn is_same_place(one: BorrowedFd<'_>, other: BorrowedFd<'_>) -> bool {
    match (rustix::fs::fstat(one), rustix::fs::fstat(other)) {
        (Ok(a), Ok(b)) => (a.st_dev, a.st_ino, a.st_rdev) == (b.st_dev, b.st_ino, b.st_rdev),
        _ => false,
    }
}

fn look(fd: impl AsFd, flags: PollFlags) -> PollFlags {
    let mut look = [PollFd::new(&fd, flags)];
    // Where that fails, nothing was found.
    let _ = poll(&mut look, Some(&Timespec::default()));
    look[0].revents()
}

/// Whether a descriptor is ready for this now.
pub fn is_ready(fd: impl AsFd, flags: PollFlags) -> bool {
    !look(fd, flags).is_empty()
}

/// Whether the reader of this output has closed it.
pub fn is_broken(fd: impl AsFd) -> bool {
    look(fd, PollFlags::OUT).contains(PollFlags::ERR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn assembled(chunks: &[&[u8]]) -> String {
        let (mut assembler, mut lines) = (LineAssembler::new(3), Vec::new());
        for chunk in chunks {
            assembler.push(chunk, &mut lines);
        }
        assembler.finish(&mut lines);
        String::from_utf8(lines).unwrap()
    }

    #[test]
    fn lines_are_labelled_and_the_last_one_is_completed() {
        assert_eq!(assembled(&[b"one\ntw", b"o\n", b"\nthree"]), "[3] one\n[3] two\n[3] \n[3] three\n");
        assert_eq!(assembled(&[]), "");
    }

    #[test]
    fn line_without_end_is_cut_at_the_bound() {
        let long = vec![b'x'; LONGEST_LINE * 2 + 10];
        let text = assembled(&[&long, b"\n"]);
        let lengths: Vec<_> = text.lines().map(|line| line.len() - "[3] ".len()).collect();
        assert_eq!(lengths, [LONGEST_LINE, LONGEST_LINE, 10]);
    }

    proptest! {
        /// However the bytes are cut into reads, the lines are the same, and they are all there.
        #[test]
        fn lines_do_not_depend_on_how_they_arrive(
            text in "([a-z]{0,9}\n?){0,40}", cuts in prop::collection::vec(1usize..20, 1..60),
        ) {
            let whole = assembled(&[text.as_bytes()]);
            let mut chunks = Vec::new();
            let mut rest = text.as_bytes();
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (head, tail) = rest.split_at((*cut).min(rest.len()));
                chunks.push(head);
                rest = tail;
            }
            let pieces = assembled(&chunks);
            prop_assert_eq!(&pieces, &whole);
            let lines: Vec<_> = whole.lines().map(|line| line.strip_prefix("[3] ").unwrap()).collect();
            prop_assert_eq!(lines, text.lines().collect::<Vec<_>>());
        }
    }
}
