//! Real files that live beside the project: each gives the counts that its documentation states.
//! The folder is `SHARED_TRACES`, or `../shared/traces` beside the repository; without it the tests say that they are skipped.

use std::path::PathBuf;

use rlsim::trace::{Column, Costs, Input, ReadOptions, TimeColumn, Trace, load};

/// The path of a shared file, or `None` (said) where the folder is absent.
fn shared(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("SHARED_TRACES")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces"), PathBuf::from);
    let path = folder.join(name);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: {} is absent", path.display());
    None
}

fn read(name: &str, options: &ReadOptions) -> Option<Trace> {
    let trace = load(&[Input::File(shared(name)?)], options).unwrap_or_else(|e| panic!("{name}: {e}"));
    check(&trace);
    Some(trace)
}

/// What holds for every trace.
fn check(trace: &Trace) {
    let facts = &trace.facts;
    assert_eq!(facts.rows, facts.events + facts.bad + facts.blank + facts.skipped);
    assert_eq!(facts.events, trace.at.len() as u64);
    assert_eq!(trace.at.len(), trace.client.len());
    assert!(trace.at.is_sorted());
    if let Costs::Each(costs) = &trace.cost {
        assert_eq!(costs.len(), trace.at.len());
    }
}

#[test]
fn apache_combined() {
    let Some(trace) = read("apache_combined.log", &ReadOptions::default()) else { return };
    let facts = &trace.facts;
    assert_eq!((facts.rows, facts.events, facts.bad), (10_000, 10_000, 0));
    assert_eq!(trace.names.len(), 1_753);
    assert_eq!(facts.format, "combined");
    assert_eq!((facts.reordered, facts.largest_step_back_ns), (4_915, 59_000_000_000));
    assert_eq!(facts.resolution_ns, 1_000_000_000);
}

#[test]
fn apache_bytes_as_cost_read_a_dash_as_none() {
    let options = ReadOptions { cost_column: Some(Column::Name("bytes".into())), ..ReadOptions::default() };
    let Some(trace) = read("apache_combined.log", &options) else { return };
    assert_eq!(trace.facts.bad, 0);
    let Costs::Each(costs) = &trace.cost else { panic!("costs are bytes") };
    assert!(costs.iter().filter(|&&cost| cost == 0).count() >= 669);
}

#[test]
fn nasa_tsv() {
    let Some(trace) = read("nasa_http_19950801.tsv", &ReadOptions::default()) else { return };
    assert_eq!((trace.facts.rows, trace.facts.events, trace.names.len()), (30_969, 30_969, 2_365));
    assert_eq!(trace.facts.resolution_ns, 1_000_000_000);
    assert_eq!(trace.facts.format, "tsv");
    assert_eq!(trace.at[0], 807_256_800_000_000_000);
}

#[test]
fn azure_llm_csv() {
    let Some(trace) = read("azure_llm_2023_code.csv", &ReadOptions::default()) else { return };
    assert_eq!((trace.facts.rows, trace.facts.events, trace.names.len()), (8_819, 8_819, 1));
    assert_eq!(trace.at[0], 1_700_158_623_979_960_000);
    let options = ReadOptions { cost_column: Some(Column::Name("ContextTokens".into())), ..ReadOptions::default() };
    let Some(trace) = read("azure_llm_2023_code.csv", &options) else { return };
    assert_eq!(trace.cost.get(0), 4_808);
}

#[test]
fn swim_tsv_without_header() {
    let options = ReadOptions {
        time_column: Some(TimeColumn::One(Column::Number(2))),
        cost_column: Some(Column::Number(4)),
        ..ReadOptions::default()
    };
    let Some(trace) = read("swim_fb2009_0.tsv", &options) else { return };
    assert_eq!((trace.facts.rows, trace.facts.events), (5_894, 5_894));
    let Costs::Each(costs) = &trace.cost else { panic!("costs are bytes") };
    assert!(costs.iter().any(|&cost| cost > u64::from(u32::MAX)));
}

#[test]
fn jmeter_results() {
    let Some(trace) = read("taurus_jmeter.jtl.csv", &ReadOptions::default()) else { return };
    assert_eq!((trace.facts.rows, trace.facts.events), (599, 599));
    assert_eq!(trace.facts.reordered, 297);
    assert_eq!(trace.facts.resolution_ns, 1_000_000);
}

/// The rows, events, bad, blank and skipped records of a shared file, and its clients and format.
fn counts(name: &str, options: &ReadOptions) -> Option<([u64; 5], usize, String)> {
    let trace = read(name, options)?;
    let facts = trace.facts;
    Some(([facts.rows, facts.events, facts.bad, facts.blank, facts.skipped], trace.names.len(), facts.format))
}

