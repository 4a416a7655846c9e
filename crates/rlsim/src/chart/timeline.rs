//! What a simulation did over time: one panel a variant, all on the same axes, with what went wrong shaded.
//!
//! Each panel shows three things: all that came (hatched), what got through (solid, in front), and what to compare it
//! with (dashed).

use std::fmt::Write as _;

use super::canvas::{Anchor, Canvas, Type};
use super::clock::time_axis;
use super::ink::Ink;
use super::scale::{Scale, round_ticks};
use super::svg;
use super::text::{Size, shorten, width, wrap};
use crate::error::Result;
use crate::report::short_count;

/// Places on the page in tenths of a pixel.
const WIDTH: i32 = 9600;
const LEFT: i32 = 640;
const RIGHT: i32 = LEFT + 8600;
const MARGIN: i32 = 240;
const HEADING: i32 = 330;
const BELOW: i32 = 170;

/// What is cut off above is at least so many times the rest: a storm must not flatten everything else.
const CUT: u64 = 3;

/// All that the picture shows, as plain numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineChart {
    /// The finding, as a title.
    pub title: String,
    /// What the hatched area, the solid area and the dashed line are, with their unit; empty where there is none.
    pub legend: [String; 3],
    /// The length of a bin in nanoseconds.
    pub bin_ns: u64,
    /// Whether the scale fits the dashed line instead of all that got through.
    pub scale_to_reference: bool,
    /// What is shaded: from, to (nanoseconds), and why.
    pub shaded: Option<(u64, u64, String)>,
    /// One panel a variant.
    pub panels: Vec<TimelinePanel>,
}

/// One variant: counts a bin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelinePanel {
    /// The variant's name.
    pub title: String,
    /// What it did, in a few words.
    pub summary: String,
    /// All that came: the hatched area.
    pub all: Vec<u64>,
    /// What got through: the solid area.
    pub through: Vec<u64>,
    /// What to compare it with: the dashed line.
    pub reference: Vec<u64>,
}

impl TimelinePanel {
    fn bins(&self) -> usize {
        self.all.len().max(self.through.len()).max(self.reference.len())
    }
}

/// Draws the chart as SVG.
///
/// # Errors
/// When the backend cannot draw.
pub fn timeline(chart: &TimelineChart) -> Result<String> {
    let title = wrap(&chart.title, WIDTH - 2 * MARGIN, Size::Title, true);
    let lines = i32::try_from(title.len()).unwrap_or(1).max(1);
    let panels = i32::try_from(chart.panels.len()).unwrap_or(1).clamp(1, 1000);
    let plot = [2400, 1500, 1100, 1000].get(panels.unsigned_abs() as usize - 1).copied().unwrap_or(800);
    let legend_at = 360 + (lines - 1) * 260 + 290;
    let first = legend_at + 200;
    let bottom = first + panels * (HEADING + plot + BELOW);
    let height = bottom + 460;
    let mut drawn = String::new();
    let mut canvas = Canvas::new(&mut drawn, WIDTH.unsigned_abs(), height.unsigned_abs());
    canvas.fill((0, 0), (WIDTH, height), Ink::Paper)?;
    for (line, y) in title.iter().zip((360..).step_by(260)) {
        canvas.text(line, (MARGIN, y), Anchor::Start, Type::TITLE)?;
    }
    legend(&mut canvas, chart, legend_at)?;
    let bins = chart.panels.iter().map(TimelinePanel::bins).max().unwrap_or(0).max(1) as u64;
    let span = chart.bin_ns.saturating_mul(bins);
    let time = Scale::new((0, span), (LEFT, RIGHT));
    let axis = time_axis(0, span, 12);
    let most = most_shown(chart);
    for (index, panel) in (0..).zip(&chart.panels) {
        let top = first + index * (HEADING + plot + BELOW);
        let counts = Scale::new((0, most), (top + HEADING + plot, top + HEADING));
        let frame = Frame { time, counts, chart, most };
        frame.draw(&mut canvas, panel, top)?;
        for (at, _) in &axis.ticks {
            let (x, y) = (time.at(*at), top + HEADING + plot);
            canvas.line(vec![(x, y), (x, y + 40)], 10, Ink::Grey)?;
        }
    }
    for (at, label) in &axis.ticks {
        canvas.text(label, (time.at(*at), bottom + 60), Anchor::Middle, Type::QUIET)?;
    }
    canvas.text(&axis.caption, (i32::midpoint(LEFT, RIGHT), bottom + 280), Anchor::Middle, Type::QUIET)?;
    canvas.finish()?;
    let size = (WIDTH.unsigned_abs(), height.unsigned_abs());
    Ok(svg::finish(&drawn, "timeline", size, &chart.title, &description(chart)))
}

/// The top of the shared scale: the most that came, unless that would flatten what got through.
fn most_shown(chart: &TimelineChart) -> u64 {
    let most = |series: fn(&TimelinePanel) -> &[u64]| {
        chart.panels.iter().flat_map(|panel| series(panel).iter().copied()).max().unwrap_or(0)
    };
    let (through, reference) = (most(|panel| &panel.through), most(|panel| &panel.reference).max(1));
    let calm = if chart.scale_to_reference { reference } else { through.max(reference) };
    most(|panel| &panel.all).max(through).min(calm.saturating_mul(CUT)).max(calm)
}

