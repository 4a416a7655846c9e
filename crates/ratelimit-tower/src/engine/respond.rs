//! What an answer looks like: the fields of a response that passed, and the responses to those that did not.

use bytes::Bytes;
use http::header::{ACCESS_CONTROL_EXPOSE_HEADERS, CACHE_CONTROL, HeaderMap, HeaderValue, ORIGIN, RETRY_AFTER, VARY};
use http::{Response, StatusCode};
use ratelimit_core::Nanos;

use super::Engine;
use crate::ask::{Answer, Outcome};
use crate::decided::{Decided, PolicyDecision};
use crate::headers::{Level, retry_seconds};
use crate::key::KeyError;
use crate::refusal::Refusal;
use crate::stats::count;

/// In the extensions of a response that this layer made: what it says of the policy that refused is to be kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Refused;

/// The statuses with which `Retry-After` means "not before then". With another one it would say something else (with a
/// redirect) or nothing at all, and a gRPC client is told in gRPC's words.
fn means_retry(status: StatusCode) -> bool {
    matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE)
}

impl Engine {
    /// The answer that holds: in shadow mode everything passes at once.
    #[inline]
    pub(crate) fn enforced(&self, outcome: &Outcome) -> Answer {
        if self.settings.shadow { Answer::Pass { delay: Nanos::ZERO } } else { outcome.answer }
    }

    #[inline]
    pub(crate) fn count_outcome(&self, outcome: &Outcome) {
        let counters = &self.counters;
        match outcome.answer {
            Answer::Pass { .. } => count(&counters.allowed),
            Answer::Refuse { .. } | Answer::Never { .. } if self.settings.shadow => {
                count(&counters.allowed);
                count(&counters.shadowed);
            }
            Answer::Refuse { .. } => count(&counters.denied),
            Answer::Never { .. } => count(&counters.never),
        }
    }

    /// Adds to a response of the service what is left.
    #[inline]
    pub(crate) fn describe<B>(&self, response: &mut Response<B>, outcome: &Outcome, levels: &[Level]) {
        self.report(outcome, response);
        let silent = self.settings.shadow || (response.status().is_redirection() && !self.settings.on_redirects);
        if !silent {
            self.write_fields(levels, &outcome.partitions, response);
        }
    }

    /// Tells outer layers what was decided.
    #[inline]
    fn report<B>(&self, outcome: &Outcome, response: &mut Response<B>) {
        if self.settings.report_decisions {
            let decision_of = |level: &Level| PolicyDecision {
                name: self.limits[level.policy].name.clone(),
                cost: level.cost,
                decision: level.decision,
            };
            let policies = outcome.levels.as_slice().iter().map(decision_of).collect();
            response.extensions_mut().insert(Decided { at: outcome.at(), policies });
        }
    }

    /// The response to a request that some policy refused.
    pub(crate) fn refuse(&self, outcome: &Outcome) -> Response<Bytes> {
        let levels = outcome.levels.as_slice();
        let violated = self.violated(levels);
        let refusal = match outcome.answer {
            Answer::Never { capacity } => Refusal::NeverFits { violated, capacity },
            Answer::Refuse { retry_after } => Refusal::QuotaExceeded { violated, retry_after },
            Answer::Pass { delay } => Refusal::QuotaExceeded { violated, retry_after: delay },
        };
        let mut response = self.respond(&refusal);
        if let Refusal::QuotaExceeded { retry_after, .. } = refusal
            && means_retry(response.status())
        {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(retry_seconds(retry_after)));
        }
        self.write_fields(levels, &outcome.partitions, &mut response);
        response.extensions_mut().insert(Refused);
        self.report(outcome, &mut response);
        response
    }

    /// The response to a request of whom nobody knows.
    pub(crate) fn refuse_unidentified(&self, error: KeyError) -> Response<Bytes> {
        self.respond(&Refusal::Unidentified(error))
    }

    /// The response while a shared backend has no answer.
    pub(crate) fn refuse_unavailable(&self) -> Response<Bytes> {
        self.respond(&Refusal::Unavailable)
    }

    fn respond(&self, refusal: &Refusal<'_>) -> Response<Bytes> {
        let mut response = (self.settings.respond)(refusal);
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }

    /// Lets pages of other origins read the fields. A cache must not serve them the answer to others, which lacks this.
    #[inline]
    pub(crate) fn expose(&self, has_origin: bool, headers: &mut HeaderMap) {
        if self.settings.expose {
            self.expose_fields(has_origin, headers);
        }
    }

    fn expose_fields(&self, has_origin: bool, headers: &mut HeaderMap) {
        if !varies_by_origin(headers) {
            headers.append(VARY, HeaderValue::from(ORIGIN));
        }
        if !has_origin {
            return;
        }
        let names: Vec<_> = self.settings.exposed_fields();
        let names: Vec<&str> = names.iter().map(http::HeaderName::as_str).collect();
        if let Ok(names) = HeaderValue::from_str(&names.join(", ")) {
            headers.append(ACCESS_CONTROL_EXPOSE_HEADERS, names);
        }
    }
}

fn varies_by_origin(headers: &HeaderMap) -> bool {
    let names = headers.get_all(VARY).iter().flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    names.map(<[u8]>::trim_ascii).any(|name| name == b"*" || name.eq_ignore_ascii_case(ORIGIN.as_str().as_bytes()))
}
