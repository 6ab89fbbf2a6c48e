//! The laws of preprocessing: it inverts, its log_det is the determinant's, its output has the promised
//! variances.

use proptest::prelude::*;
use rand::Rng as _;
use semisup::ndarray::{Array2, ArrayView2, Axis, array};
use semisup::{Error, Preprocess, digits, rng};

/// Correlated columns of very different scale, away from the origin.
fn rows(n: usize, dim: usize, seed: u64) -> Array2<f64> {
    let mut rng = rng(seed);
    let noise = Array2::from_shape_fn((n, dim), |_| rng.random_range(-1. ..1.));
    let mix = Array2::from_shape_fn((dim, dim), |(i, j)| {
        rng.random_range(-0.3..0.3) + if i == j { 3_f64.powi(j as i32) } else { 0. }
    });
    noise.dot(&mix) + 5.
}

fn variances(x: ArrayView2<f64>) -> Vec<f64> {
    x.var_axis(Axis(0), 0.).to_vec()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// log|det| by Gaussian elimination with pivoting.
fn log_abs_det(mut a: Array2<f64>) -> f64 {
    let n = a.nrows();
    let mut log_det = 0.;
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[[i, k]].abs().total_cmp(&a[[j, k]].abs())).unwrap();
        for column in 0..n {
            a.swap([k, column], [pivot, column]);
        }
        log_det += a[[k, k]].abs().ln();
        for row in k + 1..n {
            let factor = a[[row, k]] / a[[k, k]];
            for column in k..n {
                let upper = a[[k, column]];
                a[[row, column]] -= factor * upper;
            }
        }
    }
    log_det
}

/// The Jacobian of an affine map, exactly: the images of the unit vectors minus that of 0, `[dim_in,
/// dim_out]`.
fn jacobian(map: &Preprocess) -> Array2<f64> {
    let dim = map.dim_in();
    map.apply(Array2::eye(dim).view()) - map.apply(Array2::zeros((1, dim)).view())
}

