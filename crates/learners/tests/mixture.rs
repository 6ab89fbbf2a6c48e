//! The Gaussian mixture in data space: what EM promises, and what unlabelled rows add.

use flowgmm_learners::{CovarianceType, GaussianMixture};
use rand::Rng as _;
use rand_distr::{Distribution as _, StandardNormal};
use semisup::ndarray::{Array2, Axis, array};
use semisup::{Classifier as _, Labelled, Learner as _, Toy, metrics, rng, split};

/// Three Gaussians, of which two are long, narrow, parallel and close.
fn blobs(n: usize, seed: u64) -> Labelled {
    let mut rng = rng(seed);
    let mut x = Array2::zeros((n, 2));
    let y: Vec<usize> = (0..n).map(|_| rng.random_range(0..3)).collect();
    for (mut row, &y) in x.rows_mut().into_iter().zip(&y) {
        let (u, v): (f64, f64) = (StandardNormal.sample(&mut rng), StandardNormal.sample(&mut rng));
        let (centre, long) = [([0., 0.], 3.), ([1.5, -1.5], 3.), ([9., 9.], 0.5)][y];
        row.assign(&array![centre[0] + long * u + 0.3 * v, centre[1] + long * u - 0.3 * v]);
    }
    let names = |names: [&str; 3]| names.map(String::from).to_vec();
    Labelled::new(x, y, names(["a", "b", "c"]), vec!["u".into(), "v".into()]).unwrap()
}

#[test]
fn no_step_of_em_lowers_the_objective() {
    for covariance in [CovarianceType::Full, CovarianceType::Diagonal] {
        for shrinkage in [0.1, 10.] {
            let train = Toy::Pinwheel.problem(2).train;
            let learner = GaussianMixture { covariance, shrinkage, steps: 60 };
            let (_, trace) = learner.fit_traced(&train).unwrap();
            assert!(trace.len() > 3, "{learner:?} moves: {trace:?}");
            let rounding = 1e-12 * trace[0].abs();
            assert!(trace.windows(2).all(|pair| pair[1] >= pair[0] - rounding), "{learner:?}: {trace:?}");
        }
    }
}

#[test]
fn unlabelled_rows_help_where_classes_are_gaussian() {
    let (full, test) = (blobs(1500, 1), blobs(1000, 2));
    let train = full.reveal(&split::stratified(full.y(), 3, 4, &mut rng(3))).unwrap();
    let accuracy = |steps| {
        let learner = GaussianMixture { covariance: CovarianceType::Full, shrinkage: 1., steps };
        metrics::accuracy(&learner.fit(&train, 0).unwrap().predict(test.x()), test.y())
    };
    let (labels_only, all) = (accuracy(0), accuracy(500));
    assert!(all > 0.98 && all > labels_only + 0.02, "{labels_only} from labels, {all} from all rows");
}

/// With all labels and no steps, the parameters are the moments of the classes.
#[test]
fn all_labels_give_the_moments_of_each_class() {
    let full = blobs(600, 4);
    let all: Vec<usize> = (0..full.n()).collect();
    let model = GaussianMixture::default().fit(&full.reveal(&all).unwrap(), 0).unwrap();
    for k in 0..3 {
        let rows: Vec<usize> = all.iter().copied().filter(|&row| full.y()[row] == k).collect();
        let mean = full.x().select(Axis(0), &rows).mean_axis(Axis(0)).unwrap();
        assert!((model.mean(k) - &mean).iter().all(|d| d.abs() < 1e-12));
    }
}

#[test]
fn a_constant_column_and_bad_settings() {
    let problem = Toy::Moons.problem(1).train;
    let learner = GaussianMixture { shrinkage: 0., ..GaussianMixture::default() };
    let refused = learner.fit(&problem, 0).unwrap_err().to_string();
    assert_eq!(refused, "shrinkage: found 0, expected a number above 0");
    let x = array![[0., 5.], [1., 5.], [4., 5.], [5., 5.]];
    let names = vec!["p".to_string(), "q".to_string()];
    let y = vec![Some(0), None, None, Some(1)];
    let data = semisup::SemiSupervised::new(x, y, names.clone(), names).unwrap();
    for covariance in [CovarianceType::Full, CovarianceType::Diagonal] {
        let model = GaussianMixture { covariance, shrinkage: 0.5, steps: 100 }.fit(&data, 0).unwrap();
        assert_eq!(model.predict(data.x()), [0, 0, 1, 1]);
    }
}

#[test]
fn same_bits_at_any_thread_count() {
    let full = blobs(3000, 5);
    let train = full.reveal(&split::stratified(full.y(), 3, 4, &mut rng(6))).unwrap();
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| GaussianMixture::default().fit(&train, 0).unwrap().log_probs(full.x()))
    };
    assert_eq!(run(1), run(3));
}
