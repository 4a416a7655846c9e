//! The burstiness curve: for each rate of a bucket the burst it needs, one line a share of clients kept, and the pair that
//! was chosen.

use std::fmt::Write as _;

use super::canvas::{Anchor, Canvas, Type};
use super::ink::Ink;
use super::page::{Header, MARGIN, Sample, WIDTH};
use super::scale::{Scale, round_ticks};
use super::svg;
use super::text::{Size, shorten, width};
use crate::error::Result;
use crate::recommend::{CurveLevel, Recommendation, is_unconfirmed, sentences, share, unfit};
use crate::report::{count, quota, short_count};

const LEFT: i32 = 880;
const RIGHT: i32 = 8240;
const PLOT: i32 = 4000;

/// The picture as SVG text: the same bytes for the same numbers.
///
/// # Errors
/// When the drawing backend fails, which it does not for text.
pub fn burst_curve(it: &Recommendation) -> Result<String> {
    let title = title(it);
    let header = Header::new(&title, legend(it));
    let top = header.height() + 420;
    let height = top + PLOT + 560;
    let mut drawn = String::new();
    let mut canvas = Canvas::new(&mut drawn, WIDTH.unsigned_abs(), height.unsigned_abs());
    canvas.fill((0, 0), (WIDTH, height), Ink::Paper)?;
    header.draw(&mut canvas)?;
    let most_rate = it.curve.rates.last().copied().unwrap_or(1).max(1);
    let bursts = it.curve.levels.iter().flat_map(|level| &level.bursts).copied();
    let most_burst = bursts.chain(chosen(it).map(|(_, burst)| burst)).max().unwrap_or(1).max(1);
    // Room for the words above the highest point.
    let most_burst = most_burst.saturating_add(most_burst / 8).max(2);
    let x = Scale::new((0, most_rate), (LEFT, RIGHT));
    let y = Scale::new((0, most_burst), (top + PLOT, top));
    canvas.text("smallest burst, units", (MARGIN, top - 190), Anchor::Start, Type::HEADING)?;
    axes(&mut canvas, it, (x, most_rate), (y, most_burst), top)?;
    let mut lines: Vec<Vec<(i32, i32)>> = Vec::new();
    for level in &it.curve.levels {
        let line: Vec<(i32, i32)> =
            it.curve.rates.iter().zip(&level.bursts).map(|(rate, burst)| (x.at(*rate), y.at(*burst))).collect();
        canvas.line(line.clone(), if level.kept_millionths == 1_000_000 { 24 } else { 20 }, ink(level))?;
        lines.push(line);
    }
    place_labels(&mut canvas, it, y, top)?;
    mark(&mut canvas, it, (x, y), &lines, top)?;
    canvas.finish()?;
    let size = (WIDTH.unsigned_abs(), height.unsigned_abs());
    Ok(svg::finish(&drawn, "burst-curve", size, &title, &description(it)))
}

fn title(it: &Recommendation) -> String {
    let policy = it.answers.get(it.recommended).map_or("", |answer| &answer.policy);
    let doubt = match unfit(it) {
        Some(why) => format!(" (not fit for choosing a limit: {why})"),
        None if is_unconfirmed(it) => " (confirmed by nothing unseen)".to_owned(),
        None => String::new(),
    };
    format!("{policy}: {}{doubt}", it.promise.words())
}

/// All clients are the line that is not broken.
fn ink(level: &CurveLevel) -> Ink {
    Ink::Curve(match level.kept_millionths {
        1_000_000 => 1,
        999_000.. => 2,
        990_000.. => 3,
        _ => 4,
    })
}

/// What a line keeps, in words.
fn keeps(it: &Recommendation, level: &CurveLevel) -> String {
    match (it.by, level.kept_millionths) {
        ("global", _) => "refuses nothing".into(),
        (_, 1_000_000) => "all clients".into(),
        (_, kept) => format!("{} of clients", share(kept)),
    }
}

fn legend(it: &Recommendation) -> Vec<super::page::Entry> {
    let lines = it.curve.levels.iter();
    lines.map(|level| (ink(level), Sample::Line(22), keeps(it, level))).collect()
}

/// The pair of the bucket among the answers: the recommended one, or else the token bucket's.
fn chosen(it: &Recommendation) -> Option<(u64, u64)> {
    let recommended = it.answers.get(it.recommended).filter(|answer| answer.parameters.burst.is_some());
    let bucket = || it.answers.iter().find(|answer| answer.parameters.burst.is_some());
    let answer = recommended.or_else(bucket)?;
    Some((answer.parameters.limit, answer.parameters.burst?))
}

fn axes(
    canvas: &mut Canvas<'_>,
    it: &Recommendation,
    (x, most_rate): (Scale, u64),
    (y, most_burst): (Scale, u64),
    top: i32,
) -> Result<()> {
    for tick in round_ticks(most_burst, 6) {
        canvas.line(vec![(LEFT, y.at(tick)), (RIGHT, y.at(tick))], 5, Ink::Faint)?;
        canvas.text(&short_count(tick), (LEFT - 90, y.at(tick) + 45), Anchor::End, Type::QUIET)?;
    }
    for tick in round_ticks(most_rate, 8) {
        canvas.line(vec![(x.at(tick), top + PLOT), (x.at(tick), top + PLOT + 50)], 8, Ink::Grey)?;
        canvas.text(&short_count(tick), (x.at(tick), top + PLOT + 190), Anchor::Middle, Type::QUIET)?;
    }
    // `1 per minute` without its number.
    let caption = format!("rate, units {}", quota(1, it.window_ns).trim_start_matches("1 "));
    canvas.text(&caption, (i32::midpoint(LEFT, RIGHT), top + PLOT + 400), Anchor::Middle, Type::QUIET)
}

