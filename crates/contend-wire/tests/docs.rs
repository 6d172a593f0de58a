//! The examples in `docs/formats.md` are what the code reads and writes.

use contend_wire::FormatError;
use contend_wire::handshake::{ToolLine, WorkerLine};
use contend_wire::plan::Plan;
use contend_wire::sample::{SAMPLE_BYTES, Sample};
use contend_wire::script::{LineResult, Reply, ScriptLine, ScriptReader};

fn page() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats.md");
    std::fs::read_to_string(path).expect("docs/formats.md")
}

/// The fenced blocks of one kind, line ends included.
#[track_caller]
fn blocks(kind: &str) -> Vec<String> {
    let (page, fence) = (page(), format!("\n```{kind}\n"));
    let found: Vec<_> =
        page.split(&fence).skip(1).map(|rest| format!("{}\n", rest.split("\n```").next().unwrap())).collect();
    assert!(!found.is_empty(), "docs/formats.md has no block marked `{kind}`");
    found
}

#[test]
fn plans_are_what_the_encoder_writes() {
    for text in blocks("plan") {
        let plan = Plan::decode(&text).unwrap();
        assert_eq!(plan.encode(), text);
    }
}

#[test]
fn scripts_and_replies_belong_together() {
    let (scripts, replies) = (blocks("script"), blocks("reply"));
    assert_eq!(scripts.len(), replies.len());
    for (script, reply) in scripts.iter().zip(&replies) {
        let decoded = Reply::decode(reply).unwrap();
        assert_eq!(&decoded.encode(), reply);
        let lines = ScriptReader::new(script).unwrap().collect::<Result<Vec<_>, FormatError>>().unwrap();
        let last = decoded.error.as_ref().map_or(usize::MAX, |e| e.line);
        let asked = lines.iter().filter(|(number, _)| *number < last);
        let kinds = asked.filter_map(|(_, line)| match line {
            ScriptLine::Sql(_) => Some("rows"),
            ScriptLine::Load(_) => Some("loaded"),
            ScriptLine::Row(_) => None,
        });
        let answers = decoded.answers.iter().map(|answer| match answer {
            LineResult::Rows(_) => "rows",
            LineResult::Loaded(_) => "loaded",
        });
        assert!(kinds.eq(answers), "one answer for each `sql` and `load` before the error");
    }
}

#[test]
fn lines_of_both_sides_are_read() {
    for block in blocks("handshake") {
        for line in block.lines() {
            let again = match line.split_at(2) {
                ("> ", said) => ToolLine::decode(said).unwrap().encode(),
                ("< ", said) => WorkerLine::decode(said).unwrap().encode(),
                _ => panic!("`{line}` says neither side"),
            };
            assert_eq!(again, format!("{}\n", &line[2..]));
        }
    }
}

#[test]
fn the_sample_is_what_is_said_of_it() {
    for block in blocks("sample") {
        let bytes: Vec<u8> = block.split_whitespace().map(|hex| u8::from_str_radix(hex, 16).unwrap()).collect();
        let bytes: [u8; SAMPLE_BYTES] = bytes.try_into().expect("one sample");
        let s = Sample::decode(&bytes).unwrap();
        assert_eq!(s.encode(), bytes);
        assert_eq!((s.client, s.operation, s.transaction, s.attempt, s.rows), (0, 1, 1, 0, 4));
        assert!(s.is_ok());
        assert!(s.due_ns <= s.started_ns && s.started_ns <= s.finished_ns);
    }
}
