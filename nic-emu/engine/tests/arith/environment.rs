//! Results do not depend on the floating-point environment of the application, which finds it unchanged.

#![cfg(target_arch = "x86_64")]

use std::arch::asm;

use nic_engine::arithmetic::{Arithmetic, ElementType, ReduceOp, combine};

use super::values::{Seed, supports, vector};

const DEFAULT: u32 = 0x1f80;
const DENORMALS_ARE_ZERO: u32 = 1 << 6;
const FLUSH_TO_ZERO: u32 = 1 << 15;
const ROUND_DOWN: u32 = 1 << 13;
const ROUND_UP: u32 = 2 << 13;
const TRUNCATE: u32 = 3 << 13;
const ALL_MASKS: u32 = 0x3f << 7;
const SOME_FLAGS: u32 = 0b1001;

fn read() -> u32 {
    let mut value = 0_u32;
    // SAFETY: stores MXCSR into `value`.
    unsafe { asm!("stmxcsr [{}]", in(reg) &mut value, options(nostack)) };
    value
}

fn write(value: u32) {
    // SAFETY: loads a valid MXCSR; the tests compute nothing in floating point until it is the default again.
    unsafe { asm!("ldmxcsr [{}]", in(reg) &value, options(nostack)) };
}

/// Combines with the given environment: the result, and MXCSR afterwards.
fn combine_in(
    environment: u32,
    op: ReduceOp,
    element: ElementType,
    left: &[u8],
    right: &[u8],
) -> (Vec<u8>, u32) {
    let mut result = right.to_vec();
    let before = read();
    write(environment);
    let outcome = combine(op, element, left, &mut result, Arithmetic::Native);
    let after = read();
    write(before);
    outcome.unwrap();
    (result, after)
}

#[test]
fn no_setting_of_mxcsr_changes_a_result_and_each_is_kept() {
    let environments = [
        DEFAULT,
        DEFAULT | SOME_FLAGS,
        DEFAULT | FLUSH_TO_ZERO | DENORMALS_ARE_ZERO,
        DEFAULT | FLUSH_TO_ZERO,
        DEFAULT | DENORMALS_ARE_ZERO | SOME_FLAGS,
        DEFAULT | ROUND_DOWN,
        DEFAULT | ROUND_UP,
        DEFAULT | TRUNCATE | FLUSH_TO_ZERO | DENORMALS_ARE_ZERO,
        // Every exception would trap.
        DEFAULT & !ALL_MASKS,
        (DEFAULT & !ALL_MASKS) | ROUND_UP,
    ];
    let material: Vec<Seed> = (0..2000_u64)
        .map(|i| {
            let bits = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            ((bits >> 56) as u8, bits ^ bits >> 29)
        })
        .collect();
    for op in ReduceOp::ALL {
        for element in ElementType::ALL.into_iter().filter(|&element| supports(op, element)) {
            // One element takes the shortest path, five the rest of a vector, 500 the vector loop.
            for count in [1, 5, 500] {
                for first in (0..1000).step_by(if count == 1 { 2 } else { 500 }) {
                    let left = vector(element, &material[first..first + 2 * count]);
                    let right = vector(element, &material[1000 - first..1000 - first + 2 * count]);
                    let mut expected = right.clone();
                    combine(op, element, &left, &mut expected, Arithmetic::SoftFloat).unwrap();
                    for environment in environments {
                        let (result, after) = combine_in(environment, op, element, &left, &right);
                        assert_eq!(
                            result, expected,
                            "{op:?} of {count} {element:?} with MXCSR {environment:#x}"
                        );
                        assert_eq!(after, environment, "MXCSR after {op:?} of {count} {element:?}");
                    }
                }
            }
        }
    }
}