/// A label at the right end of each line, kept apart and on the page, with a line from where it belongs. The lines lie above
/// each other in the order of their shares.
fn place_labels(canvas: &mut Canvas<'_>, it: &Recommendation, y: Scale, top: i32) -> Result<()> {
    const APART: i32 = 170;
    let end = |level: &CurveLevel| y.at(level.bursts.last().copied().unwrap_or(0)) + 45;
    let mut places: Vec<i32> = Vec::new();
    let mut above = top - APART + 45;
    for level in it.curve.levels.iter().rev() {
        above = end(level).max(above + APART);
        places.push(above);
    }
    // Pushed past the bottom: push back up from there.
    let mut below = top + PLOT + 45 + APART;
    for place in places.iter_mut().rev() {
        *place = (*place).min(below - APART);
        below = *place;
    }
    for (level, place) in it.curve.levels.iter().rev().zip(places) {
        let elbow = (RIGHT + 180, place - 45);
        canvas.line(vec![(RIGHT + 20, end(level) - 45), elbow, (elbow.0 + 50, elbow.1)], 8, Ink::Grey)?;
        canvas.text(&keeps(it, level), (elbow.0 + 90, place), Anchor::Start, Type::LABEL)?;
    }
    Ok(())
}

/// The chosen pair, and its numbers where they cover no line.
fn mark(
    canvas: &mut Canvas<'_>,
    it: &Recommendation,
    (x, y): (Scale, Scale),
    lines: &[Vec<(i32, i32)>],
    top: i32,
) -> Result<()> {
    let Some((rate, burst)) = chosen(it) else { return Ok(()) };
    let (px, py) = (x.at(rate), y.at(burst));
    let (from, to) = ((px - 60, py - 60), (px + 60, py + 60));
    canvas.line(vec![from, (to.0, from.1), to, (from.0, to.1), from], 16, Ink::Black)?;
    let words = format!("{}, burst {}", quota(rate, it.window_ns), count(burst));
    let words = shorten(&words, RIGHT - LEFT, Size::Label, true);
    let room = width(&words, Size::Label, true);
    let left = (px + 200).min(RIGHT - room);
    let nearest = (py - 250).max(top + 120);
    let heights = (0..).map(|step| nearest - step * 90).take_while(|height| *height >= top + 120);
    let free = |height: &i32| {
        !lines.iter().any(|line| crosses(line, (left - 60, height - 150), (left + room + 60, height + 70)))
    };
    let at = (left, heights.into_iter().find(free).unwrap_or(nearest));
    let foot = if at.0 > px { (at.0 - 40, at.1 - 40) } else { (px, at.1 + 40) };
    canvas.line(vec![(px + 60, py - 60), foot], 6, Ink::Grey)?;
    canvas.text(&words, at, Anchor::Start, Type { size: Size::Label, bold: true, ink: Ink::Rimmed })
}

/// Whether a line that runs to the right comes into a box.
fn crosses(line: &[(i32, i32)], (left, top): (i32, i32), (right, bottom): (i32, i32)) -> bool {
    line.windows(2).any(|ends| {
        let (a, b) = (ends[0], ends[1]);
        if b.0 < left || a.0 > right {
            return false;
        }
        // A page is 10^4 wide, so that no product comes near the end of 64 bits.
        let height = |x: i32| {
            let [x, ax, bx, ay, by] = [x, a.0, b.0, a.1, b.1].map(i64::from);
            if ax == bx { ay } else { ay + (by - ay) * (x - ax) / (bx - ax) }
        };
        let (from, to) = (height(a.0.max(left)), if a.0 == b.0 { i64::from(b.1) } else { height(b.0.min(right)) });
        from.max(to) >= i64::from(top) && from.min(to) <= i64::from(bottom)
    })
}

/// The picture in words: the recommendation, and the curves as numbers.
fn description(it: &Recommendation) -> String {
    let mut text = sentences(it).join("\n");
    for level in &it.curve.levels {
        let _ = write!(text, "\n{}:", keeps(it, level));
        for (rate, burst) in it.curve.rates.iter().zip(&level.bursts) {
            let _ = write!(text, " {rate} per window needs a burst of {burst};");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::crosses;

    #[test]
    fn a_line_is_seen_where_it_runs_through_a_box() {
        let into = |line: &[(i32, i32)]| crosses(line, (100, 100), (200, 150));
        // Straight through without a point inside; along an edge; upright.
        assert!(into(&[(0, 0), (300, 250)]));
        assert!(into(&[(0, 150), (300, 150)]));
        assert!(into(&[(150, 0), (150, 400)]));
        // Below, above, to either side, and around the corner.
        assert!(!into(&[(0, 160), (300, 151)]));
        assert!(!into(&[(0, 0), (300, 99)]));
        assert!(!into(&[(0, 120), (99, 120)]));
        assert!(!into(&[(201, 120), (300, 120)]));
        assert!(!into(&[(0, 140), (80, 240), (150, 160), (300, 160)]));
        assert!(!into(&[(150, 120)]));
    }
}
