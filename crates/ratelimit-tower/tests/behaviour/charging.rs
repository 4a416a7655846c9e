//! What a request costs afterwards: refunds by status, costs that the handler says, later charges.

use super::*;

#[tokio::test]
async fn only_failures_count_where_successes_are_given_back() {
    let layer = burst("fixed-window:2/1m").refund_when(|status| status.is_success()).build().unwrap();
    let failing = |_| {
        let mut response = pong();
        *response.status_mut() = StatusCode::UNAUTHORIZED;
        response
    };
    for _ in 0..10 {
        let answer = ask(&layer, request()).await;
        assert_eq!((answer.status(), field(&answer, "ratelimit-remaining")), (StatusCode::OK, "2"));
    }
    assert_eq!(field(&ask_inner(&layer, request(), failing).await, "ratelimit-remaining"), "1");
    assert_eq!(field(&ask_inner(&layer, request(), failing).await, "ratelimit-remaining"), "0");
    assert_eq!(ask(&layer, request()).await.status(), StatusCode::TOO_MANY_REQUESTS);
}

/// A success that ends windows later gives nothing back: what it was charged has aged, and what is counted is others'.
#[tokio::test]
async fn what_has_aged_is_not_given_back() {
    for policy in ["fixed-window:2/1m", "sliding-log:2/1m", "token-bucket:2/1m"] {
        let clock = ManualClock::new(Nanos::from_secs(86_400));
        let builder = RateLimitLayer::builder().limit(limit(policy)).clock(clock.clone());
        let layer = builder.refund_when(|status| status.is_success()).build().unwrap();
        let failing = |_| {
            let mut response = pong();
            *response.status_mut() = StatusCode::UNAUTHORIZED;
            response
        };
        let slow = service_fn(move |_: Request<NoBody>| {
            let clock = clock.clone();
            async move {
                clock.advance(Nanos::from_secs(120));
                tokio::task::yield_now().await;
                Ok::<_, Infallible>(pong())
            }
        });
        let mut slow = Box::pin(ServiceBuilder::new().layer(&layer).service(slow).oneshot(request()));
        assert!(is_pending(&mut slow).await);
        for _ in 0..2 {
            assert_eq!(ask_inner(&layer, request(), failing).await.status(), StatusCode::UNAUTHORIZED, "{policy}");
        }
        assert_eq!(slow.await.unwrap().status(), StatusCode::OK, "{policy}");
        assert_eq!(ask(&layer, request()).await.status(), StatusCode::TOO_MANY_REQUESTS, "{policy}");
    }
}

/// Each layer takes what it asked about, and leaves the rest to the layers around it, and at last to whoever logs it.
#[tokio::test]
async fn layers_within_layers_each_take_their_own_cost() {
    let named = |name: &str| {
        let limit = Limit::parse(name, "token-bucket:100/1m").unwrap();
        RateLimitLayer::builder().limit(limit).clock(ManualClock::default()).dialects([Dialect::Draft11])
    };
    let (inner, outer) = (named("inner").build().unwrap(), named("outer").build().unwrap());
    let service = service_fn(|_: Request<NoBody>| async {
        let mut response = pong();
        response.extensions_mut().insert(ActualCost::of("outer", 10).and("inner", 20).and("iner", 30));
        Ok::<_, Infallible>(response)
    });
    let service = ServiceBuilder::new().layer(&outer).layer(&inner).service(service);
    let answer = service.oneshot(request()).await.unwrap();
    let told: Vec<_> = answer.headers().get_all("ratelimit").iter().map(|value| value.to_str().unwrap()).collect();
    assert!(told[0].starts_with("\"inner\";r=80;") && told[1].starts_with("\"outer\";r=90;"), "{told:?}");
    let left = answer.extensions().get::<ActualCost>().expect("what nobody took");
    assert_eq!(left.costs().collect::<Vec<_>>(), [("iner", 30)]);
}

/// Two policies on one failing or hanging backend, one in memory between them.
fn three_policies(backend: &Recorder) -> RateLimitLayer {
    let policy = |name: &str| Limit::parse(name, "token-bucket:9/1m").unwrap().cost(2);
    let limits = [policy("one").on(backend.clone()), policy("two"), policy("three").on(backend.clone())];
    limits.into_iter().fold(RateLimitLayer::builder(), Builder::limit).build().unwrap()
}

