//! The state machine of a lease: its transitions as stories, and random interleavings of several servers' accounts with
//! takes, returns and refunds that are late, lost or executed twice as late, against the bound of the policy.

use std::collections::VecDeque;

use proptest::prelude::*;
use ratelimit_core::{Algorithm, Policy, PolicyState};

use super::account::{Account, Back, Step};
use super::*;

const TERMS: Terms = Terms {
    largest: 16,
    capacity: 1000,
    keep: 0,
    lifetime: Nanos::from_millis(1000),
    ends_with_window: false,
    pause: Nanos::from_millis(50),
    drain: Some((1, Nanos::from_secs(3600))),
};

fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

/// A shared limiter that has `units` at the moment, and more in 7 ms.
fn grant(units: u64) -> Grant {
    let decision = if units > 0 {
        Decision::Allowed { remaining: 0, reset_after: ms(500), delay: Nanos::ZERO }
    } else {
        Decision::Denied { retry_after: ms(7), remaining: 0, reset_after: ms(500) }
    };
    Grant { units, decision }
}

/// What a request does, from its first question on.
fn ask(account: &mut Account<()>, at: u64, cost: u64) -> Step<()> {
    match account.ask(ms(at), cost) {
        Some(decision) => Step::Decided(decision),
        None => account.ask_again(ms(at), cost, &TERMS),
    }
}

fn plan(account: &mut Account<()>, at: u64, cost: u64) -> Slice {
    match ask(account, at, cost) {
        Step::Take(slice) => slice,
        other => panic!("expected a slice, got {other:?}"),
    }
}

/// Asks for `cost`, from a shared limiter that grants everything; what was taken for it.
fn taken(account: &mut Account<()>, at: u64, cost: u64) -> u64 {
    match ask(account, at, cost) {
        Step::Decided(decision) => {
            assert!(decision.is_allowed());
            0
        }
        Step::Take(slice) => {
            let decision = account.granted((ms(at), ms(at)), cost, slice, grant(slice.most), &TERMS);
            assert!(decision.unwrap().is_allowed());
            slice.most
        }
        other => panic!("expected a decision or a slice, got {other:?}"),
    }
}

#[test]
fn slices_double_while_they_are_spent_in_time() {
    let mut account: Account<()> = Account::new();
    let takes: Vec<u64> = (0..100).map(|i| taken(&mut account, i, 1)).filter(|&units| units > 0).collect();
    assert_eq!(takes, [1, 2, 4, 8, 16, 16, 16, 16, 16, 16]);
}

#[test]
fn those_who_wait_for_a_slice_do_not_make_it_larger() {
    let mut account: Account<()> = Account::new();
    taken(&mut account, 0, 1);
    let slice = plan(&mut account, 0, 1);
    for _ in 0..20 {
        assert!(matches!(ask(&mut account, 0, 1), Step::Wait { attempt: 2 }));
        assert!(matches!(account.ask_again(ms(0), 1, &TERMS), Step::Wait { attempt: 2 }));
    }
    assert_eq!(slice.most, 2);
    assert!(account.granted((ms(0), ms(1)), 1, slice, grant(2), &TERMS).is_some());
    assert!(matches!(account.ask_again(ms(1), 1, &TERMS), Step::Decided(_)));
    assert_eq!(plan(&mut account, 1, 1).most, 4, "one slice later, twice as much");
}

#[test]
fn what_is_not_spent_in_time_goes_back_and_the_next_slice_is_what_was_asked_for() {
    let mut account: Account<()> = Account::new();
    for at in 0..40 {
        taken(&mut account, at, 1);
    }
    // 47 taken, 40 spent, 9 of the last slice; then it is quiet.
    assert_eq!(account.expire(ms(1030), &TERMS), None, "the last slice was taken at 31 ms");
    let back = account.expire(ms(1031), &TERMS).unwrap();
    assert_eq!(back.units, 7);
    account.returned(back);
    assert_eq!(plan(&mut account, 1100, 1), Slice { least: 1, most: 10, keep: 0 });
}

#[test]
fn dry_it_denies_for_a_pause_and_no_longer_whatever_the_shared_limiter_says() {
    let mut account: Account<()> = Account::new();
    let slice = plan(&mut account, 0, 1);
    let far = Decision::Denied { retry_after: ms(60_000), remaining: 0, reset_after: ms(90_000) };
    let denied = account.granted((ms(0), ms(0)), 1, slice, Grant { units: 0, decision: far }, &TERMS);
    assert_eq!(denied, Some(far));
    let expected = Decision::Denied { retry_after: ms(59_970), remaining: 0, reset_after: ms(89_970) };
    assert_eq!(account.ask(ms(30), 1), Some(expected));
    assert!(matches!(ask(&mut account, 50, 1), Step::Take(_)), "others may have given something back");
}

