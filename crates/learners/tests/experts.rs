//! What a user of trees, boosting, support vectors and the pool of experts would notice, and what a damaged file does.

use flowgmm_learners::{
    Boosted, ClusterLogistic, ClusterRegression, Expert, ExpertPool, Experts, Forest, GradientBoosting,
    PlainLogisticRegression, SupportVectors, TreeSettings,
};
use ndarray::{Array2, Axis, array};
use proptest::prelude::*;
use rand::Rng as _;
use semisup::metrics::accuracy;
use semisup::{Classifier, Learner, SemiSupervised, Toy, rng};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// Three classes along the first column, noise in the others, one of which is constant.
fn rows(n: usize, seed: u64) -> (Array2<f64>, Vec<usize>) {
    let mut rng = rng(seed);
    let x = Array2::from_shape_fn((n, 5), |(i, j)| match j {
        0 => 2. * (i % 3) as f64 + rng.random::<f64>(),
        1 => 7.,
        _ => rng.random::<f64>(),
    });
    (x, (0..n).map(|i| i % 3).collect())
}

fn names(k: usize) -> Vec<String> {
    (0..k).map(|k| format!("class {k}")).collect()
}

const SMALL: Experts = Experts { n_trees: 20, c: 1. };

#[test]
fn forests_fit_their_rows_and_forget_rows_of_weight_zero() {
    let (x, y) = rows(60, 1);
    let wrong: Vec<usize> =
        y.iter().enumerate().map(|(i, &k)| if i < 20 { (k + 1) % 3 } else { k }).collect();
    let weights: Vec<f64> = (0..60).map(|i| f64::from(u8::from(i >= 20))).collect();
    for settings in [TreeSettings::extra_trees(50), TreeSettings::random_forest(50)] {
        let all = Forest::fit(x.view(), &y, 3, None, &settings, 1).unwrap();
        assert_eq!(semisup::metrics::arg_max(all.probs(x.view()).view()), y);
        let kept = Forest::fit(x.view(), &wrong, 3, Some(&weights), &settings, 1).unwrap();
        let found = semisup::metrics::arg_max(kept.probs(x.view()).view());
        assert!(accuracy(&found, &y) > 0.9, "rows of weight 0 have wrong labels");
        assert_eq!(all.n_trees(), 50);
        assert!(all.n_nodes() <= 50 * (2 * 60 - 1), "a leaf for each row at most");
    }
    // Without bootstrap all trees fit all rows.
    let certain = Forest::fit(x.view(), &y, 3, None, &TreeSettings::extra_trees(9), 1).unwrap();
    assert!(certain.probs(x.view()).iter().all(|&p| p == 0. || p == 1.));
}

#[test]
fn forests_are_invariant_to_monotone_maps_of_columns() {
    let (x, y) = rows(60, 2);
    let (t, _) = rows(40, 3);
    // Powers of two keep every order and every middle exact.
    let moved = |x: &Array2<f64>| x * &array![4., 0.5, 16., 1., 0.25];
    let settings = TreeSettings::random_forest(30);
    let plain = Forest::fit(x.view(), &y, 3, None, &settings, 5).unwrap().probs(t.view());
    let mapped = Forest::fit(moved(&x).view(), &y, 3, None, &settings, 5).unwrap().probs(moved(&t).view());
    assert_eq!(plain, mapped);
}

#[test]
fn equal_rows_of_different_classes_share_a_leaf() {
    let (x, y) = (array![[1., 2.], [1., 2.], [1., 2.], [3., 2.]], [0, 1, 0, 2]);
    let forest = Forest::fit(x.view(), &y, 3, None, &TreeSettings::extra_trees(10), 1).unwrap();
    let expected = array![[2. / 3., 1. / 3., 0.], [0., 0., 1.]];
    let found = forest.probs(array![[1., 2.], [3., 2.]].view());
    assert!((found - expected).iter().all(|apart| apart.abs() < 1e-6), "shares have 32 bits");
    forest.validate(2, 3).unwrap();
}

#[test]
fn the_same_bits_on_any_number_of_threads() {
    let problem = Toy::Pinwheel.problem(2);
    let with = |threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| SMALL.fit(&problem.train, seed).unwrap().log_probs(problem.test.x()))
    };
    let one = with(1, 7);
    assert_eq!(one, with(4, 7));
    assert_ne!(one, with(1, 8), "the seed matters");
    let svc = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let (x, y) = rows(40, 1);
        pool.install(|| SupportVectors::fit(x.view(), &y, 3, 1., 1).unwrap())
    };
    assert_eq!(svc(1), svc(4));
}

