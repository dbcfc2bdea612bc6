//! Draws the curves: one panel for each latency, nodes on a logarithmic axis, microseconds on a linear one.

use std::fmt::Write;

/// One line.
pub struct Curve {
    /// What it is of.
    pub name: &'static str,
    /// Nodes, and microseconds.
    pub points: Vec<(u32, f64)>,
}

/// Curves that share axes.
pub struct Panel {
    /// What they have in common.
    pub title: String,
    /// The curves.
    pub curves: Vec<Curve>,
}

const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 62.0;
const TOP: f64 = 56.0;
const BOTTOM: f64 = 58.0;
const COLOURS: [&str; 3] = ["#1b6ca8", "#2a8c4a", "#c0392b"];

/// The picture as SVG.
pub fn draw(panels: &[Panel]) -> String {
    let (width, height) = (panels.len() as f64 * (LEFT + WIDTH) + 24.0, TOP + HEIGHT + BOTTOM);
    let mut svg = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12" fill="#222">
<rect width="{width}" height="{height}" fill="white"/>
<text x="{}" y="20" text-anchor="middle" font-size="15">Duration of a global slice against nodes (virtual time)</text>
"##,
        width / 2.0
    );
    for (i, panel) in panels.iter().enumerate() {
        draw_panel(&mut svg, panel, i as f64 * (LEFT + WIDTH) + LEFT);
    }
    svg + "</svg>\n"
}

fn draw_panel(svg: &mut String, panel: &Panel, left: f64) {
    let points = || panel.curves.iter().flat_map(|curve| &curve.points);
    let powers = points().map(|(nodes, _)| nodes.ilog2()).max().unwrap_or(1).max(2);
    let step = step(points().map(|(_, us)| *us).fold(1.0, f64::max) / 5.0);
    let top_us = (points().map(|(_, us)| *us).fold(1.0, f64::max) / step).ceil() * step;
    let x = |nodes: u32| left + 8.0 + (nodes.ilog2() - 1) as f64 / (powers - 1) as f64 * (WIDTH - 40.0);
    let y = |us: f64| TOP + HEIGHT - us / top_us * HEIGHT;
    // Writing to a string cannot fail.
    let mut add = |text: String| _ = svg.write_str(&(text + "\n"));
    let (middle, bottom, right) = (left + (WIDTH - 24.0) / 2.0, TOP + HEIGHT, left + WIDTH - 24.0);
    add(format!(r#"<text x="{middle}" y="44" text-anchor="middle" font-size="13">{}</text>"#, panel.title));
    let mut us = 0.0;
    while us <= top_us + step / 2.0 {
        add(format!(
            r##"<path d="M{left} {0:.1}H{right}" stroke="#ddd"/><text x="{1}" y="{2:.1}" text-anchor="end">{us}</text>"##,
            y(us),
            left - 6.0,
            y(us) + 4.0
        ));
        us += step;
    }
    for power in (1..=powers).filter(|power| power % 2 == 0 || powers < 6) {
        let (x, label) = (x(1 << power), 1u32 << power);
        add(format!(
            r##"<path d="M{x:.1} {bottom}v4" stroke="#222"/><text x="{x:.1}" y="{}" text-anchor="middle" font-size="10">{label}</text>"##,
            bottom + 16.0
        ));
    }
    add(format!(r##"<path d="M{left} {TOP}V{bottom}H{right}" fill="none" stroke="#222"/>"##));
    add(format!(r#"<text x="{middle}" y="{}" text-anchor="middle">nodes</text>"#, bottom + 36.0));
    let (label_x, label_y) = (left - 44.0, TOP + HEIGHT / 2.0);
    add(format!(
        r#"<text x="{label_x}" y="{label_y}" text-anchor="middle" transform="rotate(-90 {label_x} {label_y})">µs</text>"#
    ));
    for ((i, curve), colour) in panel.curves.iter().enumerate().zip(COLOURS) {
        let line: Vec<String> =
            curve.points.iter().map(|(nodes, us)| format!("{:.1},{:.1}", x(*nodes), y(*us))).collect();
        add(format!(
            r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="2"/>"#,
            line.join(" ")
        ));
        for (nodes, us) in &curve.points {
            add(format!(r#"<circle cx="{:.1}" cy="{:.1}" r="2.5" fill="{colour}"/>"#, x(*nodes), y(*us)));
        }
        let row = TOP + 14.0 + 16.0 * i as f64;
        add(format!(
            r#"<path d="M{0} {1}h18" stroke="{colour}" stroke-width="2"/><text x="{2}" y="{3}">{4}</text>"#,
            left + 12.0,
            row - 4.0,
            left + 36.0,
            row,
            curve.name
        ));
    }
}

/// The next of 1, 2, 5, 10, ... that is not smaller.
fn step(at_least: f64) -> f64 {
    let power = 10f64.powf(at_least.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|step| *step >= at_least)
        .unwrap_or(power)
}