#[test]
fn a_slice_serves_a_request_whole_or_is_not_taken() {
    let mut account: Account<()> = Account::new();
    assert_eq!(plan(&mut account, 0, 5), Slice { least: 5, most: 5, keep: 0 });
    account.granted((ms(0), ms(0)), 5, Slice::exactly(5, 0), grant(5), &TERMS);
    taken(&mut account, 1, 3);
    assert_eq!(plan(&mut account, 2, 9), Slice { least: 2, most: 9, keep: 0 }, "7 are left");
}

#[test]
fn a_request_beyond_a_slice_is_asked_for_alone() {
    let mut account: Account<()> = Account::new();
    assert!(matches!(ask(&mut account, 0, 17), Step::Alone));
    plan(&mut account, 0, 1);
    assert!(matches!(ask(&mut account, 0, 17), Step::Alone), "whoever else takes");
}

#[test]
fn a_failure_is_shared_for_a_pause_and_then_only_what_is_missing_is_taken() {
    let mut account: Account<()> = Account::new();
    for at in 0..40 {
        taken(&mut account, at, 1);
    }
    taken(&mut account, 40, 7);
    plan(&mut account, 41, 1);
    assert!(matches!(ask(&mut account, 41, 1), Step::Wait { attempt: 7 }));
    account.failed(ms(90), Arc::new(()), &TERMS);
    assert!(account.failure_of(7).is_some() && account.failure_of(6).is_none());
    assert!(matches!(ask(&mut account, 139, 1), Step::Failed(_)));
    for at in [140, 200, 260] {
        assert_eq!(plan(&mut account, at, 2).most, 2);
        account.failed(ms(at), Arc::new(()), &TERMS);
    }
    let slice = plan(&mut account, 320, 1);
    account.granted((ms(320), ms(320)), 1, slice, grant(1), &TERMS);
    assert_eq!(plan(&mut account, 321, 1).most, 2, "it works again, and grows again");
}

#[test]
fn refunds_put_back_what_was_spent_of_the_slice_and_no_more() {
    let mut account: Account<()> = Account::new();
    taken(&mut account, 0, 1);
    taken(&mut account, 0, 1);
    assert_eq!(account.unspend(ms(1), 1_000_000), 1_000_000 - 1);
    assert_eq!(account.out(), 2);
    assert_eq!(account.unspend(ms(1), 1), 1, "all of it has been put back");
    assert!(account.ask(ms(2), 2).is_some());
    assert_eq!(account.unspend(ms(1000), 2), 2, "the lease is over");
    plan(&mut account, 1000, 1);
    assert_eq!(account.unspend(ms(1000), 1), 1, "a slice is on its way");
}

#[test]
fn units_drain_on_their_way_back() {
    let terms = Terms { drain: Some((10, ms(1000))), ..TERMS };
    let mut account: Account<()> = Account::new();
    account.ask(ms(0), 1);
    account.granted((ms(0), ms(0)), 1, Slice::exactly(16, 0), grant(16), &terms);
    assert_eq!(account.expire(ms(1299), &terms).unwrap().units, 15 - 12);
    let mut account: Account<()> = Account::new();
    account.granted((ms(0), ms(0)), 1, Slice::exactly(16, 0), grant(16), &terms);
    assert_eq!(account.expire(ms(2000), &terms), None, "all have drained");
    assert_eq!(account.out(), 0);
}

#[test]
fn units_that_are_not_back_leave_no_room_for_new_ones() {
    let mut account: Account<()> = Account::new();
    account.granted((ms(0), ms(0)), 1, Slice::exactly(16, 0), grant(16), &TERMS);
    let back = account.expire(ms(1000), &TERMS).unwrap();
    assert_eq!(back.units, 15);
    assert_eq!(plan(&mut account, 1000, 1).most, 1);
    account.failed(ms(1000), Arc::new(()), &TERMS);
    account.not_returned(ms(1100), back, &TERMS);
    assert!(matches!(ask(&mut account, 1200, 2), Step::Alone));
    assert!(!account.is_idle(ms(2099)));
    assert!(account.is_idle(ms(2100)));
    assert!(matches!(ask(&mut account, 2100, 9), Step::Take(Slice { least: 9, .. })));
}

