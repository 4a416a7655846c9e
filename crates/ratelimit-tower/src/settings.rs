//! What is chosen for all policies of a layer.

use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use http::header::{HeaderName, RETRY_AFTER};
use http::{Response, StatusCode};
use ratelimit_core::Nanos;

use crate::headers::Dialect;
use crate::key::Head;
use crate::problem;
use crate::refusal::Refusal;
use crate::timer::Timer;

/// What to do with a request about which a shared backend has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhenUnavailable {
    /// Pass it on, with no field that claims anything.
    #[default]
    Allow,
    /// Refuse it with 503.
    Refuse,
}

type Respond = Arc<dyn Fn(&Refusal<'_>) -> Response<Bytes> + Send + Sync>;
type Skip = Arc<dyn Fn(&Head<'_>) -> bool + Send + Sync>;
type Refund = Arc<dyn Fn(StatusCode) -> bool + Send + Sync>;

/// Everything that is chosen for all policies of a layer.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own on the builder")]
pub(crate) struct Settings {
    pub(crate) dialects: Vec<Dialect>,
    pub(crate) partition_key: bool,
    pub(crate) expose: bool,
    pub(crate) on_redirects: bool,
    pub(crate) exempt_preflight: bool,
    pub(crate) shadow: bool,
    pub(crate) charge_handles: bool,
    pub(crate) report_decisions: bool,
    pub(crate) skip: Option<Skip>,
    pub(crate) refund: Option<Refund>,
    pub(crate) unavailable: WhenUnavailable,
    pub(crate) respond: Respond,
    pub(crate) max_delay: Nanos,
    pub(crate) timer: Option<Arc<dyn Timer>>,
    pub(crate) wall: Arc<dyn Fn() -> u64 + Send + Sync>,
}

impl Settings {
    pub(crate) fn exposed_fields(&self) -> Vec<HeaderName> {
        let mut fields = vec![RETRY_AFTER];
        for field in self.dialects.iter().flat_map(|dialect| dialect.fields()) {
            if !fields.contains(field) {
                fields.push(field.clone());
            }
        }
        fields
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            dialects: vec![Dialect::Draft11, Dialect::Triple],
            partition_key: false,
            expose: false,
            on_redirects: false,
            exempt_preflight: true,
            shadow: false,
            charge_handles: false,
            report_decisions: false,
            skip: None,
            refund: None,
            unavailable: WhenUnavailable::Allow,
            respond: Arc::new(|refusal| problem::respond(refusal, StatusCode::TOO_MANY_REQUESTS)),
            max_delay: Nanos::from_secs(30),
            timer: None,
            wall: Arc::new(wall_clock),
        }
    }
}

fn wall_clock() -> u64 {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_epoch.as_nanos()).unwrap_or(u64::MAX)
}
