//! The comparison: one panel a policy over shared axes. The finding is the title.
//!
//! Each panel has two strips over the same time: the units in the trailing window against the limit (what the limit is
//! about), and below it what was admitted and denied in each bin (what came).

use super::canvas::{Anchor, Canvas, Type};
use super::clock::time_axis;
use super::ink::Ink;
use super::page::{Entry, Header, Sample, WIDTH};
use super::panel::{self, Frame};
use super::scale::Scale;
use super::svg;
use super::text::{Size, shorten};
use crate::error::Result;
use crate::metrics::{PolicyNumbers, Series, Trailing};
use crate::report::{self, Report, count, duration, policy_title};
use std::fmt::Write as _;

/// The ends of the plot, in tenths of a pixel: about one column of the trailing line a pixel.
const LEFT: i32 = 640;
const RIGHT: i32 = LEFT + 8200;

/// All that the picture shows, as plain numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparisonChart {
    /// The finding, as a title.
    pub title: String,
    /// The stretch of time shown, in nanoseconds.
    pub view: (u64, u64),
    /// What is counted: `requests`, or `units` where costs differ from one.
    pub what: &'static str,
    /// Whether the line is the busiest of several clients at each moment.
    pub busiest: bool,
    /// One panel a policy.
    pub panels: Vec<Panel>,
}

/// One policy's part of the picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// The policy's name as a heading.
    pub title: String,
    /// Its quota in words where policies differ in it, otherwise empty.
    pub quota: String,
    /// What it did, in a few words.
    pub summary: String,
    /// The limit, where the policy has a single one.
    pub limit: Option<u64>,
    /// The trailing window shown, in nanoseconds.
    pub window_ns: u64,
    /// The units in it over time.
    pub trailing: Trailing,
    /// Units admitted and denied over time.
    pub series: Series,
    /// The densest window, `None` when nothing was admitted.
    pub peak: Option<PeakMark>,
}

/// The densest window and what to say about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeakMark {
    /// Units in it.
    pub units: u64,
    /// Its first release, in nanoseconds.
    pub start_ns: u64,
    /// Its last release, in nanoseconds.
    pub end_ns: u64,
    /// Such as `200 in 0.2 s = 2.0x`.
    pub words: String,
}

impl ComparisonChart {
    /// The picture of a report.
    pub fn of(report: &Report) -> Self {
        let policies = &report.policies;
        let view = policies.first().map_or((0, 1), |policy| {
            let line = &policy.details.trailing;
            (line.start_ns, line.start_ns.saturating_add(line.column_ns.saturating_mul(line.hi.len() as u64)))
        });
        let differ = policies.windows(2).any(|pair| quota(&pair[0]) != quota(&pair[1]));
        let unit_costs = report.meta.trace.units == report.meta.trace.events;
        ComparisonChart {
            title: report::headline(policies),
            view,
            what: if unit_costs { "requests" } else { "units" },
            busiest: policies.iter().any(|policy| policy.details.by_client && policy.clients.total > 1),
            panels: policies.iter().map(|policy| Panel::of(policy, differ)).collect(),
        }
    }
}

impl Panel {
    fn of(policy: &PolicyNumbers, with_quota: bool) -> Self {
        Panel {
            title: policy_title(policy),
            quota: if with_quota { quota(policy) } else { String::new() },
            summary: summary(policy),
            limit: policy.limit,
            window_ns: policy.details.window_ns,
            trailing: policy.details.trailing.clone(),
            series: policy.series.clone().unwrap_or_default(),
            peak: PeakMark::of(policy),
        }
    }

    /// Whether more than the limit got through.
    pub(super) fn exceeds(&self) -> bool {
        self.limit.zip(self.peak.as_ref()).is_some_and(|(limit, peak)| peak.units > limit)
    }
}

impl PeakMark {
    fn of(policy: &PolicyNumbers) -> Option<Self> {
        let peak = &policy.details.peak;
        let (start_ns, end_ns) = peak.start_ns.zip(peak.end_ns)?;
        let span = if start_ns == end_ns { "at once".into() } else { format!("in {}", duration(end_ns - start_ns)) };
        let multiple = peak.overshoot.map_or(String::new(), |overshoot| format!(" = {}x", short_ratio(overshoot)));
        let several = policy.details.by_client && policy.clients.total > 1;
        let whose = peak
            .client
            .as_ref()
            .filter(|_| several)
            .map_or(String::new(), |client| format!(" by {}", shorten(client, 2000, Size::Label, true)));
        let words = format!("{} {span}{multiple}{whose}", count(peak.units));
        Some(PeakMark { units: peak.units, start_ns, end_ns, words })
    }
}

