//! What the SVG backend cannot write: a title and a description for those who do not see the picture, hatchings, dashes.
//!
//! Works on the backend's own text, whose form is pinned by the version in Cargo.lock and by the tests here.

use super::canvas::TENTHS;
use super::ink::{CURVES, Ink};

/// Finishes a page drawn in tenths of a pixel. `name` keeps the ids of several charts on one page apart.
pub(super) fn finish(drawn: &str, name: &str, size: (u32, u32), title: &str, description: &str) -> String {
    let (width, height) = size;
    let body = drawn.split_once('>').map_or("", |(_, body)| body);
    let body = body.replace(" dy=\"-0.5ex\"", "").replace(" opacity=\"1\"", "");
    let body = paint(&tidy_text(&body), name);
    let tenths = TENTHS.unsigned_abs();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-labelledby=\"{name}-title {name}-desc\" \
         width=\"{}\" height=\"{}\" viewBox=\"0 0 {width} {height}\">\n\
         <title id=\"{name}-title\">{}</title>\n<desc id=\"{name}-desc\">{}</desc>\n{}{body}",
        width / tenths,
        height / tenths,
        escape(title),
        escape(description),
        patterns(name),
    )
}

/// Puts hatchings and dashes in place of the colours that stand for them.
fn paint(body: &str, name: &str) -> String {
    let body = dash(body);
    let (edge, black, paper) = (Ink::DeniedEdge.hex(), Ink::Black.hex(), Ink::Paper.hex());
    let hatched = format!("fill=\"url(#{name}-denied)\" stroke=\"{edge}\" stroke-width=\"8\"");
    let body = fill(&body, Ink::Denied, &hatched);
    let body = fill(&body, Ink::Never, &format!("fill=\"url(#{name}-never)\" stroke=\"none\""));
    let rim = "stroke-width=\"50\" stroke-linejoin=\"round\" paint-order=\"stroke\"";
    fill(&body, Ink::Rimmed, &format!("fill=\"{black}\" stroke=\"{paper}\" {rim}"))
}

/// Breaks the lines of inks that are dashed.
fn dash(body: &str) -> String {
    CURVES.into_iter().chain([Ink::Limit]).fold(body.to_string(), |body, ink| match ink.dashes() {
        Some(dashes) => {
            let stroke = format!("stroke=\"{}\"", ink.hex());
            body.replace(&stroke, &format!("{stroke} stroke-dasharray=\"{dashes}\""))
        }
        None => body,
    })
}

/// Replaces a fill and the stroke that the backend writes behind it, if it does: an attribute may stand only once.
fn fill(body: &str, ink: Ink, attributes: &str) -> String {
    let plain = format!("fill=\"{}\"", ink.hex());
    body.replace(&format!("{plain} stroke=\"none\""), attributes).replace(&plain, attributes)
}

/// A text's line breaks would be read as spaces around it.
fn tidy_text(body: &str) -> String {
    body.replace(">\n</text>", "></text>").split("<text").enumerate().fold(String::new(), |mut tidy, (i, part)| {
        if i > 0 {
            tidy.push_str("<text");
            tidy.push_str(&part.replacen(">\n", ">", 1).replacen("\n</text>", "</text>", 1));
        } else {
            tidy.push_str(part);
        }
        tidy
    })
}

fn patterns(name: &str) -> String {
    let (edge, never, paper) = (Ink::DeniedEdge.hex(), "#8A3F68", Ink::Paper.hex());
    format!(
        "<defs>\n\
         <pattern id=\"{name}-denied\" width=\"50\" height=\"50\" patternUnits=\"userSpaceOnUse\" \
         patternTransform=\"rotate(45)\"><rect width=\"50\" height=\"50\" fill=\"{paper}\"/>\
         <rect width=\"20\" height=\"50\" fill=\"{edge}\"/></pattern>\n\
         <pattern id=\"{name}-never\" width=\"40\" height=\"40\" patternUnits=\"userSpaceOnUse\">\
         <rect width=\"40\" height=\"40\" fill=\"{paper}\"/><path d=\"M0 0L40 40M40 0L0 40\" stroke=\"{never}\" \
         stroke-width=\"8\"/></pattern>\n</defs>\n"
    )
}

/// Text as XML character data. Control characters, which XML does not allow, become a replacement character.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            c if c.is_control() && c != '\n' => escaped.push('\u{FFFD}'),
            other => escaped.push(other),
        }
    }
    escaped
}
