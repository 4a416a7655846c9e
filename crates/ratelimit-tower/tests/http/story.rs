//! Runs one row.

use http::Request;
use http::header::HeaderName;
use ratelimit_tower::RateLimitLayer;
use ratelimit_tower::key::{PeerAddr, Route};
use serde_json::Value;

use crate::expect::{Answer, Checked, check, matches};
use crate::layer::{Asides, Clocks, Inner, NoBody, layers, send};

pub(crate) fn run(row: &Value) -> Checked {
    let clocks = Clocks::new();
    let options = &row["config"]["options"];
    let steps = row["steps"].as_array().expect("steps");
    let built = layers(row, &clocks, steps.iter().any(|step| step["store_error"] == true));
    if options["expect_build_error"] == true || options["expect_build_error_or_clamp"] == true {
        return built.err().map(|_| ()).ok_or("the layer was built".into());
    }
    let layers = built?;
    let mut story = Story { row, layers, clocks, at_ms: 0 };
    steps.iter().try_for_each(|step| story.step(step))
}

struct Story<'a> {
    row: &'a Value,
    layers: Vec<RateLimitLayer>,
    clocks: Clocks,
    at_ms: u64,
}

impl Story<'_> {
    fn step(&mut self, step: &Value) -> Checked {
        self.move_clocks(step);
        let times = step["repeat"].as_u64().unwrap_or(1);
        for time in 0..times {
            let request = self.request(step, time);
            let Some(answer) = send(&self.layers, Inner { never: step["cancel"] == true }, request) else {
                return (step["cancel"] == true).then_some(()).ok_or("no answer".into());
            };
            let answer = self.with_cors(answer);
            check(&answer, &step["expect"])
                .map_err(|error| format!("at {} ms, request {time}: {error}", self.at_ms))?;
            self.extras(step, &answer)?;
        }
        Ok(())
    }

    fn move_clocks(&mut self, step: &Value) {
        if let Some(at_ms) = step["at_ms"].as_u64() {
            self.clocks.advance((at_ms - self.at_ms) * 1_000_000);
            self.at_ms = at_ms;
        }
        if let Some(wall_step) = step["wall_step_ms"].as_i64() {
            let step = |nanos: u64| Some(nanos.saturating_add_signed(wall_step * 1_000_000));
            self.clocks
                .wall
                .fetch_update(std::sync::atomic::Ordering::Relaxed, std::sync::atomic::Ordering::Relaxed, step)
                .expect("a step");
        }
    }

    fn request(&self, step: &Value, time: u64) -> Request<NoBody> {
        let described = &step["request"];
        let mut request = Request::new(NoBody::new());
        *request.method_mut() = described["method"].as_str().expect("a method").parse().expect("a method");
        *request.uri_mut() = described["path"].as_str().expect("a path").parse().expect("a path");
        for header in described["headers"].as_array().expect("headers") {
            let name = HeaderName::try_from(header[0].as_str().expect("a name")).expect("a name");
            request.headers_mut().append(name, header[1].as_str().expect("a value").try_into().expect("a value"));
        }
        let mut asides = asides(step);
        if let Some(peer) = described["peer"].as_str() {
            let mut peer: std::net::SocketAddr = peer.parse().expect("a peer");
            if step["random_peer"] == true {
                peer.set_ip(std::net::Ipv4Addr::from_bits(0x0B00_0000 + u32::try_from(time).expect("fits")).into());
            }
            request.extensions_mut().insert(PeerAddr(peer));
        }
        if self.row["config"]["options"]["router"].is_array() {
            // The one route of these rows. What no route matches is answered by 404.
            if request.uri().path().starts_with("/items/") {
                request.extensions_mut().insert(Route("/items/{id}"));
            } else {
                asides.inner_status = Some(404);
            }
        }
        request.extensions_mut().insert(asides);
        request
    }

    /// What a CORS layer outside of ours adds.
    fn with_cors(&self, mut answer: Answer) -> Answer {
        if self.row["config"]["options"]["cors"] == "outermost" {
            answer.headers.insert("access-control-allow-origin", "*".parse().expect("a value"));
        }
        answer
    }

    fn extras(&mut self, step: &Value, answer: &Answer) -> Checked {
        if step["then_wait_retry_after"] == true {
            let seconds: u64 = answer.field("retry-after").and_then(|text| text.parse().ok()).ok_or("no wait")?;
            self.clocks.advance(seconds * 1_000_000_000);
            self.at_ms += seconds * 1_000;
        }
        if step["raw_names_lowercase"] == true {
            let lower = |name: &HeaderName| !name.as_str().bytes().any(|byte| byte.is_ascii_uppercase());
            assert!(answer.headers.keys().all(lower));
        }
        for (name, value) in step["recommended"].as_object().into_iter().flatten() {
            if answer.field(name).as_deref() != value.as_str() {
                return Err(format!("{name}: {:?}, recommended {value}", answer.field(name)));
            }
        }
        if step["same_pk_in_both"] == true {
            let key = |field: &str| {
                let text = answer.field(field).unwrap_or_default();
                text.split_once("pk=").map(|(_, key)| key.to_owned())
            };
            let key_in_both = key("ratelimit").filter(|shown| key("ratelimit-policy").as_ref() == Some(shown));
            let shown = key_in_both.ok_or("another pk in either field")?;
            let secret = step["pk_must_not_decode_to"].as_str().expect("a secret");
            if format!("{:?}", ratelimit_tower::headers::sf::parse_list(shown.as_bytes())).contains(secret) {
                return Err("the pk shows the credential".into());
            }
        }
        for name in step["trailers_absent"].as_array().into_iter().flatten() {
            // That there are no trailers at all is asserted where the body is read.
            assert!(matches("^ratelimit", name.as_str().expect("a name")));
        }
        Ok(())
    }
}

fn asides(step: &Value) -> Asides {
    let strings = |value: &Value| serde_json::from_value(value.clone()).unwrap_or_default();
    Asides {
        cost: step["cost"].as_u64(),
        key_parts: strings(&step["key_parts"]),
        inner_status: step["inner_status"].as_u64().map(|status| u16::try_from(status).expect("a status")),
        inner_headers: serde_json::from_value(step["inner_headers"].clone()).unwrap_or_default(),
    }
}
