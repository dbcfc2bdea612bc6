//! A few lines each, slow and plain: what the rules of the arithmetic say, written a second time.

use std::cmp::Ordering;

use nic_engine::arithmetic::ReduceOp;

use super::values::Kind;

/// Whether the bit pattern is a NaN of this kind.
pub fn is_nan(kind: Kind, bits: u64) -> bool {
    match kind {
        Kind::Integer(_) => false,
        Kind::F16 => bits & 0x7fff > 0x7c00,
        Kind::Bf16 => bits & 0x7fff > 0x7f80,
        Kind::F32 => f32::from_bits(bits as u32).is_nan(),
        Kind::F64 => f64::from_bits(bits).is_nan(),
    }
}

/// The value of a bit pattern; exact for every kind.
pub fn to_f64(kind: Kind, bits: u64) -> f64 {
    match kind {
        Kind::Integer(_) => unreachable!("integers have their own oracle"),
        Kind::F64 => f64::from_bits(bits),
        Kind::F32 => f64::from(f32::from_bits(bits as u32)),
        Kind::Bf16 => f64::from(f32::from_bits((bits as u32) << 16)),
        Kind::F16 => {
            let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
            let (exponent, significand) = ((bits >> 10 & 31) as i32, (bits & 1023) as f64);
            match exponent {
                0 => sign * significand * 2_f64.powi(-24),
                31 if significand == 0.0 => sign * f64::INFINITY,
                31 => f64::NAN,
                _ => sign * (1024.0 + significand) * 2_f64.powi(exponent - 25),
            }
        }
    }
}

/// The bit pattern of the nearest value of a 16-bit kind, ties to even, found by bisection.
fn nearest(kind: Kind, value: f64) -> u64 {
    let sign = u64::from(value.is_sign_negative()) << 15;
    let magnitude = value.abs();
    let (infinity, after_largest) = match kind {
        Kind::F16 => (0x7c00, 65536.0),
        _ => (0x7f80, 2_f64.powi(128)),
    };
    if magnitude == f64::INFINITY {
        return sign | infinity;
    }
    let (mut low, mut high) = (0, infinity);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if to_f64(kind, middle) <= magnitude { low = middle } else { high = middle }
    }
    let above = if high == infinity { after_largest } else { to_f64(kind, high) };
    let to_low = magnitude - to_f64(kind, low);
    let to_high = above - magnitude;
    let chosen = match to_low.total_cmp(&to_high) {
        Ordering::Less => low,
        Ordering::Greater => high,
        Ordering::Equal => low + (low & 1),
    };
    sign | chosen
}

fn default_nan(kind: Kind) -> u64 {
    match kind {
        Kind::Integer(_) => unreachable!("integers have no NaN"),
        Kind::F16 => 0xfe00,
        Kind::Bf16 => 0xffc0,
        Kind::F32 => 0xffc0_0000,
        Kind::F64 => 0xfff8_0000_0000_0000,
    }
}

fn quiet_bit(kind: Kind) -> u64 {
    match kind {
        Kind::Integer(_) => 0,
        Kind::F16 => 1 << 9,
        Kind::Bf16 => 1 << 6,
        Kind::F32 => 1 << 22,
        Kind::F64 => 1 << 51,
    }
}

/// `left op right` of two floating-point values.
pub fn float(op: ReduceOp, kind: Kind, left: u64, right: u64) -> u64 {
    if is_nan(kind, left) {
        return left | quiet_bit(kind);
    }
    if is_nan(kind, right) {
        return right | quiet_bit(kind);
    }
    let (x, y) = (to_f64(kind, left), to_f64(kind, right));
    match op {
        // In this order −0 is below +0.
        ReduceOp::Max => return if x.total_cmp(&y).is_ge() { left } else { right },
        ReduceOp::Min => return if x.total_cmp(&y).is_le() { left } else { right },
        _ => {}
    }
    let exact = if op == ReduceOp::Sum { x + y } else { x * y };
    if exact.is_nan() {
        return default_nan(kind);
    }
    match kind {
        // binary64 holds a sum or product of these closely enough that rounding again does no harm.
        Kind::F16 | Kind::Bf16 => nearest(kind, exact),
        Kind::F32 => {
            let (x, y) = (f32::from_bits(left as u32), f32::from_bits(right as u32));
            u64::from(if op == ReduceOp::Sum { x + y } else { x * y }.to_bits())
        }
        _ => exact.to_bits(),
    }
}

/// `left op right` of two integers, in the low bytes.
pub fn integer(op: ReduceOp, signed: bool, size: usize, left: u64, right: u64) -> u64 {
    let wide = |bits: u64| {
        let shift = 64 - 8 * size as u32;
        if signed { i128::from((bits << shift) as i64 >> shift) } else { i128::from(bits << shift >> shift) }
    };
    let (x, y) = (wide(left), wide(right));
    let result = match op {
        ReduceOp::Max => x.max(y),
        ReduceOp::Min => x.min(y),
        ReduceOp::Sum => x + y,
        ReduceOp::Prod => x.wrapping_mul(y),
        ReduceOp::Land => i128::from(x != 0 && y != 0),
        ReduceOp::Lor => i128::from(x != 0 || y != 0),
        ReduceOp::Lxor => i128::from((x != 0) != (y != 0)),
        ReduceOp::Band => x & y,
        ReduceOp::Bor => x | y,
        ReduceOp::Bxor => x ^ y,
        _ => unreachable!("{op:?} is no operation on integers"),
    };
    result as u64
}