fn costing(one: u64, two: u64, three: u64) -> impl Fn(Request<NoBody>) -> Response<Full<Bytes>> + Clone {
    move |_| {
        let mut response = pong();
        response.extensions_mut().insert(ActualCost::of("one", one).and("two", two).and("three", three));
        response
    }
}

#[tokio::test]
async fn every_policy_is_settled_whatever_becomes_of_one() {
    let backend = Recorder { failing: &["charge"], ..Recorder::default() };
    let layer = three_policies(&backend);
    let answer = ask_inner(&layer, request(), costing(7, 1, 1)).await;
    assert_eq!((answer.status(), field(&answer, "ratelimit")), (StatusCode::OK, ""), "nothing is claimed");
    assert!(backend.calls().ends_with(&[("charge", 5), ("refund", 1)]), "{:?}", backend.calls());

    // The client goes away while the first is on its way.
    let backend = Recorder { hanging: &["charge"], ..Recorder::default() };
    let layer = three_policies(&backend);
    {
        let mut answer = Box::pin(ask_inner(&layer, request(), costing(7, 1, 8)));
        assert!(is_pending(&mut answer).await);
    }
    assert!(backend.calls().ends_with(&[("charge", 5), ("charge", 6)]), "{:?}", backend.calls());
}

#[tokio::test]
async fn what_was_decided_stands_when_the_fields_cannot_be_had() {
    // What memory refuses is not asked of the backend, and needs no field of it.
    let backend = Recorder { failing: &["peek"], ..Recorder::default() };
    let layer = three_policies(&backend);
    let statuses: Vec<_> = {
        let mut statuses = Vec::new();
        for _ in 0..5 {
            let answer = ask(&layer, request()).await;
            statuses.push((answer.status().as_u16(), field(&answer, "ratelimit").matches('"').count() / 2));
        }
        statuses
    };
    assert_eq!(statuses, [(200, 3), (200, 3), (200, 3), (200, 3), (429, 1)]);
    let checks = backend.calls().iter().filter(|(what, _)| *what == "check").count();
    assert_eq!(checks, 8);
}

#[tokio::test]
async fn shadow_mode_refuses_nobody_and_gives_back_only_what_was_charged() {
    let by_key = || limit("fixed-window:1/1m").key(ApiKey::bearer());
    let layer = RateLimitLayer::builder().limit(by_key()).shadow(true).build().unwrap();
    assert_eq!(ask(&layer, request()).await.status(), 200);
    assert_eq!(ask(&layer, Request::new(NoBody::new())).await.status(), 200);
    assert_eq!(layer.stats().unidentified, 2);

    let down = limit("fixed-window:1/1m").on(Recorder { failing: &["check"], ..Recorder::default() });
    let refusing = RateLimitLayer::builder().limit(down).when_unavailable(WhenUnavailable::Refuse);
    assert_eq!(ask(&refusing.shadow(true).build().unwrap(), request()).await.status(), 200);

    let layer = burst("fixed-window:5/1m").shadow(true);
    let layer = layer.refund_when(|status| status.is_success()).build().unwrap();
    let with = |status: StatusCode| {
        move |_| {
            let mut response = pong();
            *response.status_mut() = status;
            response
        }
    };
    for (status, shadowed) in [(401, 0), (401, 0), (401, 0), (401, 0), (401, 0), (200, 1), (200, 2), (200, 3), (401, 4)]
    {
        ask_inner(&layer, request(), with(StatusCode::from_u16(status).unwrap())).await;
        assert_eq!(layer.stats().shadowed, shadowed);
    }
}