#[test]
fn units_that_were_not_sent_wait_for_the_next_one_to_send_them() {
    let mut account: Account<()> = Account::new();
    account.granted((ms(0), ms(0)), 1, Slice::exactly(16, 0), grant(16), &TERMS);
    let back = account.expire(ms(1000), &TERMS).unwrap();
    account.put_back(back);
    assert!(!account.is_idle(ms(1000)));
    assert_eq!(account.expire(ms(1000), &TERMS).map(|back| back.units), Some(15));
}

#[test]
fn a_slice_of_a_fixed_window_ends_with_it() {
    let terms = Terms { ends_with_window: true, ..TERMS };
    let mut account: Account<()> = Account::new();
    account.granted((ms(0), ms(3)), 1, Slice::exactly(4, 0), grant(4), &terms);
    assert!(account.ask(ms(499), 1).is_some());
    assert!(account.ask(ms(500), 1).is_none(), "the window was to end 500 ms after it was asked");
}

/// Something that happens.
#[derive(Debug, Clone)]
enum Event {
    Advance(u64),
    Ask {
        server: usize,
        cost: u64,
    },
    /// As many requests of cost 1 as pass, up to so many, each answered at once.
    Burst {
        server: usize,
        requests: u64,
    },
    /// The slice that is being taken is charged; without an answer yet.
    Execute(usize),
    /// The answer of the take arrives: what it was granted if it was executed.
    Answer(usize),
    /// The take fails; executed or not, and if not, perhaps later.
    Fail(usize),
    Cancel(usize),
    /// The oldest take that was given up is executed after all.
    ExecuteLate,
    Refund {
        server: usize,
        units: u64,
    },
    /// The server's oldest return arrives.
    Return(usize),
    /// It fails, executed or not.
    ReturnFails {
        server: usize,
        executed: bool,
    },
    ReturnDropped(usize),
    CloseAll(usize),
}

const SERVERS: usize = 3;

fn event(units: u64) -> impl Strategy<Value = Event> {
    let server = 0..SERVERS;
    let millis = prop_oneof![3 => 0..60_u64, 1 => 900..1100_u64, 1 => 0..20_000_u64];
    let cost = prop_oneof![6 => Just(1), 2 => 1..5_u64, 1 => 1..=units];
    prop_oneof![
        6 => millis.prop_map(Event::Advance),
        12 => (server.clone(), cost).prop_map(|(server, cost)| Event::Ask { server, cost }),
        4 => (server.clone(), 1..150_u64).prop_map(|(server, requests)| Event::Burst { server, requests }),
        8 => server.clone().prop_map(Event::Execute),
        8 => server.clone().prop_map(Event::Answer),
        1 => server.clone().prop_map(Event::Fail),
        1 => server.clone().prop_map(Event::Cancel),
        1 => Just(Event::ExecuteLate),
        2 => (server.clone(), 1..40_u64).prop_map(|(server, units)| Event::Refund { server, units }),
        3 => server.clone().prop_map(Event::Return),
        1 => (server.clone(), any::<bool>())
            .prop_map(|(server, executed)| Event::ReturnFails { server, executed }),
        1 => server.clone().prop_map(Event::ReturnDropped),
        1 => server.prop_map(Event::CloseAll),
    ]
}

/// A take that is under way.
#[derive(Debug, Clone, Copy)]
struct Take {
    asked_at: Nanos,
    cost: u64,
    slice: Slice,
    /// When it was charged, and what.
    granted: Option<(Nanos, Grant)>,
}

struct Machine {
    account: Account<()>,
    taking: Option<Take>,
    returns: VecDeque<Back>,
    /// Granted; admitted of that and not put back; given back.
    granted: u64,
    spent: u64,
    back: u64,
    /// Admitted and not refunded, those that were asked for alone included.
    admitted: u64,
}

/// Servers and the limiter that they share, and beside it one of the whole policy that is charged when units are
/// admitted.
struct World {
    now: Nanos,
    policy: Policy,
    terms: Terms,
    shared: PolicyState,
    exact: PolicyState,
    servers: Vec<Machine>,
    late: VecDeque<Slice>,
    /// When what was admitted; a request that waited for its own slice counts when that was charged.
    admitted: Vec<(Nanos, u64)>,
    /// Whether refunds are possible: they change what has been admitted in the past.
    refunds: bool,
}

