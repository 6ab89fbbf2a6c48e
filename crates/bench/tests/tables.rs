//! The text of tables, from results made by hand.

use flowgmm_bench::{
    CellKey, CellScores, LabelSource, Outcome, Plan, Record, Summary, accuracy_table, comparison_table, csv,
    paired,
};

fn plan(more: &str) -> Plan {
    let text = format!(
        "{more}
        title = 'By hand'
        learners = ['a', 'b', 'c', 'd']
        draws = {{ first = 1, count = 5 }}
        [[dataset]]
        name = 'data'
        file = 'data.csv'
        labels = 10"
    );
    Plan::parse(&text).expect("a good plan")
}

fn record(plan: &Plan, learner: &str, draw: u64, outcome: Outcome) -> Record {
    let labels = LabelSource::PerClass(10);
    let split = plan.split_name(&plan.datasets[0], &labels);
    let (dataset, learner, settings) = ("data".into(), learner.into(), "k: 1, \"raw\"".into());
    Record {
        cell: CellKey { dataset, labels, learner, draw, settings, split },
        outcome,
        validation: None,
        fit_seconds: 1.5,
        predict_seconds: 0.5,
        peak_memory: None,
        rows: [20, 100, 50],
        classes_without_label: 0,
        shares_nll: None,
        seed: draw,
        data: "d".into(),
        plan: plan.hash(),
        version: "v".into(),
        threads: 2,
        date: "2026-11-16T00:00:00Z".into(),
    }
}

fn scored(accuracy: f64) -> Outcome {
    let (balanced_accuracy, macro_f1) = (accuracy, accuracy);
    Outcome::Scored(CellScores {
        accuracy,
        balanced_accuracy,
        macro_f1,
        nll: None,
        clipped_nll: None,
        brier: 0.2,
        ece: 0.1,
    })
}

const A: [f64; 5] = [0.90, 0.92, 0.91, 0.93, 0.89];
const B: [f64; 5] = [0.91, 0.90, 0.91, 0.92, 0.90]; // as good as a, one way or the other
const C: [f64; 5] = [0.80, 0.83, 0.81, 0.82, 0.80]; // always worse

fn records(plan: &Plan) -> Vec<Record> {
    let mut records = Vec::new();
    for (learner, values) in [("a", A), ("b", B), ("c", C)] {
        records.extend((1..).zip(values).map(|(draw, value)| record(plan, learner, draw, scored(value))));
    }
    records.push(record(plan, "d", 1, scored(0.99)));
    records.push(record(plan, "d", 2, Outcome::Failed("out of\nmemory".into())));
    records
}

#[test]
fn the_best_is_bold_and_those_not_worse_are_marked() {
    let plan = plan("");
    let table = accuracy_table(&Summary::new(&plan, &records(&plan)));
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[..2], ["| learner | data (10) |", "|---|---|"]);
    assert_eq!(lines[2..5], ["| a | **91.0 ± 1.6** |", "| b | 90.8 ± 0.8† |", "| c | 81.2 ± 1.3 |"]);
    assert_eq!(lines[5], "| d | 99.0 (1/5) |", "one lucky draw does not make it the best");
    let html = flowgmm_bench::page(&Summary::new(&plan, &records(&plan))).to_html();
    assert!(
        html.contains(r#"<td class="right best">91.0 ± 1.6</td>"#),
        "the same learner is the best on the page"
    );
    assert!(html.contains(r#"<td class="right">99.0 (1 of 5)</td>"#));
    assert!(
        lines[7].contains("over 5 draws") && lines[7].contains("cannot go below p = 0.0625"),
        "{}",
        lines[7]
    );
}

#[test]
fn ours_is_compared_with_the_best_rival() {
    let test = paired(&A, &C).unwrap();
    assert_eq!(test.p_flip, 0.0625);
    let plan_c = plan("ours = ['c', 'a']");
    let comparison = comparison_table(&Summary::new(&plan_c, &records(&plan_c)));
    // b, since a is ours as well; d has too few draws.
    // t = -0.096 / (0.015166 / sqrt 5) = -14.15 on 4 degrees, of which the closed form gives 0.000145.
    assert!(comparison.contains("| data | 10 | c | b | -9.6 | 0.00014 | 0.0625 |"), "{comparison}");
    let plan = plan("");
    let comparison = comparison_table(&Summary::new(&plan, &records(&plan)));
    assert!(comparison.contains("| data | 10 | a | b | +0.2 | 0.75 | 1.00 |"), "{comparison}");
}

#[test]
fn the_later_record_of_a_cell_counts_and_other_plans_do_not() {
    let plan = plan("");
    let mut all = records(&plan);
    all.push(record(&plan, "c", 1, scored(1.)));
    let mut other = record(&plan, "c", 2, scored(1.));
    other.cell.split = "another file".into();
    all.push(other);
    let summary = Summary::new(&plan, &all);
    let c: Vec<f64> = summary.rows[0].entries[2].accuracies.iter().map(|(_, accuracy)| *accuracy).collect();
    assert_eq!(c, [1., 0.83, 0.81, 0.82, 0.80]);
    assert_eq!(summary.rows[0].entries[3].failed, 1);
    assert!(Summary::new(&plan, &[]).rows.is_empty());
}

#[test]
fn cells_as_csv_are_quoted_where_they_must_be() {
    let plan = plan("");
    let text = csv(&records(&plan)[15..]);
    let expected = "data,10,d,1,0.99,0.99,0.99,inf,0.2,0.1,1.5000,0.5000,,20,100,50,2,2026-11-16T00:00:00Z,v,,\"k: 1, \"\"raw\"\"\",,,0";
    assert_eq!(text.lines().nth(1), Some(expected));
    assert!(
        text.contains(",d,2,,,,,,,1.5000,0.5000,,20,100,50,2,2026-11-16T00:00:00Z,v,\"out of\nmemory\",")
    );
}

#[test]
fn one_draw_has_no_spread() {
    let mut one = plan("");
    one.draws.count = 1;
    let table = accuracy_table(&Summary::new(&one, &records(&one)));
    assert!(table.contains("| a | 90.0 |") && table.contains("| d | **99.0** |"), "{table}");
    assert!(table.contains("of one draw") && !table.contains('±'), "{table}");
}
