//! A process in a process in a process, as deep as is said, so that tests see whether all of them are ended:
//! who looks for orphans finds one at a time, and each is a process group of its own.
//!
//! `nest DEPTH SECONDS`: the innermost says `ready`; they end by themselves after so long.

use std::ffi::{c_int, c_void};
use std::process::exit;

/// What a level needs of it, with room to spare.
const STACK_BYTES: usize = 32 << 10;

/// A process: of the levels below it, and how long it stays, in seconds.
struct Level {
    below: u32,
    seconds: u32,
}

fn main() {
    let number = |index| std::env::args().nth(index).and_then(|text| text.parse().ok()).unwrap_or(1);
    let mut outermost = Level { below: number(1) - 1, seconds: number(2) };
    exit(run((&raw mut outermost).cast()));
}

extern "C" fn run(level: *mut c_void) -> c_int {
    // SAFETY: who starts a level passes its `Level`, which is never freed. All levels share the memory, and
    // each has a stack of its own, which is never freed either; what is called here touches neither.
    unsafe {
        let Level { below, seconds } = *level.cast::<Level>();
        // A signal to the group of one is to reach no other.
        libc::setpgid(0, 0);
        if below > 0 {
            let next = Box::into_raw(Box::new(Level { below: below - 1, seconds }));
            let stack = Box::leak(vec![0_u8; STACK_BYTES].into_boxed_slice());
            let top = stack.as_mut_ptr_range().end;
            let top = top.sub(top.addr() % 16);
            if libc::clone(run, top.cast(), libc::CLONE_VM | libc::SIGCHLD, next.cast()) > 0 {
                libc::sleep(seconds);
                return 0;
            }
            // Refused: no deeper than this.
        }
        libc::write(1, c"ready\n".as_ptr().cast(), 6);
        libc::sleep(seconds);
    }
    0
}
