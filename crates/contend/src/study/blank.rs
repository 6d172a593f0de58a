//! The vocabulary of an answer's sentences: words of verdicts, facts about two counts, and blanks. Study files are
//! checked against these tables, and `analysis` fills in the blanks.

use crate::stats::verdict::Verdict;

/// A verdict for which an answer has a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    Faster,
    SlightlyFaster,
    NoDifference,
    CannotTell,
    SlightlySlower,
    Slower,
    NotComparable,
}

impl Word {
    /// All words with their keys in study files.
    pub const ALL: [(Word, &'static str); 7] = [
        (Word::Faster, "faster"),
        (Word::SlightlyFaster, "slightly-faster"),
        (Word::NoDifference, "no-difference"),
        (Word::CannotTell, "cannot-tell"),
        (Word::SlightlySlower, "slightly-slower"),
        (Word::Slower, "slower"),
        (Word::NotComparable, "not-comparable"),
    ];

    /// The word of a verdict; `None` for too few rounds, and where both did what was asked.
    pub fn of(verdict: &Verdict) -> Option<Self> {
        match verdict {
            Verdict::Faster => Some(Word::Faster),
            Verdict::Slower => Some(Word::Slower),
            Verdict::SlightlyFaster => Some(Word::SlightlyFaster),
            Verdict::SlightlySlower => Some(Word::SlightlySlower),
            Verdict::NoDifference => Some(Word::NoDifference),
            Verdict::CannotTell => Some(Word::CannotTell),
            Verdict::NotComparable(_) => Some(Word::NotComparable),
            Verdict::AsAsked | Verdict::NoWords => None,
        }
    }

    /// The word whose sentence is used if this one has none.
    pub fn stands_in(self) -> Option<Self> {
        match self {
            Word::SlightlyFaster => Some(Word::Faster),
            Word::SlightlySlower => Some(Word::Slower),
            _ => None,
        }
    }

    /// Its key in study files.
    pub fn key(self) -> &'static str {
        key(&Self::ALL, self)
    }
}

/// Which of two counts are above 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fact {
    Neither,
    OnlyThis,
    OnlyAgainst,
    Both,
    /// Both, and that of `this` is not the smaller one.
    BothNotFewer,
    /// The metric of `cannot_tell_if` is above 0 in one of the two.
    CannotTell,
}

impl Fact {
    /// All facts with their keys in study files.
    pub const ALL: [(Fact, &'static str); 6] = [
        (Fact::Neither, "neither"),
        (Fact::OnlyThis, "only-this"),
        (Fact::OnlyAgainst, "only-against"),
        (Fact::Both, "both"),
        (Fact::BothNotFewer, "both-not-fewer"),
        (Fact::CannotTell, "cannot-tell"),
    ];

    /// The fact for two counts.
    pub fn of(this: f64, against: f64) -> Self {
        match (this > 0.0, against > 0.0) {
            (false, false) => Fact::Neither,
            (true, false) => Fact::OnlyThis,
            (false, true) => Fact::OnlyAgainst,
            (true, true) if this < against => Fact::Both,
            (true, true) => Fact::BothNotFewer,
        }
    }

    /// Whether an answer needs a sentence for it.
    pub fn is_needed(self, may_not_tell: bool) -> bool {
        if self == Fact::CannotTell { may_not_tell } else { self.stands_in().is_none() }
    }

    /// The fact whose sentence is used if a study has none for this one.
    pub fn stands_in(self) -> Option<Self> {
        (self == Fact::BothNotFewer).then_some(Fact::Both)
    }

    /// Its key in study files.
    pub fn key(self) -> &'static str {
        key(&Self::ALL, self)
    }
}

/// A name in braces that a sentence may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blank {
    This,
    Against,
    Ratio,
    Low,
    High,
    ThisValue,
    AgainstValue,
    ThisShown,
    AgainstShown,
    Condition,
    Tier,
    Rounds,
    Reason,
}

impl Blank {
    /// All blanks with their names.
    pub const ALL: [(Blank, &'static str); 13] = [
        (Blank::This, "this"),
        (Blank::Against, "against"),
        (Blank::Ratio, "ratio"),
        (Blank::Low, "low"),
        (Blank::High, "high"),
        (Blank::ThisValue, "this_value"),
        (Blank::AgainstValue, "against_value"),
        (Blank::ThisShown, "this_shown"),
        (Blank::AgainstShown, "against_shown"),
        (Blank::Condition, "condition"),
        (Blank::Tier, "tier"),
        (Blank::Rounds, "rounds"),
        (Blank::Reason, "reason"),
    ];

    /// Whether it has a value only with a verdict.
    pub fn is_of_a_ratio(self) -> bool {
        matches!(self, Blank::Ratio | Blank::Low | Blank::High)
    }
}

fn key<T: Copy + PartialEq>(all: &[(T, &'static str)], wanted: T) -> &'static str {
    all.iter().find(|(known, _)| *known == wanted).map_or("", |(_, key)| key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_and_fact_that_a_study_file_may_name_occurs() {
        let verdicts = [
            Verdict::Faster,
            Verdict::SlightlyFaster,
            Verdict::NoDifference,
            Verdict::CannotTell,
            Verdict::SlightlySlower,
            Verdict::Slower,
            Verdict::NotComparable(String::new()),
        ];
        assert_eq!(verdicts.map(|verdict| Word::of(&verdict)), Word::ALL.map(|(word, _)| Some(word)));
        let counts = [(0.0, 0.0), (2.0, 0.0), (0.0, 2.0), (1.0, 2.0), (2.0, 2.0)];
        let facts = counts.map(|(this, against)| Fact::of(this, against));
        assert_eq!([&facts[..], &[Fact::CannotTell]].concat(), Fact::ALL.map(|(fact, _)| fact));
        assert!(Word::ALL.iter().all(|(word, key)| word.key() == *key));
        assert!(Fact::ALL.iter().all(|(fact, key)| fact.key() == *key));
    }
}
