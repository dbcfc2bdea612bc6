//! Reads the tables. Every line is checked: a wrong one names its table and line number.
//!
//! Invariant: names are unique over all tables, aliases point to a name of the same section, and every parsed
//! number fits the type that its section names.

use std::collections::HashSet;

/// Why a table cannot be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum TableError {
    /// A line has the wrong number of fields.
    #[error("{table}:{line}: {found} fields where {expected} are needed, separated by ' | '")]
    Fields {
        /// Name of the table.
        table: &'static str,
        /// Line, from one.
        line: usize,
        /// Fields needed.
        expected: usize,
        /// Fields found.
        found: usize,
    },
    /// A field cannot be understood.
    #[error("{table}:{line}: '{text}' is not {wanted}")]
    Value {
        /// Name of the table.
        table: &'static str,
        /// Line, from one.
        line: usize,
        /// What the field holds.
        text: String,
        /// What it should hold.
        wanted: &'static str,
    },
    /// A name occurs twice.
    #[error("{table}:{line}: {name} is there already: remove one of them")]
    Duplicate {
        /// Name of the table.
        table: &'static str,
        /// Line, from one.
        line: usize,
        /// The name.
        name: String,
    },
}

/// The value of a name: a number, or another name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Number(i64),
    /// Another name for the named one.
    Alias(&'static str),
}

/// Versions of MPI that a name belongs to, as `major.minor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Since {
    /// Version that brought the name.
    pub added: &'static str,
    /// Version that deprecated it.
    pub deprecated: Option<&'static str>,
}

/// A named constant.
#[derive(Debug, Clone)]
pub struct Constant {
    /// Name in C.
    pub name: &'static str,
    /// Value.
    pub value: Value,
    /// Versions of MPI.
    pub since: Since,
    /// Meaning in a few words, lower case, without a full stop.
    pub meaning: &'static str,
}

/// Constants of one kind.
#[derive(Debug, Clone)]
pub struct Section {
    /// Rust module that they go to; `-` where the library uses none of them.
    pub module: &'static str,
    /// Type in C; `enum NAME` for the constants of an enumeration.
    pub c_type: &'static str,
    /// What they are.
    pub title: &'static str,
    /// Where in the standard they are explained.
    pub source: &'static str,
    /// The constants.
    pub constants: Vec<Constant>,
}

/// A predefined datatype.
#[derive(Debug, Clone)]
pub struct Datatype {
    /// Name in C.
    pub name: &'static str,
    /// Handle.
    pub handle: Value,
    /// Versions of MPI.
    pub since: Since,
    /// Class with regard to predefined operations.
    pub class: &'static str,
    /// Bytes of data.
    pub size: usize,
    /// Bytes from one array element to the next.
    pub extent: usize,
    /// The language's type.
    pub element: &'static str,
}

/// A predefined operation.
#[derive(Debug, Clone)]
pub struct Operation {
    /// Name in C.
    pub name: &'static str,
    /// Handle.
    pub handle: i64,
    /// Versions of MPI.
    pub since: Since,
    /// Classes of datatypes that it takes; empty for none, `["*"]` for any.
    pub classes: Vec<&'static str>,
    /// Meaning in a few words.
    pub meaning: &'static str,
}

/// The type of a callback that a program hands to MPI.
#[derive(Debug, Clone)]
pub struct Callback {
    /// Name of the function type in C.
    pub name: &'static str,
    /// What it returns.
    pub returns: &'static str,
    /// Parameters in C, separated by commas; for an alias the name after `=`.
    pub parameters: &'static str,
    /// Versions of MPI.
    pub since: Since,
}

/// Where a function's code is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// In the library, which exports it.
    Exported,
    /// In the header: the standard has it, its ABI has not.
    Inline,
}

/// A function of the standard. Large-count functions (`NAME_c`) are functions of their own here.
#[derive(Debug, Clone)]
pub struct Function {
    /// Name, with `MPI_`.
    pub name: String,
    /// Chapter of MPI-5.0 that explains it.
    pub chapter: u8,
    /// Versions of MPI.
    pub since: Since,
    /// Where its code is.
    pub form: Form,
    /// What it returns.
    pub returns: &'static str,
    /// Parameters in C, one string each; empty for `void`.
    pub parameters: Vec<String>,
}

