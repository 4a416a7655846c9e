//! One client: how full each policy's state is over time, as one would draw it on a whiteboard, a panel a rule.
//!
//! A token bucket is drawn by the tokens left, everything else by the units in use, so that in each picture the line moves
//! as the words of the algorithm do. Below it stands a tick for each request that passed, and hangs one for each that was
//! refused; a refusal is also a cross on the line, at the height that refused it.

use super::canvas::{Anchor, Canvas, Type};
use super::clock::{TimeAxis, time_axis};
use super::ink::Ink;
use super::page::{Entry, Header, Sample, WIDTH};
use super::panel::push_straight;
use super::scale::{Scale, round_ticks};
use super::svg;
use super::text::{Size, shorten, width};
use super::ticks::ticks;
use crate::client::{ClientView, FULL, StateView};
use crate::error::Result;
use crate::report::{count, duration, name_title, quota, short_count};
use ratelimit_core::{Algorithm, Rule};
use std::fmt::Write as _;

const LEFT: i32 = 640;
const RIGHT: i32 = LEFT + 8120;
/// More window edges than this would be a grey wall.
const MOST_EDGES: u64 = 40;
/// Crosses stand at least this far apart: one says that something was refused there, the ticks below say when.
const CROSS: i32 = 70;

/// The chart as SVG text: the same bytes for the same numbers.
///
/// # Errors
/// When the backend cannot draw.
pub fn client(view: &ClientView) -> Result<String> {
    let title = title(view);
    let header = Header::new(&title, legend(view));
    let heights = Heights::of(view.states.len());
    let first = header.height() + 60;
    let bottom = view.states.iter().fold(first, |y, state| y + heights.total(state));
    let height = bottom + 460;
    let size = (WIDTH.unsigned_abs(), height.unsigned_abs());
    let mut drawn = String::new();
    let mut canvas = Canvas::new(&mut drawn, size.0, size.1);
    canvas.fill((0, 0), (WIDTH, height), Ink::Paper)?;
    header.draw(&mut canvas)?;
    let (from, until) = (view.columns.start_ns, view.columns.end_ns);
    let frame =
        Frame { view, time: Scale::new((from, until), (LEFT, RIGHT)), axis: time_axis(from, until, 10), heights };
    let mut top = first;
    for state in &view.states {
        frame.panel(&mut canvas, state, top)?;
        top += heights.total(state);
    }
    for (at, label) in &frame.axis.ticks {
        canvas.text(label, (frame.time.at(*at), bottom + 60), Anchor::Middle, Type::QUIET)?;
    }
    let edges =
        if view.states.iter().any(|state| !frame.edges(state).is_empty()) { " (grey lines: window edges)" } else { "" };
    let caption = format!("{}{edges}", frame.axis.caption);
    canvas.text(&caption, (i32::midpoint(LEFT, RIGHT), bottom + 280), Anchor::Middle, Type::QUIET)?;
    canvas.finish()?;
    Ok(svg::finish(&drawn, "client", size, &title, &description(view)))
}

/// Heights within a panel, in tenths of a pixel.
#[derive(Debug, Clone, Copy)]
struct Heights {
    plot: i32,
}

impl Heights {
    const HEADING: i32 = 300;
    const GAP: i32 = 60;
    /// One row of ticks.
    const ROW: i32 = 100;
    const BELOW: i32 = 210;

    /// Fewer panels are taller ones.
    fn of(panels: usize) -> Self {
        Heights {
            plot: match panels {
                0 | 1 => 2400,
                2 => 1600,
                3 | 4 => 1100,
                _ => 860,
            },
        }
    }

    /// A rule that keeps nothing has no line.
    fn plot(self, state: &StateView) -> i32 {
        if state.line.is_empty() { 0 } else { self.plot }
    }

    fn strip(state: &StateView) -> i32 {
        Self::ROW * if state.released.is_empty() { 2 } else { 3 }
    }

    fn total(self, state: &StateView) -> i32 {
        Self::HEADING + self.plot(state) + Self::GAP + Self::strip(state) + Self::BELOW
    }
}

/// What all panels share.
struct Frame<'a> {
    view: &'a ClientView,
    time: Scale,
    axis: TimeAxis,
    heights: Heights,
}

