//! The history of a communicator: a digest of what a member has announced in it, in its order. Members with
//! the same history have announced the same. Those with different ones may have announced what fits together,
//! where not all know all of it: that is for the NIC to say.

use nic_emu::port::Collective;

/// A digest of the words of all announcements, made as FNV-1a does of bytes, with a rotation after each word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct History(pub u64);

impl Default for History {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl History {
    /// Something more was announced.
    pub fn add(&mut self, announced: &Collective) {
        let Collective { operation: (op, element), root, call, most_bytes, sequence, .. } = announced;
        let small =
            u64::from(*op) | u64::from(*element) << 8 | u64::from(*call) << 16 | u64::from(root.0) << 32;
        for word in [small, *most_bytes, u64::from(*sequence)] {
            self.0 = (self.0 ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(29);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nic_emu::contexts::Context;
    use nic_emu::descriptor::CollectiveKind;
    use nic_emu::root::SidedRank;

    #[test]
    fn histories_differ_in_everything_that_members_have_to_say_alike_and_in_its_order() {
        let one = Collective {
            kind: CollectiveKind::Announcement,
            operation: (1, 2),
            context: Context(3),
            comm: (SidedRank(0), 2),
            root: SidedRank(0),
            call: 4,
            most_bytes: 8,
            sequence: 0,
            local: (0, 1),
        };
        let of = |announced: &[Collective]| {
            let mut history = History::default();
            announced.iter().for_each(|announced| history.add(announced));
            history
        };
        let other_member = Collective { comm: (SidedRank(1), 2), ..one };
        assert_eq!(of(&[one]), of(&[other_member]));
        let others = [
            Collective { operation: (2, 2), ..one },
            Collective { operation: (1, 3), ..one },
            Collective { root: SidedRank(1), ..one },
            Collective { call: 5, ..one },
            Collective { most_bytes: 9, ..one },
            Collective { sequence: 1, ..one },
        ];
        for other in others {
            assert_ne!(of(&[one]), of(&[other]), "{other:?}");
            assert_ne!(of(&[one, other]), of(&[other, one]), "{other:?}");
        }
        assert_ne!(of(&[one]), of(&[]));
    }
}
