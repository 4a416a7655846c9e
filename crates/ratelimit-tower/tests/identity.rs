//! Who a request is from, as an attacker would have it: whatever a client writes, it is counted where the declared proxy
//! saw it, or else with the peer.

use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, Request};
use ratelimit_tower::key::{ApiKey, ClientIp, ClientKey, Head, KeyError, KeyExtractor, PeerAddr, Secret};

const XFF: HeaderName = HeaderName::from_static("x-forwarded-for");
const REAL_IP: HeaderName = HeaderName::from_static("x-real-ip");
const PROXY: &str = "10.0.0.1";

fn client(extractor: &ClientIp, peer: &str, name: &HeaderName, lines: &[&str]) -> String {
    let mut request = Request::new(());
    request.extensions_mut().insert(PeerAddr(format!("{peer}:1").parse().unwrap()));
    append(request.headers_mut(), name, lines);
    extractor.address(&Head::of(&request)).expect("there is a peer").to_string()
}

fn append(headers: &mut HeaderMap, name: &HeaderName, lines: &[&str]) {
    for line in lines {
        headers.append(name, HeaderValue::from_bytes(line.as_bytes()).unwrap());
    }
}

fn behind(name: HeaderName) -> ClientIp {
    ClientIp::behind(["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()], name)
}

/// Rows: the lines of the header, and the client. The proxy is the peer, and appends 203.0.113.9, whom it sees.
#[test]
fn x_forwarded_for_from_trusted_networks() {
    for (lines, expected) in [
        (&["203.0.113.9"][..], "203.0.113.9"),
        // What the client has sent before, on the same line, on one of its own, on many.
        (&["1.1.1.1, 203.0.113.9"], "203.0.113.9"),
        (&["1.1.1.1", "203.0.113.9"], "203.0.113.9"),
        (&["1.1.1.1, 10.0.0.7", "2.2.2.2", "203.0.113.9"], "203.0.113.9"),
        (&["1.1.1.1", "203.0.113.9, 10.0.0.2", "10.0.0.3"], "203.0.113.9"),
        (&[", , ,203.0.113.9"], "203.0.113.9"),
        (&["unix:, 203.0.113.9"], "203.0.113.9"),
        (&["\"1.1.1.1, 203.0.113.9"], "203.0.113.9"),
        // Spellings of one address.
        (&[" \t203.0.113.9\t "], "203.0.113.9"),
        (&["203.0.113.9:65535"], "203.0.113.9"),
        (&["::ffff:203.0.113.9"], "203.0.113.9"),
        (&["[::FFFF:203.0.113.9]:80"], "203.0.113.9"),
        (&["2001:DB8:0:0::1"], "2001:db8::1"),
        (&["[2001:db8::1]"], "2001:db8::1"),
        // Trusted proxies in every spelling are walked over.
        (&["203.0.113.9, ::ffff:10.0.0.2, [FD00::2]:80, 10.0.0.3:9"], "203.0.113.9"),
        (&["10.0.0.9, 10.0.0.2"], "10.0.0.9"),
        // What cannot be read ends the walk: nothing left of it is believed.
        (&["203.0.113.9, "], PROXY),
        (&[""], PROXY),
        (&["203.0.113.9", ""], PROXY),
        (&["1.1.1.1, unknown"], PROXY),
        (&["1.1.1.1, unknown, 10.0.0.2"], PROXY),
        (&["fe80::1%eth0"], PROXY),
        (&["unix:/run/app.sock"], PROXY),
        (&["203.0.113.9:port"], PROXY),
        (&["203.0.113.9:99999"], PROXY),
        (&["203.0.113.09"], PROXY),
        (&["0x7f.1"], PROXY),
        (&["3405803785"], PROXY),
        (&["203.0.113.9;10.0.0.2"], PROXY),
        (&["[203.0.113.9]"], PROXY),
        (&["\u{ff12}03.0.113.9"], PROXY),
        (&[], PROXY),
    ] {
        assert_eq!(client(&behind(XFF), PROXY, &XFF, lines), expected, "{lines:?}");
    }
}

#[test]
fn a_peer_that_is_no_proxy_is_itself_whatever_it_says() {
    for name in [XFF, REAL_IP, http::header::FORWARDED] {
        for line in ["1.1.1.1", "10.0.0.1", "for=1.1.1.1", ""] {
            assert_eq!(client(&behind(name.clone()), "198.51.100.7", &name, &[line]), "198.51.100.7", "{name}: {line}");
        }
    }
    for name in [XFF, REAL_IP] {
        assert_eq!(client(&ClientIp::peer(), PROXY, &name, &["1.1.1.1"]), PROXY, "no header is declared");
        assert_eq!(client(&behind(http::header::FORWARDED), PROXY, &name, &["1.1.1.1"]), PROXY, "another one is");
    }
}

#[test]
fn forwarded_from_trusted_networks() {
    let forwarded = behind(http::header::FORWARDED);
    for (lines, expected) in [
        (&["for=203.0.113.9"][..], "203.0.113.9"),
        (&["FOR=203.0.113.9;Proto=HTTPS;by=10.0.0.1"], "203.0.113.9"),
        (&["for=1.1.1.1, for=\"203.0.113.9:4711\""], "203.0.113.9"),
        (&["for=1.1.1.1", "for=\"[2001:DB8::1]:80\";by=\"[fd00::1]\"", "for=10.0.0.2"], "2001:db8::1"),
        (&["for=\"1.1.1.1, for=2.2.2.2\", for=203.0.113.9"], "203.0.113.9"),
        (&["for=_hidden, for=203.0.113.9"], "203.0.113.9"),
        // Identifiers that are none.
        (&["for=1.1.1.1, for=_hidden"], PROXY),
        (&["for=1.1.1.1, for=unknown"], PROXY),
        (&["for=1.1.1.1, for=\"_sEcret:_port\""], PROXY),
        (&["for=\"203.0.113.9:_port\""], PROXY),
        (&["for=2001:db8::1, for="], PROXY),
        (&["for=1.1.1.1, "], PROXY),
        (&["for=1.1.1.1, proto=https"], PROXY),
        (&["for=1.1.1.1;for=2.2.2.2"], PROXY),
        (&["for=\"fe80::1%25eth0\""], PROXY),
        // A quotation that a client opens swallows the start of what the proxy appends; its own claim does not count.
        (&["for=1.1.1.1;by=\", for=\"[2001:db8::9]:80\""], PROXY),
        (&["for=1.1.1.1;by=\", for=\"203.0.113.9:80\";by=\"10.0.0.1\""], PROXY),
        (&["for=1.1.1.1;by=\", for=203.0.113.9"], PROXY),
        (&["for=1.1.1.1;by=\"\\, for=\"203.0.113.9:80\""], PROXY),
        (&["for=1.1.1.1;by=x\", for=\"203.0.113.9:80\""], PROXY),
        (&["for=\"1.1.1.1", "for=203.0.113.9"], "203.0.113.9"),
    ] {
        assert_eq!(client(&forwarded, PROXY, &http::header::FORWARDED, lines), expected, "{lines:?}");
    }
}

/// A client writes its own address and the start of something that is to swallow what its proxy appends, in every
/// parameter, in names as in values; the proxy appends its word in every form. Nothing of it may be the client's claim.
#[test]
fn what_a_client_opens_does_not_swallow_the_proxys_word() {
    let forwarded = behind(http::header::FORWARDED);
    for start in ["for", "by", "x", "secret"] {
        for opened in ["=\"", "=\"\\", "=x\"", "=x\"\\", "\"=x", "\"=\"x", "x\"", "\"", "=\"x;y=\"", "=\\\""] {
            for appended in [
                ", for=203.0.113.9",
                ", for=\"203.0.113.9:80\"",
                ", for=\"[2001:db8::9]:80\";by=\"10.0.0.1\"",
                ", by=\"10.0.0.1\";for=\"203.0.113.9:80\"",
                ", proto=https;for=203.0.113.9",
                ";for=203.0.113.9",
            ] {
                for claim in ["for=6.6.6.6;", "for=6.6.6.6,", "for=\"6.6.6.6\";", ""] {
                    let line = format!("{claim}{start}{opened}{appended}");
                    let client = client(&forwarded, PROXY, &http::header::FORWARDED, &[&line]);
                    assert!([PROXY, "203.0.113.9", "2001:db8::9"].contains(&&*client), "{line}: {client}");
                }
            }
        }
    }
}

#[test]
fn a_number_of_hops_counts_from_the_right_and_never_past_the_left() {
    for (hops, lines, expected) in [
        (1, &["1.1.1.1, 203.0.113.9"][..], "203.0.113.9"),
        (2, &["1.1.1.1, 203.0.113.9, 10.0.0.2"], "203.0.113.9"),
        (2, &["1.1.1.1", "203.0.113.9", "10.0.0.2"], "203.0.113.9"),
        (2, &["203.0.113.9, unknown"], "203.0.113.9"),
        // No proxy at all: nobody wrote it but the client.
        (0, &["1.1.1.1, 203.0.113.9"], PROXY),
        (2, &["203.0.113.9"], PROXY),
        (3, &["1.1.1.1, 203.0.113.9"], PROXY),
        (usize::MAX, &["1.1.1.1, 203.0.113.9"], PROXY),
        (1, &["203.0.113.9, unknown"], PROXY),
        (1, &[], PROXY),
    ] {
        assert_eq!(client(&ClientIp::behind_hops(hops, XFF), PROXY, &XFF, lines), expected, "{hops}: {lines:?}");
    }
}

#[test]
fn a_header_of_one_address_is_not_believed_as_a_list_or_twice() {
    for (lines, expected) in [
        (&["203.0.113.9"][..], "203.0.113.9"),
        (&["203.0.113.9, 1.1.1.1"], PROXY),
        (&["203.0.113.9", "203.0.113.9"], PROXY),
        (&["203.0.113.9", "1.1.1.1"], PROXY),
        (&[""], PROXY),
        (&[], PROXY),
    ] {
        assert_eq!(client(&behind(REAL_IP), PROXY, &REAL_IP, lines), expected, "{lines:?}");
    }
}

#[test]
fn long_lists_are_read_from_the_right_alone() {
    let claims = "1.1.1.1, ".repeat(100_000);
    let lines: Vec<String> = vec![format!("{claims}203.0.113.9"); 50];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let mut request = Request::new(());
    request.extensions_mut().insert(PeerAddr(format!("{PROXY}:1").parse().unwrap()));
    append(request.headers_mut(), &XFF, &lines);
    for extractor in [behind(XFF), ClientIp::behind_hops(1, XFF)] {
        // Five million claims: to read them would take minutes in all.
        for _ in 0..10_000 {
            assert_eq!(extractor.address(&Head::of(&request)).unwrap().to_string(), "203.0.113.9");
        }
    }
}

/// A Unix socket has no address, and a server may not pass one on: no header stands in for it.
#[test]
fn without_a_peer_nobody_is_believed() {
    for extractor in [ClientIp::peer(), behind(XFF), ClientIp::behind_hops(1, XFF)] {
        let mut request = Request::new(());
        append(request.headers_mut(), &XFF, &["203.0.113.9"]);
        assert_eq!(extractor.address(&Head::of(&request)), Err(KeyError::NoPeer));
    }
}

/// A server that reads the first word as the token must not see one client where we see many.
#[test]
fn a_bearer_token_is_one_word() {
    let secret = Secret::new([7; 16]);
    for (field, usable) in [
        ("Bearer tok", true),
        ("bearer   a-Z.0_9~+/==", true),
        ("Bearer tok x1", false),
        ("Bearer tok\tx1", false),
        ("Bearer tok, x1", false),
        ("Bearer a=b", false),
        ("Bearer ==", false),
        ("Bearer ", false),
        ("Bearertok", false),
        ("Basic tok", false),
    ] {
        let mut request = Request::new(());
        append(request.headers_mut(), &http::header::AUTHORIZATION, &[field]);
        let bearer = ApiKey::bearer();
        let found = bearer.extract(&Head::of(&request), &mut ClientKey::new(&secret));
        assert_eq!(found.is_ok(), usable, "{field}");
    }
}
