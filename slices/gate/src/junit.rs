//! JUnit XML for continuous integration systems: a slower build is a failed test, *cannot tell* a skipped one, and a build that
//! cannot be compared an error.

use crate::judge::{Judged, Judgement};
use contend_stats::harmless::harmless;

/// A test case for each comparison.
pub fn of_answers(answers: &[Judged]) -> String {
    let cases: String = answers.iter().map(case).collect();
    let count = |judgement| answers.iter().filter(|answer| answer.judgement == judgement).count();
    let errors = count(Judgement::NotComparable) + count(Judgement::Failed);
    suite((answers.len(), count(Judgement::Slower), errors, count(Judgement::CannotTell)), &cases)
}

/// A test that could not be carried out, with the name that it has otherwise.
pub fn of_error(name: &str, error: &str) -> String {
    let (first, last) = (error.lines().next().unwrap_or_default(), error.lines().last().unwrap_or_default());
    let message = if first == last { first.to_string() } else { format!("{first} {}", last.trim()) };
    let inner = format!("<error message=\"{}\">{}</error>", escaped(&message), escaped(error));
    suite((1, 0, 1, 0), &test_case(name, &inner))
}

fn suite((tests, failures, errors, skipped): (usize, usize, usize, usize), cases: &str) -> String {
    let counts = format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\"");
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"contend gate\" {counts}>\n{cases}  \
         </testsuite>\n</testsuites>\n"
    )
}

fn case(answer: &Judged) -> String {
    let line = escaped(&answer.line);
    let inner = match answer.judgement {
        Judgement::Slower => format!("<failure message=\"{line}\"/>"),
        Judgement::CannotTell => format!("<skipped message=\"{line}\"/>"),
        Judgement::NotComparable | Judgement::Failed => format!("<error message=\"{line}\"/>"),
        Judgement::Passes => format!("<system-out>{line}</system-out>"),
    };
    test_case(&answer.name, &inner)
}

fn test_case(name: &str, inner: &str) -> String {
    format!("    <testcase classname=\"contend.gate\" name=\"{}\">{inner}</testcase>\n", escaped(name))
}

/// Text in an attribute or an element. Characters that XML does not allow are replaced.
fn escaped(text: &str) -> String {
    let text = harmless(text);
    let allowed = |c: char| if matches!(c, '\u{fffe}' | '\u{ffff}') { '?' } else { c };
    text.chars().map(allowed).fold(String::new(), |mut out, c| {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            c => out.push(c),
        }
        out
    })
}

/// Text as a block of code in Markdown.
pub fn quoted(text: &str) -> String {
    harmless(text).lines().map(|line| format!("    {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(judgement: Judgement) -> Judged {
        Judged { name: "wall time".to_string(), line: "a < b & \"c\"\u{1b}".to_string(), judgement }
    }

    #[test]
    fn outcomes_are_those_of_tests() {
        use Judgement::{CannotTell, Failed, NotComparable, Passes, Slower};
        let text = of_answers(&[Passes, Slower, CannotTell, NotComparable, Failed].map(answer));
        assert!(text.contains("tests=\"5\" failures=\"1\" errors=\"2\" skipped=\"1\""), "{text}");
        assert!(text.contains("<failure message=\"a &lt; b &amp; &quot;c&quot;?\"/>"), "{text}");
        assert!(text.contains("<system-out>") && text.contains("<skipped message="), "{text}");
        let error = of_error("wall time", "A failed\nand said <so>");
        assert!(error.contains("errors=\"1\"") && error.contains("A failed&#10;and said &lt;so&gt;"), "{error}");
        assert!(error.contains("message=\"A failed and said &lt;so&gt;\""), "the attribute has the end, too: {error}");
    }
}
