//! What predictions rest on: flow and experts together, or the flow alone; and what held-out labels say of them.

use flowgmm::{Classifier as _, Fit, Model, Override, Request, Source, tensor::Place};
use ndarray::Array2;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// Three classes in the plane, of which the last two overlap; the first `labels` rows of each have a label.
fn source(labels: usize) -> Source {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let centres = [[-6.0, 0.0], [1.0, 0.0], [2.5, 0.0]];
    let x = Array2::from_shape_fn((300, 2), |(i, j)| {
        centres[i % 3][j] + (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0
    });
    let names = ["far", "left", "right"];
    let label = |i: usize| (i < 3 * labels).then(|| names[i % 3].to_string());
    Source::matrix(x.view()).labels((0..300).map(label))
}

/// A fit that is quick.
fn request(labels: usize) -> Request {
    let mut request = Request::new(source(labels)).with("train.steps", 60);
    request.overrides.push(Override::new("forest.n_trees", 20));
    request
}

fn fit(request: &Request) -> Fit {
    flowgmm::fit(request, &mut ()).expect("a fit")
}

#[test]
fn the_flow_predicts_alone_if_asked_to_before_or_after_the_fit() {
    let both = fit(&request(8));
    let alone = fit(&request(8).pure_flow());
    assert!(both.model.blend().is_some() && alone.model.blend().is_none());
    let x = both.training.data.x();
    let predicted = |model: &Model| model.log_probs(x);
    assert_ne!(predicted(&both.model), predicted(&alone.model));
    let after = both.model.clone().pure_flow();
    assert_eq!(predicted(&after), predicted(&alone.model), "experts have no part in the flow");
    assert_eq!(after.temperature(), alone.model.temperature());
    for model in [&after, &alone.model] {
        let evidence = model.evidence().expect("labels were held out");
        assert_eq!((evidence.forest_accuracy, evidence.flow_weight), (None, 1.0));
        let decision = model.decisions().last().expect("decisions");
        assert_eq!(
            (decision.what.as_str(), decision.choice.as_str()),
            ("prediction", "the flow alone, by Bayes' rule")
        );
        assert_eq!(model.decisions().iter().filter(|decision| decision.what == "prediction").count(), 1);
    }
    let [after, alone] = [after, alone.model].map(|model| model.evidence().expect("evidence").expected);
    assert!((after - alone).abs() < 1e-12, "{after} and {alone}");
    let none = fit(&request(8).with("forest", "none"));
    assert!(none.model.blend().is_none(), "as TOML says it");
}

/// More rows than a batch are scored by all threads; a batch, a row and no row at all must not notice.
#[test]
fn rows_are_scored_alike_in_several_batches_in_one_and_not_at_all() {
    let model = fit(&request(8)).model;
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let x = Array2::from_shape_fn((5000, 2), |_| rng.random_range(-8.0..8.0));
    for model in [&model, &model.clone().pure_flow()] {
        let all = model.score(x.view());
        for (from, to) in [(0, 1), (2000, 2100), (4999, 5000)] {
            let some = model.score(x.slice(ndarray::s![from..to, ..]));
            assert_eq!(some.log_probs, all.log_probs.slice(ndarray::s![from..to, ..]));
            assert_eq!(some.z, all.z.slice(ndarray::s![from..to, ..]));
            assert_eq!(some.log_marginal, all.log_marginal[from..to]);
        }
        let none = model.score(Array2::zeros((0, 2)).view());
        assert_eq!(
            (none.n(), none.log_probs.dim(), none.logits.dim(), none.z.dim()),
            (0, (0, 3), (0, 3), (0, 2))
        );
    }
}

#[test]
fn a_model_keeps_what_held_out_labels_said() {
    let model = fit(&request(8)).model;
    let evidence = model.evidence().expect("labels were held out").clone();
    let (n, hits) = evidence.classes.iter().fold((0, 0), |(n, hits), class| (n + class.n, hits + class.hits));
    assert_eq!(n, 24, "every label is held out once");
    assert_eq!((evidence.n, evidence.accuracy), (24, hits as f64 / 24.0));
    let [low, high] = evidence.interval;
    assert!(0.0 < low && low < evidence.expected && evidence.expected < high && high <= 1.0);
    assert!(high - low > 0.1, "24 labels do not tell more: {low} to {high}");
    assert!(evidence.weakest_class().is_some_and(|k| k > 0), "the far class is the easiest: {evidence:?}");
    assert_eq!(evidence.flow_weight, model.blend().expect("a forest").flow_weight());
    assert_eq!(evidence.temperature, model.temperature());
    let decision = model.decisions().last().expect("decisions");
    assert_eq!(decision.what, "prediction");
    assert!(decision.choice.contains("% flow, ") && decision.why == evidence.describe(), "{decision:?}");
    let again = Model::from_bytes(&model.to_bytes(), &Place::cpu()).expect("its own bytes");
    assert_eq!(again.evidence(), Some(&evidence));
    assert_eq!(again.class_share_intervals(), model.class_share_intervals());
    let card = flowgmm::card(&again, None, &mut ()).expect("a card");
    assert_eq!(card.evidence, Some(evidence));
}

#[test]
fn without_a_label_to_hold_out_nothing_is_said_of_accuracy() {
    let model = fit(&request(1)).model;
    assert_eq!(model.evidence(), None);
    assert!(model.blend().is_some());
    let decision = model.decisions().last().expect("decisions");
    assert_eq!((decision.what.as_str(), decision.why.as_str()), ("prediction", "no label could be held out"));
}

/// Few labels leave the weights where they were before, many move them; whatever they are, it is said among the decisions.
#[test]
fn many_labels_decide_what_each_part_counts() {
    let counts = |labels: usize| {
        let model = fit(&request(labels)).model;
        let blend = model.blend().expect("experts").clone();
        let percentages = blend.percentages();
        assert_eq!(percentages.iter().map(|(_, percent)| percent).sum::<f64>(), 100.0);
        let decision = model.decisions().last().expect("decisions");
        let said: Vec<String> =
            percentages.iter().map(|(name, percent)| format!("{percent}% {name}")).collect();
        assert_eq!(decision.choice, said.join(", "));
        blend.flow_weight()
    };
    let [few, many] = [2, 90].map(counts);
    let prior = 0.2;
    assert!((few - prior).abs() < 0.15, "six labels: {few}");
    assert!((many - prior).abs() > (few - prior).abs(), "270 labels: {many}, six: {few}");
}
