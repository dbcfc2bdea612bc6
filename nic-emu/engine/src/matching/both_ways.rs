//! What members of an intercommunicator have to say alike where each group gives to the other, in the words
//! of a collective descriptor: lengths and types may differ from one direction to the other (MPI-5.0, §6.7,
//! §6.8).

use crate::matching::naming::counted;

/// What is said where each group gives to the other: of what the first one gives, and of what the second
/// one does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BothWays {
    /// Bytes of a block.
    pub bytes: [u64; 2],
    /// A tag of its signature; 0 where any other matches.
    pub tags: [u16; 2],
}

/// Bits for the bytes of one direction: from so many bytes on lengths are not told apart.
const LENGTH_BITS: u32 = 28;
const LONGEST: u64 = (1 << LENGTH_BITS) - 1;

impl BothWays {
    /// The signature, as the words of operation and element type have it, and the bytes about which all
    /// say the same.
    pub fn said(&self) -> ((u8, u8), u64) {
        // Nothing is of one type, whatever that is.
        let nothing = |way: usize| self.bytes[way] == 0;
        let known = |way: usize| nothing(way) || self.tags[way] != 0;
        let hash = |way: usize| match (nothing(way), self.tags[way]) {
            (true, _) => 1,
            (false, tag) => (((tag >> 8) as u8).wrapping_mul(37) ^ tag as u8).max(1),
        };
        // Neither is known where one is not.
        let signature = if known(0) && known(1) { (hash(0), hash(1)) } else { (0, 0) };
        let [first, second] = self.bytes.map(|bytes| bytes.min(LONGEST));
        (signature, first | second << LENGTH_BITS)
    }
}

/// "16 bytes from the first group, 8 bytes from the second"
pub(crate) fn both_lengths(said: u64) -> String {
    let [first, second] = [said & LONGEST, said >> LENGTH_BITS].map(|bytes| counted(bytes, "byte"));
    format!("{first} from the first group, {second} from the second")
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_both_groups_give_is_the_same_to_both_and_differs_where_one_length_or_type_does() {
        let said = |bytes, tags| BothWays { bytes, tags }.said();
        let (int, float) = (0x0104, 0x0204);
        let one = said([8, 4], [int, float]);
        assert_eq!(one, said([8, 4], [int, float]));
        for other in [said([8, 5], [int, float]), said([7, 4], [int, float]), said([4, 8], [int, float])] {
            assert_ne!(one.1, other.1);
        }
        for tags in [[int, int], [float, float], [float, int]] {
            assert_ne!(one.0, said([8, 4], tags).0);
        }
        assert_eq!(said([8, 4], [0, float]).0, (0, 0));
        assert_eq!(said([8, 0], [int, int]), said([8, 0], [int, float]));
        assert_ne!(said([8, 0], [int, int]), said([8, 0], [float, int]));
        assert_eq!(said([1 << 40, 0], [int, int]), said([LONGEST, 0], [int, int]));
        assert_eq!(both_lengths(one.1), "8 bytes from the first group, 4 bytes from the second");
    }
}
