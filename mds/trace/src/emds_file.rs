//! The EMDS file of a node: a JSON header that names the columns, then the columns as 64-bit words.
//!
//! ```text
//! byte 0   "BCSEMDS\n"
//!      8   u32  format version
//!     12   u32  length of the header, H
//!     16   u64  length of the file
//!     24   header: JSON, H bytes
//!   24+H   columns of the tables, in the header's order: u64 each, rows of a column side by side
//!    end   u32  CRC-32 (IEEE) of everything before
//! ```
//!
//! Numbers are little-endian.

use crate::Node;
use bcs_core::SliceIndex;
use mds::config::SliceRange;
use mds::emds::{EmdsTable, Metric, Scope};
use mds::trace::{FORMAT_VERSION, Run, TraceError};
use serde::{Deserialize, Serialize};
use std::path::Path;

const MAGIC: &[u8; 8] = b"BCSEMDS\n";
const FIXED_BYTES: usize = 24;
const CRC_BYTES: usize = 4;
const SLICE_COLUMN: &str = "slice";

/// The contents of an EMDS file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmdsFile {
    /// The run it is of.
    pub run: Run,
    /// The node it is about.
    pub node: Node,
    /// The node's local table, and on the lead node the global one.
    pub tables: Vec<EmdsTable>,
}

#[derive(Serialize, Deserialize)]
struct Header {
    run: Run,
    node: Node,
    tables: Vec<TableHeader>,
}

#[derive(Serialize, Deserialize)]
struct TableHeader {
    scope: Scope,
    first: u64,
    last: u64,
    step: u64,
    rows: u64,
    overflowed: u64,
    last_slice: u64,
    columns: Vec<String>,
}

impl EmdsFile {
    pub(super) fn encode(&self) -> Vec<u8> {
        let table = |t: &EmdsTable| TableHeader {
            scope: t.scope,
            first: t.range.first.0,
            last: t.range.last.0,
            step: t.range.step,
            rows: t.slices.len() as u64,
            overflowed: t.overflowed,
            last_slice: t.last_slice,
            columns: std::iter::once(SLICE_COLUMN.to_owned())
                .chain(t.columns.iter().map(|c| c.0.column()))
                .collect(),
        };
        let header = Header {
            run: self.run.clone(),
            node: self.node.clone(),
            tables: self.tables.iter().map(table).collect(),
        };
        let header = serde_json::to_vec(&header)
            .expect("serialising numbers, strings and lists into memory does not fail");
        let columns = || {
            self.tables.iter().flat_map(|t| std::iter::once(&t.slices).chain(t.columns.iter().map(|c| &c.1)))
        };
        let words: usize = columns().map(Vec::len).sum();
        let length = FIXED_BYTES + header.len() + 8 * words + CRC_BYTES;
        let mut bytes = Vec::with_capacity(length);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes.extend_from_slice(&(header.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&(length as u64).to_le_bytes());
        bytes.extend_from_slice(&header);
        for word in columns().flatten() {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
        bytes
    }

    pub(super) fn decode(path: &Path, bytes: &[u8]) -> Result<Self, TraceError> {
        let mut input = bytes;
        let damaged = |reason: String| TraceError::corrupt(path, reason);
        let truncated = || damaged(format!("it is truncated after {} bytes", bytes.len()));
        if !input.starts_with(&MAGIC[..input.len().min(MAGIC.len())]) {
            return Err(damaged("it does not begin like an EMDS file".to_owned()));
        }
        take::<8>(&mut input).ok_or_else(truncated)?;
        let version = u32::from_le_bytes(take(&mut input).ok_or_else(truncated)?);
        if version != FORMAT_VERSION {
            let (path, found) = (path.to_owned(), u64::from(version));
            return Err(TraceError::Version { path, found, known: FORMAT_VERSION });
        }
        let header_length = u32::from_le_bytes(take(&mut input).ok_or_else(truncated)?) as usize;
        let length = u64::from_le_bytes(take(&mut input).ok_or_else(truncated)?);
        if length != bytes.len() as u64 {
            let what = if length > bytes.len() as u64 { "truncated" } else { "too long" };
            return Err(damaged(format!("it is {what}: {} bytes of {length}", bytes.len())));
        }
        let (body, crc) = bytes.split_last_chunk::<CRC_BYTES>().ok_or_else(truncated)?;
        if crc32fast::hash(body) != u32::from_le_bytes(*crc) {
            return Err(damaged("its checksum does not fit its contents".to_owned()));
        }
        let header = body.get(FIXED_BYTES..).and_then(|b| b.get(..header_length)).ok_or_else(truncated)?;
        let header: Header = serde_json::from_slice(header)
            .map_err(|e| damaged(format!("its header is not the JSON of an EMDS file ({e})")))?;
        let mut words = &body[FIXED_BYTES + header_length..];
        let tables = header.tables.iter().map(|t| t.read(&mut words));
        let tables = tables.collect::<Result<_, _>>().map_err(damaged)?;
        if !words.is_empty() {
            return Err(damaged(format!("{} bytes follow its last column", words.len())));
        }
        Ok(Self { run: header.run, node: header.node, tables })
    }
}

impl TableHeader {
    /// Takes the columns of the table from the front of `words`.
    fn read(&self, words: &mut &[u8]) -> Result<EmdsTable, String> {
        if self.first > self.last || self.step == 0 {
            let range = format!("{}:{}:{}", self.first, self.last, self.step);
            return Err(format!("its slices are {range}, which is no range"));
        }
        let mut column = || {
            let bytes = usize::try_from(self.rows).ok().and_then(|rows| rows.checked_mul(8));
            let (column, rest) = bytes
                .and_then(|n| words.split_at_checked(n))
                .ok_or_else(|| format!("a column of {} rows does not fit into it", self.rows))?;
            *words = rest;
            let (column, _) = column.as_chunks::<8>();
            Ok::<Vec<u64>, String>(column.iter().map(|word| u64::from_le_bytes(*word)).collect())
        };
        let Some((SLICE_COLUMN, metrics)) = self.columns.split_first().map(|(s, m)| (s.as_str(), m)) else {
            return Err(format!("a table does not begin with the column {SLICE_COLUMN:?}"));
        };
        let slices = column()?;
        let columns = metrics.iter().map(|name| {
            let metric = Metric::ALL.iter().copied().find(|m| m.column() == *name && m.scope() == self.scope);
            let metric =
                metric.ok_or_else(|| format!("column {name:?} is no metric of scope {:?}", self.scope))?;
            Ok((metric, column()?))
        });
        let columns = columns.collect::<Result<_, String>>()?;
        let range =
            SliceRange { first: SliceIndex(self.first), last: SliceIndex(self.last), step: self.step };
        let (overflowed, last_slice) = (self.overflowed, self.last_slice);
        Ok(EmdsTable { scope: self.scope, range, slices, columns, overflowed, last_slice })
    }
}

/// The next `N` bytes of `input`, taken from its front.
fn take<const N: usize>(input: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = input.split_first_chunk::<N>()?;
    *input = rest;
    Some(*taken)
}
