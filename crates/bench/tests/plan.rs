//! Plans, good and bad.

use std::path::Path;

use flowgmm_bench::{LabelSource, Plan, Registry, registry};

const PLAN: &str = include_str!("data/toys.toml");

#[test]
fn plans_with_mistakes_say_which() {
    let error = |from: &str, to: &str| {
        assert!(PLAN.contains(from), "{from}");
        let parsed = Plan::parse(&PLAN.replacen(from, to, 1));
        parsed.and_then(|plan| plan.check(&Registry::baselines())).expect_err(to).to_string()
    };
    let unknown = error("\"knn\"", "\"kn\"");
    assert!(
        unknown.contains("unknown learner 'kn'; known are cluster-regression, expert-forest, "),
        "{unknown}"
    );
    assert!(error("\"knn\"", "\"label-spreading\"").contains("learner 'label-spreading' is there twice"));
    assert!(error("count = 3", "count = 0").contains("one draw"));
    assert!(error("labels = [2, 5]", "").contains("dataset 'moons': give either labels"));
    assert!(
        error("labels = [2, 5]", "labels = 1\nsplit = 'x'").contains("dataset 'moons': give either labels")
    );
    assert!(error("labels = [2, 5]", "labels = [2, 0]").contains("at least 1 of each class"));
    assert!(error("labels = [2, 5]", "labels = [2, 2]").contains("a number is there twice"));
    assert!(error("name = \"pinwheel\"", "name = \"moons\"").contains("dataset 'moons' is there twice"));
    assert!(
        error("title", "test = { share = 1.0, limit = 5 }\ntitle").contains("share strictly between 0 and 1")
    );
    assert!(error("title", "budget_seconds = 0.0\ntitle").contains("budget_seconds: found 0"));
    assert!(error("title", "ours = ['flowgmm']\ntitle").contains("'flowgmm' is in ours but not in learners"));
    assert!(
        error("title", "steps = { mlp = 9 }\ntitle").contains("'mlp' is in steps but not in learners"),
        "steps of nobody"
    );
    assert!(error("title", "rank = ['svc']\ntitle").contains("'svc' is in rank but not in learners"));
    assert!(error("title", "rank = ['knn', 'knn']\ntitle").contains("rank: 'knn' is there twice"));
    assert!(
        error("title", "only_at = { svc = 2 }\ntitle").contains("'svc' is in only_at but not in learners")
    );
    assert!(error("title", "only_at = { knn = 7 }\ntitle").contains("at 7 per class, which no dataset has"));
    assert!(error("labels = 3", "labels = { random_total = 0 }").contains("at least 1 of each class"));
    assert!(error("labels = 3", "labels = { share = 3 }").contains("{ random_per_class = N }"));
    assert!(error("title", "colour = 'red'\ntitle").contains("unknown field `colour`"));
    let plan = || Plan::parse(PLAN).unwrap();
    assert!(
        plan().only(&["sun".into()]).unwrap_err().to_string().contains("no dataset 'sun'; there are moons")
    );
    assert_eq!(plan().only(&["moons".into()]).unwrap().n_cells(), 18);
}

#[test]
fn steps_are_those_of_learners_that_are_trained_in_steps() {
    let registry = Registry::baselines();
    let settings = |name: &str, steps| registry.learner(name, steps).unwrap().settings();
    for name in ["mlp", "pi-model", "m1m2"] {
        assert!(settings(name, Some(77)).contains("steps: 77"), "{}", settings(name, Some(77)));
        assert_ne!(settings(name, Some(77)), settings(name, None), "a cell with other steps is another cell");
    }
    let error = |name: &str, steps| registry.learner(name, Some(steps)).err().unwrap().to_string();
    assert!(error("knn", 5).contains("'knn' cannot be trained for 5 steps"));
    assert!(error("mlp", 0).contains("'mlp' cannot be trained for 0 steps"));
    assert!(error("magic", 5).contains("unknown learner 'magic'"));
}

