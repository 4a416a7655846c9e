//! Access logs of AWS load balancers and of S3.
//!
//! A load balancer stamps the end of a response (an application load balancer also has `request_creation_time`), S3 the
//! arrival of the request. Clients of load balancers are written with their port, which is left off.

use super::line_format::{LineFormat, Split};
use super::words;
use crate::trace::client_name::parse_address;
use crate::trace::options::TimeUnit;
use crate::trace::plan::Roles;
use crate::trace::record::{Field, Why};
use crate::trace::time_text::{Stamp, parse};

/// Application load balancer.
pub(crate) const ALB: LineFormat = LineFormat {
    name: "alb",
    about: "AWS application load balancer",
    names: &[
        "type",
        "time",
        "elb",
        "client",
        "target",
        "request_processing_time",
        "target_processing_time",
        "response_processing_time",
        "elb_status_code",
        "target_status_code",
        "received_bytes",
        "sent_bytes",
        "request",
        "user_agent",
        "ssl_cipher",
        "ssl_protocol",
        "target_group_arn",
        "trace_id",
        "domain_name",
        "chosen_cert_arn",
        "matched_rule_priority",
        "request_creation_time",
        "actions_executed",
        "redirect_url",
        "error_reason",
        "target_list",
        "target_status_code_list",
        "classification",
        "classification_reason",
        "conn_trace_id",
    ],
    roles: Roles {
        time: Some((1, None)),
        client: Some(3),
        client_has_port: true,
        duration: Some(6),
        duration_unit: Some(TimeUnit::Seconds),
        ..Roles::NONE
    },
    telling: 13,
    split: |line, fields| load_balancer(line, fields, 1, 12),
};

/// Classic load balancer.
pub(crate) const ELB: LineFormat = LineFormat {
    name: "elb",
    about: "AWS classic load balancer",
    names: &[
        "time",
        "elb",
        "client",
        "backend",
        "request_processing_time",
        "backend_processing_time",
        "response_processing_time",
        "elb_status_code",
        "backend_status_code",
        "received_bytes",
        "sent_bytes",
        "request",
        "user_agent",
        "ssl_cipher",
        "ssl_protocol",
    ],
    roles: Roles {
        time: Some((0, None)),
        client: Some(2),
        client_has_port: true,
        duration: Some(5),
        duration_unit: Some(TimeUnit::Seconds),
        ..Roles::NONE
    },
    telling: 12,
    split: |line, fields| load_balancer(line, fields, 0, 11),
};

/// S3 server access log.
pub(crate) const S3: LineFormat = LineFormat {
    name: "s3",
    about: "AWS S3 server access log",
    names: &[
        "bucket_owner",
        "bucket",
        "time",
        "remote_ip",
        "requester",
        "request_id",
        "operation",
        "key",
        "request",
        "status",
        "error_code",
        "bytes_sent",
        "object_size",
        "total_time",
        "turn_around_time",
        "referer",
        "user_agent",
        "version_id",
        "host_id",
        "signature_version",
        "cipher_suite",
        "authentication_type",
        "host_header",
        "tls_version",
        "access_point_arn",
        "acl_required",
    ],
    roles: Roles {
        time: Some((2, None)),
        client: Some(3),
        duration: Some(13),
        duration_unit: Some(TimeUnit::Millis),
        ..Roles::NONE
    },
    telling: 15,
    split: s3,
};

/// `time` and `request` are the indices of two fields whose form tells the format from others.
fn load_balancer<'a>(line: &'a [u8], fields: &mut Vec<Field<'a>>, time: usize, request: usize) -> Split {
    if let Err(bad) = words::append(line, 0, |word| word > request, fields) {
        return bad;
    }
    let fits = |index: usize, fits: fn(&[u8]) -> bool| fields.get(index).is_some_and(|field| fits(field.text));
    let shaped = fits(time, is_timestamp)
        && fits(time + 2, is_address)
        && (time + 4..=time + 6).all(|index| fits(index, is_seconds))
        && is_quoted(line, fields.get(request));
    if shaped { Split::Fields } else { Split::Bad(Why::Shape(BALANCER), 0) }
}

const BALANCER: &str =
    "a load balancer's line: time, balancer, client:port, target:port, three times, ..., \"request\"";

/// The client of a load balancer is an address with its port.
fn is_address(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| parse_address(text).is_some())
}

/// A processing time; `-1` where there was none.
fn is_seconds(text: &[u8]) -> bool {
    text == b"-1" || matches!(parse(text), Ok(Stamp::Number { .. }))
}

fn is_timestamp(text: &[u8]) -> bool {
    matches!(text, [y, _, _, _, b'-', _, _, b'-', _, _, b'T', .., b'Z'] if y.is_ascii_digit())
}

fn is_quoted(line: &[u8], field: Option<&Field<'_>>) -> bool {
    field.is_some_and(|f| f.column >= 2 && line[f.column - 2] == b'"')
}

fn s3<'a>(line: &'a [u8], fields: &mut Vec<Field<'a>>) -> Split {
    const EXPECTED: &str =
        "an S3 access log line: owner bucket [time] address requester id operation key \"request\" ...";
    if let Err(bad) = words::append(line, 0, |word| word > 8, fields) {
        return bad;
    }
    let time = fields.get(2).is_some_and(|f| f.column >= 2 && line[f.column - 2] == b'[');
    // A request may be a bare dash; the fields after the time are no quoted request, as in other access logs.
    if time && fields.len() >= 10 && !is_quoted(line, fields.get(3)) && !is_quoted(line, fields.get(5)) {
        Split::Fields
    } else {
        Split::Bad(Why::Shape(EXPECTED), 0)
    }
}
