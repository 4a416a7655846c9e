//! How much each request asks for.

use std::fmt;
use std::str::FromStr;

use super::fixed;
use super::random::Draws;

/// The distribution of costs, in units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Costs {
    /// Always the same.
    Constant(u64),
    /// Any whole number from the first to the second, both included.
    Uniform(u64, u64),
    /// Exponential with this mean, rounded up: small ones are common, large ones happen.
    Exponential(u64),
    /// One of these costs, with these weights.
    Choice(Vec<(u64, u32)>),
}

const FORMS: &str = "expected a number (5), a range (1..10), exp:MEAN (exp:200) or COST*WEIGHT,... (1*95,100*5)";

impl Costs {
    /// The next request's cost.
    pub fn next_cost(&self, draws: &mut Draws) -> u64 {
        match self {
            Costs::Constant(cost) => *cost,
            Costs::Uniform(low, high) => match (high - low).checked_add(1) {
                Some(width) => low + draws.below(width),
                None => draws.bits(),
            },
            Costs::Exponential(mean) => {
                let exact = u128::from(draws.exponential()) * u128::from(*mean);
                // Rounded up, so that nothing is free: at most 2^46 * 2^64 / 2^40.
                u64::try_from(exact.div_ceil(1 << fixed::FRACTION_BITS)).unwrap_or(u64::MAX).max(1)
            }
            Costs::Choice(choices) => choose(choices, draws),
        }
    }

    /// Whether every request costs one unit, so that the column can be left out.
    pub fn is_unit(&self) -> bool {
        *self == Costs::Constant(1)
    }
}

fn choose(choices: &[(u64, u32)], draws: &mut Draws) -> u64 {
    let total = choices.iter().map(|&(_, weight)| u64::from(weight)).sum();
    let mut point = draws.below(total);
    for &(cost, weight) in choices {
        if point < u64::from(weight) {
            return cost;
        }
        point -= u64::from(weight);
    }
    0
}

impl FromStr for Costs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{FORMS}, found `{text}`");
        let number = |text: &str| text.parse::<u64>().map_err(|_| wrong());
        if let Some(mean) = text.strip_prefix("exp:") {
            return match number(mean)? {
                0 => Err(format!("expected a mean of 1 or more after exp:, found `{text}`")),
                mean => Ok(Costs::Exponential(mean)),
            };
        }
        if let Some((low, high)) = text.split_once("..") {
            let (low, high) = (number(low)?, number(high)?);
            return if low <= high { Ok(Costs::Uniform(low, high)) } else { Err(wrong()) };
        }
        if !text.contains('*') {
            return Ok(Costs::Constant(number(text)?));
        }
        let choice = |part: &str| {
            let (cost, weight) = part.split_once('*').ok_or_else(wrong)?;
            Ok((number(cost)?, weight.parse::<u32>().map_err(|_| wrong())?))
        };
        let choices = text.split(',').map(choice).collect::<Result<Vec<_>, String>>()?;
        let chance = choices.iter().any(|&(_, weight)| weight > 0);
        if chance { Ok(Costs::Choice(choices)) } else { Err(format!("every weight is zero in `{text}`")) }
    }
}

impl fmt::Display for Costs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Costs::Constant(cost) => write!(f, "{cost}"),
            Costs::Uniform(low, high) => write!(f, "{low}..{high}"),
            Costs::Exponential(mean) => write!(f, "exp:{mean}"),
            Costs::Choice(choices) => {
                let parts: Vec<_> = choices.iter().map(|(cost, weight)| format!("{cost}*{weight}")).collect();
                f.write_str(&parts.join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::cast_precision_loss, reason = "compared with a tolerance")]

    use super::*;

    fn mean(text: &str) -> f64 {
        let costs: Costs = text.parse().unwrap();
        assert_eq!(costs.to_string(), text);
        let mut draws = Draws::new(9, 0);
        (0..10_000).map(|_| costs.next_cost(&mut draws) as f64).sum::<f64>() / 10_000.0
    }

    #[test]
    fn each_form_has_its_mean() {
        assert!((mean("3") - 3.0).abs() < 1e-9);
        // Five standard errors each.
        assert!((mean("1..9") - 5.0).abs() < 0.13);
        // Rounding up adds a half.
        assert!((mean("exp:200") - 200.5).abs() < 10.0);
        assert!((mean("1*95,101*5") - 6.0).abs() < 1.1);
    }

    #[test]
    fn extremes_hold() {
        let mut draws = Draws::new(1, 0);
        assert_eq!("7..7".parse::<Costs>().unwrap().next_cost(&mut draws), 7);
        assert!("0..18446744073709551615".parse::<Costs>().unwrap().next_cost(&mut draws) > 0);
        assert!("exp:18446744073709551615".parse::<Costs>().unwrap().next_cost(&mut draws) > 0);
        assert!("exp:1".parse::<Costs>().unwrap().next_cost(&mut draws) >= 1);
        assert_eq!("5*0,6*1".parse::<Costs>().unwrap().next_cost(&mut draws), 6);
    }

    #[test]
    fn mistakes_show_the_forms() {
        for text in ["", "-1", "1.5", "9..1", "exp:", "exp:0", "1*", "*1", "1*1,2", "1*0"] {
            let why = text.parse::<Costs>().unwrap_err();
            assert!(why.contains(&format!("`{text}`")), "{why}");
        }
    }
}
