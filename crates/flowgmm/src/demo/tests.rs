//! Short demos.

use std::collections::BTreeMap;

use super::*;
use crate::{
    Error,
    observer::{Control, Phase},
};

/// Problems with fits of a few steps.
fn short(names: &[ProblemName], steps: usize) -> Vec<Problem> {
    let problem = |&name: &ProblemName| {
        let mut problem = Problem::new(name, crate::Preset::Auto, ToyLabels::Random, 1, &mut ()).unwrap();
        problem.config.train.steps = steps;
        problem
    };
    names.iter().map(problem).collect()
}

/// Counts what it sees, and stops after so many steps.
struct Counter {
    total: usize,
    done: usize,
    most: usize,
    fitted: Vec<String>,
}

impl Counter {
    fn until(most: usize) -> Self {
        Self { total: 0, done: 0, most, fitted: Vec::new() }
    }
}

impl Observer for Counter {
    fn phase(&mut self, phase: &Phase, total: Option<usize>) {
        self.total = total.expect("the steps of all fits");
        if let Phase::Fitted { what, .. } = phase {
            self.fitted.push(what.clone());
        }
    }

    fn progress(&mut self, done: usize) -> Control {
        assert!(done >= self.done, "steps are counted upwards");
        self.done = done;
        if done >= self.most { Control::Stop } else { Control::Continue }
    }
}

#[test]
fn a_demo_does_not_depend_on_the_number_of_threads() {
    let names = [ProblemName::Moons, ProblemName::Pinwheel];
    let run = |threads: usize| {
        let mut counter = Counter::until(usize::MAX);
        let demo = run_problems(short(&names, 60), 1, threads, &mut counter).unwrap();
        assert_eq!((counter.done, counter.total), (4 * 60, 4 * 60));
        counter.fitted.sort();
        let fitted = ["moons with all rows", "moons with labelled rows only"];
        assert_eq!(counter.fitted[..2], fitted);
        demo
    };
    let (one, three) = (run(1), run(3));
    assert_eq!(one.files, three.files);
    let files: BTreeMap<&str, &str> = one.files.iter().map(|(name, svg)| (&**name, &**svg)).collect();
    for figure in ["data", "latent", "latent-samples", "generated", "labelled-only-data", "loss"] {
        assert!(files[&*format!("moons-{figure}.svg")].starts_with("<svg"), "{figure}");
    }
    for (a, b) in one.problems.iter().zip(&three.problems) {
        assert_eq!(a.semi_supervised.scores, b.semi_supervised.scores);
        assert_eq!(a.labelled_only.scores, b.labelled_only.scores);
    }
    let html = one.page.to_html();
    assert!(html.contains("Two moons") && html.contains("Pinwheel") && !html.contains("Handwritten"));
    let json = serde_json::to_value(&one.problems).unwrap();
    assert_eq!((json[0]["dataset"].as_str(), json[0]["labels"].as_u64()), (Some("moons"), Some(10)));
    for key in ["unlabelled", "test_rows", "gain"] {
        assert!(json[0][key].is_number(), "{key}");
    }
    for fit in ["semi_supervised", "labelled_only"] {
        assert!(json[0][fit]["scores"]["accuracy"].is_number() && json[0][fit]["certificate"].is_object());
    }
    let tables: Vec<_> = one.tables.iter().map(|(name, frame)| (name.as_str(), frame.n())).collect();
    assert_eq!(tables[..2], [("moons-train.csv", 1000), ("moons-test.csv", 2000)]);
    assert_eq!(one.tables[0].1.column_names().last().map(String::as_str), Some("class"));
}

#[test]
fn digits_are_drawn_with_their_samples() {
    let mut counter = Counter::until(usize::MAX);
    let demo = run_problems(short(&[ProblemName::Digits], 20), 1, 2, &mut counter).unwrap();
    assert_eq!(counter.done, counter.total, "calibration is counted too");
    let names: Vec<&str> = demo.files.iter().map(|(name, _)| &**name).collect();
    assert!(
        ["digits-real.svg", "digits-generated.svg", "digits-reliability.svg"]
            .iter()
            .all(|n| names.contains(n))
    );
    assert!(demo.page.to_html().contains("Handwritten digits"));
}

#[test]
fn a_demo_can_be_stopped() {
    let mut counter = Counter::until(20);
    let stopped = run_problems(short(&[ProblemName::Moons, ProblemName::Circles], 500), 1, 2, &mut counter);
    assert!(matches!(stopped.unwrap_err(), Error::Cancelled { .. }));
    assert!(counter.done < 100, "all fits stop, and none begins: {}", counter.done);
}

#[test]
fn names_are_what_users_write() {
    for problem in ProblemName::ALL {
        assert_eq!(problem.name().parse::<ProblemName>().unwrap(), problem);
    }
    let error = "spirals".parse::<ProblemName>().unwrap_err().to_string();
    assert!(error.contains("'spirals'") && error.contains("moons"), "{error}");
}