impl Function {
    /// The name of its profiling twin.
    #[must_use]
    pub fn profiling_name(&self) -> String {
        format!("P{}", self.name)
    }
}

/// All tables.
#[derive(Debug, Clone)]
pub struct Tables {
    /// Constants by section, in the order of the table.
    pub sections: Vec<Section>,
    /// Predefined datatypes, in order of their handles.
    pub datatypes: Vec<Datatype>,
    /// Predefined operations, in order of their handles.
    pub operations: Vec<Operation>,
    /// Callback types.
    pub callbacks: Vec<Callback>,
    /// Functions, by chapter.
    pub functions: Vec<Function>,
}

/// The tables as they are committed.
const SOURCES: [(&str, &str); 5] = [
    ("constants.tbl", include_str!("../constants.tbl")),
    ("datatypes.tbl", include_str!("../datatypes.tbl")),
    ("operations.tbl", include_str!("../operations.tbl")),
    ("callbacks.tbl", include_str!("../callbacks.tbl")),
    ("functions.tbl", include_str!("../functions.tbl")),
];

/// The module of sections that `mpi.h` alone has.
const HEADER_ONLY: &str = "-";

/// The classes that datatypes.tbl may use, in the order of the Rust enumeration.
pub const CLASSES: [&str; 11] = [
    "c-integer",
    "fortran-integer",
    "floating",
    "logical",
    "complex",
    "byte",
    "multi-language",
    "pair",
    "character",
    "packed",
    "null",
];

impl Tables {
    /// The committed tables.
    ///
    /// # Errors
    /// [`TableError`] names the line that cannot be read.
    pub fn read() -> Result<Self, TableError> {
        let [constants, datatypes, operations, callbacks, functions] = SOURCES;
        Self::parse(constants.1, datatypes.1, operations.1, callbacks.1, functions.1)
    }

    /// Tables from their texts.
    ///
    /// # Errors
    /// [`TableError`] names the line that cannot be read.
    pub fn parse(
        constants: &'static str,
        datatypes: &'static str,
        operations: &'static str,
        callbacks: &'static str,
        functions: &'static str,
    ) -> Result<Self, TableError> {
        let mut names = HashSet::new();
        Ok(Self {
            sections: sections(lines("constants.tbl", constants), &mut names)?,
            datatypes: rows(lines("datatypes.tbl", datatypes), 7, &mut names, |row| {
                Ok(Datatype {
                    name: row.field(0),
                    handle: row.value(1)?,
                    since: row.since(2)?,
                    class: row.class(3)?,
                    size: row.number(4)? as usize,
                    extent: row.number(5)? as usize,
                    element: row.field(6),
                })
            })?,
            operations: rows(lines("operations.tbl", operations), 5, &mut names, |row| {
                Ok(Operation {
                    name: row.field(0),
                    handle: row.number(1)?,
                    since: row.since(2)?,
                    classes: row.classes(3)?,
                    meaning: row.field(4),
                })
            })?,
            callbacks: rows(lines("callbacks.tbl", callbacks), 4, &mut names, |row| {
                Ok(Callback {
                    name: row.field(0),
                    since: row.since(1)?,
                    returns: row.field(2),
                    parameters: row.field(3),
                })
            })?,
            functions: rows(lines("functions.tbl", functions), 6, &mut names, row_functions)?
                .into_iter()
                .flatten()
                .collect(),
        })
    }

    /// Every symbol that the library exports: its functions and their profiling twins, sorted.
    #[must_use]
    pub fn exported_symbols(&self) -> Vec<String> {
        let exported = self.functions.iter().filter(|f| f.form == Form::Exported);
        let mut symbols: Vec<_> = exported.flat_map(|f| [f.name.clone(), f.profiling_name()]).collect();
        symbols.sort();
        symbols
    }

    /// Every named constant with its C type, datatypes and operations included, in the order of the header;
    /// and whether the library's Rust sources have it.
    pub fn named_values(&self) -> impl Iterator<Item = (&'static str, &'static str, bool)> + '_ {
        let in_rust = |s: &Section| s.module != HEADER_ONLY;
        let constants = self
            .sections
            .iter()
            .flat_map(move |s| s.constants.iter().map(move |c| (c.name, s.c_type, in_rust(s))));
        let operations = self.operations.iter().map(|o| (o.name, "MPI_Op", true));
        constants.chain(operations).chain(self.datatypes.iter().map(|d| (d.name, "MPI_Datatype", true)))
    }
}

