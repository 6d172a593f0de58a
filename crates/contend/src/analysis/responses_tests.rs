//! Which answers of two services differ, and which honest differences do not count.

use super::*;

fn request(facts: &[&str]) -> Request {
    Responses::read(facts.iter().copied()).0.remove(&(0, 0)).expect("a request")
}

/// The difference between two services in words; empty if there is none.
fn between(base: &[&str], other: &[&str]) -> String {
    let found = of_services([&request(base), &request(other)], 0.03, None);
    found.map_or(String::new(), |(what, [here, there])| format!("{here}, {there} {what}"))
}

#[test]
fn answers_of_another_meaning_are_found() {
    let list = ["3000 15000000 200 json GET 0 0", "40 8000 200 json GET 0 0"];
    for (other, found) in [
        (&["90000 0 200 empty GET 0 0"][..], "0 %, 100 % have no body"),
        (&["90000 0 204 empty GET 0 0"], "0 %, 100 % have no body"),
        (&["90000 0 302 empty GET 0 0"], "100 %, 0 % have a status of 200 to 299"),
        (&["90000 450000000 200 markup GET 0 0"], "0 %, 100 % are HTML or XML in place of JSON"),
        (&["90000 2700000 200 json GET 0 0"], "4.88 KiB, 30 B is the median of the bodies"),
        (&["90000 90000000 200 unasked GET 0 0"], "0 %, 100 % are compressed without Accept-Encoding in the request"),
        (&["1500 7500000 200 json GET 0 0", "1500 0 200 empty GET 0 0"], "0 %, 50.0 % have no body"),
    ] {
        assert_eq!(between(&list, other), found, "{other:?}");
    }
    let hello = between(&["30 390 200 other GET 0 0"], &["30 0 200 empty GET 0 0"]);
    assert_eq!(hello, "0 %, 100 % have no body");
    let search = between(&["30 600000 200 json POST 0 0"], &["30 0 200 empty POST 0 0"]);
    assert_eq!(search, "0 %, 100 % have no body");
    let plain = between(&["30 30300 200 encoded GET 0 0"], &["900 15300 200 json GET 0 0"]);
    assert_eq!(plain, "1010 B, 17 B is the median of the bodies");
}

#[test]
fn honest_differences_are_not_refused() {
    for (base, other) in [
        // Indented, or with other identifiers and times.
        (&["100 50000 200 json GET 0 0"][..], &["90 108000 200 json GET 0 0"][..]),
        // Compressed by one of the two.
        (&["100 500000 200 json GET 0 0"], &["90 18000 200 encoded GET 0 0"]),
        (&["100 200 200 json GET 0 0"], &["90 1980 200 encoded GET 0 0"]),
        (&["100 100000 200 unasked GET 0 0"], &["90 99000 200 unasked GET 0 0"]),
        // One compresses long bodies only.
        (
            &["50 50000 200 encoded GET 0 0", "50 5000 200 json GET 0 0"],
            &["45 49500 200 json GET 0 0", "45 4500 200 json GET 0 0"],
        ),
        (
            &["50 50000 200 encoded GET 0 0", "50 500 200 json GET 0 0"],
            &["45 900000 200 json GET 0 0", "45 450 200 json GET 0 0"],
        ),
        // A write that is answered with the new object, or with nothing.
        (&["100 12000 201 json POST 0 0"], &["90 0 204 empty POST 0 0"]),
        // A framework's default of another kind, such as text in place of JSON.
        (&["100 2000 200 json GET 0 0"], &["90 1900 200 other GET 0 0"]),
        // Few answers, one of them of another kind.
        (&["5 2000 200 json GET 0 0", "1 0 200 empty GET 0 0"], &["6 2400 200 json GET 0 0"]),
        // One very long answer among few.
        (&["99 9900 200 json GET 0 0", "1 5000000 200 json GET 0 0"], &["90 9000 200 json GET 0 0"]),
        // Short and long ones about equally often.
        (
            &["52 520 200 json GET 0 0", "48 480000 200 json GET 0 0"],
            &["48 480 200 json GET 0 0", "52 520000 200 json GET 0 0"],
        ),
        (&["100 0 200 empty HEAD 0 0"], &["100 0 204 empty HEAD 0 0"]),
        // The bodies of redirections and errors.
        (&["100 20000 302 markup GET 0 0"], &["90 0 302 empty GET 0 0"]),
        (
            &["70 70000 200 json GET 0 0", "30 6000 404 markup GET 0 0"],
            &["70 70000 200 json GET 0 0", "30 600 404 json GET 0 0"],
        ),
    ] {
        assert_eq!(between(base, other), "", "{base:?} and {other:?}");
    }
}