impl World {
    fn new(text: &str, refunds: bool) -> World {
        let policy: Policy = text.parse().unwrap();
        let terms = Terms::new(&policy, SERVERS as u64, ms(1000)).unwrap();
        let machine = |_| Machine {
            account: Account::new(),
            taking: None,
            returns: VecDeque::new(),
            granted: 0,
            spent: 0,
            back: 0,
            admitted: 0,
        };
        World {
            now: Nanos::from_secs(1_790_000_000),
            policy,
            terms,
            shared: policy.fresh(),
            exact: policy.fresh(),
            servers: (0..SERVERS).map(machine).collect(),
            late: VecDeque::new(),
            admitted: Vec::new(),
            refunds,
        }
    }

    fn take(&mut self, slice: Slice) -> Grant {
        take_at(&self.policy, &mut self.shared, self.now, slice)
    }

    /// Counts an admission, which the exact limiter must allow where the guarantee says so.
    fn admit(&mut self, server: usize, cost: u64, charged_at: Nanos) {
        self.servers[server].admitted += cost;
        self.admitted.push((charged_at, cost));
        if self.terms.keep > 0 {
            let decision = self.policy.decide(&mut self.exact, self.now, cost);
            assert!(decision.is_allowed(), "beyond the bound: {decision:?}");
        }
    }

    fn happens(&mut self, event: &Event) {
        let (now, terms) = (self.now, self.terms);
        match *event {
            Event::Advance(millis) => self.now = now.saturating_add(ms(millis)),
            Event::Ask { server, cost } => self.ask(server, cost),
            Event::Burst { server, requests } => {
                for _ in 0..requests {
                    let before = self.servers[server].admitted;
                    self.ask(server, 1);
                    self.execute(server);
                    self.answer(server);
                    if self.servers[server].admitted == before {
                        break;
                    }
                }
            }
            Event::Execute(server) => self.execute(server),
            Event::Answer(server) => self.answer(server),
            Event::Fail(server) => {
                if self.give_up(server) {
                    self.servers[server].account.failed(now, Arc::new(()), &terms);
                }
            }
            Event::Cancel(server) => {
                if self.give_up(server) {
                    self.servers[server].account.cancelled();
                }
            }
            Event::ExecuteLate => {
                if let Some(slice) = self.late.pop_front() {
                    self.take(slice);
                }
            }
            Event::Refund { server, units } => {
                if self.refunds {
                    self.refund(server, units);
                }
            }
            Event::Return(server) => {
                if let Some(back) = self.servers[server].returns.pop_front() {
                    self.policy.refund(&mut self.shared, back.units);
                    let machine = &mut self.servers[server];
                    machine.account.returned(back);
                    machine.back += back.units;
                }
            }
            Event::ReturnFails { server, executed } => {
                if let Some(back) = self.servers[server].returns.pop_front() {
                    if executed {
                        self.policy.refund(&mut self.shared, back.units);
                    }
                    let machine = &mut self.servers[server];
                    machine.account.not_returned(now, back, &terms);
                    machine.back += back.units;
                }
            }
            Event::ReturnDropped(server) => {
                let machine = &mut self.servers[server];
                if let Some(back) = machine.returns.pop_front() {
                    machine.account.put_back(back);
                }
            }
            Event::CloseAll(server) => {
                let machine = &mut self.servers[server];
                machine.returns.extend(machine.account.close(now, &terms));
            }
        }
    }

    /// A request that could ever pass; others are refused before the account is asked.
    fn ask(&mut self, server: usize, cost: u64) {
        let cost = cost.min(self.terms.capacity);
        let machine = &mut self.servers[server];
        let decided = machine.account.ask(self.now, cost);
        machine.returns.extend(machine.account.expire(self.now, &self.terms));
        let step = match decided {
            Some(decision) => Step::Decided(decision),
            None => machine.account.ask_again(self.now, cost, &self.terms),
        };
        match step {
            Step::Decided(Decision::Allowed { .. }) => {
                machine.spent += cost;
                self.admit(server, cost, self.now);
            }
            Step::Take(slice) => {
                assert!(machine.taking.is_none(), "one slice at a time");
                machine.taking = Some(Take { asked_at: self.now, cost, slice, granted: None });
            }
            Step::Alone => self.alone(server, cost),
            Step::Decided(_) | Step::Wait { .. } | Step::Failed(_) => {}
        }
    }

