//! Many calls of a script in one round trip, each with its own answer: what fails for one, or comes too late, spoils no other's.

use std::collections::HashSet;

use redis::{Cmd, ErrorKind, RedisResult, ServerErrorKind, Value};
use tokio::time::Instant;

use super::caller::{Ask, Caller, Place, is_unknown_script};
use super::error::SharedError;
use super::link::Connection;
use super::script::Form;
use crate::deadline::deadline;

type Answer = Result<Value, SharedError>;

impl Caller {
    /// The script's answers, in one round trip. Where a server does not know the script, the first call for it brings the
    /// text along, and the others follow it: a second round trip, on a cluster two more.
    pub(crate) async fn ask_all(&self, asks: &[Ask<'_>]) -> Vec<Answer> {
        let failed = |error: SharedError| asks.iter().map(|_| Err(error.clone())).collect();
        let deadline = deadline(self.timeout);
        let _place = match Place::take(&self.calls, asks.len(), self.most_calls) {
            Ok(place) => place,
            Err(error) => return failed(error),
        };
        let (connection, number) = match tokio::time::timeout_at(deadline, self.link.connection()).await {
            Ok(Ok(connected)) => connected,
            Ok(Err(error)) => return failed(error),
            Err(_) => return failed(SharedError::Timeout { after: self.timeout }),
        };
        let mut batch =
            Batch { caller: self, connection, deadline, answers: failed(SharedError::Timeout { after: self.timeout }) };
        batch.run(asks).await;
        self.report(number, &batch.answers);
        batch.answers
    }

    /// Tells the link how the connection fared: one answer shows that it works.
    fn report(&self, number: u64, answers: &[Answer]) {
        let read_only = ErrorKind::Server(ServerErrorKind::ReadOnly);
        let demoted = |answer: &Answer| matches!(answer, Err(SharedError::Server(error)) if error.kind() == read_only);
        let answered = |answer: &Answer| matches!(answer, Ok(_) | Err(SharedError::Server(_)));
        if answers.iter().any(demoted) {
            self.link.broken(number);
        } else if answers.iter().any(answered) {
            self.link.answered(number);
        } else if answers.iter().any(|answer| matches!(answer, Err(SharedError::Unreachable(_)))) {
            self.link.broken(number);
        } else {
            self.link.silent(number);
        }
    }
}

struct Batch<'a> {
    caller: &'a Caller,
    connection: Connection,
    deadline: Instant,
    answers: Vec<Answer>,
}

impl Batch<'_> {
    async fn run(&mut self, asks: &[Ask<'_>]) {
        let all: Vec<_> = (0..asks.len()).map(|i| (i, Form::Name)).collect();
        let unknown = self.send(asks, &all).await;
        if unknown.is_empty() {
            return;
        }
        let mut parts = HashSet::new();
        let (first, others): (Vec<_>, Vec<_>) =
            unknown.into_iter().partition(|&i| parts.insert(self.caller.part(asks[i].client)));
        let mut next: Vec<_> = first.into_iter().map(|i| (i, Form::Text)).collect();
        let others = others.into_iter().map(|i| (i, Form::Name));
        // One server executes them in their order. The nodes of a cluster get theirs when the first have been answered.
        let unknown = if self.caller.is_cluster() {
            let mut unknown = self.send(asks, &next).await;
            unknown.extend(self.send(asks, &others.collect::<Vec<_>>()).await);
            unknown
        } else {
            next.extend(others);
            self.send(asks, &next).await
        };
        let rest: Vec<_> = unknown.into_iter().map(|i| (i, Form::Text)).collect();
        self.send(asks, &rest).await;
    }

    /// Sends calls and keeps their answers: which of them met a server that does not know the script.
    async fn send(&mut self, asks: &[Ask<'_>], calls: &[(usize, Form)]) -> Vec<usize> {
        if calls.is_empty() {
            return Vec::new();
        }
        let command = |&(i, form): &(usize, Form)| self.caller.command(&asks[i], form);
        let commands: Vec<Cmd> = calls.iter().map(command).collect();
        let answers = match self.connection.call_all(&commands, self.deadline).await {
            Ok(answers) => answers,
            Err(error) => calls.iter().map(|_| Some(Err(error.clone()))).collect(),
        };
        let mut unknown = Vec::new();
        for (&(i, _), answer) in calls.iter().zip(answers) {
            if matches!(&answer, Some(Err(error)) if is_unknown_script(error)) {
                unknown.push(i);
            }
            self.answers[i] = self.read(answer);
        }
        unknown
    }

    fn read(&self, answer: Option<RedisResult<Value>>) -> Answer {
        let late = SharedError::Timeout { after: self.caller.timeout };
        answer.ok_or(late)?.map_err(SharedError::from_redis)
    }
}
