//! The mathematics of Cartesian grids (MPI-5.0, §8.5): ranks go by rows, the last coordinate fastest.

use nic_emu::memory::numbers::CommRank;

/// A Cartesian grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Positions in each dimension, each 1 or more; their product is at most `i32::MAX`.
    pub dims: Box<[u32]>,
    /// Whether a dimension is a ring.
    pub periods: Box<[bool]>,
}

impl Grid {
    /// Positions.
    pub fn size(&self) -> u32 {
        self.dims.iter().product()
    }

    /// The coordinates of a rank that is less than [`Self::size`].
    pub fn coordinates(&self, CommRank(rank): CommRank) -> Vec<u32> {
        let mut rest = rank;
        let mut coordinates = vec![0; self.dims.len()];
        for (coordinate, dim) in coordinates.iter_mut().zip(&self.dims).rev() {
            *coordinate = rest % dim;
            rest /= dim;
        }
        coordinates
    }

    /// A coordinate of a dimension, brought into range where the dimension is a ring; none where it is
    /// outside.
    pub fn wrap(&self, dimension: usize, coordinate: i64) -> Option<u32> {
        let dim = self.dims[dimension] as i64;
        if self.periods[dimension] {
            return Some(coordinate.rem_euclid(dim) as u32);
        }
        (0..dim).contains(&coordinate).then_some(coordinate as u32)
    }

    /// The rank at coordinates that are in range.
    pub fn rank(&self, coordinates: &[u32]) -> CommRank {
        let along = self.dims.iter().zip(coordinates);
        CommRank(along.fold(0, |rank, (dim, coordinate)| rank * dim + coordinate))
    }

    /// The rank so many steps away in a dimension; none beyond the border.
    pub fn neighbour(&self, CommRank(rank): CommRank, dimension: usize, steps: i64) -> Option<CommRank> {
        let stride: u32 = self.dims[dimension + 1..].iter().product();
        let coordinate = rank / stride % self.dims[dimension];
        let there = self.wrap(dimension, coordinate as i64 + steps)?;
        Some(CommRank(rank - coordinate * stride + there * stride))
    }

    /// Of the grids that this one falls into when dimensions are dropped, the one that a rank is in: the grid
    /// of the dimensions that remain, and the ranks of its members in the whole grid, in their order in the
    /// part.
    pub fn part(&self, rank: CommRank, remain: &[bool]) -> (Grid, Vec<CommRank>) {
        let kept: Vec<usize> = (0..self.dims.len()).filter(|&d| remain[d]).collect();
        let grid = Grid {
            dims: kept.iter().map(|&d| self.dims[d]).collect(),
            periods: kept.iter().map(|&d| self.periods[d]).collect(),
        };
        let mut there = self.coordinates(rank);
        let members = CommRank::all(grid.size())
            .map(|member| {
                for (&d, coordinate) in kept.iter().zip(grid.coordinates(member)) {
                    there[d] = coordinate;
                }
                self.rank(&there)
            })
            .collect();
        (grid, members)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub fn grids() -> impl Strategy<Value = Grid> {
        proptest::collection::vec((1u32..5, any::<bool>()), 0..5).prop_map(|dims| Grid {
            dims: dims.iter().map(|(dim, _)| *dim).collect(),
            periods: dims.iter().map(|(_, ring)| *ring).collect(),
        })
    }

    /// All coordinates in the order of their ranks, by counting.
    fn all(grid: &Grid) -> Vec<Vec<u32>> {
        grid.dims.iter().fold(vec![Vec::new()], |sofar, &dim| {
            sofar.iter().flat_map(|c| (0..dim).map(move |i| [c.as_slice(), &[i]].concat())).collect()
        })
    }

    proptest! {
        #[test]
        fn ranks_count_the_coordinates_by_rows(grid in grids()) {
            let all = all(&grid);
            prop_assert_eq!(all.len() as u32, grid.size());
            for (rank, coordinates) in CommRank::all(grid.size()).zip(&all) {
                prop_assert_eq!(&grid.coordinates(rank), coordinates);
                prop_assert_eq!(grid.rank(coordinates), rank);
            }
        }

        #[test]
        fn neighbours_are_so_many_steps_away(grid in grids(), steps in -9i64..9) {
            let all = all(&grid);
            for (rank, own) in CommRank::all(grid.size()).zip(&all) {
                for d in 0..grid.dims.len() {
                    let mut there: Vec<i64> = own.iter().map(|&c| c as i64).collect();
                    there[d] += steps;
                    if grid.periods[d] {
                        there[d] = there[d].rem_euclid(grid.dims[d] as i64);
                    }
                    let expected = all.iter().position(|c| c.iter().map(|&c| c as i64).eq(there.iter().copied()));
                    prop_assert_eq!(grid.neighbour(rank, d, steps), expected.map(|at| CommRank(at as u32)));
                }
            }
        }

        #[test]
        fn a_part_has_the_ranks_of_the_same_coordinates_elsewhere(grid in grids(), keep in proptest::collection::vec(any::<bool>(), 5)) {
            let all = all(&grid);
            let keep = &keep[..grid.dims.len()];
            for (rank, own) in CommRank::all(grid.size()).zip(&all) {
                let (part, members) = grid.part(rank, keep);
                let same = |other: &Vec<u32>| (0..keep.len()).all(|d| keep[d] || other[d] == own[d]);
                let expected: Vec<_> = CommRank::all(grid.size()).filter(|r| same(&all[r.index()])).collect();
                prop_assert_eq!(&members, &expected);
                prop_assert_eq!(part.size() as usize, expected.len());
            }
        }
    }
}