/// What all panels share, and where this one is.
struct Frame<'a> {
    time: Scale,
    counts: Scale,
    chart: &'a TimelineChart,
    most: u64,
}

impl Frame<'_> {
    fn draw(&self, canvas: &mut Canvas<'_>, panel: &TimelinePanel, top: i32) -> Result<()> {
        let (plot_top, plot_bottom) = self.counts.ends();
        let room = RIGHT - LEFT - width(&panel.title, Size::Heading, true) - 200;
        let summary = shorten(&panel.summary, room, Size::Label, false);
        canvas.text(&panel.title, (LEFT, top + 190), Anchor::Start, Type::HEADING)?;
        canvas.text(&summary, (RIGHT, top + 190), Anchor::End, Type::LABEL)?;
        if let Some((from, to, _)) = &self.chart.shaded {
            canvas.fill((self.time.at(*from), plot_top), (self.time.at(*to), plot_bottom), Ink::Trouble)?;
        }
        self.area(canvas, &panel.all, Ink::Denied)?;
        self.area(canvas, &panel.through, Ink::Allowed)?;
        if let Some((from, to, _)) = &self.chart.shaded {
            // Areas may cover the shade; its edges stay visible.
            for at in [from, to] {
                let x = self.time.at(*at);
                canvas.line(vec![(x, plot_top - 60), (x, plot_bottom)], 10, Ink::Grey)?;
            }
        }
        let line = self.steps(&panel.reference);
        if line.len() > 1 {
            // Paper between the dashes, to be seen before a solid area too.
            canvas.line(line.clone(), 14, Ink::Paper)?;
            canvas.line(line, 14, Ink::Limit)?;
        }
        for tick in round_ticks(self.per_second(self.most), 3) {
            let y = self.counts.at(self.per_bin(tick));
            canvas.line(vec![(LEFT - 40, y), (LEFT, y)], 8, Ink::Grey)?;
            canvas.text(&short_count(tick), (LEFT - 70, y + 45), Anchor::End, Type::QUIET)?;
        }
        canvas.line(vec![(LEFT, plot_top), (LEFT, plot_bottom)], 8, Ink::Grey)?;
        canvas.line(vec![(LEFT, plot_bottom), (RIGHT, plot_bottom)], 10, Ink::Grey)?;
        self.cut_off(canvas, panel, plot_top)
    }

    /// Says how high an area goes that the scale cuts off.
    fn cut_off(&self, canvas: &mut Canvas<'_>, panel: &TimelinePanel, plot_top: i32) -> Result<()> {
        let highest = panel.all.iter().enumerate().chain(panel.through.iter().enumerate());
        let highest = highest.max_by_key(|&(bin, &count)| (count, std::cmp::Reverse(bin)));
        let Some((bin, &count)) = highest.filter(|&(_, &count)| count > self.most) else { return Ok(()) };
        self.breaks(canvas, panel, plot_top)?;
        let words = format!("up to {} per second", short_count(self.per_second(count)));
        let half = width(&words, Size::Label, false) / 2;
        let x = self.time.at(self.edge(bin)).clamp(LEFT + half + 60, RIGHT - half);
        canvas.text(&words, (x, plot_top + 225), Anchor::Middle, Type { ink: Ink::Rimmed, ..Type::LABEL })
    }

    /// A torn edge through each run of bins that goes on above the plot.
    fn breaks(&self, canvas: &mut Canvas<'_>, panel: &TimelinePanel, plot_top: i32) -> Result<()> {
        const TOOTH: i32 = 50;
        let beyond = |bin: &usize| {
            let of = |counts: &[u64]| counts.get(*bin).is_some_and(|count| *count > self.most);
            of(&panel.all) || of(&panel.through)
        };
        let bins: Vec<usize> = (0..panel.bins()).filter(beyond).collect();
        for run in bins.chunk_by(|a, b| a + 1 == *b) {
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            let (from, to) = (self.time.at(self.edge(*first)), self.time.at(self.edge(last + 1)));
            // A little beyond both sides, to be seen on a narrow bar.
            let teeth = ((to - from) / TOOTH).max(1) + 2;
            let start = i32::midpoint(from, to) - teeth * TOOTH / 2;
            let edge = |y: i32| -> Vec<(i32, i32)> {
                (0..=teeth).map(|tooth| (start + tooth * TOOTH, plot_top + y + tooth % 2 * 36)).collect()
            };
            canvas.line(edge(30), 44, Ink::Paper)?;
            for y in [8, 52] {
                canvas.line(edge(y), 7, Ink::Grey)?;
            }
        }
        Ok(())
    }

    fn per_second(&self, count: u64) -> u64 {
        let exact = u128::from(count) * 1_000_000_000 / u128::from(self.chart.bin_ns.max(1));
        u64::try_from(exact).unwrap_or(u64::MAX)
    }

    /// Rounded up, so that the tick of a rate is not below its own counts.
    fn per_bin(&self, rate: u64) -> u64 {
        let exact = (u128::from(rate) * u128::from(self.chart.bin_ns)).div_ceil(1_000_000_000);
        u64::try_from(exact).unwrap_or(u64::MAX)
    }

    fn edge(&self, bin: usize) -> u64 {
        self.chart.bin_ns.saturating_mul(bin as u64)
    }

    /// Each run of bins with something in them, filled from the base.
    fn area(&self, canvas: &mut Canvas<'_>, counts: &[u64], ink: Ink) -> Result<()> {
        let base = self.counts.at(0);
        let mut first = 0;
        for run in counts.split(|&count| count == 0) {
            if !run.is_empty() {
                let mut outline = vec![(self.time.at(self.edge(first)), base)];
                outline.extend(self.stairs(run, first));
                outline.push((self.time.at(self.edge(first + run.len())), base));
                canvas.polygon(outline, ink)?;
            }
            first += run.len() + 1;
        }
        Ok(())
    }

    /// A line along all bins up to the last that has something in it.
    fn steps(&self, counts: &[u64]) -> Vec<(i32, i32)> {
        let used = counts.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
        self.stairs(&counts[..used], 0)
    }

    fn stairs(&self, counts: &[u64], first: usize) -> Vec<(i32, i32)> {
        let stair = |(bin, &count): (usize, &u64)| {
            let y = self.counts.at(count);
            [(self.time.at(self.edge(bin)), y), (self.time.at(self.edge(bin + 1)), y)]
        };
        (first..).zip(counts).flat_map(stair).collect()
    }
}

