//! The page in a real browser: it renders, says nothing on the console, sorts, needs no network, and prints.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

fn chromium(folder: &Path, arguments: &[&str], page: &Path) -> (String, String) {
    let profile = folder.join("profile");
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"])
        .args(["--enable-logging=stderr", "--host-resolver-rules=MAP * ~NOTFOUND"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(arguments)
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("chromium is installed");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// A page about several clients, one of which has a name that would break out of careless markup.
fn page(folder: &Path) -> PathBuf {
    let trace = folder.join("trace.csv");
    let mut rows = String::from("time,client\n");
    for i in 0..300 {
        let client = ["a", "b", "<script>alert(1)</script>", "c"][i % 4];
        let at = format!("{}.{:03}", i / 10, i % 10 * 100);
        writeln!(rows, "{at},\"{client}\"").expect("text grows");
        if i % 3 == 0 {
            writeln!(rows, "{at},a").expect("text grows");
        }
    }
    std::fs::write(&trace, rows).expect("a folder that can be written to");
    let page = folder.join("report.html");
    let status = Command::new(env!("CARGO_BIN_EXE_rlsim"))
        .args(["compare", "--limit", "20/10s", "--trace"])
        .arg(&trace)
        .arg("--export")
        .arg(&page)
        .output()
        .expect("rlsim runs")
        .status;
    assert!(status.success());
    page
}

#[test]
fn the_page_stands_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = std::fs::read_to_string(page(folder.path())).expect("a page");
    assert!(!text.contains("<script>alert"), "a client's name became markup");
    assert_eq!(text.matches("<script>").count(), 1);
    let addresses: Vec<_> =
        text.match_indices("://").map(|(at, _)| &text[at..at + "://www.w3.org/2000/svg".len()]).collect();
    assert!(addresses.iter().all(|address| *address == "://www.w3.org/2000/svg"), "{addresses:?}");
    for part in
        ["<h1>", "id=\"numbers\"", "<svg ", "id=\"clients\"", "id=\"definitions\"", "id=\"trace\"", "id=\"command\""]
    {
        assert!(text.contains(part), "{part} is missing");
    }
    // Each chart has a title, and says in words what it shows, also outside of the picture.
    assert_eq!(text.matches("<figure>").count(), 4, "the comparison, the envelope, the ranked clients and the raster");
    for part in ["<title id=", "<desc id=", "<summary>The same in words</summary>"] {
        assert_eq!(text.matches(part).count(), 4, "{part}");
    }
    assert!(text.contains("<tr><th>Sliding log</th><td class=\"words\">"), "a row a policy");
    // Each name in the table of numbers leads to its definition.
    for part in text.split("href=\"#").skip(1) {
        let id = part.split('"').next().expect("a quoted id");
        assert!(text.contains(&format!("id=\"{id}\"")), "{id} is defined nowhere");
    }
}

#[test]
#[ignore = "needs chromium"]
fn the_page_renders_sorts_and_prints() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = page(folder.path());
    // The same page with a script behind it that presses the heading of the second column twice.
    let text = std::fs::read_to_string(&page).expect("a page");
    let press = "<script>const b = document.querySelectorAll('#clients th button')[1];\
                 const column = () => Array.from(document.querySelectorAll('#clients tbody tr'), r => r.cells[1].dataset.value).join(' ');\
                 b.click(); const down = column(); b.click();\
                 document.title = 'sorted ' + down + ' / ' + column();</script></body>";
    let pressed = folder.path().join("pressed.html");
    std::fs::write(&pressed, text.replace("</body>", press)).expect("a folder that can be written to");
    let (document, log) = chromium(folder.path(), &["--dump-dom"], &pressed);
    assert!(document.contains("<title>sorted 175 75 75 75 / 75 75 75 175</title>"), "{log}");
    assert!(!log.contains("CONSOLE"), "{log}");
    let printed = folder.path().join("report.pdf");
    let print = format!("--print-to-pdf={}", printed.display());
    let (_, log) = chromium(folder.path(), &[&print, "--no-pdf-header-footer"], &page);
    let pdf = std::fs::read(&printed).unwrap_or_default();
    assert!(pdf.starts_with(b"%PDF") && pdf.len() > 20_000, "{log}");
}
