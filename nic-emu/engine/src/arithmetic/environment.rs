//! The floating-point environment around native arithmetic.
//!
//! The NIC's code runs inside the application's process, on a core that the application lends, so it finds
//! whatever the application has left in MXCSR: flush-to-zero of a program built with `-ffast-math`, another
//! rounding mode, unmasked exceptions. Invariant: native kernels run with the default environment, and the
//! application finds its own again, exception flags included.

use std::arch::asm;
use std::hint::black_box;

use super::kernel::{Kernel, Operands};

/// Round to nearest, all exceptions masked, no flush to zero, denormals kept.
const DEFAULT_CONTROL: u32 = 0x1f80;
/// The sticky exception flags; the rest of the register is control.
const FLAGS: u32 = 0x3f;

#[inline(always)]
pub(super) fn read() -> u32 {
    let mut value = 0_u32;
    // SAFETY: stores the 4 bytes of MXCSR into `value`; SSE is part of x86-64.
    unsafe { asm!("stmxcsr [{}]", in(reg) &mut value, options(nostack, preserves_flags)) };
    value
}

/// Loads MXCSR. The caller must run no Rust floating-point code while the control bits are not the default.
#[inline(always)]
pub(super) fn write(value: u32) {
    // SAFETY: loads MXCSR from `value`. Every caller passes either the default control or a value that was
    // read from the register, so no reserved bit is set, which would fault.
    unsafe { asm!("ldmxcsr [{}]", in(reg) &value, options(nostack, preserves_flags, readonly)) };
}

/// Runs a kernel with the default environment and leaves the caller's as it was.
///
/// # Safety
/// As for the kernel.
#[inline(always)]
pub(super) unsafe fn with_default(kernel: Kernel, operands: Operands) {
    let found = read();
    if found & !FLAGS == DEFAULT_CONTROL {
        // SAFETY: the caller's promise.
        unsafe { kernel(operands) };
    } else {
        write(DEFAULT_CONTROL);
        // The compiler takes the environment for constant and might move arithmetic that it sees across the
        // two writes; it cannot move a call that it cannot look into.
        // SAFETY: the caller's promise.
        unsafe { black_box(kernel)(operands) };
    }
    if read() != found {
        write(found);
    }
}
