//! The page in a browser: `cargo test -p rlsim --features serve --test serve -- --ignored`.

use ratelimit_core::Nanos;

use crate::browser::Browser;
use crate::server::Running;

const TAB: &str = "\u{E004}";
const ENTER: &str = "\u{E007}";
const SPACE: &str = " ";

/// Refusals show up in the console as failed requests: the browser says so of any 429.
fn assert_quiet(browser: &Browser) {
    let complaints: Vec<_> =
        browser.complaints().into_iter().filter(|message| !message.contains("status of 429")).collect();
    assert!(complaints.is_empty(), "{complaints:?}");
}

fn answered(browser: &Browser, number: u32) {
    browser.until(&format!(
        "return document.querySelectorAll('#squares .allowed, #squares .refused').length === {number}"
    ));
}

#[test]
#[ignore = "needs chromium"]
fn ten_at_once_and_one_more_after_the_wait() {
    let server = Running::start("token-bucket:1/5s,burst=5");
    let browser = Browser::open(server.address);
    browser.click("ten");
    answered(&browser, 10);
    assert_eq!((browser.count("#squares .allowed"), browser.count("#squares .refused")), (5, 5));
    browser.until("return document.getElementById('status').textContent.includes('Refused. Retry-After')");
    // The picture tells the same story, as the core tells it.
    browser.until("return document.getElementById('place').textContent === '10 of 10'");
    assert_eq!((browser.count("#picture .mark.allowed"), browser.count("#picture .mark.refused")), (5, 5));
    assert!(browser.text("headers").contains("RateLimit-Remaining"), "{}", browser.text("headers"));
    every_step_is_about_its_square(&browser, 10);
    browser.click("later");
    assert!(browser.text("status").ends_with("It will be sent then."), "{}", browser.text("status"));
    server.clock.advance(Nanos::from_secs(5));
    answered(&browser, 11);
    assert_eq!((browser.count("#squares .allowed"), browser.count("#squares .refused")), (6, 5));
    assert_quiet(&browser);
}

/// A browser sends ten at once over several connections: they do not arrive in the order of their squares.
fn every_step_is_about_its_square(browser: &Browser, steps: usize) {
    browser.click("first");
    let mut seen = std::collections::BTreeSet::new();
    for step in 1..=steps {
        let caption = browser.text("caption");
        let number: usize = caption["Request ".len()..].split(',').next().expect("a number").parse().expect("digits");
        let square = format!("return document.querySelectorAll('#squares .square')[{number} - 1].className");
        let answer = if caption.contains("refused") { "refused" } else { "allowed" };
        assert_eq!(browser.run(&square), format!("square {answer}"), "{caption}");
        seen.insert(number);
        if step < steps {
            browser.click("next");
        }
    }
    assert_eq!(seen.len(), steps);
}

#[test]
#[ignore = "needs chromium"]
fn the_edge_burst_can_be_watched() {
    let server = Running::tutorial();
    let browser = Browser::open(server.address);
    // The counter's estimate, floor(5 * 9.9 / 10), forgets one of the five: that is its formula.
    for (algorithm, allowed) in
        [("fixed-window", 10), ("sliding-log", 5), ("sliding-counter", 6), ("token-bucket", 5), ("leaky-bucket", 5)]
    {
        browser.run(&format!("document.querySelector('input[value={algorithm}]').click()"));
        browser.run(
            "const s = document.getElementById('scenario'); s.value = 'edge'; s.dispatchEvent(new Event('change'))",
        );
        browser.until("return document.getElementById('place').textContent === '1 of 10'");
        let marks = format!(
            "return document.querySelectorAll('#picture .mark.allowed').length === {allowed} \
             && document.getElementById('policy').textContent.startsWith('{algorithm}')"
        );
        browser.until(&marks);
        for step in 2..=10 {
            browser.click("next");
            assert_eq!(browser.text("place"), format!("{step} of 10"));
        }
        browser.screenshot(&format!("edge-{algorithm}"));
        browser.run(
            "const s = document.getElementById('scenario'); s.value = 'yours'; s.dispatchEvent(new Event('change'))",
        );
        browser.until("return document.getElementById('place').textContent === ''");
    }
    assert_quiet(&browser);
}