/// A policy's quota in words, with a burst of its own; its text where it is not a single quota.
fn quota(policy: &PolicyNumbers) -> String {
    let Some((limit, window)) = policy.limit.zip(policy.window_ns) else {
        return if policy.policy == policy.name { String::new() } else { policy.policy.clone() };
    };
    let mut text = report::quota(limit, window);
    if let Some(burst) = policy.burst.filter(|&burst| burst != limit) {
        let _ = write!(text, ", burst {}", count(burst));
    }
    text
}

/// `2.0`, `1.09`: two decimals, of which the last is left out when it is zero.
fn short_ratio(ratio: f64) -> String {
    let text = report::ratio(ratio);
    text.strip_suffix('0').map_or(text.clone(), str::to_string)
}

fn summary(policy: &PolicyNumbers) -> String {
    let mut text = format!("{} allowed · {} denied", count(policy.requests.allowed), count(policy.requests.denied));
    if policy.requests.never > 0 {
        let _ = write!(text, " · {} never", count(policy.requests.never));
    }
    if let Some(delay) = policy.delay_ns.filter(|delay| delay.max > 0) {
        let _ = write!(text, " · waits up to {}", duration(delay.max));
    }
    text
}

/// The picture as SVG text: the same bytes for the same numbers.
pub fn comparison(chart: &ComparisonChart) -> Result<String> {
    let header = Header::new(&chart.title, legend(chart));
    let panels = i32::try_from(chart.panels.len()).unwrap_or(i32::MAX).clamp(1, 1000);
    let heights = panel::Heights::of(panels);
    let first = header.height() + 100;
    let bottom = first + panels * heights.total();
    let height = bottom + 460;
    let mut drawn = String::new();
    let mut canvas = Canvas::new(&mut drawn, WIDTH.unsigned_abs(), height.unsigned_abs());
    canvas.fill((0, 0), (WIDTH, height), Ink::Paper)?;
    header.draw(&mut canvas)?;
    let time = Scale::new(chart.view, (LEFT, RIGHT));
    let axis = time_axis(chart.view.0, chart.view.1, 10);
    let frame = Frame::shared(chart, time, &axis, heights);
    for (panel, top) in chart.panels.iter().zip((first..).step_by(heights.total().unsigned_abs() as usize)) {
        panel::draw(&mut canvas, panel, &frame, top)?;
    }
    for (at, label) in &axis.ticks {
        canvas.text(label, (time.at(*at), bottom + 60), Anchor::Middle, Type::QUIET)?;
    }
    let edges = if frame.has_edges() { " (grey lines: window edges)" } else { "" };
    let caption = format!("{}{edges}", axis.caption);
    canvas.text(&caption, (i32::midpoint(LEFT, RIGHT), bottom + 280), Anchor::Middle, Type::QUIET)?;
    canvas.finish()?;
    let size = (WIDTH.unsigned_abs(), height.unsigned_abs());
    Ok(svg::finish(&drawn, "comparison", size, &chart.title, &description(chart)))
}

/// The key to the picture: what each ink means.
fn legend(chart: &ComparisonChart) -> Vec<Entry> {
    let windows: Vec<_> = chart.panels.iter().map(|panel| panel.window_ns).collect();
    let same = windows.windows(2).all(|pair| pair[0] == pair[1]);
    let window = windows.first().filter(|_| same).map_or("window".into(), |&window| duration(window));
    let whose = if chart.busiest { ", busiest client" } else { "" };
    let bin = duration(chart.panels.first().map_or(0, |panel| panel.series.bin_ns));
    let mut entries = vec![
        (Ink::Black, Sample::Line(18), format!("{} let through in the trailing {window}{whose}", chart.what)),
        (Ink::Limit, Sample::Line(12), "limit".to_string()),
        (Ink::Over, Sample::Fill, "over the limit".to_string()),
        (Ink::Allowed, Sample::Fill, format!("allowed per {bin}")),
        (Ink::Denied, Sample::Fill, format!("denied per {bin}")),
    ];
    if chart.panels.iter().any(|panel| !panel.series.never.is_empty()) {
        entries.push((Ink::Never, Sample::Fill, format!("never per {bin}")));
    }
    entries
}

/// The picture in words, for those who do not see it: its table.
fn description(chart: &ComparisonChart) -> String {
    let mut text = String::new();
    for panel in &chart.panels {
        let _ = write!(text, "{}: {}", panel.title, panel.summary);
        if let Some(peak) = &panel.peak {
            let _ = write!(text, "; most in any {}: {}", duration(panel.window_ns), peak.words);
        }
        if let Some(limit) = panel.limit {
            let _ = write!(text, "; limit {}", report::quota(limit, panel.window_ns));
        }
        text.push_str(".\n");
    }
    text.trim_end().to_string()
}
