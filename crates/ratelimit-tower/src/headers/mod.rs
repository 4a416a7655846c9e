//! What clients are told: the `RateLimit` fields, one file a dialect.
//!
//! | dialect | fields | revision |
//! |---|---|---|
//! | [`Dialect::Draft11`] | `RateLimit-Policy`, `RateLimit` with `r` and `t` | -08 to -11, what is deployed |
//! | [`Dialect::Draft12`] | the same with `a` and `w`, `c`, and `RateLimit-Partition` | -12 |
//! | [`Dialect::Triple`] | `RateLimit-Limit`, `-Remaining`, `-Reset` | -00 to -05 |
//! | [`Dialect::Draft06`] | the triple, and `RateLimit-Policy` with integers | -06 |
//! | [`Dialect::Draft07`] | `RateLimit` as a dictionary, `RateLimit-Policy` with integers | -07 |
//! | [`Dialect::XRateLimit`] | `X-RateLimit-Limit`, `-Remaining`, `-Reset` | none: custom |
//!
//! All are revisions of draft-ietf-httpapi-ratelimit-headers, a draft and not a standard. The numbers are the same in
//! each; how they come about is in [`level`](self).

mod blank;
mod draft11;
mod draft12;
mod integers;
mod level;
mod read;
pub mod sf;
mod stated;
mod triple;
mod values;
mod x_ratelimit;

use http::header::{Entry, HeaderMap, HeaderName, HeaderValue};
use ratelimit_core::{Decision, Nanos};

use blank::{Blank, Slots};
pub(crate) use level::{Level, View, described, retry_seconds};
pub use read::{Hint, PolicyHint, read};
pub(crate) use stated::Stated;
use values::number;
pub use x_ratelimit::Reset;

/// A form of the `RateLimit` fields. Several can be sent at once where they have no field in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// Drafts -08 to -11: `RateLimit-Policy: "burst";q=5;w=60` and `RateLimit: "burst";r=4;t=60`.
    Draft11,
    /// Draft -12: `RateLimit: "burst";a=4;w=60`, with `c` for a cost other than 1.
    Draft12,
    /// Draft -07: `RateLimit: limit=5, remaining=4, reset=60` and `RateLimit-Policy: 5;w=60`.
    Draft07,
    /// Draft -06: the triple and `RateLimit-Policy: 5;w=60`.
    Draft06,
    /// `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` in seconds from now.
    Triple,
    /// `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset`.
    XRateLimit(Reset),
}

pub(crate) const RATELIMIT: HeaderName = HeaderName::from_static("ratelimit");
pub(crate) const RATELIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
pub(crate) const RATELIMIT_PARTITION: HeaderName = HeaderName::from_static("ratelimit-partition");

impl Dialect {
    /// The fields that this dialect sends, `Retry-After` apart. A CORS layer must expose them to pages of other
    /// origins.
    pub fn fields(self) -> &'static [HeaderName] {
        static LISTS: [HeaderName; 3] = [RATELIMIT_POLICY, RATELIMIT, RATELIMIT_PARTITION];
        static DRAFT06: [HeaderName; 4] = [RATELIMIT_POLICY, triple::LIMIT, triple::REMAINING, triple::RESET];
        static TRIPLE: [HeaderName; 3] = [triple::LIMIT, triple::REMAINING, triple::RESET];
        static X: [HeaderName; 3] = [x_ratelimit::LIMIT, x_ratelimit::REMAINING, x_ratelimit::RESET];
        match self {
            Dialect::Draft12 => &LISTS,
            Dialect::Draft11 | Dialect::Draft07 => LISTS.split_at(2).0,
            Dialect::Draft06 => &DRAFT06,
            Dialect::Triple => &TRIPLE,
            Dialect::XRateLimit(_) => &X,
        }
    }

    /// Whether policies are told apart by their quota, so that two may not share one.
    pub(crate) fn identifies_by_quota(self) -> bool {
        matches!(self, Dialect::Draft06 | Dialect::Draft07)
    }
}

/// Who shares a policy's quota with this request, for the `pk` parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Partition {
    /// The dimensions, sorted.
    pub(crate) dimensions: Vec<&'static str>,
    /// Their values in that order, joined by 0x1F.
    pub(crate) key: Vec<u8>,
}

