//! The formats as promises: what is written reads back the same, what is damaged is an error and never a
//! panic, and the golden files keep their meaning.

use contend_wire::database::{Address, Database, Endpoint, Password};
use contend_wire::digest::sealed;
use contend_wire::handshake::{ToolLine, WorkerLine};
use contend_wire::literal::{Scratch, Value, ValueRef};
use contend_wire::plan::http::{Count, HttpStep, KeepAt, Piece, Request, literal, pieces};
use contend_wire::plan::{
    ANY_ROWS, Client, Connections, Head, Keep, Loop, NowSource, Plan, Readback, Retry, Source, SqlStep, Step,
    Transaction, Window,
};
use contend_wire::sample::{CodeSpace, SAMPLE_BYTES, STEP_NONE, Sample, code_to_sqlstate, sqlstate_to_code};
use contend_wire::script::{LineResult, Load, Reply, ScriptError, ScriptLine, ScriptReader, ScriptWriter, Target};
use contend_wire::statement::{Effect, Placeholder, Statement};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

const PLAN_3: &str = include_str!("../golden/plan-3.txt");
const PLAN_3_HTTP: &str = include_str!("../golden/plan-3-http.txt");
const SAMPLE_1: &[u8] = include_bytes!("../golden/sample-1.bin");

mod drawn;

use drawn::*;

proptest! {
    #[test]
    fn plans_read_back(plan in plan()) {
        let text = plan.encode();
        let read = Plan::decode(&text).unwrap();
        prop_assert_eq!(read.encode(), text);
        prop_assert_eq!(read, plan);
    }

    #[test]
    fn values_read_back_owned_and_borrowed(values in vec(value(9), 1..8)) {
        let mut scratch = Scratch::default();
        for value in values {
            let field = value.encode();
            prop_assert!(!field.contains(['\t', '\n']));
            prop_assert_eq!(&Value::decode(&field).unwrap(), &value);
            prop_assert_eq!(Value::from(ValueRef::decode(&field, &mut scratch).unwrap()), value);
        }
    }

    #[test]
    fn scripts_read_back(
        driver in word(), database in database(), options in vec((text(), text()), 0..3),
        (sql, insert) in (command(), text()), (group, rows) in (option::of(any::<u32>()), vec(vec(value(0), 1..4), 0..4)),
    ) {
        let target = Target { driver, database, options, session: vec![sql.clone()] };
        let mut writer = ScriptWriter::new(&target);
        let load = Load { sql: insert, group, placeholders: vec![Placeholder { at: 7, number: None }] };
        writer.sql(&sql).load(&load);
        for row in &rows {
            writer.row(row);
        }
        let text = writer.finish();
        let reader = ScriptReader::new(&text).unwrap();
        prop_assert_eq!(&reader.target, &target);
        let lines: Vec<ScriptLine> = reader.map(|line| line.unwrap().1).collect();
        let mut expected = vec![ScriptLine::Sql(sql), ScriptLine::Load(load)];
        expected.extend(rows.into_iter().map(ScriptLine::Row));
        prop_assert_eq!(lines, expected);
    }

    #[test]
    fn replies_read_back(reply in reply()) {
        prop_assert_eq!(Reply::decode(&reply.encode()).unwrap(), reply);
    }

    #[test]
    fn handshake_lines_read_back(worker in worker_line(), tool in tool_line()) {
        let text = worker.encode();
        prop_assert_eq!(text.matches('\n').count(), 1);
        prop_assert_eq!(WorkerLine::decode(text.trim_end_matches('\n')).unwrap(), worker);
        let text = tool.encode();
        prop_assert_eq!(ToolLine::decode(text.trim_end_matches('\n')).unwrap(), tool);
    }

    #[test]
    fn samples_read_back(sample in sample()) {
        prop_assert_eq!(Sample::decode(&sample.encode()).unwrap(), sample);
    }

    #[test]
    fn anything_may_arrive(text in any::<String>(), bytes in any::<[u8; SAMPLE_BYTES]>()) {
        let _ = Plan::decode(&text);
        let _ = Plan::decode(&sealed(&format!("contend-plan 3\n{text}\n")));
        let _ = ScriptReader::new(&text).map(|reader| reader.count());
        let opening = "contend-script 2\ndriver\td\ndatabase\tfile\td\n";
        let _ = ScriptReader::new(&sealed(&format!("{opening}{text}\n"))).map(|reader| reader.count());
        let _ = Reply::decode(&text);
        let _ = ToolLine::decode(&text);
        let _ = WorkerLine::decode(&text);
        let _ = Sample::decode(&bytes);
    }

    #[test]
    fn a_damaged_plan_never_panics(
        at in any::<prop::sample::Index>(), with in "[ -~\t\n]{0,5}", length in 0..9usize, http in any::<bool>(),
    ) {
        let plan = if http { PLAN_3_HTTP } else { PLAN_3 };
        let from = at.index(plan.len());
        let to = (from + length).min(plan.len());
        let parts = plan.get(..from).zip(plan.get(to..));
        let damaged = parts.map(|(head, tail)| format!("{head}{with}{tail}"));
        // Nothing but its digest would show that it is damaged: so it gets another one.
        let digested = |text: String| sealed(text.rsplit_once("end\t").map_or("", |(body, _)| body));
        if let Some(Ok(plan)) = damaged.map(|text| Plan::decode(&digested(text))) {
            prop_assert_eq!(Plan::decode(&plan.encode()).unwrap(), plan);
        }
    }

    #[test]
    fn sqlstates_read_back(state in "[0-9A-Z]{5}") {
        prop_assert_eq!(code_to_sqlstate(sqlstate_to_code(&state).unwrap()), state);
    }
}

