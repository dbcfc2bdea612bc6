//! Whether a cluster is configured, and by which file.

use bcs_config::{Config, ConfigError, DEFAULT_FILE, VARIABLE};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The file that describes the cluster: what `variable` says (the value of [`VARIABLE`]), else
/// [`DEFAULT_FILE`] if it is there; none where this machine is alone.
pub fn file(variable: Option<OsString>) -> Option<PathBuf> {
    match variable {
        Some(named) if named.is_empty() => None,
        Some(named) => Some(named.into()),
        None => Some(PathBuf::from(DEFAULT_FILE)).filter(|path| path.exists()),
    }
}

/// A verb that needs a cluster, and there is none.
#[derive(Debug, thiserror::Error)]
pub enum NoCluster {
    /// No file.
    #[error("no cluster is configured: there is no {DEFAULT_FILE}, and {VARIABLE} names no other file")]
    NoFile,
    /// A file that is none.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// Reads the configuration: of the file that an option names, else of that of [`file()`].
///
/// # Errors
/// There is none, or it is wrong.
pub fn read(option: Option<&Path>) -> Result<Config, NoCluster> {
    let path = match option {
        Some(path) => path.to_owned(),
        None => file(std::env::var_os(VARIABLE)).ok_or(NoCluster::NoFile)?,
    };
    Ok(Config::read(&path)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_names_the_file_or_says_that_there_is_none() {
        assert_eq!(file(Some("/x/cluster.toml".into())), Some("/x/cluster.toml".into()));
        assert_eq!(file(Some("".into())), None);
    }

    #[test]
    fn a_file_that_is_named_has_to_be_there() {
        let error = read(Some(Path::new("/no/such/cluster.toml"))).unwrap_err().to_string();
        assert!(error.contains("/no/such/cluster.toml"), "{error}");
    }
}