/// What one answer tells.
pub(crate) struct Report<'a> {
    pub(crate) policies: &'a [Stated],
    /// One for each policy that applies to the request, in their order; at least one.
    pub(crate) levels: &'a [Level],
    /// Where only one policy can be described, the place of its level.
    pub(crate) described: usize,
    /// One for each level, or none at all.
    pub(crate) partitions: &'a [Partition],
    /// An inner layer has refused: of single values, its own stay.
    pub(crate) refused_within: bool,
    /// Nanoseconds since the Unix epoch on the wall clock, asked only by the dialect that sends an instant.
    pub(crate) wall: &'a dyn Fn() -> u64,
}

impl Report<'_> {
    fn described(&self) -> (&Stated, &Level) {
        let level = &self.levels[self.described];
        (&self.policies[level.policy], level)
    }

    fn rows(&self) -> impl Iterator<Item = (&Stated, &Level, Option<&Partition>)> {
        self.levels
            .iter()
            .enumerate()
            .map(|(place, level)| (&self.policies[level.policy], level, self.partitions.get(place)))
    }

    /// Whether the list of policies is the one that was rendered beforehand.
    fn is_plain(&self) -> bool {
        self.partitions.is_empty() && self.levels.len() == self.policies.len()
    }
}

/// The dialects in use, with everything rendered that stays the same from answer to answer.
#[derive(Debug)]
pub(crate) struct Fields {
    dialects: Vec<Prepared>,
    blank: Blank,
}

#[derive(Debug)]
enum Prepared {
    Draft11(draft11::Draft11),
    Draft12(draft12::Draft12),
    Draft07(integers::Draft07),
    Draft06(integers::Draft06),
    Triple(triple::Triple),
    XRateLimit(x_ratelimit::XRateLimit),
}

impl Fields {
    pub(crate) fn new(dialects: &[Dialect], policies: &[Stated]) -> Fields {
        let prepare = |dialect: &Dialect| match dialect {
            Dialect::Draft11 => Prepared::Draft11(draft11::Draft11::new(policies)),
            Dialect::Draft12 => Prepared::Draft12(draft12::Draft12::new(policies)),
            Dialect::Draft07 => Prepared::Draft07(integers::Draft07::new(policies)),
            Dialect::Draft06 => Prepared::Draft06(integers::Draft06::new(policies)),
            Dialect::Triple => Prepared::Triple(triple::Triple::new(policies)),
            Dialect::XRateLimit(reset) => Prepared::XRateLimit(x_ratelimit::XRateLimit::new(policies, *reset)),
        };
        let dialects: Vec<Prepared> = dialects.iter().map(prepare).collect();
        let blank = Blank::new(blank_fields(&dialects, policies));
        Fields { dialects, blank }
    }

    /// Adds the fields of every dialect. What an inner layer has said stays: lists grow, and of single values those of
    /// the policy that refused are kept, or else of the one with less remaining.
    pub(crate) fn write(&self, report: &Report<'_>, headers: &mut HeaderMap) {
        if self.dialects.is_empty() {
            return;
        }
        if report.is_plain() && self.blank.takes(headers) {
            self.blank.put(headers, |slots| self.dialects.iter().for_each(|dialect| dialect.fill(report, slots)));
        } else {
            headers.reserve(self.blank.len());
            self.dialects.iter().for_each(|dialect| dialect.write(report, headers));
        }
    }
}

impl Prepared {
    /// Adds the fields to those that are there.
    fn write(&self, report: &Report<'_>, headers: &mut HeaderMap) {
        match self {
            Prepared::Draft11(prepared) => prepared.write(report, headers),
            Prepared::Draft12(prepared) => prepared.write(report, headers),
            Prepared::Draft07(prepared) => prepared.write(report, headers),
            Prepared::Draft06(prepared) => prepared.write(report, headers),
            Prepared::Triple(prepared) => prepared.write(report, headers),
            Prepared::XRateLimit(prepared) => prepared.write(report, headers),
        }
    }

    /// Fills in the values that `write` has added to an empty map, in the same order.
    fn fill(&self, report: &Report<'_>, slots: &mut Slots<'_>) {
        match self {
            Prepared::Draft11(_) => draft11::Draft11::fill(report, slots),
            Prepared::Draft12(_) => draft12::Draft12::fill(report, slots),
            Prepared::Draft07(_) => integers::Draft07::fill(report, slots),
            Prepared::Draft06(prepared) => prepared.fill(report, slots),
            Prepared::Triple(prepared) => prepared.fill(report, slots),
            Prepared::XRateLimit(prepared) => prepared.fill(report, slots),
        }
    }
}

