//! Processes of this machine, by their numbers.

use std::fs;

/// Sends a signal to a process, which may have ended.
pub fn signal(pid: u32, signal: i32) {
    // SAFETY: kill touches no memory.
    unsafe { libc::kill(pid as libc::pid_t, signal) };
}

/// Kills a process, which may have ended.
pub fn kill(pid: u32) {
    signal(pid, libc::SIGKILL);
}

/// The processes, those apart that have ended, that were started with this entry in their environment.
pub fn started_with(variable: &str, value: &str) -> Vec<u32> {
    let wanted = format!("{variable}={value}");
    let numbers = fs::read_dir("/proc").expect("/proc").flatten();
    numbers
        .filter_map(|process| process.file_name().to_str()?.parse().ok())
        .filter(|pid: &u32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes())
        })
        .collect()
}

/// What a process is called.
pub fn name(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_owned()
}

/// The fields of `/proc/PID/stat` after the name: state, parent, and so on; none of a process that is gone.
pub fn fields(pid: u32) -> Vec<String> {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = line.rsplit_once(") ").map_or("", |(_, fields)| fields);
    fields.split_ascii_whitespace().map(str::to_owned).collect()
}

/// The state of a process as `ps` shows it: `S` for sleeping, `T` for stopped.
pub fn state(pid: u32) -> char {
    fields(pid).first().and_then(|state| state.chars().next()).unwrap_or('?')
}

/// Whether a process is there and has not ended.
pub fn runs(pid: u32) -> bool {
    !matches!(state(pid), 'Z' | 'X' | '?')
}

/// The process that a process is a child of.
pub fn parent(pid: u32) -> Option<u32> {
    fields(pid).get(1)?.parse().ok()
}

/// The children of a process.
pub fn children(pid: u32) -> Vec<u32> {
    let listed = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    listed.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// The processes below one, by parentage.
pub fn below(pid: u32) -> Vec<u32> {
    let mut found = children(pid);
    // Level by level: there may be thousands.
    let mut looked = 0;
    while let Some(&next) = found.get(looked) {
        found.extend(children(next));
        looked += 1;
    }
    found
}
