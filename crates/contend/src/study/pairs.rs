//! Pairs of contenders that differ in one setting, from which an effect is computed.

use super::model::{Contender, Effect, Study};

/// Pairs of contenders (from, to), as indexes, that differ only in the effect's factor.
pub fn effect_pairs(study: &Study, effect: &Effect) -> Vec<(usize, usize)> {
    pairs(&study.contenders, effect)
}

pub(super) fn pairs(contenders: &[Contender], effect: &Effect) -> Vec<(usize, usize)> {
    let having = |value: &str| {
        let matching = contenders.iter().enumerate().filter(|(_, contender)| {
            value_of(contender, &effect.factor) == Some(value)
                && effect.at.iter().all(|(key, wanted)| value_of(contender, key) == Some(wanted))
        });
        matching.map(|(index, _)| index).collect::<Vec<_>>()
    };
    let (from, to) = (having(&effect.from), having(&effect.to));
    let mut pairs = Vec::new();
    for a in from {
        pairs.extend(to.iter().filter(|b| alike(&contenders[a], &contenders[**b], &effect.factor)).map(|b| (a, *b)));
    }
    pairs
}

fn value_of<'c>(contender: &'c Contender, key: &str) -> Option<&'c str> {
    contender.resolved.settings.get(key).map(String::as_str)
}

fn alike(a: &Contender, b: &Contender, factor: &str) -> bool {
    let same = |(key, value): (&String, &String)| key == factor || b.resolved.settings.get(key) == Some(value);
    (&a.engine, &a.driver, &a.model) == (&b.engine, &b.driver, &b.model)
        && a.worker == b.worker
        && a.resolved.settings.iter().all(same)
}
