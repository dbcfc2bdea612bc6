//! How long global slices take against the number of nodes, in virtual time: prints a table (CSV) and draws a
//! picture.
//!
//! `cargo run --release -p nic-emu --example slice_curve [LARGEST [PICTURE.svg]]`: 2, 4, ... up to LARGEST
//! nodes (16384), for links of 1, 5 and 20 µs.

mod harness;
mod picture;

use harness::{Cluster, Load};
use picture::{Curve, Panel};
use std::time::Duration;

const LATENCIES_US: [u64; 3] = [1, 5, 20];

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let largest: u32 = arguments.next().map_or(16_384, |text| {
        text.parse().unwrap_or_else(|_| panic!("the largest number of nodes is a number, not '{text}'"))
    });
    let file = arguments.next();
    println!("nodes,link_us,load,slice_us,done_us");
    let mut panels = Vec::new();
    for latency_us in LATENCIES_US {
        let mut curves: Vec<Curve> =
            Load::of_slices().map(|load| Curve { name: load.name(), points: Vec::new() }).collect();
        for nodes in (1..).map(|power| 1u32 << power).take_while(|nodes| *nodes <= largest) {
            let mut cluster = Cluster::new(nodes, Duration::from_micros(latency_us));
            for (load, curve) in Load::of_slices().zip(&mut curves) {
                let taken = cluster.measure(load);
                let [slice, done] = [taken.slice, taken.done].map(|time| time.as_secs_f64() * 1e6);
                println!("{nodes},{latency_us},{},{slice:.1},{done:.1}", load.name());
                curve.points.push((nodes, slice));
            }
        }
        panels.push(Panel { title: format!("links of {latency_us} µs"), curves });
    }
    match file {
        None => Ok(()),
        Some(file) => std::fs::write(file, picture::draw(&panels)),
    }
}