#[test]
fn every_truncation_of_a_plan_is_an_error() {
    for plan in [PLAN_3, PLAN_3_HTTP] {
        for end in (0..plan.len()).filter(|&end| plan.is_char_boundary(end)) {
            assert!(Plan::decode(&plan[..end]).is_err(), "cut off at byte {end}");
        }
    }
}

#[test]
fn the_golden_plan_keeps_its_meaning() {
    let plan = Plan::decode(PLAN_3).unwrap();
    assert_eq!(plan.encode(), PLAN_3);
    assert_eq!(plan.head.transactions[0].arguments_needed(), 5);
    assert_eq!(plan.head.window.end_ns(), 1_600_000_000);
    assert_eq!((plan.clients[1].load, plan.clients[1].operations[1].offset_ns), (Loop::Open, 2_000_000));
    assert_eq!(plan.clients[0].arguments_of(&plan.clients[0].operations[0])[4], Value::Blob(vec![0, 255]));
}

#[test]
fn the_golden_http_plan_keeps_its_meaning() {
    let plan = Plan::decode(PLAN_3_HTTP).unwrap();
    assert_eq!(plan.encode(), PLAN_3_HTTP);
    let head = &plan.head;
    assert_eq!(head.login, Some(2));
    assert_eq!(head.requests[1].headers[1], ("X-Token".to_string(), "{}".to_string()));
    assert_eq!(head.requests.iter().map(|r| r.places().unwrap()).collect::<Vec<_>>(), [2, 4, 0]);
    let Step::Http(list) = &head.transactions[0].steps[0] else { panic!("a request") };
    assert_eq!(list.status, [(200, 200), (203, 206)]);
    assert_eq!(list.count, Some(Count { pointer: "/data".into(), rows_min: 1, rows_max: 50 }));
    assert_eq!(list.keep[1], KeepAt { slot: 1, rows: 20, pointer: "/data/*/a~1b".into() });
    assert_eq!(list.args[1], Source::Session { slot: 0 });
}

/// A text with lines that were changed after the digest was made, with the digest of what it is now.
fn again(text: &str) -> String {
    let (body, _) = text.rsplit_once("end\t").expect("a last line");
    sealed(body)
}

