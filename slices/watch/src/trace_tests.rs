//! Programs and libraries with probes.

use super::*;
use std::path::PathBuf;

/// In a container, its first worker has ended, and another process executes the same file.
#[test]
fn a_file_keeps_its_probes_when_the_process_that_showed_it_has_ended() {
    let path = PathBuf::from("/app/program");
    let mapped = Mapped { reached: Path::new("/proc/4194305/root").join("app/program"), path };
    let id = |inode| FileId { device: 1, inode };
    let probed = [Probed { id: id(7), mapped, probes: vec![], text_at: None }];
    assert!(has_probes(&probed, &[id(6), id(7)]));
    assert!(!has_probes(&probed, &[id(6)]));
}

/// Data of an event of this thread, with two further numbers.
fn data(id: u16, tid: u32, numbers: [i64; 2]) -> Vec<u8> {
    let id = [id.to_ne_bytes(), [0; 2]].concat();
    [id, tid.to_ne_bytes().to_vec(), numbers[0].to_ne_bytes().to_vec(), numbers[1].to_ne_bytes().to_vec()].concat()
}

/// The two threads have ended, so that only a birth names their process.
#[test]
fn a_call_of_an_ended_thread_waits_for_its_birth_or_is_counted() {
    let Ok(root) = crate::instance::root() else {
        let must = std::env::var_os("CONTEND_TESTS_MUST_TRACE").is_some_and(|value| value == "1");
        assert!(!must, "CONTEND_TESTS_MUST_TRACE=1, and tracefs cannot be used: run the tests as root");
        return println!("NOT VERIFIED: tracefs; run the tests as root");
    };
    let mut trace = Trace::start(&root, vec![], false).expect("it starts");
    let counted =
        |trace: &Trace| trace.missing().into_iter().find(|missing| missing.contains("threads that had ended"));
    // No thread has these numbers: they are above the kernel's limit.
    let (own, [born, orphan]) = (std::process::id(), [1 << 30, (1 << 30) + 1]);
    trace.meet(own, own);
    let format = |id: u16, names: [&str; 2]| {
        let field =
            |name: &str, at: u32, size: u32| format!("field:long {name}; offset:{at}; size:{size}; signed:1;\n");
        let fields = [field("common_pid", 4, 4), field(names[0], 8, 8), field(names[1], 16, 8)].concat();
        Format::read(&format!("ID: {id}\n{fields}")).expect("a format")
    };
    trace.formats.insert(60_001, (format(60_001, ["pid", "clone_flags"]), Meaning::NewTask));
    let call = Meaning::Call { kind: Kind::StepEnds, object: 0 };
    trace.formats.insert(60_002, (format(60_002, ["code", "statement"]), call));
    let now_ns = monotonic_ns();
    let called_ns = now_ns - 2 * READABLE_NS;
    trace.late.push(called_ns, &data(60_002, born, [101, 0]));
    trace.late.push(called_ns, &data(60_002, orphan, [101, 0]));
    assert_eq!(trace.poll(now_ns, false).expect("read"), []);
    assert_eq!(counted(&trace), None, "a birth may come");
    trace.late.push(called_ns - 1, &data(60_001, own, [i64::from(born), CLONE_THREAD]));
    let events = trace.poll(called_ns + SETTLED_NS, false).expect("read");
    let seen: Vec<_> = events.into_iter().map(|event| (event.at_ns, event.who, event.what)).collect();
    assert_eq!(seen, [(called_ns, Who { pid: own, tid: born }, What::StepEnds { code: 101 })]);
    let expected = "1 event of threads that had ended before their process was known";
    assert_eq!(counted(&trace).as_deref(), Some(expected));
}
