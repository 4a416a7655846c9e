//! The page: files that are part of the program.

use axum::Router;
use axum::http::header;
use axum::routing::get;

const FILES: [(&str, &str, &str); 5] = [
    ("/", "text/html; charset=utf-8", include_str!("web/index.html")),
    ("/page.css", "text/css; charset=utf-8", include_str!("web/page.css")),
    ("/page.js", "text/javascript; charset=utf-8", include_str!("web/page.js")),
    ("/picture.js", "text/javascript; charset=utf-8", include_str!("web/picture.js")),
    ("/playground.js", "text/javascript; charset=utf-8", include_str!("web/playground.js")),
];

pub(super) fn routes() -> Router {
    FILES.into_iter().fold(Router::new(), |router, (path, kind, content)| {
        let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")];
        router.route(path, get(move || async move { (headers, content) }))
    })
}
