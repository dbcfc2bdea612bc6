//! The value of a reduction by the definition of the tree: the left half combined with the right half.

use nic_emu::arithmetic::{Arithmetic, ElementType, ReduceOp, combine};

pub fn reduced(op: ReduceOp, element: ElementType, data: &[Vec<u8>]) -> Vec<u8> {
    if data.len() == 1 {
        return data[0].clone();
    }
    let half = data.len().next_power_of_two() / 2;
    let left = reduced(op, element, &data[..half]);
    let mut right = reduced(op, element, &data[half..]);
    combine(op, element, &left, &mut right, Arithmetic::SoftFloat).expect("the program has valid operands");
    right
}