#[tokio::test]
async fn a_cost_known_afterwards_is_charged_and_may_be_debt() {
    let tokens = limit("token-bucket:100/1m").unit("tokens").cost(10);
    let layer = RateLimitLayer::builder().limit(tokens).clock(ManualClock::default()).build().unwrap();
    let using = |units: u64| {
        move |_| {
            let mut response = pong();
            response.extensions_mut().insert(ActualCost::of("burst", units));
            response
        }
    };
    assert_eq!(field(&ask_inner(&layer, request(), using(4)).await, "ratelimit-remaining"), "96");
    assert_eq!(field(&ask_inner(&layer, request(), using(150)).await, "ratelimit-remaining"), "0");
    let refused = ask(&layer, request()).await;
    // 154 of 100 used, and 10 asked for: 64 at 0.6 s each.
    assert_eq!((refused.status(), field(&refused, "retry-after")), (StatusCode::TOO_MANY_REQUESTS, "39"));
}

#[tokio::test]
async fn a_handle_charges_when_the_stream_has_ended() {
    let layer = burst("token-bucket:100/1m").charge_handles(true).build().unwrap();
    let handle: Arc<Mutex<Option<ChargeHandle>>> = Arc::default();
    let kept = Arc::clone(&handle);
    let keeping = move |request: Request<NoBody>| {
        *kept.lock().unwrap() = request.extensions().get::<ChargeHandle>().cloned();
        pong()
    };
    assert_eq!(field(&ask_inner(&layer, request(), keeping).await, "ratelimit-remaining"), "99");
    let handle = handle.lock().unwrap().take().expect("a handle");
    handle.charge("burst", 50).await.unwrap();
    assert!(handle.charge("other", 1).await.is_err());
    assert_eq!(field(&ask(&layer, request()).await, "ratelimit-remaining"), "48");
}

/// What many threads give back, take more of, and keep, adds up, under every algorithm.
#[test]
fn refunds_and_later_charges_add_up_under_threads() {
    for policy in ["fixed-window", "sliding-log", "sliding-counter", "token-bucket"] {
        for policies in [1, 2] {
            let mut layer = RateLimitLayer::builder().refund_when(|status| status.is_success());
            for name in &["one", "two"][..policies] {
                layer = layer.limit(Limit::parse(*name, &format!("{policy}:5000/1h")).unwrap().key(Shared));
            }
            let layer = layer.clock(ManualClock::new(Nanos::from_secs(86_400))).build().unwrap();
            // Of four: one is given back, one is kept, one costs 3, and one nothing.
            let work = |request: Request<NoBody>| {
                let mut response = pong();
                match *request.extensions().get::<usize>().expect("a number") % 4 {
                    0 => {}
                    1 => *response.status_mut() = StatusCode::UNAUTHORIZED,
                    2 => drop(response.extensions_mut().insert(ActualCost::of("one", 3).and("two", 3))),
                    _ => drop(response.extensions_mut().insert(ActualCost::of("one", 0).and("two", 0))),
                }
                response
            };
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        for number in 0..100 {
                            let mut request = request();
                            request.extensions_mut().insert::<usize>(number);
                            block_on(ask_inner(&layer, request, work));
                        }
                    });
                }
            });
            let mut last = request();
            last.extensions_mut().insert(1usize);
            let answer = block_on(ask_inner(&layer, last, work));
            // 200 were kept, and 200 cost 3.
            assert_eq!(field(&answer, "ratelimit-remaining"), (5_000 - 200 - 600 - 1).to_string(), "{policy}");
        }
    }
}

/// Keys of every length are still known when a request's cost is corrected.
#[tokio::test]
async fn a_cost_is_corrected_under_keys_of_every_length() {
    for len in [1, 28, 29, 61, 62, 63, 300] {
        let key = from_fn("path", |head| Some(head.uri.path().to_owned().into()));
        let layer = RateLimitLayer::builder().limit(limit("fixed-window:9/1m").key(key)).build().unwrap();
        let answer = |units: u64| {
            let mut request = request();
            *request.uri_mut() = format!("/{}", "x".repeat(len)).parse().unwrap();
            let charged = move |_| {
                let mut response = pong();
                response.extensions_mut().insert(ActualCost::of("burst", units));
                response
            };
            ask_inner(&layer, request, charged)
        };
        assert_eq!(field(&answer(5).await, "ratelimit-remaining"), "4", "{len}");
        assert_eq!(field(&answer(0).await, "ratelimit-remaining"), "4", "{len}");
    }
}