#[test]
#[ignore = "needs chromium"]
fn everything_works_from_the_keyboard() {
    let server = Running::tutorial();
    let browser = Browser::open(server.address);
    let tab_to = |id: &str| {
        for _ in 0..40 {
            if browser.run("return document.activeElement.id") == id {
                return;
            }
            browser.press(TAB);
        }
        panic!("{id} is not reached by Tab");
    };
    tab_to("one");
    browser.press(ENTER);
    answered(&browser, 1);
    tab_to("ten");
    browser.press(SPACE);
    answered(&browser, 11);
    assert_eq!(browser.count("#squares .allowed"), 5);
    // The focus is seen, and a square is a button too.
    assert_ne!(browser.run("return getComputedStyle(document.activeElement).outlineStyle"), "none");
    tab_to("later");
    browser.press(TAB);
    browser.press(ENTER);
    assert!(browser.text("answer-title").starts_with("Request 1: 200"), "{}", browser.text("answer-title"));
    tab_to("first");
    browser.press(ENTER);
    browser.until("return document.getElementById('place').textContent === '1 of 11'");
    tab_to("next");
    browser.press(ENTER);
    assert_eq!(browser.text("place"), "2 of 11");
    // Whoever steps to the end, or starts what cannot be started twice, keeps the focus.
    for _ in 2..=12 {
        browser.press(ENTER);
    }
    assert_eq!(browser.text("place"), "11 of 11");
    for id in ["next", "first", "previous", "play", "steady", "run"] {
        tab_to(id);
        browser.press(ENTER);
        assert_eq!(browser.run("return document.activeElement.id"), id);
    }
    browser.until("return !document.getElementById('result').hidden");
    assert_quiet(&browser);
}

#[test]
#[ignore = "needs chromium"]
fn it_fits_phones_and_both_schemes() {
    let server = Running::tutorial();
    let browser = Browser::open(server.address);
    browser.click("ten");
    answered(&browser, 10);
    browser.until("return document.getElementById('place').textContent === '10 of 10'");
    for (name, dark, width) in
        [("light", false, 900), ("dark", true, 900), ("phone-light", false, 360), ("phone-dark", true, 360)]
    {
        browser.dark(dark);
        browser.width(width);
        let overflow =
            browser.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth");
        assert_eq!(overflow, 0, "{name} scrolls sideways");
        let picture = browser.screenshot(name);
        assert!(std::fs::metadata(&picture).is_ok_and(|file| file.len() > 10_000), "{}", picture.display());
    }
    let small = "return [...document.querySelectorAll('button:not(.small), select')]\
                 .filter((e) => e.offsetParent && e.getBoundingClientRect().height < 40).map((e) => e.id)";
    assert_eq!(browser.run(small), serde_json::json!([]), "too small for a thumb");
    assert_quiet(&browser);
}

#[test]
#[ignore = "needs chromium"]
fn the_playground_compares_and_its_scenario_is_in_the_address() {
    let server = Running::tutorial();
    let browser = Browser::open(server.address);
    browser.run("document.getElementById('seconds').value = '180'");
    browser.click("run");
    browser.until("return document.getElementById('outcome').textContent.includes('requests of 1 client')");
    browser.until("const c = document.getElementById('chart'); return c.complete && c.naturalWidth > 0");
    let table = browser.text("table");
    assert!(table.contains("fixed-window") && table.contains("2.00x"), "{table}");
    browser.screenshot("playground");
    browser.dark(true);
    browser.width(360);
    let overflow = browser.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth");
    assert_eq!(overflow, 0);
    browser.screenshot("playground-phone");
    // Opened again, the address gives the same.
    browser.run("location.reload()");
    browser.until(
        "return document.getElementById('table') !== null && document.getElementById('table').textContent !== ''",
    );
    assert_eq!(browser.text("table"), table);
    assert_eq!(browser.run("return document.getElementById('seconds').value"), "180");
    assert_quiet(&browser);
}

/// What is still to be sent of a run was the other client's.
#[test]
#[ignore = "needs chromium"]
fn a_new_client_begins_with_nothing_sent() {
    let server = Running::tutorial();
    let browser = Browser::open(server.address);
    for become_another in ["document.getElementById('newcomer')", "document.querySelector('input[value=sliding-log]')"]
    {
        browser.click("steady");
        answered(&browser, 1);
        browser.run(&format!("{become_another}.click()"));
        std::thread::sleep(std::time::Duration::from_millis(1_500));
        assert_eq!(browser.count("#squares .square"), 0, "{become_another}");
    }
    assert_quiet(&browser);
}

#[test]
#[ignore = "needs chromium"]
fn a_comparison_of_nothing_is_not_one_of_everything() {
    let server = Running::tutorial();
    let browser = Browser::open(server.address);
    browser.run("for (const box of document.querySelectorAll('#compared input')) box.click()");
    browser.click("run");
    assert_eq!(browser.text("outcome"), "Choose at least one algorithm.");
    assert_quiet(&browser);
}

/// An overloaded server answers 503 without a body, and one that has gone not at all.
#[test]
#[ignore = "needs chromium"]
fn answers_that_are_not_the_limiters_are_told_as_they_are() {
    let server = Running::tutorial();
    let browser = Browser::open(server.address);
    let said = "return document.getElementById('status').textContent";
    browser.run("window.fetch = async () => new Response(null, { status: 503 })");
    browser.click("one");
    answered(&browser, 1);
    assert_eq!(browser.run(said), "Request 1 was answered with status 503, and without a time to wait.");
    browser.run("window.fetch = async () => { throw new TypeError('gone') }");
    browser.click("one");
    browser.until(&format!("{said} === 'The server does not answer.'"));
    browser.run("document.getElementById('scenario').dispatchEvent(new Event('change'))");
    assert_quiet(&browser);
}
