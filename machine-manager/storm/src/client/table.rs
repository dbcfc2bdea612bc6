//! The nodes of a cluster as people and programs read them.

use bcs_protocol::storm::{NodeRow, NodeState};

fn state(state: &NodeState) -> (&'static str, Option<&str>) {
    match state {
        NodeState::Up => ("up", None),
        NodeState::Joining => ("joining", None),
        NodeState::Down(reason) => ("down", Some(reason.as_str()).filter(|reason| !reason.is_empty())),
    }
}

fn memory(bytes: u64) -> String {
    const GIB: f64 = (1_u64 << 30) as f64;
    match bytes {
        0 => "-".into(),
        bytes => format!("{:.1} GiB", bytes as f64 / GIB),
    }
}

/// A table with a head.
pub fn table(rows: &[NodeRow]) -> String {
    let head = ["HOST", "STATE", "CORES", "MEMORY", "RDMA", "RANKS", "JOBS", ""].map(str::to_owned);
    let mut lines = vec![head];
    for row in rows {
        let (state, reason) = state(&row.state);
        let jobs: Vec<_> = row.jobs.iter().map(|job| job.0.to_string()).collect();
        lines.push([
            row.host.clone(),
            state.into(),
            if row.cores == 0 { "-".into() } else { row.cores.to_string() },
            memory(row.memory),
            row.card.as_ref().map_or_else(|| "-".into(), ToString::to_string),
            row.ranks.to_string(),
            if jobs.is_empty() { "-".into() } else { jobs.join(",") },
            reason.unwrap_or_default().into(),
        ]);
    }
    let widths: Vec<usize> = (0..lines[0].len())
        .map(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for line in &lines {
        let cells: Vec<_> = line.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}")).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// An array with an object for each node.
pub fn json(rows: &[NodeRow]) -> String {
    let objects: Vec<_> =
        rows.iter()
            .map(|row| {
                let (state, reason) = state(&row.state);
                let jobs: Vec<u64> = row.jobs.iter().map(|job| job.0).collect();
                let rdma = row.card.as_ref().map(
                    |card| serde_json::json!({ "provider": card.provider.as_str(), "domain": card.domain }),
                );
                serde_json::json!({
                    "host": row.host, "state": state, "reason": reason, "cores": row.cores,
                    "memory_bytes": row.memory, "rdma": rdma, "ranks": row.ranks, "jobs": jobs,
                })
            })
            .collect();
    format!("{:#}\n", serde_json::Value::from(objects))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::JobId;

    fn rows() -> Vec<NodeRow> {
        let row = |host: &str, state, cores, memory, ranks, jobs: &[u64]| NodeRow {
            host: host.into(),
            state,
            cores,
            memory,
            card: None,
            ranks,
            jobs: jobs.iter().copied().map(JobId).collect(),
        };
        let card = Some("verbs mlx5_0".parse().unwrap());
        vec![
            NodeRow { card, ..row("c0", NodeState::Up, 64, 16 << 30, 4, &[12, 13]) },
            row("login10", NodeState::Joining, 2, 1 << 29, 0, &[]),
            row("c1", NodeState::Down("has not connected".into()), 0, 0, 0, &[]),
        ]
    }

    #[test]
    fn people_read_a_table() {
        let expected = "HOST     STATE    CORES  MEMORY    RDMA          RANKS  JOBS\n\
                        c0       up       64     16.0 GiB  verbs mlx5_0  4      12,13\n\
                        login10  joining  2      0.5 GiB   -             0      -\n\
                        c1       down     -      -         -             0      -      has not connected\n";
        assert_eq!(table(&rows()), expected);
    }

    #[test]
    fn programs_read_json() {
        let read: serde_json::Value = serde_json::from_str(&json(&rows())).unwrap();
        assert_eq!(read[0]["jobs"], serde_json::json!([12, 13]));
        assert_eq!(
            (read[1]["state"].as_str(), read[2]["reason"].as_str()),
            (Some("joining"), Some("has not connected"))
        );
        assert_eq!(read[0]["memory_bytes"], 16_u64 << 30);
        assert_eq!(read[0]["rdma"]["domain"], "mlx5_0");
        assert!(read[1]["rdma"].is_null());
    }
}
