//! Chapter 6: collective communication.
