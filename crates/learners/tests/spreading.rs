//! Label spreading and nearest neighbours as learners: new rows, rows nobody reaches, refusals.

use flowgmm_learners::{
    Error, LabelSpreading, NearestNeighbours, RBF_ROWS, RowLength, SpreadKernel, label_spreading,
};
use semisup::ndarray::{Array2, array};
use semisup::{Classifier, Learner, SemiSupervised, Toy, metrics};

const KERNELS: [SpreadKernel; 3] =
    [SpreadKernel::LocalGaussian { k: 10 }, SpreadKernel::Knn { k: 10 }, SpreadKernel::Rbf { gamma: 20. }];

fn line(x: &[f64], y: Vec<Option<usize>>) -> SemiSupervised {
    let x = Array2::from_shape_vec((x.len(), 1), x.to_vec()).unwrap();
    SemiSupervised::new(x, y, vec!["p".into(), "q".into()], vec!["x".into()]).unwrap()
}

fn distributions(p: &Array2<f64>) -> bool {
    p.rows().into_iter().all(|row| (row.sum() - 1.).abs() < 1e-12 && row.iter().all(|&p| p >= 0.))
}

/// On average: ten labels may lie so that a path crosses the gap between the moons, and then one end is lost.
#[test]
fn every_kernel_learns_moons_and_classifies_new_rows() {
    for kernel in KERNELS {
        let learner = LabelSpreading { kernel, alpha: 0.95 };
        let accuracy = |seed| {
            let problem = Toy::Moons.problem(seed); // 10 labels
            let model = learner.fit(&problem.train, 0).unwrap();
            assert!(distributions(&model.training_probs()) && distributions(&model.probs(problem.test.x())));
            metrics::accuracy(&model.predict(problem.test.x()), problem.test.y())
        };
        let mean = (0..6).map(accuracy).sum::<f64>() / 6.;
        assert!(mean > 0.97, "{}: {mean}", learner.name());
    }
}

#[test]
fn the_default_spreads_as_the_function_does() {
    let train = Toy::Pinwheel.problem(3).train;
    let model = LabelSpreading::default().fit(&train, 0).unwrap();
    let q = label_spreading(train.x(), train.y(), train.n_classes(), 10, 0.99);
    assert!((model.training_probs() - q).iter().all(|d| d.abs() < 1e-12));
}

/// By hand: with alpha = 0 only labelled rows vote, q at 3 and p at 0; for a row at 1 whose two neighbours
/// are 0 and 3, sigma = 2, and those of 0 and 3 are 3 (their second neighbours are each other's ends).
#[test]
fn a_new_row_takes_the_weighted_vote() {
    let data = line(&[0., 3., 3., 6.], vec![Some(0), Some(1), None, None]);
    let kernel = SpreadKernel::LocalGaussian { k: 2 };
    let model = LabelSpreading { kernel, alpha: 0. }.fit(&data, 0).unwrap();
    // The nearest rows of 1 are 0 (distance 1) and the first of the two at 3 (distance 2).
    let (p, q) = ((-1. / (2. * 3_f64)).exp(), (-4. / (2. * 3_f64)).exp());
    let probs = model.probs(array![[1.]].view());
    assert!((probs[[0, 0]] - p / (p + q)).abs() < 1e-15, "{probs}");
    assert_eq!(model.training_probs().row(3).to_vec(), [0.5, 0.5], "alpha = 0 spreads nothing");
}

#[test]
fn rows_nobody_reaches_have_no_vote() {
    let far: Vec<f64> = vec![0., 0.1, 0.2, 100., 100.1, 100.2];
    let y = vec![Some(0), Some(1), None, None, None, None];
    for kernel in
        [SpreadKernel::LocalGaussian { k: 2 }, SpreadKernel::Knn { k: 3 }, SpreadKernel::Rbf { gamma: 9. }]
    {
        let model = LabelSpreading { kernel, alpha: 0.9 }.fit(&line(&far, y.clone()), 0).unwrap();
        assert_eq!(model.training_probs().row(4).to_vec(), [0.5, 0.5], "{kernel:?}");
        assert!(distributions(&model.probs(array![[100.05], [1e6], [0.05]].view())), "{kernel:?}");
    }
}

/// So far away that all RBF weights underflow, the nearest row still decides; scikit-learn gives NaN.
#[test]
fn rbf_far_from_all_rows_asks_the_nearest() {
    let data = line(&[0., 1., 2., 3.], vec![Some(0), None, None, Some(1)]);
    let model = LabelSpreading { kernel: SpreadKernel::Rbf { gamma: 2. }, alpha: 0.2 }.fit(&data, 0).unwrap();
    assert_eq!(model.predict(array![[-1e3], [1e3]].view()), [0, 1]);
}

#[test]
fn what_cannot_work_is_refused() {
    let data = line(&[0., 1.], vec![Some(0), Some(1)]);
    let message = |kernel, alpha| LabelSpreading { kernel, alpha }.fit(&data, 0).unwrap_err().to_string();
    assert_eq!(message(KERNELS[0], 1.), "alpha: found 1, expected in [0, 1)");
    assert_eq!(message(SpreadKernel::Knn { k: 0 }, 0.5), "neighbours k: found 0, expected at least 1");
    assert!(message(SpreadKernel::Rbf { gamma: f64::NAN }, 0.5).starts_with("gamma: found NaN"));
    let mut y = vec![None; RBF_ROWS + 1];
    (y[0], y[1]) = (Some(0), Some(1));
    let many = line(&vec![0.; RBF_ROWS + 1], y);
    let refused = LabelSpreading { kernel: KERNELS[2], alpha: 0.5 }.fit(&many, 0);
    assert!(matches!(refused, Err(Error::TooManyRows { found: 8001, limit: 8000, .. })));
    assert!(NearestNeighbours { k: 0, length: RowLength::Kept }.fit(&data, 0).is_err());
}

#[test]
fn neighbours_vote_by_distance_or_by_angle_and_ties_go_to_the_first_class() {
    let x = array![[1., 0.], [10., 10.], [0., 1.], [0., 0.]];
    let y = vec![Some(0), Some(1), Some(1), None];
    let data = SemiSupervised::new(x, y, vec!["p".into(), "q".into()], vec!["a".into(), "b".into()]).unwrap();
    let new = array![[3., 2.9]];
    let fit = |k, length| NearestNeighbours { k, length }.fit(&data, 0).unwrap();
    assert_eq!(fit(1, RowLength::Kept).predict(new.view()), [0], "the nearest is (1, 0)");
    assert_eq!(fit(1, RowLength::Unit).predict(new.view()), [1], "the direction is that of (10, 10)");
    assert_eq!(fit(2, RowLength::Kept).probs(new.view()), array![[0.5, 0.5]]);
    assert_eq!(fit(2, RowLength::Kept).predict(new.view()), [0]);
    assert_eq!(
        fit(9, RowLength::Kept).probs(new.view()),
        array![[1. / 3., 2. / 3.]],
        "unlabelled rows have no vote"
    );
}

#[test]
fn same_bits_at_any_thread_count() {
    let problem = Toy::Pinwheel.problem(4);
    for kernel in KERNELS {
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let model = LabelSpreading { kernel, alpha: 0.9 }.fit(&problem.train, 0).unwrap();
                (model.training_probs(), model.probs(problem.test.x()))
            })
        };
        assert_eq!(run(1), run(3), "{kernel:?}");
    }
}