fn all_square(x: ArrayView2<f64>) -> Vec<Preprocess> {
    let dim = x.ncols();
    vec![
        Preprocess::identity(dim),
        Preprocess::standardise(x).unwrap(),
        Preprocess::scale(x).unwrap(),
        Preprocess::pca(x, dim, 0.).unwrap(),
        Preprocess::pca(x, dim, 0.5).unwrap(),
        Preprocess::pca_standardised(x, dim, 1.).unwrap(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn square_maps_invert_and_know_their_determinant(dim in 1usize..6, seed: u64) {
        let x = rows(60, dim, seed);
        for map in all_square(x.view()) {
            prop_assert!(!map.is_projection(), "{}", map.describe());
            let back = map.invert(map.apply(x.view()).view());
            // Columns reach 3^5; rounding is relative to that.
            prop_assert!((&back - &x).iter().all(|d| d.abs() < 1e-10), "{}", map.describe());
            let expected = log_abs_det(jacobian(&map));
            prop_assert!((map.log_density_gain(x.view()).unwrap()[0] - expected).abs() < 1e-9, "{}", map.describe());
        }
    }

    #[test]
    fn a_projection_forgets_only_what_it_must(dims in 1usize..5, whiten in 0f64..1., seed: u64) {
        let x = rows(60, 5, seed);
        let map = Preprocess::pca(x.view(), dims, whiten).unwrap();
        prop_assert_eq!((map.dim_in(), map.dim_out()), (5, dims));
        prop_assert!(map.is_projection() && map.log_density_gain(x.view()).is_some());
        let kept = map.apply(x.view());
        let back = map.invert(kept.view());
        prop_assert!((map.apply(back.view()) - &kept).iter().all(|d| d.abs() < 1e-10), "what is kept survives");
        // The squared error of the best reconstruction is the variance of the directions left out.
        let all = Preprocess::pca(x.view(), 5, 0.).unwrap();
        let spectrum = variances(all.apply(x.view()).view());
        let unit = variances(x.view()).iter().sum::<f64>() / spectrum.iter().sum::<f64>();
        let lost: f64 = (&back - &x).mapv(|d| d * d).sum() / 60.;
        prop_assert!((lost - unit * spectrum[dims..].iter().sum::<f64>()).abs() < 1e-9 * unit);
    }
}

#[test]
fn standardise_makes_unit_columns_and_remembers_constant_ones() {
    let x = array![[1., 0.1, 10.], [2., 0.1, 30.], [6., 0.1, 20.]];
    let map = Preprocess::standardise(x.view()).unwrap();
    let y = map.apply(x.view());
    assert_eq!(y.column(1).to_vec(), [0.; 3]);
    assert_eq!(map.constant_columns(), [1]);
    assert!(y.mean_axis(Axis(0)).unwrap().iter().all(|mean| mean.abs() < 1e-15));
    let variances = variances(y.view());
    assert!((variances[0] - 1.).abs() < 1e-14 && (variances[2] - 1.).abs() < 1e-14);
    assert_eq!(map.apply(array![[3., 1.1, 20.]].view()), array![[0., 1., 0.]], "a constant keeps scale 1");
    assert_eq!(map.describe(), "3 columns (1 constant), each to mean 0 and variance 1");
}

#[test]
fn scale_keeps_the_proportions() {
    let x = rows(100, 4, 1);
    let before = variances(x.view());
    let after = variances(Preprocess::scale(x.view()).unwrap().apply(x.view()).view());
    assert!((mean(&after) - 1.).abs() < 1e-12);
    for (before, after) in before.iter().zip(&after) {
        assert!((before / mean(&variances(x.view())) / after - 1.).abs() < 1e-12);
    }
}

/// Digits: 64 pixels, 3 of them constant, so 61 directions; variances must be the eigenvalues' share, which
/// scikit-learn gives for the first three as 14.89%, 13.62%, 11.79% (PCA().explained_variance_ratio_).
#[test]
fn principal_directions_of_digits() {
    let x = digits().x().to_owned();
    let map = Preprocess::pca(x.view(), 64, 0.).unwrap();
    assert_eq!((map.dim_out(), map.constant_columns().len()), (61, 3));
    let y = map.apply(x.view());
    let variances_0 = variances(y.view());
    let share = |j: usize| variances_0[j] / variances_0.iter().sum::<f64>();
    for (j, expected) in [0.1489, 0.1362, 0.1179].into_iter().enumerate() {
        assert!((share(j) - expected).abs() < 1e-4, "{}", share(j));
    }
    assert!((mean(&variances_0) - 1.).abs() < 1e-10);
    let covariance = y.t().dot(&y) / y.nrows() as f64;
    let off = covariance.indexed_iter().filter(|((i, j), _)| i != j).map(|(_, c)| c.abs()).fold(0., f64::max);
    assert!(off < 1e-10, "coordinates are uncorrelated: {off}");

    let white = Preprocess::pca(x.view(), 20, 1.).unwrap();
    assert!(variances(white.apply(x.view()).view()).iter().all(|v| (v - 1.).abs() < 1e-10));
    assert!(white.describe().contains("64 columns (3 constant) -> 20 principal directions with 89.4%"));
    let half = variances(Preprocess::pca(x.view(), 20, 0.5).unwrap().apply(x.view()).view());
    assert!(
        (half[0] / half[19] - (variances_0[0] / variances_0[19]).sqrt()).abs() < 1e-8,
        "half way in logarithm"
    );
    assert!((mean(&half) - 1.).abs() < 1e-10);
}

#[test]
fn eight_hundred_columns_are_no_problem() {
    let mut rng = rng(1);
    let x = Array2::from_shape_fn((900, 800), |(_, j)| rng.random_range(-1. ..1.) * (1. + j as f64));
    let map = Preprocess::pca(x.view(), 50, 0.).unwrap();
    assert_eq!(map.dim_out(), 50);
}

#[test]
fn stored_maps_come_back_bit_for_bit() {
    let x = rows(30, 4, 2);
    for map in all_square(x.view()) {
        let text = serde_json::to_string(&map).unwrap();
        let back: Preprocess = serde_json::from_str(&text).unwrap();
        back.validate().unwrap();
        assert_eq!(back, map);
    }
}

/// Model files of format 3 call the maps of columns `shapes`.
#[test]
fn the_old_name_of_column_maps_is_read() {
    let column: Vec<f64> = (0..50).map(|i| f64::from(i * i)).collect();
    let maps = vec![semisup::Monotone::to_normal(column)];
    let map = Preprocess::identity(1).with_column_maps(maps);
    let text = serde_json::to_string(&map).unwrap();
    let old = text.replace("\"column_maps\"", "\"shapes\"");
    assert_ne!(old, text);
    assert_eq!(serde_json::from_str::<Preprocess>(&old).unwrap(), map);
}

/// Each edit of a valid file must be found by `validate`, without a panic.
#[test]
fn damaged_maps_are_refused() {
    let x = rows(30, 3, 2);
    let map = Preprocess::pca(x.view(), 2, 0.5).unwrap();
    type Edit = fn(&mut serde_json::Value);
    let edits: [(&str, Edit); 7] = [
        ("2 scales for 3", |v| drop(v["scale"].as_array_mut().unwrap().pop())),
        ("scale 2 is 0", |v| v["scale"][1] = 0.into()),
        ("gain 1 is -1", |v| v["projection"]["gain"][0] = (-1).into()),
        ("5 direction entries", |v| drop(v["projection"]["directions"].as_array_mut().unwrap().pop())),
        ("not orthonormal", |v| v["projection"]["directions"][0] = 2.into()),
        ("0 directions", |v| v["projection"]["gain"] = serde_json::json!([])),
        ("constant column", |v| v["constant"] = serde_json::json!([3])),
    ];
    for (expected, edit) in edits {
        let mut value = serde_json::to_value(&map).unwrap();
        edit(&mut value);
        let damaged: Preprocess = serde_json::from_value(value).unwrap();
        let message = damaged.validate().unwrap_err().to_string();
        assert!(message.contains(expected), "'{message}' should contain '{expected}'");
    }
}

#[test]
fn data_that_cannot_be_scaled_are_errors() {
    let same = Array2::from_elem((5, 3), 2.);
    assert!(matches!(Preprocess::pca(same.view(), 2, 0.), Err(Error::Unscalable { .. })));
    assert_eq!(Preprocess::scale(same.view()).unwrap().apply(same.view()), Array2::<f64>::zeros((5, 3)));
    let huge = array![[1e300, 1.], [-1e300, 2.]];
    let tiny = array![[1e-320, 1.], [0., 2.]];
    let none = Array2::zeros((0, 2));
    for x in [huge, tiny, none] {
        assert!(matches!(Preprocess::standardise(x.view()), Err(Error::Unscalable { .. })), "{x}");
    }
}

/// A projection keeps a density: with p(x') standard normal, p(x) = p(x') e^gain sums to one over the plane.
#[test]
fn what_a_projection_drops_has_a_density() {
    let x = rows(200, 2, 5);
    let map = Preprocess::pca(x.view(), 1, 0.5).unwrap();
    let (steps, width) = (600, 60.);
    let centre = x.mean_axis(ndarray::Axis(0)).unwrap();
    let cell = width / steps as f64;
    let mut mass = 0.;
    for i in 0..steps {
        let at = |k: usize| (k as f64 + 0.5) * cell - width / 2.;
        let points =
            Array2::from_shape_fn((steps, 2), |(j, c)| centre[c] + if c == 0 { at(i) } else { at(j) });
        let inner = map.apply(points.view());
        let gains = map.log_density_gain(points.view()).unwrap();
        mass += inner
            .column(0)
            .iter()
            .zip(gains)
            .map(|(z, gain)| (gain - 0.5 * z * z).exp() / std::f64::consts::TAU.sqrt())
            .sum::<f64>()
            * cell
            * cell;
    }
    assert!((mass - 1.).abs() < 1e-3, "{mass}");
    // Samples given x' have the variance that was dropped.
    let inner = map.apply(x.view());
    let drawn = map.invert_sampling(inner.view(), 1., &mut rng(3));
    assert!((map.apply(drawn.view()) - &inner).iter().all(|d| d.abs() < 1e-9), "x' is kept");
    let spread = |a: &Array2<f64>| (a - &map.invert(inner.view())).mapv(|d| d * d).sum();
    let ratio = spread(&drawn) / spread(&x);
    assert!((0.7..1.4).contains(&ratio), "{ratio}");
}

#[test]
fn a_long_tailed_column_becomes_normal_and_comes_back() {
    // Half zeros, half a lognormal tail.
    let normal = rows(2000, 1, 9);
    let value = |i: usize| if i.is_multiple_of(2) { 0. } else { (normal[[i, 0]] / 2.).exp() };
    let column: Vec<f64> = (0..2000).map(value).collect();
    let map = semisup::Monotone::to_normal(column.iter().copied()).unwrap();
    let u: Vec<f64> = column.iter().map(|&x| map.apply(x).0).collect();
    let variance = mean(&u.iter().map(|v| v * v).collect::<Vec<_>>()) - mean(&u).powi(2);
    assert!(mean(&u).abs() < 0.1 && (0.6..1.1).contains(&variance), "{} {variance}", mean(&u));
    assert!(
        (map.apply(0.).0 - semisup::normal_quantile(0.25)).abs() < 1e-3,
        "zeros in the middle of their step"
    );
    for x in column.iter().copied().chain([-5., 100., 1e6]) {
        let (u, log_slope) = map.apply(x);
        assert!((map.invert(u) - x).abs() < 1e-9 * (1. + x.abs()), "{x}");
        let h = 1e-7 * (1. + x.abs());
        let numeric = (map.apply(x + h).0 - map.apply(x).0) / h;
        assert!(x == 0. || (numeric.ln() - log_slope).abs() < 0.7, "{x}: a knot lies between, at most");
    }
    assert!(semisup::Monotone::to_normal([0., 1., 0., 1.]).is_none(), "two values have no shape");
    // scipy.stats.norm.ppf
    for (p, z) in [(0.5, 0.), (0.975, 1.959963984540054), (0.001, -3.090232306167813)] {
        assert!((semisup::normal_quantile(p) - z).abs() < 1e-8, "{p}");
    }
}

/// Rows that are there twice have the same covariance, and are more than the columns.
#[test]
fn wide_tables_have_the_directions_of_tall_ones() {
    let mut rng = rng(8);
    let x = Array2::from_shape_simple_fn((20, 30), || rng.random_range(-1. ..1.));
    let twice = semisup::ndarray::concatenate![Axis(0), x, x];
    for whiten in [0., 1.] {
        let wide = Preprocess::pca(x.view(), 32, whiten).unwrap();
        let tall = Preprocess::pca(twice.view(), 32, whiten).unwrap();
        assert_eq!((wide.dim_out(), tall.dim_out()), (19, 19), "20 centred rows span 19 directions");
        let (a, b) = (wide.apply(x.view()), tall.apply(x.view()));
        assert!((&a - &b).iter().all(|d| d.abs() < 1e-6), "whitening {whiten}");
        let back = wide.invert(a.view());
        assert!((&back - &x).iter().all(|d| d.abs() < 1e-9), "training rows come back");
    }
}