/// An error text is sent with status 200 in place of some of the answers.
#[test]
fn more_short_bodies_than_the_other_service_has_are_found() {
    let honest = ["4000 6840000 200 json GET 0 0"];
    let half = ["2760 4719600 200 json GET 0 0", "2259 49698 200 json GET 0 0"];
    assert_eq!(between(&honest, &half), "0 %, 45.0 % have a body of at most 31 B");
    assert_eq!(between(&half, &honest), "45.0 %, 0 % have a body of at most 31 B");
    for (base, other, found) in [
        // From 1 % on, and chance.
        (&honest[..], &["4900 8379000 200 json GET 0 0", "100 2200 200 json GET 0 0"][..], true),
        (&honest, &["4960 8481600 200 json GET 0 0", "40 880 200 json GET 0 0"], false),
        (&["30 51300 200 json GET 0 0"], &["29 49590 200 json GET 0 0", "1 22 200 json GET 0 0"], false),
        // Not the same share of texts that both send.
        (
            &["4500 7695000 200 json GET 0 0", "500 11000 200 json GET 0 0"],
            &["4000 6840000 200 json GET 0 0", "1000 22000 200 json GET 0 0"],
            true,
        ),
        // A body that is not compressed in place of one that is.
        (
            &["4000 2000000 200 encoded GET 0 0"],
            &["2760 1380000 200 encoded GET 0 0", "2259 49698 200 json GET 0 0"],
            true,
        ),
    ] {
        let said = [between(base, other), between(other, base)];
        assert_eq!(said.map(|said| !said.is_empty()), [found; 2], "{base:?} and {other:?}");
    }
    assert!(!differ([100, 100], &honest, &half), "lists that were emptied are shorter");
}

/// A status is mixed with another one, and the other service sends one status.
#[test]
fn statuses_that_only_one_service_sends_are_found() {
    let honest = ["4000 6840000 200 json GET 0 0"];
    let parts = ["2760 4719600 200 json GET 0 0", "2259 3862890 206 json GET 0 0"];
    assert_eq!(between(&honest, &parts), "0 %, 45.0 % have a status of 206");
    assert_eq!(between(&honest, &["4000 6840000 206 json GET 0 0"]), "0 %, 100 % have a status of 206");
    for (other, found) in [
        (&["2760 4719600 200 json GET 0 0", "2259 3862890 202 json GET 0 0"][..], true),
        (&["4900 8379000 200 json GET 0 0", "100 171000 206 json GET 0 0"], true),
        (&["4900 8379000 200 json GET 0 0", "100 2000 500 json GET 0 0"], true),
        (&["4960 8481600 200 json GET 0 0", "40 68400 206 json GET 0 0"], false),
        (&["4960 8481600 200 json GET 0 0", "40 800 500 json GET 0 0"], false),
        (&["29 49590 200 json GET 0 0", "1 20 500 json GET 0 0"], false),
        // An implementation's choice.
        (&["4000 6840000 201 json GET 0 0"], false),
        (&["4000 6840000 203 json GET 0 0", "4 6840 200 json GET 0 0"], false),
    ] {
        let said = [between(&honest, other), between(other, &honest)];
        assert_eq!(said.map(|said| !said.is_empty()), [found; 2], "{other:?}");
    }
    let (both, swapped) = (
        ["50 85500 200 json GET 0 0", "50 85500 206 json GET 0 0"],
        ["55 94050 200 json GET 0 0", "45 76950 206 json GET 0 0"],
    );
    assert_eq!(between(&both, &swapped), "", "a mix that both have");
    assert!(!differ([100, 100], &honest, &parts), "pages of a list that grows");
}