    fn alone(&mut self, server: usize, cost: u64) {
        let granted = self.take(Slice::exactly(cost, self.terms.keep));
        if granted.units > 0 {
            assert_eq!(granted.units, cost);
            self.admit(server, cost, self.now);
        }
    }

    fn execute(&mut self, server: usize) {
        if let Some(take) = self.servers[server].taking.filter(|take| take.granted.is_none()) {
            let granted = Some((self.now, self.take(take.slice)));
            self.servers[server].taking = Some(Take { granted, ..take });
        }
    }

    fn answer(&mut self, server: usize) {
        let machine = &mut self.servers[server];
        let Some(Take { asked_at, cost, slice, granted: Some((charged_at, granted)) }) = machine.taking else { return };
        machine.taking = None;
        machine.granted += granted.units;
        machine.returns.extend(machine.account.expire(self.now, &self.terms));
        match machine.account.granted((asked_at, self.now), cost, slice, granted, &self.terms) {
            Some(Decision::Allowed { .. }) => {
                machine.spent += cost;
                self.admit(server, cost, charged_at);
            }
            Some(_) => {}
            None => self.alone(server, cost),
        }
    }

    /// Ends a take without an answer. If it has not been executed it may be later.
    fn give_up(&mut self, server: usize) -> bool {
        let Some(take) = self.servers[server].taking.take() else { return false };
        if take.granted.is_none() {
            self.late.push_back(take.slice);
        }
        true
    }

    /// What was admitted was for nothing.
    fn refund(&mut self, server: usize, units: u64) {
        let machine = &mut self.servers[server];
        let units = units.min(machine.admitted);
        let rest = machine.account.unspend(self.now, units);
        machine.admitted -= units;
        machine.spent -= units - rest;
        self.policy.refund(&mut self.shared, rest);
        self.policy.refund(&mut self.exact, units);
    }

    fn holds(&self) {
        for machine in &self.servers {
            let held = machine.account.out();
            let coming = machine.taking.map_or(0, |take| take.slice.most);
            assert!(held + coming <= self.terms.largest, "{held} held and {coming} coming");
            let units = machine.spent + machine.back + machine.account.live();
            assert!(units <= machine.granted, "a unit was made: {units} of {}", machine.granted);
        }
    }

    /// The most that was admitted in any window that ends with an admission.
    fn most_in(&self, window: Nanos) -> u64 {
        let in_window = |&(end, _): &(Nanos, u64)| {
            let begin = end.saturating_sub(window);
            let within = self.admitted.iter().filter(|(at, _)| *at > begin && *at <= end);
            within.map(|(_, units)| units).sum()
        };
        self.admitted.iter().map(in_window).max().unwrap_or(0)
    }
}

fn take_at(policy: &Policy, state: &mut PolicyState, now: Nanos, slice: Slice) -> Grant {
    super::tests::take_at(slice, |cost| policy.peek(state, now, cost)).map_or_else(
        |decision| Grant { units: 0, decision },
        |units| Grant { units, decision: policy.decide(state, now, units) },
    )
}

fn story(text: &str, refunds: bool, events: &[Event]) -> World {
    let mut world = World::new(text, refunds);
    for event in events {
        world.happens(event);
        world.holds();
    }
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// The exact limiter beside allows each admission at its instant, so all are within the bound in any span.
    #[test]
    fn a_token_bucket_is_never_exceeded_in_any_span(events in prop::collection::vec(event(100), 1..300)) {
        story("token-bucket:100/10s", true, &events);
        story("token-bucket:100/1h", true, &events);
        story("token-bucket:400/1s,burst=60", true, &events);
    }

    #[test]
    fn a_fixed_window_is_never_exceeded(events in prop::collection::vec(event(60), 1..300)) {
        let world = story("fixed-window:60/700ms", false, &events);
        let mut windows = std::collections::HashMap::new();
        for (at, units) in &world.admitted {
            *windows.entry(at.get() / 700_000_000).or_insert(0) += units;
        }
        prop_assert!(windows.values().all(|&units| units <= 60), "{:?}", windows.values().max());
    }

    #[test]
    fn a_log_is_exceeded_by_what_is_held_at_most(events in prop::collection::vec(event(60), 1..300)) {
        let world = story("sliding-log:60/2s", false, &events);
        let held = world.terms.largest * SERVERS as u64;
        prop_assert!(world.most_in(ms(2000)) <= 60 + held, "{} of {}", world.most_in(ms(2000)), 60 + held);
    }
}