#[test]
fn a_plan_that_was_changed_is_refused() {
    let changed = PLAN_3.replacen("250000", "250001", 1);
    let message = Plan::decode(&changed).unwrap_err().to_string();
    assert!(message.contains("changed after contend had checked it"), "{message}");
}

#[test]
fn what_leads_nowhere_is_said_with_its_line() {
    for (line, with, said) in [
        (9, "database\tfile", "`file`, `tcp`, `socket` or `service`"),
        (10, "database\ttcp\th\t0\tme\td\t-", "1 to 65535"),
        (10, "database\ttcp\th\t1\tme\td\tsecret", "`file:PATH` or `env:NAME`"),
        (11, "session\tmaybe\tSELECT 1", "`maybe` is not an effect"),
        (14, "statement\t1\trows\tx\tSELECT ?", "AT or AT:NUMBER"),
        (14, "statement\t1\trows\t-\tSELECT 1\\q", "\\q"),
        (14, "statement\t7\trows\t-\tSELECT 1", "expected number 1"),
        (19, "step\tsleep\t5", "`sleep` is not a kind of step"),
        (19, "step\tsql\t7\t0..*\t1\t-", "statement 7 is not in the plan"),
        (19, "step\tsql\t1\t3..1\t1\t-\ti5", "`3..1`"),
        (19, "step\tsql\t1\t0..*\t0\t-\ti5", "at least once"),
        (19, "step\tsql\t1\t0..*\t1\t5:0:1\ti5", "slot 5 is beyond"),
        (19, "step\tsql\t1\t0..*\t1\t-", "has 1 placeholders, the step brings 0"),
        (19, "step\tsql\t1\t0..*\t1\t-\ti5\ti6", "has 1 placeholders, the step brings 2"),
        (19, "step\tsql\t1\t0..*\t1\t-\tu3+0", "unique numbers"),
        (19, "step\tsql\t1\t0..*\t1\t-\tq0+0", "`q0+0`"),
        (19, "step\tsql\t1\t0..*\t1\t-\tT3", "text 3 is not in the plan"),
        (19, "step\tconnect", "must be the first step"),
        (26, "retry\t0\t-\t-\t-", "at least 1"),
        (28, "client\t0\t2\tclosed\tcyclic\t0\t5000\t2", "uses database 2"),
        (28, "client\t0\t0\topen\tcyclic\t0\t5000\t2", "cannot be cyclic"),
        (28, "client\t0\t0\tclosed\tcyclic\t0\t5000\t3", "expected a `op` line"),
        (28, "client\t0\t0\tclosed\tcyclic\t0\t5000\t1", "expected a `client` line"),
        (30, "op\t0\t4", "transaction 4 is not in the plan"),
        (30, "op\t0\t1", "takes 1 arguments, found 0"),
        (30, "op\t0\t1\ti9223372036854775808", "i9223372036854775808"),
        (30, "op\t0\t1\trNaN", "rNaN"),
        (30, "op\t0\t1\txabc", "xabc"),
        (30, "op\t0\t1\ttbad\\q", "\\q"),
        (33, "op\t4\t1\ti1", "must not go back"),
    ] {
        let lines = PLAN_3.lines().enumerate();
        let text: String = lines.flat_map(|(i, old)| [if i + 1 == line { with } else { old }, "\n"]).collect();
        let message = Plan::decode(&again(&text)).expect_err(with).to_string();
        assert!(message.contains(said) && message.contains("line "), "{with}: {message}");
    }
}

