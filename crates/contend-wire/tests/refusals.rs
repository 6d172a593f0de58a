//! Statuses of a step: those that are no failure, and those with which a service says that it did nothing.

use contend_wire::digest::sealed;
use contend_wire::plan::{Plan, Step};

fn plan(status: &str) -> String {
    let text = format!(
        "contend-plan 3\nworker\t0\ndriver\thttp\tevents\nconnections\tclient\nwindow\t0\t0\t0\nnow\tclock\ndatabase\tservice\thttp://a\n\
         request\t0\tPOST\t/pay\t-\ntransaction\t0\tpay\twrite\t-\t0\t0\t1\nstep\thttp\t0\t{status}\t-\t-\n\
         retry\t1\t-\t-\t-\nclients\t0\nend\n"
    );
    sealed(&text)
}

#[test]
fn refusals_are_told_from_what_is_expected() {
    let text = plan("200-299,409,!402,!420-429");
    let plan = Plan::decode(&text).unwrap();
    let Step::Http(step) = &plan.head.transactions[0].steps[0] else { panic!("a request") };
    assert_eq!((&step.status[..], &step.refused[..]), (&[(200, 299), (409, 409)][..], &[(402, 402), (420, 429)][..]));
    assert_eq!(plan.encode(), text);
}

#[test]
fn a_step_expects_something() {
    for status in ["!402", "-", "200,!", "200,!99", "200,!!402"] {
        let error = Plan::decode(&plan(status)).unwrap_err().to_string();
        assert!(error.contains("status"), "{status}: {error}");
    }
}
