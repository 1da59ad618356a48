//! Turns the effects of an experiment into the advice of one rule. All effects that a rule uses are
//! judged together (Bonferroni): ten of them at 95 % each would find evidence by chance every
//! fourth time. A difference counts if its interval excludes zero and it is 3 % or more. A
//! difference is ruled out if the interval ends within 10 %.

use crate::words::times;
use record::{Advice, EffectMeasure, Estimate, ExperimentEffect};
use stats::{LogRatio, Ordered};

/// Changes below this share do not matter, however certain.
const MATTERS_REL: f64 = 0.03;
/// An interval within this distance of one rules out a difference.
const SAME_REL: f64 = 0.1;
/// Probability that any effect used by a rule is judged wrongly.
pub(super) const WRONG: f64 = 0.05;
/// Fewest blocks for a conclusion.
const MIN_BLOCKS: u32 = 3;
/// Largest number of effects quoted.
const QUOTED: usize = 3;

/// The effect of a level compared with its base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sign {
    Less,
    Same,
    More,
}

/// A recommendation for one case, with its cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Action {
    pub recommendation: &'static str,
    /// Its cost or risk; empty for none.
    pub price: &'static str,
}

/// An axis, a level of it, and the base that the level is compared with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contrast(pub &'static str, pub &'static str, pub &'static str);

/// Through the page cache compared with direct I/O.
pub(super) const BUFFERED: Contrast = Contrast("cache", "buffered", "direct");

impl Contrast {
    /// Whether an effect is that of this level on the throughput.
    pub(super) fn is_of(self, effect: &ExperimentEffect) -> bool {
        let Self(axis, level, base) = self;
        (effect.axis.as_str(), effect.level.as_str(), effect.base.as_str()) == (axis, level, base)
            && effect.measure == EffectMeasure::Throughput
    }
}

/// One recommendation of the papers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub subject: &'static str,
    /// The effects that decide.
    pub effect: Contrast,
    /// Levels of other axes at which the rule applies.
    pub within: &'static [(&'static str, &'static [&'static str])],
    /// The action if the level is slower.
    pub less: Action,
    pub same: Action,
    pub more: Action,
    /// The papers' recommendation, with its source.
    pub thumb: &'static str,
    pub predicts: Sign,
}

impl Rule {
    fn action(&self, sign: Sign) -> &Action {
        match sign {
            Sign::Less => &self.less,
            Sign::Same => &self.same,
            Sign::More => &self.more,
        }
    }

    /// Whether an effect is one of those that decide.
    fn looks_at(&self, effect: &ExperimentEffect) -> bool {
        self.effect.is_of(effect)
            && self.within.iter().all(|(axis, levels)| {
                effect.within.get(*axis).is_none_or(|level| levels.contains(&level.as_str()))
            })
    }
}

pub(super) struct StatedEffect<'a> {
    pub(super) effect: &'a ExperimentEffect,
    pub(super) sign: Sign,
    low: f64,
    high: f64,
}

pub(super) fn judge(rule: &Rule, effects: &[ExperimentEffect]) -> Option<Advice> {
    let looked_at: Vec<&ExperimentEffect> =
        effects.iter().filter(|effect| rule.looks_at(effect)).collect();
    let miss = WRONG / looked_at.len().max(1) as f64;
    let mut told: Vec<StatedEffect> =
        looked_at.iter().filter_map(|effect| tell(effect, miss)).collect();
    told.sort_by_cached_key(|one| Ordered(-distance(one.effect)));
    let mut signs = vec![Sign::Less, Sign::More, Sign::Same];
    signs.retain(|sign| told.iter().any(|told| told.sign == *sign));
    let strongest = told.iter().find(|told| told.sign != Sign::Same);
    let mut prices = signs.iter().map(|sign| rule.action(*sign).price);
    (!told.is_empty()).then(|| Advice {
        subject: rule.subject.to_owned(),
        recommendation: recommendation(rule, &told, &signs),
        because: because(rule, &told),
        next_best: String::new(),
        against_rule: against_rule(rule, &told, &signs),
        gain: strongest.map(gain),
        price: prices.find(|price| !price.is_empty()).map(str::to_owned),
    })
}

fn distance(effect: &ExperimentEffect) -> f64 {
    libm::fabs(libm::log(effect.ratio.value))
}

