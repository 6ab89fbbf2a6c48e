//! The paper's items: every number of its tables is there, and ours are found in committed results.

use std::{collections::BTreeSet, path::Path};

use flowgmm_bench::{
    Plan,
    paper::{How, Ours, items, run_distances},
    registry,
};

fn experiments() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments")
}

#[test]
fn items_have_names_of_their_own_and_plans_that_run() {
    let items = items();
    let names: BTreeSet<&str> = items.iter().map(|item| item.id).collect();
    assert_eq!(names.len(), items.len());
    for name in ["figure1", "figure2", "figure5", "table1", "table2", "table3", "calibration", "appendix-g"] {
        assert!(names.contains(name), "{name}");
    }
    let registry = registry();
    for item in &items {
        let plans = if let How::Plans(plans) = item.how { plans } else { &[] };
        for plan in plans {
            let plan = Plan::read(&experiments().join(format!("{plan}.toml"))).unwrap();
            plan.check(&registry).unwrap();
        }
        for cell in &item.cells {
            let &Ours::Plan { plan, dataset, learner } = &cell.ours else { continue };
            let plan = Plan::read(&experiments().join(format!("{plan}.toml"))).unwrap();
            assert!(plan.datasets.iter().any(|of| of.name == dataset), "{}: {dataset}", item.id);
            let family = format!("{learner}/");
            let known = |name: &String| name == learner || name.starts_with(&family);
            assert!(plan.learners.iter().any(known), "{}: {learner}", item.id);
        }
    }
}

/// Files of results that are there have the numbers that items look for: an error other than "not run" is a wrong pointer.
#[test]
fn our_numbers_are_where_items_look_for_them() {
    let mut found = 0;
    for item in items() {
        for cell in item.ours(&experiments()) {
            match &cell.ours {
                Ok(number) => {
                    assert!(number.mean.is_finite(), "{}: {cell:?}", item.id);
                    found += 1;
                }
                Err(why) => assert!(why.len() < 40, "{}: {} {}: {why}", item.id, cell.row, cell.column),
            }
        }
    }
    assert!(found >= 30, "{found} numbers");
}

#[test]
fn appendix_g_is_made_and_read() {
    let directory = tempfile::tempdir().unwrap();
    let made = run_distances("appendix-g", &directory.path().join("results/paper")).unwrap();
    assert!(made["784"]["saturated"].as_f64().unwrap() > 0.999);
    let item = items().into_iter().find(|item| item.id == "appendix-g").unwrap();
    for cell in item.ours(directory.path()) {
        let (theirs, ours) = (cell.theirs.unwrap(), cell.ours.unwrap().mean);
        assert!((theirs - ours).abs() < 0.1, "{} {}: {ours}", cell.row, cell.column);
    }
    assert!(directory.path().join("results/paper/appendix-g.html").is_file());
}