/// The title of a chapter of the standard, as the table of functions has it; empty for a chapter without
/// functions.
#[must_use]
pub fn chapter_title(chapter: u8) -> &'static str {
    let [.., (_, functions)] = SOURCES;
    let heading = format!("# Chapter {chapter}: ");
    functions.lines().find_map(|line| line.strip_prefix(&heading)).unwrap_or_default()
}

/// The lines of a table that hold something.
fn lines(table: &'static str, text: &'static str) -> impl Iterator<Item = Row> {
    let filled =
        text.lines().enumerate().filter(|(_, text)| !text.trim().is_empty() && !text.starts_with('#'));
    filled.map(move |(index, text)| Row {
        table,
        line: index + 1,
        fields: text.split(" | ").map(str::trim).collect(),
    })
}

/// One line, cut in fields.
struct Row {
    table: &'static str,
    line: usize,
    fields: Vec<&'static str>,
}

impl Row {
    fn expect_fields(&self, expected: usize) -> Result<(), TableError> {
        if self.fields.len() == expected {
            return Ok(());
        }
        Err(TableError::Fields { table: self.table, line: self.line, expected, found: self.fields.len() })
    }

    fn field(&self, index: usize) -> &'static str {
        self.fields[index]
    }

    fn wrong<T>(&self, text: &str, wanted: &'static str) -> Result<T, TableError> {
        Err(TableError::Value { table: self.table, line: self.line, text: text.to_owned(), wanted })
    }

    fn number(&self, index: usize) -> Result<i64, TableError> {
        let text = self.field(index);
        let parsed = match text.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16),
            None => text.parse(),
        };
        parsed.or_else(|_| self.wrong(text, "a decimal number or one that begins with 0x"))
    }

    fn value(&self, index: usize) -> Result<Value, TableError> {
        match self.field(index).strip_prefix('=') {
            Some(name) => Ok(Value::Alias(name)),
            None => self.number(index).map(Value::Number),
        }
    }

    fn since(&self, index: usize) -> Result<Since, TableError> {
        let text = self.field(index);
        let (added, deprecated) =
            text.split_once('-').map_or((text, None), |(added, deprecated)| (added, Some(deprecated)));
        let is_version = |v: &str| {
            v.len() == 3 && v.as_bytes()[1] == b'.' && v.split('.').all(|n| n.parse::<u8>().is_ok())
        };
        if is_version(added) && deprecated.is_none_or(is_version) {
            return Ok(Since { added, deprecated });
        }
        self.wrong(text, "a version of MPI such as 3.1, or two with a dash between them")
    }

    fn class(&self, index: usize) -> Result<&'static str, TableError> {
        let text = self.field(index);
        if CLASSES.contains(&text) { Ok(text) } else { self.wrong(text, "a class of datatypes") }
    }

    fn classes(&self, index: usize) -> Result<Vec<&'static str>, TableError> {
        let list: Vec<_> = self.field(index).split(' ').filter(|class| *class != "-").collect();
        match list.iter().find(|class| !CLASSES.contains(class) && **class != "*") {
            Some(unknown) => self.wrong(unknown, "a class of datatypes"),
            None => Ok(list),
        }
    }

    fn claim_name(&self, names: &mut HashSet<&'static str>) -> Result<(), TableError> {
        let name = self.field(0);
        if names.insert(name) {
            return Ok(());
        }
        Err(TableError::Duplicate { table: self.table, line: self.line, name: name.to_owned() })
    }
}