/// The conclusion from an effect, with the interval that holds for all effects of the rule.
pub(super) fn tell(effect: &ExperimentEffect, miss: f64) -> Option<StatedEffect<'_>> {
    let ratio = &effect.ratio;
    if ratio.n < MIN_BLOCKS || ratio.low <= 0.0 {
        return None;
    }
    let (low, high) = (libm::log(ratio.low), libm::log(ratio.high));
    let logs = Estimate::spanning(libm::log(ratio.value), low, high, ratio.n);
    let known = LogRatio {
        log: logs.value,
        se: stats::visits_se(&logs),
        df: f64::from(ratio.n) - 1.0,
        slack: 0.0,
    };
    let (low, high) = known.interval(miss);
    let matters = libm::fabs(ratio.value - 1.0) >= MATTERS_REL;
    let sign = if low > 1.0 && matters {
        Sign::More
    } else if high < 1.0 && matters {
        Sign::Less
    } else if low > 1.0 / (1.0 + SAME_REL) && high < 1.0 + SAME_REL {
        Sign::Same
    } else {
        return None;
    };
    Some(StatedEffect { effect, sign, low, high })
}

/// The recommendation, by case if the cases differ.
fn recommendation(rule: &Rule, told: &[StatedEffect], signs: &[Sign]) -> String {
    let part =
        |sign: &Sign| format!("{}{}", rule.action(*sign).recommendation, places(told, *sign));
    signs.iter().map(part).collect::<Vec<_>>().join("; ")
}

/// The places of effects with this sign, unless all have it: ` (iodepth 8; iodepth 1)`.
fn places(told: &[StatedEffect], sign: Sign) -> String {
    if told.iter().all(|told| told.sign == sign) {
        return String::new();
    }
    let names: Vec<String> = told
        .iter()
        .filter(|told| told.sign == sign)
        .map(|told| place(told.effect))
        .filter(|place| !place.is_empty())
        .collect();
    if names.len() > QUOTED {
        return format!(" ({} and {} more)", names[..QUOTED].join("; "), names.len() - QUOTED);
    }
    format!(" ({})", names.join("; "))
}

fn place(effect: &ExperimentEffect) -> String {
    let words: Vec<String> =
        effect.within.iter().map(|(axis, level)| format!("{axis} {level}")).collect();
    words.join(" ")
}

/// The supporting effects: `append compared with written: iodepth 8 -87 % (-88 to -86 %)`.
fn because(rule: &Rule, told: &[StatedEffect]) -> String {
    let quoted: Vec<String> = told
        .iter()
        .take(QUOTED)
        .map(|told| {
            let place = place(told.effect);
            let gap = if place.is_empty() { "" } else { " " };
            format!(
                "{place}{gap}{} ({} to {})",
                change(told.effect.ratio.value),
                change(told.low),
                change(told.high)
            )
        })
        .collect();
    let more = told.len().saturating_sub(QUOTED);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    let Contrast(_, level, base) = rule.effect;
    format!("{level} compared with {base}: {}{more}", quoted.join("; "))
}

/// `-12 %`, `+3.1 %`, `4.2 times`.
pub(super) fn change(ratio: f64) -> String {
    if ratio >= 3.0 { times(ratio) } else { crate::words::change(1.0, ratio) }
}

/// Where the measurement contradicts the papers.
fn against_rule(rule: &Rule, told: &[StatedEffect], signs: &[Sign]) -> Option<String> {
    let others: Vec<String> = signs
        .iter()
        .filter(|sign| **sign != rule.predicts)
        .map(|sign| {
            let what = match sign {
                Sign::Less => "slower",
                Sign::Same => "no different",
                Sign::More => "faster",
            };
            format!("{} is {what}{}", rule.effect.1, places(told, *sign))
        })
        .collect();
    (!others.is_empty())
        .then(|| format!("rule of thumb: {}; here {}", rule.thumb, others.join(", ")))
}

/// The gain from the advice where the effect is largest.
fn gain(told: &StatedEffect) -> Estimate {
    let ratio = told.effect.ratio.value;
    let (value, low, high) = match told.sign {
        Sign::Less => (1.0 / ratio, 1.0 / told.high, 1.0 / told.low),
        Sign::Same | Sign::More => (ratio, told.low, told.high),
    };
    Estimate::spanning(value, low, high, told.effect.ratio.n)
}
