//! What a run cannot tell, on the first screen: one sentence with a count in place of many rows that say the same. The figures of
//! each stay in their section.

use crate::report::document::{Said, Tone};

/// Fewest rows that become one sentence.
const FOLDED_MIN: usize = 3;
/// Most conditions that are named.
const NAMED_MAX: usize = 4;

/// A row of an answer.
pub struct Row {
    pub said: Said,
    /// What it cannot tell about; empty if the question says it. `None` if it can tell.
    pub unclear: Option<String>,
}

/// The rows, of which those that cannot tell are one sentence if there are several. `whether` continues that sentence, and `section`
/// has the figures.
pub fn folded(rows: Vec<Row>, whether: &str, section: &str) -> Vec<Said> {
    let all = rows.len();
    let (unclear, clear): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(|row| row.unclear.is_some());
    if unclear.len() < FOLDED_MIN {
        return clear.into_iter().chain(unclear).map(|row| row.said).collect();
    }
    let mut groups: Vec<(String, Vec<String>)> = vec![];
    for Row { said, unclear } in &unclear {
        let (about, condition) = (unclear.clone().unwrap_or_default(), said.condition.clone());
        match groups.iter_mut().find(|(known, _)| *known == about) {
            Some((_, conditions)) => conditions.extend(condition.filter(|new| !conditions.contains(new))),
            None => groups.push((about, condition.into_iter().collect())),
        }
    }
    let under = |conditions: &[String]| match conditions.len() {
        many if many > NAMED_MAX => format!("{many} conditions"),
        _ => conditions.join(", "),
    };
    let of_group = |(about, conditions): &(String, Vec<String>)| match (about.is_empty(), conditions.is_empty()) {
        (true, _) => under(conditions),
        (false, true) => about.clone(),
        (false, false) => format!("{about} ({})", under(conditions)),
    };
    let groups: Vec<String> = groups.iter().map(of_group).filter(|group| !group.is_empty()).collect();
    let which = if groups.is_empty() { String::new() } else { format!(": {}", groups.join("; ")) };
    let text = format!(
        "Cannot tell in {} of {all} cases{whether}{which}. The report has the figures under \"{section}\".",
        unclear.len()
    );
    clear.into_iter().map(|row| row.said).chain([Said { condition: None, text, tone: Tone::Plain }]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(condition: &str, unclear: Option<&str>) -> Row {
        let condition = (!condition.is_empty()).then(|| condition.to_string());
        let text = unclear.map_or("faster.", |_| "cannot tell: anything fits.").to_string();
        Row { said: Said { condition, text, tone: Tone::Plain }, unclear: unclear.map(str::to_string) }
    }

    fn texts(rows: Vec<Row>) -> Vec<String> {
        folded(rows, " whether it matters", "Effects").into_iter().map(|said| said.text).collect()
    }

    #[test]
    fn rows_that_cannot_tell_are_one_sentence_and_the_others_come_first() {
        let rows = vec![row("a", Some("WAL")), row("b", Some("WAL")), row("c", None), row("a", Some("sync"))];
        let sentence = "Cannot tell in 3 of 4 cases whether it matters: WAL (a, b); sync (a). The report has the figures under \"Effects\".";
        assert_eq!(texts(rows), ["faster.", sentence]);
        let of_one_load = ["WAL", "sync", "begin"].map(|about| row("", Some(about)));
        assert!(texts(of_one_load.into())[0].contains("cases whether it matters: WAL; sync; begin. The"));
        let many = (0..9).map(|at| row(&format!("load={at}"), Some(""))).collect();
        assert!(texts(many)[0].contains("in 9 of 9 cases whether it matters: 9 conditions. The"));
        let of_contenders = (0..3).map(|_| row("", Some(""))).collect();
        assert!(texts(of_contenders)[0].starts_with("Cannot tell in 3 of 3 cases whether it matters. The report"));
        let of_each = (0..4).map(|at| row(["a", "b"][at % 2], Some(""))).collect();
        assert!(texts(of_each)[0].contains("in 4 of 4 cases whether it matters: a, b. The"));
        let two = vec![row("a", Some("")), row("b", None), row("c", Some(""))];
        assert_eq!(texts(two).len(), 3, "two rows are short enough");
    }
}
