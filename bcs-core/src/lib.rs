//! The core of buffered coscheduling: the nouns that every other crate shares, and the three primitives.