/// Lengths of 20 to 20,000 bytes, of which one service has up to 2.5 times as many bytes of white space, or compresses some.
#[test]
fn lengths_that_vary_in_both_services_are_alike() {
    let facts = |length: &dyn Fn(u64) -> (u64, &'static str)| -> Vec<String> {
        let mut groups: BTreeMap<(u32, &str), (u64, u64)> = BTreeMap::new();
        for at in 0..3000 {
            let (bytes, content) = length(20 + at * at / 450);
            let group = groups.entry((digits(bytes as f64), content)).or_default();
            *group = (group.0 + 1, group.1 + bytes);
        }
        groups
            .into_iter()
            .map(|((_, content), (count, bytes))| format!("{count} {bytes} 200 {content} GET 0 0"))
            .collect()
    };
    let compact = facts(&|bytes| (bytes, "json"));
    for (name, other) in [
        ("the same", facts(&|bytes| (bytes, "json"))),
        ("indented", facts(&|bytes| (bytes * 5 / 2, "json"))),
        ("objects only are indented", facts(&|bytes| (if bytes > 100 { bytes * 5 / 2 } else { bytes }, "json"))),
        ("identifiers", facts(&|bytes| (bytes + 40, "json"))),
        ("compressed", facts(&|bytes| (bytes / 8 + 20, "encoded"))),
        (
            "long ones are compressed",
            facts(&|bytes| if bytes < 1000 { (bytes, "json") } else { (bytes / 8, "encoded") }),
        ),
    ] {
        let [compact, other] = [&compact, &other].map(|facts| facts.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!((between(&compact, &other), between(&other, &compact)), Default::default(), "{name}");
    }
}

/// Whether a service's answers at a higher load differ from those at the lowest.
fn changed(lowest: &[&str], here: &[&str]) -> String {
    let of = [lowest, here].map(|facts| Responses::read(facts.iter().copied()));
    change([&of[0], &of[1]], 0.03, &["list".to_string()]).unwrap_or_default()
}

#[test]
fn error_texts_that_come_with_more_load_are_found() {
    let lowest = ["200 342000 200 json GET 0 0"];
    let shed = changed(&lowest, &["389 665190 200 json GET 0 0", "456 15504 200 other GET 0 0"]);
    assert_eq!(
        shed,
        "to list, step 1: GET: 46.0 % 200 JSON, 54.0 % 200 other, mean length 805 B; at the lowest load 200 JSON, \
         mean length 1.67 KiB"
    );
    let more = ["100 171000 200 json GET 0 0", "10 340 200 json GET 0 0"];
    for (base, here, differ) in [
        (&lowest[..], &["900 1539000 200 json GET 0 0", "190 6460 200 json GET 0 0"][..], true),
        (&more, &["500 855000 200 json GET 0 0", "400 13600 200 json GET 0 0"], true),
        (&more, &["1000 1710000 200 json GET 0 0", "110 3740 200 json GET 0 0"], false),
        // Few of the answers, lengths that vary, and longer ones.
        (&lowest, &["990 1692900 200 json GET 0 0", "10 340 200 other GET 0 0"], false),
        (&lowest, &["500 450000 200 json GET 0 0", "500 1539000 200 json GET 0 0"], false),
        (&lowest, &["500 1700000 200 json GET 0 0"], false),
        // One item is read after it was deleted.
        (
            &["20 6000 200 json GET 0 0", "5 0 204 empty DELETE 0 1"],
            &["40 12000 200 json GET 0 0", "30 120 200 other GET 0 0"],
            false,
        ),
    ] {
        assert_eq!(!changed(base, here).is_empty(), differ, "{base:?} and {here:?}");
    }
}

/// Whether services that wrote that much differ in the answers to a request.
fn differ(written: [u64; 2], base: &[&str], other: &[&str]) -> bool {
    of_services([&request(base), &request(other)], 0.03, Some(written)).is_some()
}

/// A faster service has longer lists after the same time.
#[test]
fn lists_that_grow_with_the_writes_are_not_compared() {
    let base = ["100 2700 200 json GET 0 0"];
    assert!(!differ([100, 3000], &base, &["3000 1020000 200 json GET 0 0"]));
    assert!(!differ([100, 3000], &base, &["3000 81000 200 json GET 0 0", "1000 0 204 empty GET 0 0"]));
    assert!(differ([100, 3000], &base, &["3000 0 200 empty GET 0 0"]));
    // Its writers are faster, and its readers slower.
    assert!(!differ([100, 3000], &base, &["30 10200 200 json GET 0 0"]));
}

#[test]
fn lengths_that_no_writes_explain_are_compared() {
    let (base, other) = (["100 3400000 200 json GET 0 0"], ["4700 56400 200 json GET 0 0"]);
    assert!(differ([25, 1200], &base, &other) && differ([1200, 25], &other, &base));
    assert!(differ([25, 25], &base, &other), "a rate that both keep up with");
    // Lists that both empty, or that grow while one service still reads and the other has already read.
    let emptied = ["10 340000 200 json GET 0 0", "4690 9380 200 json GET 0 0"];
    assert!(!differ([25, 1200], &base, &emptied) && !differ([25, 25], &base, &emptied));
}

#[test]
fn answers_are_summed_over_workers_and_shown() {
    let all = request(&["3 3000 200 json GET 0 0", "1 0 204 empty GET 0 0", "6 6000 200 json GET 0 0", "x 1", ""]);
    assert_eq!((all.all(), all.mean_bytes(), all.groups.len()), (10, 900.0, 2));
    assert_eq!(all.kinds(), "90.0 % 200 JSON, 10.0 % 204 empty");
    assert_eq!(request(&["3 3000 200 markup GET 0 0"]).kinds(), "200 HTML or XML");
}

#[test]
fn errors_of_one_service_are_other_work() {
    let of = |committed, failed| {
        let mut counts = Counts::default();
        counts.add(Outcome::Committed, committed);
        counts.add(Outcome::Unknown, failed);
        counts.add(Outcome::Timeout, 7);
        counts
    };
    let failed = |base: (u64, u64), other: (u64, u64)| failed(&[of(base.0, base.1), of(other.0, other.1)], 0.005);
    assert_eq!(failed((10_000, 0), (24_142, 1_128)), Some(["0 %", "4.46 %"].map(String::from)));
    assert_eq!(failed((10_000, 0), (9_990, 10)), None, "few");
    assert_eq!(failed((30, 0), (29, 1)), None, "one of few is chance");
    assert_eq!(failed((960, 40), (9_550, 450)), None, "about as many");
}
