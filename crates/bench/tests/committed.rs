//! Results that this project keeps in its repository.

use std::{collections::BTreeSet, fs, path::Path};

use flowgmm_bench::{Plan, read_records, registry};

/// Every committed result is read, and belongs to a learner with the settings of today, so that a plan would not run it again;
/// or to an earlier recipe of FlowGMM, whose images and variants in table 1 have not been run again with the recipe of today.
#[test]
fn committed_results_are_still_results_of_these_learners() {
    let experiments = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let registry = registry();
    let mut plans = 0;
    for name in ["table1", "images", "mixture", "spreading", "m1m2"] {
        let plan = Plan::read(&experiments.join(format!("{name}.toml"))).unwrap();
        let file = experiments.join("results").join(name).join("results.jsonl");
        let records = read_records(&file).unwrap();
        assert_eq!(records.len(), fs::read_to_string(&file).unwrap().lines().count(), "{name}");
        let settings = |steps: Option<usize>, learner: &str| {
            registry.learner(learner, steps).unwrap_or_else(|error| panic!("{name}: {error}")).settings()
        };
        let mut expected = BTreeSet::new();
        for dataset in &plan.datasets {
            for learner in &plan.learners {
                let now = settings(plan.steps(dataset, learner), learner);
                expected.insert((dataset.name.clone(), learner.clone(), now));
            }
        }
        for record in records.iter().filter(|record| plan.learners.contains(&record.cell.learner)) {
            let cell = &record.cell;
            let earlier = ["recipe: 5", "recipe: 7", "recipe: 8"];
            let settings = earlier
                .iter()
                .fold(cell.settings.clone(), |settings, recipe| settings.replace(recipe, "recipe: 9"));
            let key = (cell.dataset.clone(), cell.learner.clone(), settings);
            assert!(expected.contains(&key), "{name}: {key:?}");
        }
        plans += 1;
    }
    assert_eq!(plans, 5);
}
