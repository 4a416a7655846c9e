//! Answers that a trace shows: how many of its requests were refused already, counted while it is read.

use super::options::Column;

/// Names of the status column in the formats that have one, the most telling first.
const STATUS: [&str; 11] = [
    "status",
    "sc-status",
    "elb_status_code",
    "status_code",
    "http_status",
    "responseCode",
    "response_code",
    "EdgeResponseStatus",
    "DownstreamStatus",
    "response.status",
    "response",
];

/// Where services without a status say that they throttle, and their words for it: AWS, in `CloudTrail` and its clients' logs.
const ERRORS: &str = "errorCode";
const THROTTLING: [&[u8]; 6] = [
    b"ThrottlingException",
    b"Throttling",
    b"ThrottledException",
    b"RequestLimitExceeded",
    b"TooManyRequestsException",
    b"SlowDown",
];

/// Which column says how a request was answered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Answers {
    /// Answers are not counted.
    #[default]
    Ignored,
    /// The usual names: the first one in which a status of 200 occurs.
    ByUsualNames,
    /// This column.
    In(Column),
}

/// Columns that may be looked at: the usual names, that of errors, and the one asked for.
const PLACES: usize = STATUS.len() + 2;
const ERROR: usize = STATUS.len();
const ASKED: usize = STATUS.len() + 1;

impl Answers {
    /// The column as typed, or the usual names.
    pub fn from_arg(column: Option<&str>) -> Self {
        column.map_or(Answers::ByUsualNames, |column| Answers::In(Column::from_arg(column)))
    }

    /// The columns to look for, each with the place of its counts.
    pub(crate) fn columns(&self) -> Vec<(usize, Column)> {
        let named = |name: &&str| Column::Name((*name).to_owned());
        match self {
            Answers::Ignored => Vec::new(),
            Answers::ByUsualNames => STATUS.iter().chain([&ERRORS]).map(named).enumerate().collect(),
            Answers::In(column) => vec![(ASKED, column.clone())],
        }
    }
}

/// What the columns of one record say: two bits for each place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Answer(u32);

impl Answer {
    /// Adds what the column at a place says.
    pub(crate) fn add(&mut self, place: usize, text: &[u8]) {
        let word = match text.trim_ascii() {
            text if place == ERROR => u32::from(THROTTLING.contains(&text)),
            b"200" => 1,
            b"429" => 2,
            b"503" => 3,
            _ => 0,
        };
        self.0 |= word << (2 * place);
    }
}

/// How many requests a trace shows as answered so.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AnswerCounts {
    /// For each place those with 200 (or a throttling error), 429 and 503.
    counts: [[u64; 3]; PLACES],
}

/// Requests that were refused when the trace was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedRequests {
    /// The column that says so.
    pub column: String,
    /// Requests answered with 429, too many requests.
    pub too_many_requests: u64,
    /// Requests answered with 503, service unavailable.
    pub unavailable: u64,
    /// Requests answered with a throttling error of another name.
    pub throttled: u64,
}

impl AnswerCounts {
    pub(crate) fn count(&mut self, answer: Answer) {
        let mut rest = answer.0;
        let mut place = 0;
        while rest != 0 {
            if let Some(word) = (rest & 3).checked_sub(1) {
                self.counts[place][word as usize] += 1;
            }
            (rest, place) = (rest >> 2, place + 1);
        }
    }

    pub(crate) fn merge(&mut self, other: &AnswerCounts) {
        for (mine, theirs) in self.counts.iter_mut().flatten().zip(other.counts.iter().flatten()) {
            *mine += theirs;
        }
    }

    /// The requests refused, by the column asked for, or by the first usual name in which a status of 200 occurs, or by the
    /// throttling errors of AWS. `None` where there is no such column. Without any such error it is not known whether their
    /// column would hold them, so that is `None` too.
    pub fn refused(&self, asked: &Answers) -> Option<RefusedRequests> {
        let usual = || (0..STATUS.len()).find(|&place| self.counts[place][0] > 0);
        let (place, column) = match asked {
            Answers::Ignored => return None,
            Answers::In(Column::Name(name)) => (Some(ASKED), name.clone()),
            Answers::In(Column::Number(number)) => (Some(ASKED), number.to_string()),
            Answers::ByUsualNames => (usual(), usual().map_or_else(String::new, |place| STATUS[place].to_owned())),
        };
        if let Some(place) = place {
            let [_, too_many_requests, unavailable] = self.counts[place];
            return Some(RefusedRequests { column, too_many_requests, unavailable, throttled: 0 });
        }
        let throttled = self.counts[ERROR][0];
        let column = ERRORS.to_owned();
        (throttled > 0).then_some(RefusedRequests { column, too_many_requests: 0, unavailable: 0, throttled })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_usual_name_with_a_200_tells() {
        let mut counts = AnswerCounts::default();
        assert_eq!(counts.refused(&Answers::ByUsualNames), None);
        for (status, response) in [("ok", "200"), ("ok", " 429 "), ("429", "503"), ("", "200")] {
            let mut answer = Answer::default();
            answer.add(0, status.as_bytes());
            answer.add(10, response.as_bytes());
            counts.count(answer);
        }
        let refused = counts.refused(&Answers::ByUsualNames).unwrap();
        assert_eq!((refused.column.as_str(), refused.too_many_requests, refused.unavailable), ("response", 1, 1));
    }

    #[test]
    fn throttling_errors_tell_where_no_status_does() {
        let mut answer = Answer::default();
        answer.add(ERROR, b"SlowDown");
        let mut counts = AnswerCounts::default();
        counts.count(answer);
        counts.merge(&counts.clone());
        assert_eq!(counts.refused(&Answers::ByUsualNames).unwrap().throttled, 2);
        assert_eq!(counts.refused(&Answers::Ignored), None);
    }
}
