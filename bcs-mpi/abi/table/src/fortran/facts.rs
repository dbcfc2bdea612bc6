//! What `fortran.tbl` says: the facts of the Fortran bindings that no prototype of C shows.

use std::collections::BTreeMap;

/// The table, by section; a line is a list of words.
#[derive(Debug, Clone)]
pub struct Facts(BTreeMap<&'static str, Vec<Vec<&'static str>>>);

/// The table as it is committed.
const SOURCE: &str = include_str!("../../fortran.tbl");

impl Facts {
    /// The committed table.
    #[must_use]
    pub fn read() -> Self {
        let mut sections: BTreeMap<_, Vec<Vec<_>>> = BTreeMap::new();
        let mut section = "";
        for line in SOURCE.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
            match line.strip_prefix("= ") {
                Some(name) => section = name,
                None => sections.entry(section).or_default().push(line.split_whitespace().collect()),
            }
        }
        Self(sections)
    }

    fn lines(&self, section: &str) -> impl Iterator<Item = &Vec<&'static str>> {
        self.0.get(section).into_iter().flatten()
    }

    /// Whether a section lists a word, in whichever line.
    #[must_use]
    pub fn lists(&self, section: &str, word: &str) -> bool {
        let is_it = |listed: &&str| match listed.strip_suffix('*') {
            Some(start) => word.starts_with(start),
            None => *listed == word,
        };
        self.lines(section).flatten().any(is_it)
    }

    /// Whether a section has a line that begins with the one word and has the other.
    #[must_use]
    pub fn pairs(&self, section: &str, first: &str, second: &str) -> bool {
        self.lines(section).any(|line| line[0] == first && line[1..].contains(&second))
    }

    /// The words after the one that a line of a section begins with.
    #[must_use]
    pub fn of(&self, section: &str, first: &str) -> Option<&[&'static str]> {
        self.lines(section).find(|line| line[0] == first).map(|line| &line[1..])
    }
}