impl Frame<'_> {
    fn panel(&self, canvas: &mut Canvas<'_>, state: &StateView, top: i32) -> Result<()> {
        let plot_top = top + Heights::HEADING;
        let plot_bottom = plot_top + self.heights.plot(state);
        let strip_top = plot_bottom + Heights::GAP;
        let strip_bottom = strip_top + Heights::strip(state);
        heading(canvas, state, top + 150)?;
        let line = self.line(state, (plot_top, plot_bottom));
        if let [(first, _), .., (last, _)] = line[..] {
            let area = [&line[..], &[(last, plot_bottom), (first, plot_bottom)]].concat();
            canvas.polygon(area, Ink::Level)?;
        }
        for edge in self.edges(state) {
            let x = self.time.at(edge);
            canvas.line(vec![(x, plot_top - 40), (x, strip_bottom)], 10, Ink::Faint)?;
        }
        if !line.is_empty() {
            self.level(canvas, state, line, (plot_top, plot_bottom))?;
        }
        self.strip(canvas, state, strip_top)?;
        canvas.line(vec![(LEFT, strip_bottom), (RIGHT, strip_bottom)], 10, Ink::Grey)?;
        for (at, _) in &self.axis.ticks {
            let x = self.time.at(*at);
            canvas.line(vec![(x, strip_bottom), (x, strip_bottom + 40)], 10, Ink::Grey)?;
        }
        Ok(())
    }

    /// The height of a state on the page.
    fn page(state: &StateView, (top, bottom): (i32, i32)) -> Scale {
        let ends = if matches!(state.rule, Rule::TokenBucket(_)) { (top, bottom) } else { (bottom, top) };
        Scale::new((0, FULL.into()), ends)
    }

    fn line(&self, state: &StateView, plot: (i32, i32)) -> Vec<(i32, i32)> {
        let page = Self::page(state, plot);
        let mut line: Vec<(i32, i32)> = Vec::new();
        for &(at, height) in &state.line {
            push_straight(&mut line, (self.time.at(at), page.at(height.into())));
        }
        line
    }

    /// The state: its line, what it may hold at most, and a cross where something was refused.
    fn level(
        &self,
        canvas: &mut Canvas<'_>,
        state: &StateView,
        line: Vec<(i32, i32)>,
        (top, bottom): (i32, i32),
    ) -> Result<()> {
        let capacity = state.rule.capacity();
        let units = Scale::new((0, capacity), (bottom, top));
        for tick in round_ticks(capacity, 3) {
            let y = units.at(tick);
            canvas.line(vec![(LEFT - 40, y), (LEFT, y)], 8, Ink::Grey)?;
            canvas.text(&short_count(tick), (LEFT - 70, y + 45), Anchor::End, Type::QUIET)?;
        }
        canvas.line(vec![(LEFT, top), (LEFT, bottom)], 8, Ink::Grey)?;
        canvas.line(vec![(LEFT, top), (RIGHT, top)], 12, Ink::Limit)?;
        canvas.line(vec![(LEFT, bottom), (RIGHT, bottom)], 8, Ink::Faint)?;
        let name = format!("{} {}", limit_word(&state.rule), short_count(capacity));
        // Clear of a cross at the end of the line.
        canvas.text(&name, (RIGHT + 110, top + 45), Anchor::Start, Type::QUIET)?;
        canvas.line(line, 16, Ink::Black)?;
        let page = Self::page(state, (top, bottom));
        let mut free = i32::MIN;
        for &(at, height) in &state.refusals {
            let (x, y) = (self.time.at(at), page.at(height.into()));
            if x >= free {
                free = x + CROSS;
                for rise in [26, -26] {
                    canvas.line(vec![(x - 26, y - rise), (x + 26, y + rise)], 14, Ink::OverLine)?;
                }
            }
        }
        Ok(())
    }

    /// A tick for each request: passed, refused, and for a queue when it was released.
    fn strip(&self, canvas: &mut Canvas<'_>, state: &StateView, top: i32) -> Result<()> {
        let row = |row: i32| (top + row * Heights::ROW + 5, top + (row + 1) * Heights::ROW - 5);
        let rows: [(&[u32], Ink); 3] =
            [(&state.allowed, Ink::Allowed), (&state.refused, Ink::OverLine), (&state.released, Ink::Black)];
        for ((marks, ink), i) in rows.into_iter().zip(0..) {
            ticks(canvas, marks, |column| self.x(column), row(i), ink)?;
        }
        Ok(())
    }

    fn x(&self, column: usize) -> i32 {
        self.time.at(self.view.columns.edge(column))
    }

    /// The window edges of a rule that counts by windows, unless there are many.
    fn edges(&self, state: &StateView) -> Vec<u64> {
        let (Rule::FixedWindow(_) | Rule::SlidingCounter(_), Some(quota)) = (state.rule, state.rule.quota()) else {
            return Vec::new();
        };
        let (from, until, window) = (self.view.columns.start_ns, self.view.columns.end_ns, quota.window().get());
        if (until - from) / window > MOST_EDGES {
            return Vec::new();
        }
        let edges = (from / window..=until / window).map(|i| i.saturating_mul(window));
        edges.filter(|edge| from < *edge && *edge < until).collect()
    }
}