#[test]
fn the_pool_is_the_mean_of_its_members_and_never_certain() {
    let problem = Toy::Moons.problem(1);
    let pool = SMALL.fit(&problem.train, 3).unwrap();
    let x = problem.test.x();
    let members: Vec<&str> = pool.members().iter().map(Expert::name).collect();
    let names = ["logistic regression", "extra trees", "random forest", "cluster regression"];
    assert_eq!(members, names);
    let none: Array2<f64> = Array2::zeros((x.nrows(), 2));
    let sum = pool.members().iter().fold(none, |sum, one| sum + one.probs(x));
    let epsilon = 0.5 / 11.; // ten labels
    let apart = pool.log_probs(x).exp() - (sum * ((1. - epsilon) / 4.) + epsilon / 2.);
    assert!(apart.iter().all(|apart| apart.abs() < 1e-12));
    let default = ExpertPool::fit(&problem.train, 1).unwrap();
    let found = accuracy(&default.predict(x), problem.test.y());
    assert!(found > 0.8, "{found}");
}

#[test]
fn a_class_without_labels_is_improbable_but_possible() {
    let (x, y) = rows(30, 4);
    // The classes have 1, 10 and 0 labels.
    let labels: Vec<Option<usize>> =
        y.iter().enumerate().map(|(i, &k)| (k == 1 || i == 0).then_some(k)).collect();
    let pool = SMALL.fit_rows(x.view(), &labels, &names(3), 1).unwrap();
    pool.validate(5, 3).unwrap();
    let log_probs = pool.log_probs(x.view());
    assert!(log_probs.iter().all(|log_p| log_p.is_finite()));
    assert!(log_probs.exp().sum_axis(Axis(1)).iter().all(|sum| (sum - 1.).abs() < 1e-9));
    assert!(log_probs.column(2).iter().all(|log_p| log_p.exp() < 0.2));
    let (x, y): (_, Vec<usize>) = (x.select(Axis(0), &[0, 1, 4]), vec![0, 1, 1]);
    for log_probs in [
        Boosted::fit(x.view(), &y, 3, None, &GradientBoosting::default(), 1).unwrap().log_probs(x.view()),
        SupportVectors::fit(x.view(), &y, 3, 1., 1).unwrap().log_probs(x.view()),
    ] {
        assert!(log_probs.iter().all(|log_p| log_p.is_finite()));
        assert!(semisup::metrics::arg_max(log_probs.view()).iter().all(|&k| k != 2));
    }
}

/// Six narrow clusters around a circle with classes in turn, one label in each: no line parts the classes.
#[test]
fn cluster_regression_learns_from_unlabelled_rows() {
    let mut rng = rng(1);
    let x = Array2::from_shape_fn((300, 2), |(i, j)| {
        let angle = (i % 6) as f64 * std::f64::consts::TAU / 6.;
        2. * [angle.cos(), angle.sin()][j] + 0.3 * (rng.random::<f64>() - 0.5)
    });
    let truth: Vec<usize> = (0..300).map(|i| i % 2).collect();
    let y = (0..300).map(|i| (i < 6).then_some(truth[i])).collect();
    let data = SemiSupervised::new(x, y, names(2), names(2)).unwrap();
    let clusters = ClusterRegression::default().fit(&data, 1).unwrap().predict(data.x());
    let linear = PlainLogisticRegression::default().fit(&data, 1).unwrap().predict(data.x());
    assert!(accuracy(&linear, &truth) < 0.7);
    assert!(accuracy(&clusters, &truth) > 0.95, "{}", accuracy(&clusters, &truth));
}

#[test]
fn settings_and_rows_out_of_range_are_named() {
    let (x, y) = rows(9, 1);
    let settings = TreeSettings::extra_trees(5);
    let forest = |y: &[usize], weights: Option<&[f64]>, settings: &TreeSettings| {
        Forest::fit(x.view(), y, 3, weights, settings, 1).unwrap_err().to_string()
    };
    assert!(forest(&y, None, &TreeSettings::extra_trees(0)).contains("n_trees: found 0"));
    assert!(forest(&y[1..], None, &settings).contains("found 8, expected 9"));
    assert!(forest(&[5; 9], None, &settings).contains("label 5"));
    assert!(forest(&y, Some(&[0.; 9]), &settings).contains("the sum of weights: found 0"));
    assert!(forest(&y, Some(&[-1.; 9]), &settings).contains("a weight: found -1"));
    let boosting = GradientBoosting { learning_rate: f64::NAN, ..GradientBoosting::default() };
    assert!(
        Boosted::fit(x.view(), &y, 3, None, &boosting, 1).unwrap_err().to_string().contains("learning_rate")
    );
    assert!(SupportVectors::fit(x.view(), &y, 3, 0., 1).unwrap_err().to_string().contains("c: found 0"));
    let unlabelled = SMALL.fit_rows(x.view(), &[None; 9], &names(3), 1).unwrap_err().to_string();
    assert!(unlabelled.contains("labelled rows: found 0"), "{unlabelled}");
}