#[test]
fn the_tool_finds_in_a_plan_what_a_reader_would_refuse() {
    let plan = Plan::decode(PLAN_3).unwrap();
    let client = |change: &dyn Fn(&mut Client)| {
        let mut client = plan.clients[1].clone();
        change(&mut client);
        plan.head.check_client(&client)
    };
    let head = |change: &dyn Fn(&mut Head)| {
        let mut head = plan.head.clone();
        change(&mut head);
        head.check()
    };
    assert_eq!((head(&|_| ()), client(&|_| ())), (Ok(()), Ok(())));
    for (found, said) in [
        (head(&|h| h.statements.clear()), "`write`, step 0: statement 0 is not in the plan"),
        (head(&|h| h.statements[0].placeholders.clear()), "has 0 placeholders, the step brings 5 arguments"),
        (head(&|h| h.transactions[0].slots = 1), "slot 1 is beyond"),
        (head(&|h| h.login = Some(9)), "transaction 9 is not in the plan"),
        (client(&|c| c.database = 2), "uses database 2"),
        (client(&|c| c.operations[0].transaction = 5), "transaction 5 is not in the plan"),
        (client(&|c| c.operations[0].arguments = 0), "takes 1 arguments, it has 0"),
        (client(&|c| c.operations[0].offset_ns = 9_000_000), "must not go back"),
        (client(&|c| c.arguments[0] = Value::TextRef(7)), "text 7 is not in the plan"),
    ] {
        let message = found.expect_err(said);
        assert!(message.contains(said), "{message}");
    }
}

#[test]
fn a_script_that_is_not_of_the_form_is_refused_with_its_line() {
    for (line, said) in [
        ("query\tSELECT 1", "script line 4: unknown kind of line `query`"),
        ("sql\trows\tSELECT 1\\q", "script line 4"),
        ("sql\tSELECT 1", "script line 4: 1 fields where 2"),
        ("load\t5\t6\tINSERT\nrow\tq5", "script line 5"),
    ] {
        let text = sealed(&format!("contend-script 2\ndriver\td\ndatabase\tfile\td\n{line}\n"));
        let found = ScriptReader::new(&text).unwrap().find_map(Result::err).expect(line).to_string();
        assert!(found.contains(said), "{line}: {found}");
    }
}

#[test]
fn templates_are_cut_into_pieces() {
    let text = |text: &str| Piece::Text(text.to_string());
    assert_eq!(pieces("/a?b={}&c={v}").unwrap(), [text("/a?b="), Piece::Value, text("&c="), Piece::PlanValue]);
    assert_eq!(pieces("{{\"n\":{}}}").unwrap()[..2], [text("{\"n\":"), Piece::Value]);
    assert_eq!(pieces("").unwrap(), []);
    assert_eq!(pieces(&literal("{v} }")).unwrap(), [text("{v} }")]);
    for bad in ["{", "}", "{w}", "{}}", "a{ }"] {
        assert!(pieces(bad).is_err(), "{bad}");
    }
}

