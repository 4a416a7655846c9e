//! Tests over a gallery of scenes: every chart is well formed, deterministic, and keeps its labels apart and on the page.
//! With `RLSIM_GALLERY=DIR` the pictures are written there, to be looked at.

use super::text::{Size, width};
use super::{ComparisonChart, client, comparison, envelope, ranked, raster};
use crate::client::follow;
use crate::metrics::testing::{Event, five, report, report_in_parts};
use crate::replay::{By, parse_named, unique_names};
use crate::report::Report;
use crate::trace::{Costs, Facts, Trace};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const DAY: u64 = 24 * 60 * MINUTE;
/// 2015-05-17 10:05:03 UTC.
const EPOCH: u64 = 1_431_857_103 * SECOND;

fn burst() -> Vec<Event> {
    let at = |at: u64| std::iter::repeat_n((at, 0, 1), 100);
    at(59_900_000_000).chain(at(60_100_000_000)).collect()
}

/// Events at exponential gaps, from several clients.
fn poisson(seed: u64, start: u64, span: u64, mean_gap: u64, clients: u32, most: u64) -> Vec<Event> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut events = Vec::new();
    let mut at = start;
    loop {
        // The logarithm of a power of two, as an integer, is geometric enough for a picture.
        let gap = mean_gap / 8 * u64::from(random.next_u32() % 16).min(u64::from(random.next_u32() % 32));
        at += gap + 1;
        if at >= start + span {
            return events;
        }
        events.push((at, random.next_u32() % clients, 1 + u64::from(random.next_u32()) % most));
    }
}

/// One busy client with bursts on top of a quiet day.
fn busy(seed: u64) -> Vec<Event> {
    let mut events = poisson(seed, 22 * SECOND, 180 * SECOND, SECOND, 1, 1);
    events.extend((0..65).map(|i| (59_300_000_000 + i * 10_000_000, 0, 1)));
    events.extend((0..120).map(|i| (60_050_000_000 + i * 6_000_000, 0, 1)));
    events.extend((0..80).map(|i| (150 * SECOND + i * 300_000_000, 0, 1)));
    events.sort_unstable();
    events
}

fn scenes() -> Vec<(&'static str, Report)> {
    let mut eight = five("100/1m");
    eight.extend(["unlimited", "fixed-window:50/10s", "token-bucket:100/1m,burst=20"].map(String::from));
    let mixed = ["fixed-window:100/1m+token-bucket:30/10s", "unlimited", "sliding-log:60/1m"].map(String::from);
    let month: Vec<Event> = poisson(5, EPOCH, 30 * DAY, 40 * SECOND, 1, 1);
    let costs: Vec<Event> = poisson(6, 0, 600 * SECOND, SECOND, 3, 200);
    vec![
        ("burst", report(&burst(), &five("100/1m"))),
        ("edge", report(&[9, 9, 9, 9, 9, 10, 10, 10, 10, 10].map(|at| (at * SECOND, 0, 1)), &five("5/10s"))),
        ("busy", report(&busy(1), &five("100/1m"))),
        ("one-event", report(&[(EPOCH, 0, 1)], &five("100/1m"))),
        ("one-instant", report(&[(EPOCH, 0, 1); 150], &five("100/1m"))),
        ("day", report(&poisson(3, EPOCH, DAY, SECOND, 20, 1), &five("20/1m"))),
        ("month", report(&month, &five("2/1m"))),
        ("eight", report(&busy(2), &eight)),
        ("one-policy", report(&busy(2), &five("100/1m")[..1])),
        ("mixed", report(&busy(4), &mixed)),
        ("costs", report(&costs, &five("1000/1m"))),
        ("global", report_in_parts(&poisson(9, 0, 3600 * SECOND, SECOND, 30, 1), &five("40/1m"), false, 1)),
        ("large-numbers", report(&[(0, 0, u64::MAX / 4), (5, 0, u64::MAX / 8)], &five("9000000000000000000/1h"))),
        ("end-of-time", report(&[(u64::MAX, 0, 1), (u64::MAX, 1, 1)], &five("1/1ns"))),
        ("all-of-time", report(&[(0, 0, 1), (u64::MAX, 1, u64::MAX - 1)], &five("100/1m"))),
        ("within", report(&poisson(3, 0, 300 * SECOND, 5 * SECOND, 1, 1), &five("100/1m"))),
        ("nanoseconds", report(&[(3, 0, 1), (7, 0, 1), (12, 0, 1)], &["sliding-log:2/10ns".into()])),
    ]
}