/// Every file that needs no option, and what it gives.
#[test]
fn documented_counts() {
    let mut wrong = Vec::new();
    for (name, rows, clients, format) in [
        ("iis_w3c.log", [254, 210, 0, 0, 44], 12, "w3c"),
        ("formats/lnav_iis_advanced.log", [10, 3, 0, 3, 4], 3, "w3c"),
        ("formats/crowdsec_aws_alb.log", [14, 14, 0, 0, 0], 14, "alb"),
        ("formats/plaso_apache_vhost_mixed.log", [15, 15, 0, 0, 0], 8, "combined"),
        ("formats/crowdsec_http_dos.log", [356, 356, 0, 0, 0], 14, "combined"),
        ("nginx_rotated.log.2", [5_054, 1_361, 3_693, 0, 0], 142, "combined"),
        ("nginx_rotated.log.3", [1_086, 938, 148, 0, 0], 81, "combined"),
        ("mooncake_conversation.jsonl", [12_031, 12_031, 0, 0, 0], 1, "json"),
        ("aws_cloudtrail_stratus.json", [394, 394, 0, 0, 0], 7, "cloudtrail"),
        ("page_load.har", [120, 120, 0, 0, 0], 1, "har"),
        ("formats/crowdsec_envoy_k8s.log", [41, 41, 0, 0, 0], 1, "envoy"),
        ("formats/crowdsec_traefik.jsonl", [80, 80, 0, 0, 0], 1, "traefik"),
        ("formats/lnav_caddy_docker.log", [39, 4, 0, 0, 35], 1, "caddy"),
        ("formats/lnav_cloudflare_ns.jsonl", [15, 15, 0, 0, 0], 14, "cloudflare"),
        ("formats/plaso_azure_appgw.jsonl", [2, 2, 0, 0, 0], 1, "azure-gateway"),
        ("formats/taurus_k6.csv", [60, 4, 0, 0, 56], 1, "csv"),
        ("formats/lnav_haproxy.log", [17, 13, 0, 0, 4], 5, "haproxy"),
        ("formats/crowdsec_nginx_limit_req_error.log", [9, 9, 0, 0, 0], 2, "nginx-error"),
        ("formats/lnav_edge_logfile_crlf.0", [2, 2, 0, 0, 0], 1, "text"),
    ] {
        if let Some(found) = counts(name, &ReadOptions::default()) {
            let expect = (rows, clients, format.to_owned());
            if found != expect {
                wrong.push(format!("{name}: found {found:?}, documented {expect:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Relative milliseconds that tick every 3 s, and some beside: most are multiples of 1000, and that it is a guess is said.
#[test]
fn relative_milliseconds_are_guessed() {
    let Some(trace) = read("mooncake_conversation.jsonl", &ReadOptions::default()) else { return };
    assert_eq!((trace.at[0], trace.at.last()), (0, Some(&3_536_999_000_000)));
    let said = "times read as ms: relative numbers, most of them multiples of 1000, which is a guess; --time-unit";
    assert!(trace.facts.notes.iter().any(|note| note.contains(said)), "{:?}", trace.facts.notes);
}

/// Files from which no trace can be made, and why.
#[test]
fn documented_failures() {
    for (name, reason) in [
        ("formats/lnav_w3c_fieldcount_mismatch.log", "17 fields: expected 6 as in #Fields"),
        // Its dates have no year.
        ("formats/lnav_edge_logfile_dst.0", "format not recognised"),
        ("formats/lnav_edge_logfile_invalid_utf8.0", "format not recognised"),
        ("swim_fb2009_0.tsv", "no column is known to hold the time; there are 6 columns and no header"),
    ] {
        let Some(path) = shared(name) else { continue };
        let error = load(&[Input::File(path)], &ReadOptions::default()).expect_err(name);
        assert_eq!(error.exit_code(), 1, "{name}");
        assert!(error.to_string().contains(reason), "{name}: {error}");
    }
}

#[test]
fn invalid_utf8_is_bytes_like_any_other() {
    let options = ReadOptions { format: Some("text".into()), ..ReadOptions::default() };
    if let Some(found) = counts("formats/lnav_edge_logfile_invalid_utf8.0", &options) {
        assert_eq!(found, ([6, 1, 5, 0, 0], 1, "text".to_owned()));
    }
}

#[test]
fn rotated_logs_merge_whatever_their_order() {
    let (Some(newer), Some(older)) = (shared("nginx_rotated.log.2"), shared("nginx_rotated.log.3")) else { return };
    let read = |paths: [&PathBuf; 2]| {
        let inputs = paths.map(|path| Input::File(path.clone()));
        load(&inputs, &ReadOptions::default()).unwrap()
    };
    let (one, other) = (read([&newer, &older]), read([&older, &newer]));
    assert_eq!((one.facts.rows, one.facts.events, one.facts.bad), (6_140, 2_299, 3_841));
    assert_eq!((&one.at, &one.client, &one.names), (&other.at, &other.client, &other.names));
}

/// A global fixed window of a second with limit L admits, over seconds, the sum of min(n, L): the counts that this needs.
#[test]
fn stamps_of_whole_seconds_stay_whole() {
    for name in ["apache_combined.log", "nasa_http_19950801.tsv"] {
        let Some(trace) = read(name, &ReadOptions::default()) else { continue };
        assert!(trace.at.iter().all(|at| at % 1_000_000_000 == 0), "{name}");
    }
}

#[test]
fn a_gateway_without_client_ports_and_mixed_zones() {
    let Some(trace) = read("formats/crowdsec_envoy_k8s.log", &ReadOptions::default()) else { return };
    assert_eq!(&*trace.names[0], b"10.0.0.13");
    let Some(trace) = read("formats/crowdsec_aws_alb.log", &ReadOptions::default()) else { return };
    assert!(trace.names.iter().all(|name| !name.contains(&b':')));
    let Some(trace) = read("formats/plaso_apache_vhost_mixed.log", &ReadOptions::default()) else { return };
    assert!(trace.names.contains(&b"10.1.1.2".as_slice().into()));
}
