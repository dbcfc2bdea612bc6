//! Hints about files (MPI-5.0, §14.2.8), and those of ROMIO that programs are used to.
//!
//! A hint whose value means nothing is ignored, as are hints that nothing here depends on; what
//! MPI_File_get_info answers is what holds.

use crate::info::Pairs;

/// Whether something is done: always, never, or where it pays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// Where it pays.
    #[default]
    Automatic,
    /// Always.
    Enable,
    /// Never.
    Disable,
}

impl Choice {
    fn parse(value: &str) -> Option<Self> {
        match value {
            "automatic" => Some(Self::Automatic),
            "enable" | "true" => Some(Self::Enable),
            "disable" | "false" => Some(Self::Disable),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Automatic => "automatic",
            Self::Enable => "enable",
            Self::Disable => "disable",
        }
    }

    /// As a byte that another member reads.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// What a byte of another member says.
    pub fn of_code(code: u8) -> Self {
        match code {
            1 => Self::Enable,
            2 => Self::Disable,
            _ => Self::Automatic,
        }
    }
}

/// What the program says of its accesses to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileHints {
    /// Collective reads go by two phases (`collective_buffering`, `romio_cb_read`).
    pub cb_read: Choice,
    /// Collective writes do (`collective_buffering`, `romio_cb_write`).
    pub cb_write: Choice,
    /// Bytes that an aggregator reads or writes at a time (`cb_buffer_size`).
    pub cb_buffer_bytes: u64,
    /// Aggregators; as many as seems good where it is not said (`cb_nodes`).
    pub cb_nodes: Option<u32>,
    /// Bytes of which an aggregator has whole multiples (`cb_block_size`).
    pub cb_block_bytes: Option<u64>,
    /// Devices that the file is spread over: no more aggregators than these, unless `cb_nodes` says so
    /// (`striping_factor`, `num_io_nodes`).
    pub striping_factor: Option<u32>,
    /// Bytes that follow each other on one device: as `cb_block_size` (`striping_unit`).
    pub striping_unit: Option<u64>,
    /// Entries of a chunk of an array (`chunked_size`) times bytes of one (`chunked_item`): as
    /// `cb_block_size`, where nothing else is said.
    pub chunk: (Option<u64>, Option<u64>),
    /// What lies between the bytes of scattered reads is read, too (`romio_ds_read`).
    pub sieve_read: Choice,
    /// What lies between the bytes of scattered writes is read and written back (`romio_ds_write`).
    pub sieve_write: Choice,
    /// Bytes that a scattered read reads at a time (`ind_rd_buffer_size`).
    pub read_buffer_bytes: u64,
    /// Bytes that a scattered write writes at a time (`ind_wr_buffer_size`).
    pub write_buffer_bytes: u64,
    /// Rights of a file that is created (`file_perm`, in octal).
    pub permissions: u32,
    /// How the file is accessed (`access_style`, a list).
    pub access_style: String,
}

impl Default for FileHints {
    fn default() -> Self {
        Self {
            cb_read: Choice::Automatic,
            cb_write: Choice::Automatic,
            cb_buffer_bytes: 4 << 20,
            cb_nodes: None,
            cb_block_bytes: None,
            striping_factor: None,
            striping_unit: None,
            chunk: (None, None),
            sieve_read: Choice::Automatic,
            sieve_write: Choice::Automatic,
            read_buffer_bytes: 4 << 20,
            write_buffer_bytes: 512 << 10,
            permissions: 0o666,
            access_style: String::new(),
        }
    }
}

/// Bytes of a buffer at least: with fewer, what is exchanged of a file would be mostly messages, and what is
/// sieved mostly calls of the system.
const LEAST_BUFFER: u64 = 4096;

