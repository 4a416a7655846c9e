//! A leased limiter as a store of clients.

use std::pin::Pin;

use ratelimit_core::Decision;

use super::{LeaseError, Leased, Lender};
use crate::{Backend, Clock};

type Boxed<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

impl<L: Lender + 'static, C: Clock + 'static> Backend for Leased<L, C> {
    type Error = LeaseError<L::Error>;
    type Decide = Boxed<Decision, Self::Error>;
    type Change = Boxed<(), Self::Error>;

    fn check_n(&self, key: &[u8], cost: u64) -> Self::Decide {
        let (limiter, key) = (self.clone(), key.to_vec());
        Box::pin(async move { Leased::check_n(&limiter, &key, cost).await })
    }

    fn peek(&self, key: &[u8], cost: u64) -> Self::Decide {
        let (limiter, key) = (self.clone(), key.to_vec());
        Box::pin(async move { Leased::peek(&limiter, &key, cost).await })
    }

    fn charge(&self, key: &[u8], cost: u64) -> Self::Change {
        let (limiter, key) = (self.clone(), key.to_vec());
        Box::pin(async move { Leased::charge(&limiter, &key, cost).await })
    }

    fn refund(&self, key: &[u8], cost: u64) -> Self::Change {
        let (limiter, key) = (self.clone(), key.to_vec());
        Box::pin(async move { Leased::refund(&limiter, &key, cost).await })
    }

    fn reset(&self, key: &[u8]) -> Self::Change {
        let (limiter, key) = (self.clone(), key.to_vec());
        Box::pin(async move { Leased::reset(&limiter, &key).await })
    }

    fn is_down(error: &Self::Error) -> bool {
        match error {
            LeaseError::Lender(error) => L::is_down(error),
            LeaseError::Timeout { .. } => true,
            LeaseError::Busy { .. } => false,
        }
    }

    fn part(&self, key: &[u8]) -> u8 {
        self.inner.lender.part(key)
    }
}
