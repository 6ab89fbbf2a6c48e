//! What results say over all tables, from results made by hand.

use flowgmm_bench::{
    CellKey, CellScores, LabelSource, Outcome, Plan, Record, Suite, Summary, accuracy_table, page,
    suite_tables,
};

const PLAN: &str = "
title = 'By hand'
learners = ['a', 'b', 'c', 'e']
ours = ['a']
rank = ['a', 'b', 'c']
labels = [5, 20]
only_at = { e = 5 }
draws = { first = 1, count = 2 }
dataset = [{ name = 't1', file = '1' }, { name = 't2', file = '2' }]
";

/// Accuracies of two draws, and the NLL.
const RESULTS: [(&str, usize, &str, [f64; 2], f64); 14] = [
    ("t1", 5, "a", [0.80, 0.84], 0.5),
    ("t1", 5, "b", [0.90, 0.86], 0.5),
    ("t1", 5, "c", [0.82, 0.82], 0.5),
    ("t1", 5, "e", [0.99, 0.99], 0.5),
    ("t2", 5, "a", [0.70, 0.70], 0.7),
    ("t2", 5, "b", [0.60, 0.62], 0.5),
    ("t2", 5, "c", [0.66, 0.66], 0.5),
    ("t2", 5, "e", [0.99, 0.99], 0.5),
    ("t1", 20, "a", [0.79, 0.82], 0.5), // worse by 0.010 and 0.020: by 0.015, with a standard error of 0.005
    ("t1", 20, "b", [0.90, 0.90], 0.5),
    ("t1", 20, "c", [0.90, 0.90], 0.5),
    ("t2", 20, "a", [0.72, 0.60], 0.5), // better by 0.02 and worse by 0.10: by 0.04, with a standard error of 0.06
    ("t2", 20, "b", [0.90, 0.90], 0.5),
    ("t2", 20, "c", [0.90, 0.90], 0.5),
];

fn plan(text: &str) -> Plan {
    Plan::parse(text).expect("a good plan")
}

fn records(plan: &Plan) -> Vec<Record> {
    let record = |(dataset, n, learner, accuracies, nll): (&str, usize, &str, [f64; 2], f64), draw: u64| {
        let labels = LabelSource::PerClass(n);
        let of = plan.datasets.iter().find(|of| of.name == dataset).expect("a table of the plan");
        let split = plan.split_name(of, &labels);
        let accuracy = accuracies[draw as usize - 1];
        let (balanced_accuracy, macro_f1) = (accuracy, accuracy);
        let (nll, clipped_nll) = (None, Some(nll));
        let scores =
            CellScores { accuracy, balanced_accuracy, macro_f1, nll, clipped_nll, brier: 0.2, ece: 0.1 };
        let (dataset, learner, settings) = (dataset.into(), learner.into(), "s".into());
        Record {
            cell: CellKey { dataset, labels, learner, draw, settings, split },
            outcome: Outcome::Scored(scores),
            validation: None,
            fit_seconds: 1.5,
            predict_seconds: 0.5,
            peak_memory: None,
            rows: [20, 100, 50],
            classes_without_label: 0,
            shares_nll: Some(0.69),
            seed: draw,
            data: "d".into(),
            plan: plan.hash(),
            version: "v".into(),
            threads: 2,
            date: "2026-11-16T00:00:00Z".into(),
        }
    };
    RESULTS.into_iter().flat_map(|result| [record(result, 1), record(result, 2)]).collect()
}

fn suite(plan: &Plan, records: &[Record]) -> Suite {
    Summary::new(plan, records).suite
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
}

#[test]
fn means_and_ranks_are_over_tables() {
    let plan = plan(PLAN);
    let suite = suite(&plan, &records(&plan));
    let five = &suite.groups[0];
    assert_eq!((suite.groups.len(), five.tables, five.ranked_tables), (2, 2, 2));
    assert_eq!((&five.labels, five.learners.len()), (&LabelSource::PerClass(5), 4));
    let [a, b, c, e] = &five.learners[..] else { panic!("four learners") };
    close(a.accuracy, (0.82 + 0.70) / 2.);
    close(a.nll.unwrap(), 0.6);
    close(a.ece, 0.1);
    // On t1 b is first, and a and c share ranks 2 and 3; on t2 the order is a, c, b. e is not ranked.
    assert_eq!([a, b, c, e].map(|of| of.mean_rank), [Some(1.75), Some(2.), Some(2.25), None]);
    let shares = a.against_shares.unwrap();
    close(shares.difference, (0.5 + 0.7) / 2. - 0.69);
    assert_eq!(shares.worse, 1, "on t2");
    assert_eq!(suite.groups[1].learners.len(), 3, "e has 5 labels only");
}