#[test]
fn what_is_wrong_with_an_http_plan_is_said_with_its_line() {
    for (line, with, said) in [
        (9, "request\t0\tget\t/\t-", "`get` is not a method"),
        (9, "request\t0\tGET\tlist\t-", "begins with `/`"),
        (9, "request\t0\tGET\t/a b\t-", "percent-encoded"),
        (9, "request\t0\tGET\t/{\t-", "in a template"),
        (9, "request\t1\tGET\t/\t-", "expected number 0"),
        (12, "header\t1\tX Token\t{}", "not the name of a header"),
        (12, "header\t1\tContent-Length\t1", "writes it itself"),
        (12, "header\t1\tX-Token\ta\\nb", "line end"),
        (12, "header\t0\tX-Token\t{}", "expected number 1"),
        (16, "step\thttp\t9\t200\t-\t-", "request 9 is not in the plan"),
        (16, "step\thttp\t0\t200\t-\t-\ti1", "takes 2 values, the step has 1"),
        (16, "step\thttp\t0\t-\t-\t-\ti1\ti1", "at least one status"),
        (16, "step\thttp\t0\t300-200\t-\t-\ti1\ti1", "in the list of status"),
        (16, "step\thttp\t0\t99\t-\t-\ti1\ti1", "in the list of status"),
        (16, "step\thttp\t0\t200\t/data\t-\ti1\ti1", "POINTER=MIN..MAX"),
        (16, "step\thttp\t0\t200\t/*=1..1\t-\ti1\ti1", "no meaning here"),
        (16, "step\thttp\t0\t200\tdata=1..1\t-\ti1\ti1", "not a JSON pointer"),
        (16, "step\thttp\t0\t200\t-\t0:0:/a\ti1\ti1", "SLOT:ROWS:POINTER"),
        (16, "step\thttp\t0\t200\t-\t0:1:/*/*\ti1\ti1", "one segment may be `*`"),
        (16, "step\thttp\t0\t200\t-\t0:1:/~2\ti1\ti1", "written `~0`"),
        (16, "step\thttp\t0\t200\t-\t7:1:/a\ti1\ti1", "slot 7 is beyond"),
        (16, "step\thttp\t0\t200\t-\t-\ti1\ts4", "session value 4 is beyond"),
        (17, "transaction\t1\tadd\twrite\tBEGIN\t1\t0\t2", "so it has no begin"),
        (22, "login\t3", "transaction 3 is not in the plan"),
        (22, "login\t1", "literal and kept values only"),
    ] {
        let lines = PLAN_3_HTTP.lines().enumerate();
        let text: String = lines.flat_map(|(i, old)| [if i + 1 == line { with } else { old }, "\n"]).collect();
        let message = Plan::decode(&again(&text)).expect_err(with).to_string();
        assert!(message.contains(said), "{with}: {message}");
        let reported = if with.contains("BEGIN") { line + 2 } else { line };
        assert!(message.contains(&format!("line {reported}:")), "{with}: {message}");
    }
    let without = PLAN_3_HTTP.replace("login\t2\n", "");
    let message = Plan::decode(&again(&without)).unwrap_err().to_string();
    assert!(message.contains("line 19") && message.contains("no `login`"), "{message}");
}

#[test]
fn the_golden_samples_keep_their_meaning() {
    let samples: Vec<Sample> =
        SAMPLE_1.chunks(SAMPLE_BYTES).map(|b| Sample::decode(b.try_into().unwrap()).unwrap()).collect();
    let again: Vec<u8> = samples.iter().flat_map(Sample::encode).collect();
    assert_eq!(again, SAMPLE_1);
    assert!(samples[0].is_ok());
    assert_eq!((samples[0].client, samples[0].operation, samples[0].rows), (1, 2, 7));
    assert_eq!((samples[1].code_space, samples[1].code, samples[1].failed_step), (CodeSpace::Sqlite, 517, 3));
    assert_eq!(samples[1].finished_ns - samples[1].started_ns, 1_500);
}

#[test]
fn a_newer_version_is_refused_by_name() {
    let plan = PLAN_3.replacen("contend-plan 3", "contend-plan 4", 1);
    let message = Plan::decode(&plan).unwrap_err().to_string();
    assert!(message.contains("contend-plan 4") && message.contains("newer"), "{message}");
    let message = Plan::decode(&PLAN_3.replacen("contend-plan 3", "contend-plan 2", 1)).unwrap_err().to_string();
    assert!(message.contains("contend-plan 2") && message.contains("it reads 3"), "{message}");
    let script = "contend-script 7\ndriver\td\ndatabase\td\nend\n";
    let message = ScriptReader::new(script).err().unwrap().to_string();
    assert!(message.contains("contend-script 7") && message.contains("newer"), "{message}");
}

#[test]
fn an_operation_with_too_many_arguments_is_an_error() {
    let step = "step\tsql\t0\t0..*\t65535\t-\tp0+2";
    let plan = PLAN_3.lines().map(|line| if line.starts_with("step\tsql\t0\t") { step } else { line });
    let plan: String = plan.flat_map(|line| [line, "\n"]).collect();
    let plan = plan.replace("56,59,62,65,68", "56");
    assert!(Plan::decode(&again(&plan)).unwrap_err().to_string().contains("65535"));
}