/// The policy, what the line shows, and what became of the requests.
fn heading(canvas: &mut Canvas<'_>, state: &StateView, y: i32) -> Result<()> {
    let summary = summary(state);
    let room = RIGHT - LEFT - width(&summary, Size::Label, false) - 100;
    let name = shorten(&name(state), room * 6 / 10, Size::Heading, true);
    let x = LEFT + width(&name, Size::Heading, true) + 60;
    let shown = shorten(&shows(&state.rule), (LEFT + room - x).max(0), Size::Label, false);
    canvas.text(&name, (LEFT, y), Anchor::Start, Type::HEADING)?;
    canvas.text(&shown, (x, y), Anchor::Start, Type::QUIET)?;
    canvas.text(&summary, (RIGHT, y), Anchor::End, Type::LABEL)
}

/// The policy's name, with the rule if it has several.
fn name(state: &StateView) -> String {
    let policy = name_title(&state.policy, &state.algorithm);
    if state.several { format!("{policy}: {}", state.rule.name().replace('-', " ")) } else { policy }
}

/// What the line is.
fn shows(rule: &Rule) -> String {
    let Some(limit) = rule.quota() else { return "keeps nothing".into() };
    let (window, rate) = (duration(limit.window().get()), quota(limit.limit(), limit.window().get()));
    match rule {
        Rule::Unlimited => String::new(),
        Rule::FixedWindow(_) => format!("units used in each window of {window}"),
        Rule::SlidingLog(_) => format!("units used in the last {window}"),
        Rule::SlidingCounter(_) => format!("units used in the last {window}, by estimate"),
        Rule::TokenBucket(_) => format!("tokens left, refilled at {rate}"),
        Rule::LeakyBucket(_) => format!("units in the queue, released at {rate}"),
    }
}

/// What the upper end of the plot is.
fn limit_word(rule: &Rule) -> &'static str {
    match rule {
        Rule::TokenBucket(_) | Rule::LeakyBucket(_) => "full",
        _ => "limit",
    }
}

fn summary(state: &StateView) -> String {
    format!("{} passed · {} refused", count(state.answers.allowed), count(state.answers.refused()))
}

/// What became of the client's requests, from the mildest to the strictest policy.
fn title(view: &ClientView) -> String {
    let name = if view.name.is_empty() { "The client without a name" } else { &view.name };
    let name = shorten(name, 3600, Size::Title, true);
    let asked = if view.requests == 1 { "1 request".into() } else { format!("{} requests", count(view.requests)) };
    let refused = |state: &&StateView| state.answers.refused();
    let mildest = view.states.iter().min_by_key(refused);
    let strictest = view.states.iter().rev().max_by_key(refused);
    let Some((mildest, strictest)) = mildest.zip(strictest) else { return format!("{name}: {asked}") };
    let (few, most) = (refused(&mildest), refused(&strictest));
    let alone = view.states.iter().all(|state| state.policy == strictest.policy);
    match few {
        _ if most == 0 && alone => format!("{name}: {asked}, of which {} refuses none", in_a_sentence(strictest)),
        _ if most == 0 => format!("{name}: {asked}, of which no policy refuses any"),
        _ if alone => format!("{name}: {asked}, of which {} refuses {}", in_a_sentence(strictest), count(most)),
        _ if few == most => format!("{name}: {asked}, of which each policy refuses {}", count(most)),
        _ => format!(
            "{name}: {asked}, of which {} refuses {} and {} {}",
            in_a_sentence(mildest),
            if few == 0 { "none".into() } else { count(few) },
            in_a_sentence(strictest),
            count(most)
        ),
    }
}

/// The policy's name within a sentence: `fixed window`; a name somebody chose stays as it is.
fn in_a_sentence(state: &StateView) -> String {
    if state.policy.starts_with(&state.algorithm) { state.policy.replace('-', " ") } else { state.policy.clone() }
}

fn legend(view: &ClientView) -> Vec<Entry> {
    let whose = if view.shared { "state shared by all clients" } else { "state" };
    let mut entries = vec![
        (Ink::Black, Sample::Line(18), whose.to_owned()),
        (Ink::Limit, Sample::Line(12), "the most it can hold".into()),
        (Ink::OverLine, Sample::Cross, "refused here".into()),
        (Ink::Allowed, Sample::Ticks, "passed (first row)".into()),
        (Ink::OverLine, Sample::Ticks, "refused (second row)".into()),
    ];
    if view.states.iter().any(|state| !state.released.is_empty()) {
        entries.push((Ink::Black, Sample::Ticks, "released (third row)".into()));
    }
    entries
}

/// The picture in words, for those who do not see it: its table.
fn description(view: &ClientView) -> String {
    let mut text = String::new();
    for state in &view.states {
        let _ = write!(text, "{}: {}; {}", name(state), shows(&state.rule), summary(state));
        let capacity = state.rule.capacity();
        let _ = match state.rule {
            Rule::Unlimited => write!(text, "."),
            Rule::TokenBucket(_) => {
                write!(
                    text,
                    "; fewest left {} of {}.",
                    count(capacity.saturating_sub(state.most_used)),
                    count(capacity)
                )
            }
            _ => write!(text, "; most {} of {}.", count(state.most_used), count(capacity)),
        };
        text.push('\n');
    }
    text.trim_end().to_string()
}
