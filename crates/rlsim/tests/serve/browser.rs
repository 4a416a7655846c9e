//! Headless Chromium through its driver (the `WebDriver` protocol: JSON over HTTP).

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http::request;

pub(crate) struct Browser {
    driver: Child,
    address: SocketAddr,
    session: String,
    _profile: tempfile::TempDir,
}

const ARGUMENTS: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=900,1200",
];

impl Browser {
    /// A browser with a profile of its own, on the page at `address`.
    pub(crate) fn open(page: SocketAddr) -> Browser {
        let mut driver = Command::new("chromedriver")
            .args(["--port=0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver (Debian: apt-get install chromium-driver)");
        let lines = BufReader::new(driver.stdout.take().expect("its output")).lines();
        let started = lines.map_while(Result::ok).find(|line| line.contains("successfully on port"));
        let port: u16 =
            started.expect("a port").trim_end_matches('.').rsplit(' ').next().expect("it").parse().expect("a number");
        let profile = tempfile::tempdir().expect("a folder");
        let folder = format!("--user-data-dir={}", profile.path().display());
        let arguments: Vec<&str> = ARGUMENTS.into_iter().chain([folder.as_str()]).collect();
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
        }}});
        let mut browser =
            Browser { driver, address: ([127, 0, 0, 1], port).into(), session: String::new(), _profile: profile };
        let session = browser.call("POST", "/session", &wanted);
        session["sessionId"].as_str().expect("a session").clone_into(&mut browser.session);
        browser.command("url", &json!({ "url": format!("http://{page}/") }));
        browser.until("return document.documentElement.dataset.ready === 'true'");
        browser
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let sent = body.to_string();
        let fields = [("Content-Type", "application/json; charset=utf-8")];
        let answer = request(self.address, method, path, &fields, sent.as_bytes());
        let mut value = answer.json();
        assert_eq!(answer.status, 200, "{path} {sent}: {value}");
        value["value"].take()
    }

    fn command(&self, path: &str, body: &Value) -> Value {
        self.call("POST", &format!("/session/{}/{path}", self.session), body)
    }

    /// What a script returns.
    pub(crate) fn run(&self, script: &str) -> Value {
        self.command("execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Asks until the script returns true.
    pub(crate) fn until(&self, script: &str) {
        let start = Instant::now();
        while self.run(script) != true {
            assert!(
                start.elapsed() < Duration::from_secs(30),
                "never true: {script}\n{}",
                self.run("return document.body.innerText")
            );
        }
    }

    pub(crate) fn click(&self, id: &str) {
        let found = self.command("element", &json!({ "using": "css selector", "value": format!("#{id}") }));
        let element = found.as_object().and_then(|found| found.values().next()).and_then(Value::as_str).expect("one");
        self.command(&format!("element/{element}/click"), &json!({}));
    }

    /// Presses and releases a key, wherever the focus is.
    pub(crate) fn press(&self, key: &str) {
        let actions = [json!({ "type": "keyDown", "value": key }), json!({ "type": "keyUp", "value": key })];
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": actions });
        self.command("actions", &json!({ "actions": [keyboard] }));
    }

    pub(crate) fn text(&self, id: &str) -> String {
        self.run(&format!("return document.getElementById('{id}').textContent")).as_str().expect("text").to_owned()
    }

    pub(crate) fn count(&self, selector: &str) -> u64 {
        self.run(&format!("return document.querySelectorAll('{selector}').length")).as_u64().expect("a number")
    }

    pub(crate) fn dark(&self, dark: bool) {
        let scheme = json!({ "name": "prefers-color-scheme", "value": if dark { "dark" } else { "light" } });
        self.devtools("Emulation.setEmulatedMedia", &json!({ "features": [scheme] }));
    }

    pub(crate) fn width(&self, width: u32) {
        let metrics = json!({ "width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.devtools("Emulation.setDeviceMetricsOverride", &metrics);
    }

    fn devtools(&self, command: &str, parameters: &Value) -> Value {
        self.command("goog/cdp/execute", &json!({ "cmd": command, "params": parameters }))
    }

    /// Keeps a picture of the whole page in the folder for temporary files of tests, for people to look at.
    pub(crate) fn screenshot(&self, name: &str) -> PathBuf {
        let picture = self.devtools("Page.captureScreenshot", &json!({ "captureBeyondViewport": true }));
        let text = picture["data"].as_str().expect("base64");
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.png"));
        std::fs::write(&path, decode(text)).expect("written");
        path
    }

    /// What the console says is wrong.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let log = self.command("se/log", &json!({ "type": "browser" }));
        let severe = |entry: &&Value| entry["level"] == "SEVERE" || entry["level"] == "WARNING";
        let messages = log.as_array().expect("a log").iter().filter(severe);
        messages.map(|entry| entry["message"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            let path = format!("/session/{}", self.session);
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                request(self.address, "DELETE", &path, &[], b"")
            }));
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// Base64 of a picture.
fn decode(text: &str) -> Vec<u8> {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.bytes().filter(|byte| *byte != b'=').map(|byte| alphabet.iter().position(|known| *known == byte));
    let mut bytes = Vec::new();
    let (mut bits, mut held) = (0usize, 0);
    for digit in digits {
        bits = bits << 6 | digit.expect("base64");
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from(bits >> held & 0xFF).expect("a byte"));
        }
        bits &= 0xFFFF;
    }
    bytes
}
