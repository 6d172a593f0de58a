//! Realistic text: common English words with their real frequencies, in sentences and paragraphs of realistic lengths.
//! Indexes, LIKE and compression then behave as in an application; with random letters they would not.

use super::random::Stream;
use std::sync::LazyLock;

/// Common English words, the most frequent ones first.
const LIST: &str = include_str!("words.txt");

static TABLE: LazyLock<Table> = LazyLock::new(|| Table::new(LIST.split_whitespace().collect()));

/// Mean length of a word with the space after it.
pub const WORD_BYTES: u64 = 6;

/// How words become a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// Sentences in paragraphs.
    Prose,
    /// Every Word With A Capital.
    Title,
    /// Words and spaces.
    #[default]
    Plain,
    /// words-and-hyphens
    Slug,
}

/// The length of a text in words, and its style.
#[derive(Debug, Clone, PartialEq)]
pub struct Words {
    pub median: f64,
    /// Standard deviation of the logarithm of the length; 0 = always the median.
    pub spread: f64,
    pub min: u64,
    pub max: u64,
    pub style: Style,
}

impl Words {
    /// Exactly `count` words.
    pub fn exactly(count: u64, style: Style) -> Self {
        Self { median: count as f64, spread: 0.0, min: count, max: count, style }
    }

    /// Appends a text.
    pub fn write(&self, stream: &mut Stream, out: &mut String) {
        let count = if self.min == self.max {
            self.min
        } else {
            (stream.log_normal(self.median, self.spread).round() as u64).clamp(self.min, self.max)
        };
        match self.style {
            Style::Prose => prose(count, stream, out),
            Style::Title => joined(count, ' ', true, stream, out),
            Style::Plain => joined(count, ' ', false, stream, out),
            Style::Slug => joined(count, '-', false, stream, out),
        }
    }
}

fn joined(count: u64, between: char, capitals: bool, stream: &mut Stream, out: &mut String) {
    for i in 0..count {
        if i > 0 {
            out.push(between);
        }
        push_word(out, TABLE.draw(stream), capitals);
    }
}

fn prose(count: u64, stream: &mut Stream, out: &mut String) {
    let mut left = count;
    let mut sentences_left = stream.between(3, 7);
    while left > 0 {
        let length = (stream.between(5, 18) as u64).min(left);
        // One comma in two sentences; the draw decides both whether and where.
        let comma = stream.below(2 * length);
        for i in 0..length {
            push_word(out, TABLE.draw(stream), i == 0);
            if i + 1 == length {
                out.push('.');
            } else if i == comma {
                out.push_str(", ");
            } else {
                out.push(' ');
            }
        }
        left -= length;
        sentences_left -= 1;
        if left == 0 {
            break;
        }
        if sentences_left == 0 {
            out.push_str("\n\n");
            sentences_left = stream.between(3, 7);
        } else {
            out.push(' ');
        }
    }
}

fn push_word(out: &mut String, word: &str, capital: bool) {
    if capital {
        out.push(word.as_bytes()[0].to_ascii_uppercase() as char);
        out.push_str(&word[1..]);
    } else {
        out.push_str(word);
    }
}

/// Words by frequency, drawn in constant time (Walker's alias method).
struct Table {
    words: Vec<&'static str>,
    /// Per word: below this it is the word itself, else its alias.
    cells: Vec<(u32, u16)>,
}

impl Table {
    /// The weight of a word is 1 / (rank + 2.7), Mandelbrot's form of Zipf's law for English.
    fn new(words: Vec<&'static str>) -> Self {
        let weights: Vec<f64> = (1..=words.len()).map(|rank| 1.0 / (rank as f64 + 2.7)).collect();
        let mean = weights.iter().sum::<f64>() / words.len() as f64;
        let mut shares: Vec<f64> = weights.iter().map(|weight| weight / mean).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..words.len()).partition(|i| shares[*i] < 1.0);
        let mut cells: Vec<(u32, u16)> = (0..words.len()).map(|i| (u32::MAX, i as u16)).collect();
        while let (Some(s), Some(l)) = (small.pop(), large.last().copied()) {
            cells[s] = ((shares[s] * f64::from(u32::MAX)) as u32, l as u16);
            shares[l] -= 1.0 - shares[s];
            if shares[l] < 1.0 {
                large.pop();
                small.push(l);
            }
        }
        Self { words, cells }
    }

    fn draw(&self, stream: &mut Stream) -> &'static str {
        let bits = stream.bits();
        let i = (((bits >> 32) * self.words.len() as u64) >> 32) as usize;
        let (limit, alias) = self.cells[i];
        self.words[if (bits as u32) <= limit { i } else { usize::from(alias) }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn text(words: &Words, seed: u64) -> String {
        let mut out = String::new();
        words.write(&mut Stream::new(seed, &["text"]), &mut out);
        out
    }

    #[test]
    fn the_list_is_long_lower_case_and_without_repetition() {
        let words: Vec<&str> = LIST.split_whitespace().collect();
        assert!(words.len() >= 1000, "{}", words.len());
        assert!(words.iter().all(|w| w.bytes().all(|b| b.is_ascii_lowercase())));
        assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), words.len());
    }

    #[test]
    fn words_are_as_frequent_and_as_long_as_in_english() {
        let sample = text(&Words::exactly(100_000, Style::Plain), 1);
        let words: Vec<&str> = sample.split(' ').collect();
        assert_eq!(words.len(), 100_000);
        let ranks: f64 = (1..=TABLE.words.len()).map(|rank| 1.0 / (rank as f64 + 2.7)).sum();
        let expected = 1.0 / 3.7 / ranks;
        let the = words.iter().filter(|w| **w == "the").count() as f64 / 100_000.0;
        assert!((the - expected).abs() < 0.005, "{the} instead of {expected}");
        let length = words.iter().map(|w| w.len()).sum::<usize>() as f64 / 100_000.0;
        assert!((3.5..5.5).contains(&length), "a mean word has {length} letters");
    }

    #[test]
    fn prose_has_sentences_and_paragraphs() {
        let prose = text(&Words::exactly(500, Style::Prose), 1);
        assert_eq!(prose.split_whitespace().count(), 500);
        assert!(prose.ends_with('.') && prose.contains("\n\n") && prose.contains(", "));
        for sentence in prose.split('.').map(str::trim).filter(|s| !s.is_empty()) {
            assert!(sentence.starts_with(|c: char| c.is_ascii_uppercase()), "{sentence}");
            assert!(sentence.split_whitespace().count() <= 18, "{sentence}");
        }
    }

    #[test]
    fn titles_and_slugs() {
        let title = text(&Words::exactly(4, Style::Title), 1);
        assert!(title.split(' ').all(|w| w.starts_with(|c: char| c.is_ascii_uppercase())), "{title}");
        let slug = text(&Words::exactly(4, Style::Slug), 1);
        assert_eq!(slug.split('-').count(), 4);
        assert_eq!(slug, slug.to_ascii_lowercase());
    }

    #[test]
    fn lengths_stay_in_their_bounds_around_their_median() {
        let words = Words { median: 100.0, spread: 0.6, min: 20, max: 400, style: Style::Plain };
        let lengths: Vec<usize> = (0..2000).map(|seed| text(&words, seed).split(' ').count()).collect();
        assert!(lengths.iter().all(|n| (20..=400).contains(n)));
        let above = lengths.iter().filter(|n| **n > 100).count();
        assert!((900..1100).contains(&above), "{above} of 2000 above the median");
    }
}