/// One part of a model as JSON, its place in it, and another value.
fn damaged<M: Serialize + DeserializeOwned>(model: &M, place: &str, value: Value) -> M {
    let mut json = serde_json::to_value(model).unwrap();
    *json.pointer_mut(place).unwrap_or_else(|| panic!("{place} is there")) = value;
    serde_json::from_value(json).unwrap()
}

#[test]
fn damaged_trees_are_refused() {
    let (x, y) = rows(30, 1);
    let forest = Forest::fit(x.view(), &y, 3, None, &TreeSettings::extra_trees(3), 1).unwrap();
    forest.validate(5, 3).unwrap();
    let leaf = u32::MAX;
    let expect = |place: &str, value: Value, why: &str| {
        let message = damaged(&forest, place, value).validate(5, 3).unwrap_err().to_string();
        assert!(message.contains(why), "{place}: {message}");
    };
    expect("/nodes/next/0", 0.into(), "a child outside of its tree or before itself");
    expect("/nodes/next/0", 1.into(), "a child outside of its tree or before itself");
    expect("/nodes/next/0", 1_000_000.into(), "a child outside");
    expect("/nodes/feature/0", 5.into(), "node 0 asks for column 5 of 5");
    expect("/nodes/threshold/0", 1e39.into(), "threshold inf");
    expect("/nodes/starts", vec![0, 1].into(), "do not cover");
    expect("/nodes/starts", Value::Array(Vec::new()), "do not cover");
    expect("/mixed", vec![0.5, 0.7, 0.1].into(), "no distribution");
    expect("/mixed", vec![0.5].into(), "cut short");
    expect("/n_classes", 0.into(), "0 classes, expected 5 and 3");
    let json = serde_json::to_value(&forest).unwrap();
    let first_leaf = json["nodes"]["feature"].as_array().unwrap().iter().position(|f| *f == leaf).unwrap();
    expect(&format!("/nodes/next/{first_leaf}"), 3.into(), "no valid answer");
    let last = forest.n_nodes() - 1;
    expect(&format!("/nodes/feature/{last}"), 0.into(), "a child outside");
}

#[test]
fn damaged_regressions_clusters_and_support_vectors_are_refused() {
    let (x, y) = rows(30, 1);
    let svc = SupportVectors::fit(x.view(), &y, 3, 1., 1).unwrap();
    svc.validate(5, 3).unwrap();
    assert!(damaged(&svc, "/pairs/0/support/0", 99.into()).validate(5, 3).is_err());
    assert!(damaged(&svc, "/temperature", 0.into()).validate(5, 3).is_err());
    assert!(damaged(&svc, "/pairs/0/coefficients", Value::Array(vec![])).validate(5, 3).is_err());
    let labels: Vec<Option<usize>> = y.iter().copied().map(Some).collect();
    let clusters = ClusterLogistic::fit(x.view(), &labels, 3, 1., 1).unwrap();
    clusters.validate(5, 3).unwrap();
    assert!(damaged(&clusters, "/clusters/runs/0/columns/0", 5.into()).validate(5, 3).is_err());
    assert!(damaged(&clusters, "/clusters/runs/0/columns", Value::Array(vec![])).validate(5, 3).is_err());
    assert!(damaged(&clusters, "/clusters/runs/0/centres", vec![1.; 3].into()).validate(5, 3).is_err());
    let boosted = Boosted::fit(x.view(), &y, 3, None, &GradientBoosting::default(), 1).unwrap();
    boosted.validate(5, 3).unwrap();
    assert!(damaged(&boosted, "/start", vec![0.; 2].into()).validate(5, 3).is_err());
    let pool = SMALL.fit_rows(x.view(), &labels, &names(3), 1).unwrap();
    assert!(damaged(&pool, "/uniform", 0.into()).validate(5, 3).is_err());
    assert!(damaged(&pool, "/members", Value::Array(vec![])).validate(5, 3).is_err());
    assert!(pool.validate(4, 3).is_err() && pool.validate(5, 2).is_err());
    let mut json = serde_json::to_value(&pool).unwrap();
    json["members"][0]["logistic_regression"]["intercepts"] = vec![0.; 4].into();
    assert!(serde_json::from_value::<ExpertPool>(json).is_err(), "15 weights are not rows of 4 classes");
}