#[test]
fn every_scene_is_a_sound_picture() {
    for (name, report) in scenes() {
        let svg = comparison(&ComparisonChart::of(&report)).expect("a picture");
        inspect(name, &svg);
        for (kind, svg) in [("envelope", envelope(&report)), ("ranked", ranked(&report)), ("raster", raster(&report))] {
            if let Some(svg) = svg {
                inspect(&format!("{name}-{kind}"), &svg.expect("a picture"));
            }
        }
    }
}

/// The picture of client 0 of these events.
fn of_a_client(events: &[Event], policies: &[String], by: By) -> String {
    let clients = events.iter().map(|event| event.1 + 1).max().unwrap_or(1);
    let trace = Trace {
        at: events.iter().map(|event| event.0).collect(),
        client: events.iter().map(|event| event.1).collect(),
        cost: Costs::Each(events.iter().map(|event| event.2).collect()),
        names: (0..clients).map(|client| format!("10.0.0.{client}").into_bytes().into()).collect(),
        facts: Facts::default(),
    };
    let parsed = policies.iter().map(|text| parse_named(text)).collect::<Result<_, _>>().expect("policies");
    client(&follow(&trace, &unique_names(parsed).expect("names"), by, 0)).expect("a picture")
}

#[test]
fn every_client_is_a_sound_picture() {
    let mut eight = five("100/1m");
    eight.extend(["unlimited", "both=token-bucket:10/1s+fixed-window:100/1m"].map(String::from));
    let long =
        ["a very long name of a policy that somebody chose and that nobody can shorten=leaky-bucket:7/10s,burst=3"];
    let scenes = [
        ("burst", of_a_client(&burst(), &five("100/1m"), By::Client)),
        ("busy", of_a_client(&busy(1), &eight, By::Client)),
        ("one", of_a_client(&[(EPOCH, 0, 1)], &five("100/1m"), By::Client)),
        ("one-of-one", of_a_client(&[(EPOCH, 0, 1)], &five("1/1s")[3..4], By::Client)),
        ("day", of_a_client(&poisson(3, EPOCH, DAY, SECOND, 5, 1), &five("20/1m"), By::Client)),
        ("shared", of_a_client(&poisson(9, 0, 1200 * SECOND, SECOND, 30, 3), &five("40/1m"), By::Global)),
        ("long", of_a_client(&busy(2), &long.map(String::from), By::Client)),
        (
            "all-of-time",
            of_a_client(&[(0, 0, 1), (u64::MAX, 0, u64::MAX)], &five("9000000000000000000/1h"), By::Client),
        ),
        ("nanoseconds", of_a_client(&[(3, 0, 1), (7, 0, 1), (12, 0, 1)], &five("2/10ns"), By::Client)),
    ];
    for (name, svg) in scenes {
        inspect(&format!("client-{name}"), &svg);
    }
}

#[test]
fn the_picture_of_a_client_says_what_became_of_it() {
    let svg = of_a_client(&burst(), &five("100/1m"), By::Client);
    for words in [
        "<title id=\"client-title\">10.0.0.0: 200 requests, of which fixed window refuses none and sliding log 100</title>",
        "Token bucket: tokens left, refilled at 100 per minute; 100 passed · 100 refused; fewest left 0 of 100.",
        ">units used in the last 60 s, by estimate</text>",
        ">full 100</text>",
        ">released (third row)</text>",
    ] {
        assert!(svg.contains(words), "{words}");
    }
}