/// The functions of a line: the one that it names, and its large-count twin if there is one.
fn row_functions(row: &Row) -> Result<Vec<Function>, TableError> {
    let parameters = |count: &str, displacement: &str, address: &str| match row.field(5) {
        "void" => Vec::new(),
        list => {
            let list = list.replace("COUNT", count).replace("DISPL", displacement).replace("ADDR", address);
            list.split(", ").map(str::to_owned).collect()
        }
    };
    let plain = Function {
        name: row.field(0).to_owned(),
        chapter: row.number(1)? as u8,
        since: row.since(2)?,
        form: if row.field(3) == "inline" { Form::Inline } else { Form::Exported },
        returns: row.field(4),
        parameters: parameters("int", "int", "MPI_Aint"),
    };
    if matches!(row.field(3), "-" | "inline") {
        return Ok(vec![plain]);
    }
    let large = Function {
        name: format!("{}_c", plain.name),
        since: row.since(3)?,
        parameters: parameters("MPI_Count", "MPI_Aint", "MPI_Count"),
        ..plain.clone()
    };
    Ok(vec![plain, large])
}

fn rows<T>(
    lines: impl Iterator<Item = Row>,
    fields: usize,
    names: &mut HashSet<&'static str>,
    make: impl Fn(&Row) -> Result<T, TableError>,
) -> Result<Vec<T>, TableError> {
    lines
        .map(|row| {
            row.expect_fields(fields)?;
            row.claim_name(names)?;
            make(&row)
        })
        .collect()
}

fn sections(
    lines: impl Iterator<Item = Row>,
    names: &mut HashSet<&'static str>,
) -> Result<Vec<Section>, TableError> {
    let mut sections: Vec<Section> = Vec::new();
    for row in lines {
        row.expect_fields(4)?;
        if let Some(module) = row.field(0).strip_prefix("= ") {
            let (c_type, title, source) = (row.field(1), row.field(2), row.field(3));
            sections.push(Section { module, c_type, title, source, constants: Vec::new() });
            continue;
        }
        row.claim_name(names)?;
        let constant = Constant {
            name: row.field(0),
            value: row.value(1)?,
            since: row.since(2)?,
            meaning: row.field(3),
        };
        match sections.last_mut() {
            Some(section) => section.constants.push(constant),
            None => return row.wrong(row.field(0), "below a section that says what it is"),
        }
    }
    Ok(sections)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constants(text: &'static str) -> Result<Tables, TableError> {
        Tables::parse(text, "", "", "", "")
    }

    #[test]
    fn the_committed_tables_can_be_read() {
        let tables = Tables::read().unwrap();
        assert!(tables.functions.len() > 600);
        assert!(tables.datatypes.iter().any(|d| d.name == "MPI_INT" && d.size == 4));
    }

    #[test]
    fn a_wrong_line_is_named() {
        let missing = constants("= errors | int | t | s\nMPI_X | 1 | 1.0").unwrap_err();
        assert_eq!(missing.to_string(), "constants.tbl:2: 3 fields where 4 are needed, separated by ' | '");
        let number = constants("= errors | int | t | s\nMPI_X | one | 1.0 | m").unwrap_err();
        assert!(number.to_string().starts_with("constants.tbl:2: 'one' is not a decimal number"));
        let twice =
            constants("= errors | int | t | s\nMPI_X | 1 | 1.0 | m\nMPI_X | 2 | 1.0 | m").unwrap_err();
        assert!(matches!(twice, TableError::Duplicate { line: 3, .. }));
        let since = constants("= errors | int | t | s\nMPI_X | 1 | now | m").unwrap_err();
        assert!(matches!(since, TableError::Value { line: 2, .. }));
    }

    #[test]
    fn datatypes_and_operations_are_in_order_of_their_handles() {
        let tables = Tables::read().unwrap();
        let handles: Vec<_> = tables
            .datatypes
            .iter()
            .filter_map(|d| match d.handle {
                Value::Number(handle) => Some(handle),
                Value::Alias(_) => None,
            })
            .collect();
        assert!(handles.is_sorted_by(|a, b| a < b));
        assert!(tables.operations.is_sorted_by(|a, b| a.handle < b.handle));
    }

    #[test]
    fn an_alias_names_a_datatype_of_the_same_shape() {
        let tables = Tables::read().unwrap();
        let aliases = tables.datatypes.iter().filter_map(|d| match d.handle {
            Value::Alias(of) => Some((d, of)),
            Value::Number(_) => None,
        });
        for (alias, of) in aliases {
            let target = tables.datatypes.iter().find(|d| d.name == of).expect(of);
            assert_eq!((target.size, target.extent, target.class), (alias.size, alias.extent, alias.class));
        }
    }
}