#[test]
fn the_steps_of_a_dataset_come_before_the_plans() {
    let text = r#"
title = "t"
learners = ["mlp", "knn"]
draws = { first = 0, count = 1 }
steps = { mlp = 20 }
dataset = [{ name = "a", file = "a", labels = 1 }, { name = "b", file = "b", labels = 1, steps = { mlp = 30 } }]
"#;
    let plan = Plan::parse(text).unwrap();
    let steps = |at: usize, name| plan.steps(&plan.datasets[at], name);
    assert_eq!([steps(0, "mlp"), steps(1, "mlp"), steps(1, "knn")], [Some(20), Some(30), None]);
    plan.check(&Registry::baselines()).unwrap();
    let of_knn = Plan::parse(&text.replace("{ mlp = 30 }", "{ knn = 30 }")).unwrap();
    let error = of_knn.check(&Registry::baselines()).unwrap_err().to_string();
    assert!(error.contains("'knn' cannot be trained for 30 steps"), "{error}");
    let nobody = Plan::parse(&text.replace("{ mlp = 30 }", "{ svm = 30 }")).unwrap_err().to_string();
    assert!(nobody.contains("'svm' is in steps but not in learners"), "{nobody}");
}

#[test]
fn labels_and_learners_of_a_plan_are_those_of_its_datasets() {
    let text = r#"
title = "t"
learners = ["knn", "svc"]
draws = { first = 0, count = 10 }
labels = [5, 20, { random_per_class = 5 }]
only_at = { svc = [5, { random_per_class = 5 }] }
dataset = [{ name = "a", file = "a" }, { name = "b", file = "b", labels = { random_total = 9 } }, { name = "c", file = "c", split = "s" }]
"#;
    let plan = Plan::parse(text).unwrap();
    let sources: Vec<Vec<LabelSource>> = plan.datasets.iter().map(|d| d.label_sources()).collect();
    let (five, random) = (LabelSource::PerClass(5), LabelSource::RandomPerClass(5));
    assert_eq!(sources[0], [five, LabelSource::PerClass(20), random]);
    assert_eq!(sources[1..], [[LabelSource::RandomTotal(9)], [LabelSource::Split("s".into())]]);
    let learners: Vec<usize> = sources[0].iter().map(|labels| plan.learners_at(labels).count()).collect();
    assert_eq!(learners, [2, 1, 2]);
    assert_eq!(plan.n_cells(), 10 * (5 + 1 + 1), "svc runs neither on b nor on c");
    let names = sources.iter().flatten().map(|labels| plan.split_name(&plan.datasets[0], labels));
    assert_eq!(names.collect::<std::collections::BTreeSet<_>>().len(), 5, "each is a cell of its own");
}

#[test]
fn the_plans_of_this_project_are_good_ones() {
    let experiments = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let plan = Plan::read(&experiments.join("table1.toml")).unwrap();
    let registry = registry();
    plan.check(&registry).unwrap();
    assert_eq!((plan.datasets.len(), plan.n_cells()), (9, 9 * 17 * 5));
    let mixture = Plan::read(&experiments.join("mixture.toml")).unwrap();
    mixture.check(&registry).unwrap();
    assert_eq!(mixture.n_cells(), 3 * 8 * 5);
    let images = Plan::read(&experiments.join("images.toml")).unwrap();
    images.check(&registry).unwrap();
    assert_eq!(images.n_cells(), 3 * 11);
    let m1m2 = Plan::read(&experiments.join("m1m2.toml")).unwrap();
    m1m2.check(&registry).unwrap();
    assert_eq!(m1m2.n_cells(), 3);
    let small = Plan::read(&experiments.join("small.toml")).unwrap();
    small.check(&registry).unwrap();
    assert_eq!(small.n_cells(), 21 * 10 * (5 * 10 + 2), "two of twelve learners at 5 labels only");
    let missing = plan.check(&Registry::baselines()).unwrap_err().to_string();
    assert!(missing.contains("unknown learner 'flowgmm'"), "{missing}");
}