fn legend(canvas: &mut Canvas<'_>, chart: &TimelineChart, y: i32) -> Result<()> {
    let [all, through, reference] = &chart.legend;
    let mut entries = vec![(Ink::Denied, all), (Ink::Allowed, through), (Ink::Limit, reference)];
    entries.retain(|(_, text)| !text.is_empty());
    if let Some((_, _, why)) = &chart.shaded {
        entries.push((Ink::Trouble, why));
    }
    let mut x = MARGIN;
    for (ink, text) in entries {
        match ink {
            Ink::Limit => canvas.line(vec![(x, y - 45), (x + 260, y - 45)], 14, ink)?,
            _ => canvas.fill((x, y - 100), (x + 150, y + 5), ink)?,
        }
        x += if ink == Ink::Limit { 320 } else { 210 };
        canvas.text(text, (x, y), Anchor::Start, Type::LABEL)?;
        x += width(text, Size::Label, false) + 170;
    }
    Ok(())
}

/// The picture in words, for those who do not see it.
fn description(chart: &TimelineChart) -> String {
    let mut text = String::new();
    if let Some((_, _, why)) = &chart.shaded {
        let _ = writeln!(text, "Shaded: {why}.");
    }
    for panel in &chart.panels {
        let _ = writeln!(text, "{}: {}.", panel.title, panel.summary);
    }
    text.trim_end().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(all: Vec<u64>) -> TimelineChart {
        let panel = TimelinePanel {
            title: "a <variant>".into(),
            summary: "did this".into(),
            all,
            through: vec![3, 0, 4],
            reference: vec![5, 5, 5],
        };
        TimelineChart {
            title: "A finding".into(),
            legend: ["all", "through", "reference"].map(String::from),
            bin_ns: 1_000_000_000,
            scale_to_reference: false,
            shaded: Some((1, 2_000_000_000, "outage".into())),
            panels: vec![panel],
        }
    }

    #[test]
    fn a_picture_tells_its_finding_and_escapes_names() {
        let svg = timeline(&chart(vec![6, 7, 8])).unwrap();
        assert!(svg.contains("<title id=\"timeline-title\">A finding</title>"));
        assert!(svg.contains("a &lt;variant&gt;"));
        assert!(!svg.contains("up to"));
    }

    #[test]
    fn what_would_flatten_the_rest_is_cut_off_and_said() {
        let torn = |svg: &str| svg.matches("stroke-width=\"44\"").count();
        let cut = timeline(&chart(vec![6, 90_000, 8])).unwrap();
        assert!(cut.contains("up to 90k per second"));
        assert_eq!(torn(&cut), 1);
        assert_eq!(torn(&timeline(&chart(vec![90_000, 8, 90_000, 90_000])).unwrap()), 2, "an edge a run");
        assert_eq!(torn(&timeline(&chart(vec![6, 7, 8])).unwrap()), 0);
    }

    #[test]
    fn extremes_and_nothing_at_all_are_drawn() {
        let mut extreme = chart(vec![u64::MAX; 500]);
        extreme.bin_ns = u64::MAX;
        assert!(timeline(&extreme).is_ok());
        assert!(timeline(&TimelineChart { panels: Vec::new(), ..chart(Vec::new()) }).is_ok());
        assert!(timeline(&chart(Vec::new())).is_ok());
    }
}