/// Writes a picture to the gallery, if there is one, and checks its form.
fn inspect(name: &str, svg: &str) {
    if let Some(folder) = std::env::var_os("RLSIM_GALLERY") {
        let path = std::path::Path::new(&folder).join(format!("{name}.svg"));
        std::fs::write(&path, svg).expect("a folder that can be written to");
    }
    let document = roxmltree::Document::parse(svg).unwrap_or_else(|error| panic!("{name}: {error}"));
    let root = document.root_element();
    assert_eq!(root.attribute("role"), Some("img"), "{name}");
    for part in ["title", "desc"] {
        let text = root.children().find(|node| node.has_tag_name(("http://www.w3.org/2000/svg", part)));
        assert!(text.and_then(|node| node.text()).is_some_and(|text| !text.trim().is_empty()), "{name}: {part}");
    }
    let size: Vec<i32> =
        root.attribute("viewBox").expect("a size").split(' ').map(|n| n.parse().expect("a number")).collect();
    let labels: Vec<_> = document.descendants().filter(|node| node.has_tag_name("text")).map(Label::of).collect();
    for (i, label) in labels.iter().enumerate() {
        let inside = label.left >= 0 && label.right <= size[2] && label.top >= 0 && label.bottom <= size[3];
        assert!(inside, "{name}: {label:?} leaves the page");
        for other in &labels[i + 1..] {
            assert!(!label.overlaps(other), "{name}: {label:?} lies on {other:?}");
        }
    }
}

/// The box around a text, in tenths of a pixel, with the widths that common fonts have.
#[derive(Debug)]
struct Label {
    #[expect(dead_code, reason = "shown by a failing test")]
    text: String,
    left: i32,
    right: i32,
    top: i32,
    bottom: i32,
}

impl Label {
    fn of(node: roxmltree::Node<'_, '_>) -> Self {
        let number = |name: &str| -> f64 { node.attribute(name).expect(name).parse().expect("a number") };
        #[expect(clippy::cast_possible_truncation, reason = "places on a page")]
        let [x, y, height] = ["x", "y", "font-size"].map(|name| number(name).round() as i32);
        let text = node.text().unwrap_or_default().to_string();
        let size = [Size::Title, Size::Heading, Size::Label].into_iter().find(|size| size.tenths() == height);
        let bold = node.attribute("font-weight").is_some();
        // The layout reckons with more than this: what it keeps free, no usual font needs.
        let width = width(&text, size.expect("one of the sizes"), bold) * 90 / 100;
        let left = match node.attribute("text-anchor") {
            Some("middle") => x - width / 2,
            Some("end") => x - width,
            _ => x,
        };
        Label { text, left, right: left + width, top: y - height * 72 / 100, bottom: y + height * 5 / 100 }
    }

    fn overlaps(&self, other: &Label) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }
}

#[test]
fn the_picture_of_the_burst_says_what_happened() {
    let svg = comparison(&ComparisonChart::of(&report(&burst(), &five("100/1m")))).expect("a picture");
    for words in [
        "<title id=\"comparison-title\">Fixed window let 200 requests through in 0.2 s, twice its limit of 100 per minute</title>",
        ">200 in 0.2 s = 2.0x</text>",
        ">101 in 0.2 s = 1.01x</text>",
        ">100 in 59.4 s = 1.0x</text>",
        ">100 allowed · 100 denied</text>",
        "Fixed window: 200 allowed · 0 denied; most in any 60 s: 200 in 0.2 s = 2.0x; limit 100 per minute.",
        "url(#comparison-denied)",
        "stroke-dasharray=\"60 40\"",
    ] {
        assert!(svg.contains(words), "{words}");
    }
}

/// The whole text of small charts, so that a change of any byte is seen and looked at.
#[test]
fn the_text_of_small_pictures_is_known() {
    let events = [(3, 0, 1), (7, 0, 1), (12, 0, 1)];
    let policies = ["sliding-log:2/10ns".to_owned(), "token-bucket:2/10ns,burst=1".to_owned()];
    let one = report(&events, &policies[..1]);
    let two = report(&[(3, 0, 1), (7, 1, 1), (12, 0, 1)], &policies);
    for (name, svg) in [
        ("small", comparison(&ComparisonChart::of(&one)).expect("a picture")),
        ("client", of_a_client(&events, &policies, By::Client)),
        ("envelope", envelope(&two).expect("an envelope").expect("a picture")),
        ("ranked", ranked(&two).expect("two clients").expect("a picture")),
        ("raster", raster(&two).expect("rows").expect("a picture")),
    ] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/chart/golden/{name}.svg"));
        if std::env::var_os("RLSIM_GOLDEN").is_some() {
            std::fs::write(&path, &svg).expect("a folder that can be written to");
        }
        let known = std::fs::read_to_string(&path).expect("the known text");
        assert!(known == svg, "{} is another text; look at the picture, then run with RLSIM_GOLDEN=1", path.display());
    }
}
