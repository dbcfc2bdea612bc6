//! The 80-bit format of `long double` on x86, and the 128-bit format of IEEE 754 that external32 wants
//! instead (MPI-5.0, §14.5.2).
//!
//! Both have a sign, 15 bits of exponent with the same bias, and a significand: 64 bits with its leading bit
//! written out in the one, 112 bits with the leading bit implied in the other. So the way out is exact; the
//! way back rounds to nearest, ties to even.

const LEADING: u64 = 1 << 63;
const EXPONENT: u16 = 0x7fff;
/// Bits that the longer significand has more.
const MORE: u32 = 49;
const FRACTION: u128 = (1 << 112) - 1;

/// The 128-bit number with the value of an 80-bit one.
pub fn widen(bytes: [u8; 10]) -> u128 {
    let mut significand = [0; 8];
    significand.copy_from_slice(&bytes[..8]);
    let significand = u64::from_le_bytes(significand);
    let head = u16::from_le_bytes([bytes[8], bytes[9]]);
    let (sign, exponent) = (u128::from(head >> 15) << 127, head & EXPONENT);
    let fraction = u128::from(significand & !LEADING) << MORE;
    let is_leading = significand & LEADING != 0;
    let exponent = match exponent {
        // The smallest exponent with a leading bit is a normal number of the next one.
        0 => u16::from(is_leading),
        EXPONENT => EXPONENT,
        // Without its leading bit it is no number.
        _ if !is_leading => return sign | u128::from(EXPONENT) << 112 | 1 << 111,
        exponent => exponent,
    };
    sign | u128::from(exponent) << 112 | fraction
}

/// The 80-bit number nearest to a 128-bit one.
pub fn narrow(number: u128) -> [u8; 10] {
    let head = (number >> 112) as u16;
    let (sign, mut exponent) = (head & !EXPONENT, head & EXPONENT);
    let fraction = number & FRACTION;
    let mut significand = (fraction >> MORE) as u64;
    if exponent == EXPONENT {
        // An infinity, or no number; that stays none when the bits that said so are cut off.
        if fraction != 0 {
            significand |= 1 << 62;
        }
        significand |= LEADING;
    } else {
        if exponent != 0 {
            significand |= LEADING;
        }
        let (rest, half) = (fraction & ((1 << MORE) - 1), 1 << (MORE - 1));
        if rest > half || (rest == half && significand & 1 == 1) {
            match significand.checked_add(1) {
                Some(rounded) => {
                    // The largest number below the normal ones becomes the smallest of those.
                    exponent += u16::from(exponent == 0 && rounded & LEADING != 0);
                    significand = rounded;
                }
                None => {
                    exponent += 1;
                    significand = LEADING;
                }
            }
        }
    }
    let mut bytes = [0; 10];
    bytes[..8].copy_from_slice(&significand.to_le_bytes());
    bytes[8..].copy_from_slice(&(sign | exponent).to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn number(sign: bool, exponent: u16, significand: u64) -> [u8; 10] {
        let mut bytes = [0; 10];
        bytes[..8].copy_from_slice(&significand.to_le_bytes());
        bytes[8..].copy_from_slice(&(u16::from(sign) << 15 | exponent).to_le_bytes());
        bytes
    }

    #[test]
    fn known_numbers_have_their_known_bits() {
        // 1, -2, the smallest number, and infinity.
        assert_eq!(widen(number(false, 0x3fff, LEADING)), 0x3fff << 112);
        assert_eq!(widen(number(true, 0x4000, LEADING)), 0xc000 << 112);
        assert_eq!(widen(number(false, 0, 1)), 1 << 49);
        assert_eq!(widen(number(false, 0x7fff, LEADING)), 0x7fff << 112);
        // A third, whose 128-bit form has more digits: nearest.
        assert_eq!(
            narrow(0x3ffd_5555_5555_5555_5555_5555_5555_5555),
            number(false, 0x3ffd, 0xaaaa_aaaa_aaaa_aaab)
        );
        // Just below 2 becomes 2; the largest number becomes infinity.
        assert_eq!(narrow((0x3fff << 112) | FRACTION), number(false, 0x4000, LEADING));
        assert_eq!(narrow((0x7ffe << 112) | FRACTION), number(false, 0x7fff, LEADING));
        // Just below the normal numbers becomes the smallest of them.
        assert_eq!(narrow(FRACTION), number(false, 1, LEADING));
    }

    proptest! {
        #[test]
        fn there_and_back_is_the_same_number(sign: bool, exponent in 0u16..0x7fff, fraction: u64) {
            let leading = if exponent == 0 { 0 } else { LEADING };
            let bytes = number(sign, exponent, leading | (fraction & !LEADING));
            prop_assert_eq!(narrow(widen(bytes)), bytes);
        }

        #[test]
        fn what_is_no_number_stays_none(sign: bool, fraction in 1u128..1 << 112) {
            let bytes = narrow((u128::from(sign) << 127) | (0x7fff << 112) | fraction);
            prop_assert_eq!(u16::from_le_bytes([bytes[8], bytes[9]]) & 0x7fff, 0x7fff);
            let significand = u64::from_le_bytes(bytes[..8].try_into().unwrap());
            prop_assert!(significand & LEADING != 0 && significand & !LEADING != 0);
        }
    }
}