/// What the dialects write where nothing is left of any policy. The numbers do not matter, the order does.
fn blank_fields(dialects: &[Prepared], policies: &[Stated]) -> HeaderMap {
    let decision = Decision::Allowed { remaining: 0, reset_after: Nanos::ZERO, delay: Nanos::ZERO };
    let level = |policy| Level { policy, cost: 1, available: 0, time: Nanos::ZERO, decision, known: true };
    let levels: Vec<Level> = (0..policies.len()).map(level).collect();
    let report =
        Report { policies, levels: &levels, described: 0, partitions: &[], refused_within: false, wall: &|| 0 };
    let mut fields = HeaderMap::new();
    for dialect in dialects {
        dialect.write(&report, &mut fields);
    }
    // The one field that is never the same: a copy of what takes no memory counts no references.
    if let Some(state) = fields.get_mut(RATELIMIT) {
        *state = HeaderValue::from_static("");
    }
    fields
}

/// Writes what remains, unless an inner layer has already described a policy that refused, or one with no more of it;
/// whether it did.
fn put_remaining(headers: &mut HeaderMap, name: &HeaderName, report: &Report<'_>) -> bool {
    let ours = report.described().1.available;
    match headers.entry(name) {
        Entry::Vacant(vacant) => {
            vacant.insert(number(ours));
            true
        }
        Entry::Occupied(mut occupied) => {
            let theirs = occupied.get().to_str().ok().and_then(|text| text.parse::<u64>().ok());
            let is_tighter = theirs.is_none_or(|theirs| ours < theirs && !report.refused_within);
            if is_tighter {
                occupied.insert(number(ours));
            }
            is_tighter
        }
    }
}

#[cfg(test)]
mod tests {
    use http::header::{CONTENT_TYPE, SET_COOKIE};

    use super::*;

    const DIALECTS: [&[Dialect]; 6] = [
        &[],
        &[Dialect::Draft11, Dialect::Triple, Dialect::XRateLimit(Reset::Delta)],
        &[Dialect::Draft12, Dialect::XRateLimit(Reset::Epoch)],
        &[Dialect::Draft07, Dialect::Triple],
        &[Dialect::Draft06],
        &[Dialect::Triple],
    ];

    fn stated() -> Vec<Stated> {
        let stated = |(name, policy): (&str, &str)| {
            let policy: ratelimit_core::Policy = policy.parse().unwrap();
            Stated::new(name.into(), &policy.rules()[0], None).unwrap()
        };
        [("burst", "fixed-window:5/1m"), ("a \"day\"", "token-bucket:123456789/24h")].map(stated).into()
    }

    fn level(policy: usize, available: u64) -> Level {
        let decision = Decision::Allowed { remaining: available, reset_after: Nanos::ZERO, delay: Nanos::ZERO };
        Level {
            policy,
            cost: policy as u64 + 1,
            available,
            time: Nanos::from_secs(available / 3),
            decision,
            known: true,
        }
    }

    /// Answers that are moved into a copy of the blank, and answers that are not.
    fn answers() -> Vec<HeaderMap> {
        let mut answers = vec![HeaderMap::new()];
        for name in [CONTENT_TYPE, SET_COOKIE, SET_COOKIE, HeaderName::from_static("x-own"), RATELIMIT] {
            let mut answer = answers[answers.len() - 1].clone();
            answer.append(name, HeaderValue::from(answers.len()));
            answers.push(answer);
        }
        let mut inner = HeaderMap::new();
        inner.insert(triple::REMAINING, HeaderValue::from_static("3"));
        answers.push(inner);
        answers
    }

    #[test]
    fn a_filled_blank_is_what_adding_field_after_field_gives() {
        let stated = stated();
        for dialects in DIALECTS {
            let fields = Fields::new(dialects, &stated);
            for (left, right) in [(0, 0), (4, 123_456_788), (5, 2), (9_999, 10_000)] {
                let levels = [level(0, left), level(1, right)];
                for levels in [&levels[..], &levels[..1], &levels[1..]] {
                    let described = described(levels);
                    let (partitions, refused_within) = (&[][..], false);
                    let report =
                        Report { policies: &stated, levels, described, partitions, refused_within, wall: &|| 77 };
                    for answer in answers() {
                        let (mut written, mut expected) = (answer.clone(), answer);
                        fields.write(&report, &mut written);
                        fields.dialects.iter().for_each(|dialect| dialect.write(&report, &mut expected));
                        assert_eq!(written, expected, "{dialects:?} {left} {right}");
                    }
                }
            }
        }
    }
}