#[test]
fn a_shortfall_is_to_the_best_ranked_rival() {
    let plan = plan(PLAN);
    let suite = suite(&plan, &records(&plan));
    let [short] = &suite.groups[0].shortfalls[..] else { panic!("one of ours") };
    close(short.largest, 0.88 - 0.82);
    assert_eq!((short.dataset.as_str(), short.rival.as_str()), ("t1", "b"));
    assert_eq!((short.large, short.tables), (1, 2), "on t2 ours is ahead");
    let [short] = &suite.groups[1].shortfalls[..] else { panic!("one of ours") };
    assert_eq!((short.large, short.tables, short.dataset.as_str()), (2, 2, "t2"));
}

#[test]
fn learners_are_compared_on_draws_that_all_have_finished() {
    let plan = plan(PLAN);
    let mut some = records(&plan);
    let second_of_b = |r: &Record| {
        (r.cell.dataset.as_str(), r.cell.learner.as_str(), r.cell.draw) == ("t1", "b", 2)
            && r.cell.labels == LabelSource::PerClass(5)
    };
    some.retain(|record| !second_of_b(record));
    let group = &suite(&plan, &some).groups[0];
    close(group.shortfalls[0].largest, 0.90 - 0.80);
    // Draw 1 of t1: b, c, a.
    assert_eq!(group.learners[0].mean_rank, Some((3. + 1.) / 2.));
    some.retain(|record| (record.cell.dataset.as_str(), record.cell.learner.as_str()) != ("t1", "c"));
    let group = &suite(&plan, &some).groups[0];
    assert_eq!((group.ranked_tables, group.learners[2].tables), (1, 1), "c has no result on t1");
    let text = suite_tables(&suite(&plan, &some));
    assert!(text.contains("| c (1/2 tables) |") && text.contains("Ranks over 1 of 2 tables."), "{text}");
}

#[test]
fn falls_are_those_beyond_one_standard_error() {
    let plan = plan(PLAN);
    let falls = suite(&plan, &records(&plan)).falls;
    let found: Vec<_> = falls.iter().map(|of| (of.learner.as_str(), of.falls.len(), of.steps)).collect();
    assert_eq!(found, [("a", 1, 2), ("b", 0, 2), ("c", 0, 2)]);
    let fall = &falls[0].falls[0];
    assert_eq!((fall.dataset.as_str(), fall.from, fall.to), ("t1", 5, 20));
    close(fall.difference, -0.015);
    close(fall.standard_error, 0.005);
}

#[test]
fn the_tables_say_so() {
    let plan = plan(PLAN);
    let summary = Summary::new(&plan, &records(&plan));
    let text = suite_tables(&summary.suite);
    for line in [
        "## 2 tables, labels 5 per class",
        "| a | 76.0 | 0.600 | 0.100 | 1.75 | -0.090 | 1 |",
        "| e | 99.0 | 0.500 | 0.100 | – | -0.190 | 0 |",
        "| a | +6.0 | t1 | b | 1 of 2 |",
        "| a | 1 of 2 | t1 5 → 20 (-1.5 ± 0.5) |",
        "| b | 0 of 2 | – |",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    let html = page(&summary).to_html();
    assert!(
        html.contains("2 tables, labels 20 per class") && html.contains("Lower accuracy with more labels")
    );
    let one = plan_of_one_table();
    assert_eq!(suite_tables(&Summary::new(&one, &[]).suite), "");
}

fn plan_of_one_table() -> Plan {
    plan(&PLAN.replace(", { name = 't2', file = '2' }", ""))
}

#[test]
fn more_data_than_a_page_is_wide_are_set_down_it() {
    let tables: Vec<String> = (1..=7).map(|i| format!("{{ name = 't{i}', file = '{i}' }}")).collect();
    let text = PLAN.split("dataset").next().unwrap().to_string();
    let wide = plan(&format!("{text}dataset = [{}]", tables.join(", ")));
    let two = records(&wide);
    let mut all = Vec::new();
    for table in &wide.datasets {
        for record in two.iter().filter(|record| record.cell.dataset == "t1") {
            let mut record = record.clone();
            record.cell.dataset = table.name.clone();
            record.cell.split = wide.split_name(table, &record.cell.labels);
            all.push(record);
        }
    }
    let table = accuracy_table(&Summary::new(&wide, &all));
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[0], "| data | a | b | c | e |");
    assert!(lines[2].starts_with("| t1 (5) | 82.0 ± 2.8"), "{}", lines[2]);
    assert!(lines[3].starts_with("| t2 (5) |"), "tables of the same labels are together: {}", lines[3]);
    assert!(lines[9].starts_with("| t1 (20) |") && lines[9].ends_with("| – |"), "{}", lines[9]);
}