#[test]
fn a_stored_pool_predicts_the_same_bits() {
    let problem = Toy::Circles.problem(1);
    let pool = SMALL.fit(&problem.train, 1).unwrap();
    let text = serde_json::to_string(&pool).unwrap();
    let read: ExpertPool = serde_json::from_str(&text).unwrap();
    read.validate(2, 2).unwrap();
    assert_eq!(read, pool);
    assert_eq!(read.log_probs(problem.test.x()), pool.log_probs(problem.test.x()));
}

/// A small forest as JSON in which some numbers of its nodes are replaced.
fn tampered(changes: &[(usize, usize, u32)]) -> Option<Forest> {
    let (x, y) = rows(12, 1);
    let forest = Forest::fit(x.view(), &y, 3, None, &TreeSettings::extra_trees(2), 1).unwrap();
    let mut json = serde_json::to_value(&forest).unwrap();
    for &(array, at, value) in changes {
        let array = json["nodes"][["starts", "feature", "next"][array]].as_array_mut().unwrap();
        let at = at % array.len();
        array[at] = value.into();
    }
    serde_json::from_value(json).ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever passes the check can be used: a descent neither leaves its tree nor goes on for ever.
    #[test]
    fn forests_that_pass_the_check_predict(
        changes in prop::collection::vec((0..3_usize, 0..100_usize, prop_oneof![0..20_u32, Just(u32::MAX)]), 1..4),
    ) {
        if let Some(forest) = tampered(&changes) && forest.validate(5, 3).is_ok() {
            let probs = forest.probs(rows(6, 2).0.view());
            prop_assert!(probs.sum_axis(Axis(1)).iter().all(|sum| (sum - 1.).abs() < 1e-6));
        }
    }
}

#[test]
fn two_rows_are_enough() {
    let x = array![[0., 1.], [1., 1.]];
    let data = SemiSupervised::new(x.clone(), vec![Some(0), Some(1)], names(2), names(2)).unwrap();
    let pool = SMALL.fit(&data, 1).unwrap();
    assert_eq!(pool.predict(x.view()), [0, 1]);
}

/// On two unlabelled clusters with a label each, trees on drawn classes follow the clusters; and they stay as unsure as the
/// predictions they were distilled from.
#[test]
fn a_distilled_forest_follows_the_rows_and_stays_as_unsure_as_its_targets() {
    let x = Array2::from_shape_fn((200, 2), |(i, j)| {
        (i % 2) as f64 * 10. + ((i * 37 + j * 11) % 17) as f64 / 17.
    });
    let mut y = vec![None; 200];
    (y[0], y[1]) = (Some(0), Some(1));
    let q = Array2::from_shape_fn((200, 2), |(i, k)| if k == i % 2 { 0.8 } else { 0.2 });
    let forest = flowgmm_learners::distil(x.view(), &y, q.view(), 100, 1).unwrap();
    let p = forest.smoothed(x.view());
    for (i, p) in p.rows().into_iter().enumerate() {
        assert!((0.6..0.97).contains(&p[i % 2]), "row {i}: {p}");
    }
    let mean = (0..200).map(|i| p[[i, i % 2]]).sum::<f64>() / 200.;
    assert!((mean - 0.8).abs() < 0.03, "{mean}");
    let crossed = flowgmm_learners::cross_distil(x.view(), &y, q.view(), 50, 1).unwrap();
    assert_eq!(crossed.row(0), q.row(0), "a labelled row keeps its prediction");
    assert!((2..200).all(|i| crossed[[i, i % 2]] > 0.5), "rows that trees did not see follow their cluster");
}

#[test]
fn leaves_have_as_many_rows_as_asked_for() {
    let x = Array2::from_shape_fn((30, 1), |(i, _)| i as f64);
    let y: Vec<usize> = (0..30).map(|i| i % 2).collect();
    for settings in [TreeSettings::extra_trees(3), TreeSettings::random_forest(3)] {
        let sampling = flowgmm_learners::Sampling::AllRows;
        let settings = TreeSettings { min_samples_leaf: 10, sampling, ..settings };
        let forest = Forest::fit(x.view(), &y, 2, None, &settings, 1).unwrap();
        assert!(forest.n_nodes() <= 3 * 5, "three leaves at most in a tree: {}", forest.n_nodes());
        assert!(forest.probs(x.view()).iter().all(|p| (0.3..0.7).contains(p)));
    }
    assert!(
        Forest::fit(
            x.view(),
            &y,
            2,
            None,
            &TreeSettings { min_samples_leaf: 0, ..TreeSettings::extra_trees(1) },
            1
        )
        .is_err()
    );
}