/// A hint with its value, or none where there is nothing to say.
type Said = (&'static str, Option<String>);

impl FileHints {
    /// Takes in what is said anew; the rest stays.
    pub fn update(&mut self, pairs: &Pairs) {
        for (key, value) in pairs {
            self.take(key, value.trim());
        }
    }

    fn take(&mut self, key: &str, value: &str) {
        fn set<T>(to: &mut T, value: Option<T>) {
            if let Some(value) = value {
                *to = value;
            }
        }
        let bytes = || value.parse::<u64>().ok().filter(|bytes| (1..=1 << 40).contains(bytes));
        let buffer = || bytes().map(|bytes| bytes.max(LEAST_BUFFER));
        let number = || value.parse::<u32>().ok().filter(|number| *number > 0);
        let choice = || Choice::parse(value);
        match key {
            "collective_buffering" => {
                set(&mut self.cb_read, choice());
                set(&mut self.cb_write, choice());
            }
            "romio_cb_read" => set(&mut self.cb_read, choice()),
            "romio_cb_write" => set(&mut self.cb_write, choice()),
            "cb_buffer_size" => set(&mut self.cb_buffer_bytes, buffer()),
            "cb_nodes" => set(&mut self.cb_nodes, number().map(Some)),
            "cb_block_size" => set(&mut self.cb_block_bytes, bytes().map(Some)),
            "striping_factor" | "num_io_nodes" => set(&mut self.striping_factor, number().map(Some)),
            "striping_unit" => set(&mut self.striping_unit, bytes().map(Some)),
            "chunked_item" => set(&mut self.chunk.1, bytes().map(Some)),
            "chunked_size" => {
                let sizes = value.split(',').map(|size| size.trim().parse::<u64>().ok());
                let all = sizes.reduce(|all, size| all?.checked_mul(size?)).flatten();
                set(&mut self.chunk.0, all.filter(|all| (1..=1 << 40).contains(all)).map(Some));
            }
            "romio_ds_read" => set(&mut self.sieve_read, choice()),
            "romio_ds_write" => set(&mut self.sieve_write, choice()),
            "ind_rd_buffer_size" => set(&mut self.read_buffer_bytes, buffer()),
            "ind_wr_buffer_size" => set(&mut self.write_buffer_bytes, buffer()),
            "file_perm" => set(&mut self.permissions, u32::from_str_radix(value, 8).ok()),
            "access_style" => value.clone_into(&mut self.access_style),
            _ => {}
        }
    }

    /// Bytes of which an aggregator has whole multiples, of a file system with blocks of so many.
    pub fn unit(&self, block_bytes: u64) -> u64 {
        let chunk = self.chunk.0.zip(self.chunk.1).and_then(|(size, item)| size.checked_mul(item));
        self.cb_block_bytes.or(self.striping_unit).or(chunk).unwrap_or(block_bytes).max(1)
    }

    /// All that holds, by keys.
    pub fn pairs(&self) -> Pairs {
        let number = |value: u64| Some(value.to_string());
        let collective = (self.cb_read == self.cb_write && self.cb_read != Choice::Automatic)
            .then(|| (self.cb_read == Choice::Enable).to_string());
        let said: [Said; 15] = [
            ("access_style", Some(self.access_style.clone()).filter(|style| !style.is_empty())),
            ("cb_block_size", self.cb_block_bytes.and_then(number)),
            ("cb_buffer_size", number(self.cb_buffer_bytes)),
            ("cb_nodes", self.cb_nodes.and_then(|nodes| number(nodes.into()))),
            ("chunked_item", self.chunk.1.and_then(number)),
            ("chunked_size", self.chunk.0.and_then(number)),
            ("collective_buffering", collective),
            ("ind_rd_buffer_size", number(self.read_buffer_bytes)),
            ("ind_wr_buffer_size", number(self.write_buffer_bytes)),
            ("romio_cb_read", Some(self.cb_read.name().to_owned())),
            ("romio_cb_write", Some(self.cb_write.name().to_owned())),
            ("romio_ds_read", Some(self.sieve_read.name().to_owned())),
            ("romio_ds_write", Some(self.sieve_write.name().to_owned())),
            ("striping_factor", self.striping_factor.and_then(|factor| number(factor.into()))),
            ("striping_unit", self.striping_unit.and_then(number)),
        ];
        said.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(pairs: &[(&str, &str)]) -> FileHints {
        let mut hints = FileHints::default();
        hints.update(&pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect());
        hints
    }

    #[test]
    fn what_is_answered_is_what_was_said_and_holds() {
        let said = [
            ("cb_nodes", "3"),
            ("cb_buffer_size", "65536"),
            ("romio_cb_read", "enable"),
            ("striping_unit", "512"),
        ];
        let hints = after(&said);
        let pairs = hints.pairs();
        for (key, value) in said {
            assert!(pairs.contains(&(key.to_owned(), value.to_owned())), "{key}");
        }
        let mut again = FileHints::default();
        again.update(&pairs);
        assert_eq!(again, hints);
    }

    #[test]
    fn values_without_a_meaning_change_nothing() {
        let wrong = [
            ("cb_nodes", "-1"),
            ("cb_buffer_size", "0"),
            ("romio_cb_write", "perhaps"),
            ("file_perm", "rw"),
            ("cb", "1"),
        ];
        assert_eq!(after(&wrong), FileHints::default());
    }

    #[test]
    fn domains_have_the_unit_that_was_said_last_of_all_the_file_systems() {
        assert_eq!(after(&[]).unit(4096), 4096);
        assert_eq!(after(&[("chunked_size", "10,20"), ("chunked_item", "8")]).unit(4096), 1600);
        assert_eq!(after(&[("striping_unit", "65536"), ("chunked_item", "8")]).unit(4096), 65536);
        assert_eq!(after(&[("striping_unit", "65536"), ("cb_block_size", "1000")]).unit(4096), 1000);
    }
}
