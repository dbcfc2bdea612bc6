//! Records of the road: what tells them from others that the owner of a link may send over it.

/// Bytes that stand before the bytes of each record of the road.
pub const ROAD_HEADER_BYTES: usize = 16;

/// What these are.
pub const ROAD_HEADER: [u8; ROAD_HEADER_BYTES] = [3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
