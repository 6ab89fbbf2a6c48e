//! The toy problems of the paper's synthetic experiments: two-dimensional data whose classes are not linearly
//! separable, with so few labels that the unlabelled points must decide.
//!
//! | toy | components -> classes | labels |
//! |---|---|---|
//! | moons | 2 half circles | 5 + 5 |
//! | circles | inner, outer | 4 + 7 |
//! | eight Gaussians | 8 around a circle -> 3 arcs (3 + 3 + 2) | 19, at least 2 each |
//! | pinwheel | 5 arms (Johnson et al. 2016) | 13, at least 2 each |

use std::{f64::consts::PI, fmt, str::FromStr};

use ndarray::Array2;
use rand::{Rng as _, seq::SliceRandom, seq::index};
use rand_distr::StandardNormal;

use crate::{Error, Labelled, Problem, Result, Rng, rng};

const N_TRAIN: usize = 1000;
const N_TEST: usize = 2000;
/// Noise of the authors' notebooks.
const NOTEBOOK_NOISE: f64 = 0.05;
/// Angles in degrees of the labelled points of the authors' notebooks: those numbers of their seed 0.
const NOTEBOOK_MOONS: [&[f64]; 2] = [&[10., 63., 83., 107., 179.], &[19., 62., 129., 170., 178.]];
const NOTEBOOK_CIRCLES: [&[f64]; 2] = [&[38., 124., 258., 355.], &[19., 55., 126., 166., 215., 294., 357.]];

/// One of the toy problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toy {
    /// Two interleaved half circles, as scikit-learn's `make_moons`.
    Moons,
    /// A circle within a circle, as scikit-learn's `make_circles` (class 0 is the inner one).
    Circles,
    /// Eight Gaussians on a circle, in three classes that are arcs of it.
    EightGaussians,
    /// Five bent arms around the origin.
    Pinwheel,
}

impl Toy {
    /// All of them.
    pub const ALL: [Toy; 4] = [Toy::Moons, Toy::Circles, Toy::EightGaussians, Toy::Pinwheel];

    /// The name that [`FromStr`] understands.
    pub fn name(self) -> &'static str {
        match self {
            Toy::Moons => "moons",
            Toy::Circles => "circles",
            Toy::EightGaussians => "eight-gaussians",
            Toy::Pinwheel => "pinwheel",
        }
    }

    /// Number of classes.
    pub fn n_classes(self) -> usize {
        match self {
            Toy::Moons | Toy::Circles => 2,
            Toy::EightGaussians => 3,
            Toy::Pinwheel => 5,
        }
    }

    /// `n` points, evenly from all components, in random order.
    pub fn sample(self, n: usize, rng: &mut Rng) -> Labelled {
        self.labelled(&self.draw(n, rng))
    }

    /// The paper's problem: 1000 points, few of them labelled, and 2000 test points. The seed decides the points and which of
    /// them are labelled.
    pub fn problem(self, seed: u64) -> Problem {
        let mut rng = rng(seed);
        let points = self.draw(N_TRAIN, &mut rng);
        let mut revealed = Vec::new();
        for (component, &n_labels) in self.labels_per_component().iter().enumerate() {
            let rows: Vec<usize> = (0..N_TRAIN).filter(|&row| points[row].component == component).collect();
            revealed.extend(index::sample(&mut rng, rows.len(), n_labels).iter().map(|i| rows[i]));
        }
        let train = self.labelled(&points).reveal(&revealed).expect("every class has labels");
        Problem { train, test: self.sample(N_TEST, &mut rng) }
    }

    /// The problem of the authors' notebooks: moons and circles as scikit-learn makes them, evenly spaced with noise of 0.05, and
    /// labels where the notebooks have them, which were chosen by hand so that they are all along each moon and circle. The other
    /// toys are those of [`Toy::problem`]. The seed decides the noise and the test points.
    pub fn notebook_problem(self, seed: u64) -> Problem {
        let places: [&[f64]; 2] = match self {
            Toy::Moons => NOTEBOOK_MOONS,
            Toy::Circles => NOTEBOOK_CIRCLES,
            Toy::EightGaussians | Toy::Pinwheel => return self.problem(seed),
        };
        let mut rng = rng(seed);
        let half = N_TRAIN / 2;
        let even = |row: usize| self.evenly(row % half, half);
        let mut points: Vec<Point> =
            (0..N_TRAIN).map(|row| self.notebook_point(row / half, even(row), &mut rng)).collect();
        let nearest = |component: usize, degrees: f64| {
            let apart = |row: &usize| {
                let turn = (even(*row).to_degrees() - degrees).rem_euclid(360.);
                turn.min(360. - turn)
            };
            (component * half..(component + 1) * half)
                .min_by(|a, b| apart(a).total_cmp(&apart(b)))
                .expect("rows")
        };
        let labelled =
            places.iter().enumerate().flat_map(|(c, at)| at.iter().map(move |&degrees| (c, degrees)));
        let revealed: Vec<usize> = labelled.map(|(c, degrees)| nearest(c, degrees)).collect();
        let train = self.labelled(&points).reveal(&revealed).expect("every class has labels");
        points.clear();
        for row in 0..N_TEST {
            let angle = rng.random_range(0. ..self.turn());
            points.push(self.notebook_point(row % 2, angle, &mut rng));
        }
        Problem { train, test: self.labelled(&points) }
    }

    /// Angle `i` of `n` in scikit-learn's moons and circles: circles leave out their end, which is their beginning.
    fn evenly(self, i: usize, n: usize) -> f64 {
        let gaps = if self == Toy::Moons { n - 1 } else { n };
        self.turn() * i as f64 / gaps as f64
    }

    /// Angles of a component end here.
    fn turn(self) -> f64 {
        if self == Toy::Moons { PI } else { 2. * PI }
    }

    fn notebook_point(self, component: usize, angle: f64, rng: &mut Rng) -> Point {
        let noise = [rng.sample(StandardNormal), rng.sample(StandardNormal)];
        Point { x: add(self.along(component, angle), NOTEBOOK_NOISE, noise), component }
    }

    /// A moon or a circle without noise.
    fn along(self, component: usize, t: f64) -> [f64; 2] {
        match (self, component) {
            (Toy::Moons, 0) => [t.cos(), t.sin()],
            (Toy::Moons, _) => [1. - t.cos(), 0.5 - t.sin()],
            (_, 0) => polar(0.4, t),
            _ => polar(1., t),
        }
    }

    fn labels_per_component(self) -> &'static [usize] {
        match self {
            Toy::Moons => &[5, 5],
            Toy::Circles => &[4, 7],
            Toy::EightGaussians => &[3, 2, 2, 3, 2, 2, 3, 2],
            Toy::Pinwheel => &[3, 3, 3, 2, 2],
        }
    }

    fn class(self, component: usize) -> usize {
        match self {
            Toy::EightGaussians => component / 3,
            _ => component,
        }
    }

    fn draw(self, n: usize, rng: &mut Rng) -> Vec<Point> {
        let n_components = self.labels_per_component().len();
        let mut points: Vec<Point> =
            (0..n).map(|i| i % n_components).map(|c| Point { x: self.point(c, rng), component: c }).collect();
        points.shuffle(rng);
        points
    }

    fn point(self, component: usize, rng: &mut Rng) -> [f64; 2] {
        let noise = [rng.sample(StandardNormal), rng.sample(StandardNormal)];
        match self {
            Toy::Moons => {
                let t = rng.random_range(0. ..PI);
                add(self.along(component, t), 0.08, noise)
            }
            Toy::Circles => {
                let t = rng.random_range(0. ..2. * PI);
                add(self.along(component, t), 0.06, noise)
            }
            Toy::EightGaussians => add(polar(4., PI / 4. * component as f64), 0.4, noise),
            Toy::Pinwheel => {
                const SCALE: f64 = 2.;
                const RATE: f64 = 0.25; // how much an arm bends outwards
                let [radial, tangential] = [1. + 0.3 * noise[0], 0.05 * noise[1]];
                let angle = 2. * PI / 5. * component as f64 + RATE * radial.exp();
                let (sin, cos) = angle.sin_cos();
                [SCALE * (radial * cos + tangential * sin), SCALE * (tangential * cos - radial * sin)]
            }
        }
    }

    fn labelled(self, points: &[Point]) -> Labelled {
        let x = Array2::from_shape_fn((points.len(), 2), |(row, column)| points[row].x[column]);
        let y = points.iter().map(|point| self.class(point.component)).collect();
        let classes = (0..self.n_classes()).map(|k| k.to_string()).collect();
        Labelled::new(x, y, classes, vec!["x1".into(), "x2".into()]).expect("toy data are valid")
    }
}

impl fmt::Display for Toy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Toy {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Toy::ALL.into_iter().find(|toy| toy.name() == name);
        found.ok_or_else(|| Error::UnknownToy(name.into()))
    }
}

struct Point {
    x: [f64; 2],
    component: usize,
}

fn polar(radius: f64, angle: f64) -> [f64; 2] {
    [radius * angle.cos(), radius * angle.sin()]
}

fn add(x: [f64; 2], sigma: f64, noise: [f64; 2]) -> [f64; 2] {
    [x[0] + sigma * noise[0], x[1] + sigma * noise[1]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_have_the_labels_of_the_paper() {
        let expected: [&[usize]; 4] = [&[5, 5], &[4, 7], &[7, 7, 5], &[3, 3, 3, 2, 2]];
        for (toy, expected) in Toy::ALL.into_iter().zip(expected) {
            let problem = toy.problem(7);
            assert_eq!((problem.train.n(), problem.test.n()), (1000, 2000));
            assert_eq!(problem.train.class_counts(), expected, "{toy}");
            assert!(problem.train.x().iter().all(|value| value.abs() < 8.), "{toy}");
            assert_eq!(toy.problem(7), problem, "the seed decides");
            assert_ne!(toy.problem(8).train.labelled(), problem.train.labelled());
        }
    }

    /// Components 0..8 of the eight Gaussians sit at multiples of 45 degrees, 2 labels at least on each.
    #[test]
    fn every_gaussian_has_two_labels() {
        for seed in 0..20 {
            let train = Toy::EightGaussians.problem(seed).train.labelled_only();
            let mut labels = [0; 8];
            for x in train.x().rows() {
                let turn = x[1].atan2(x[0]).rem_euclid(2. * PI) / (PI / 4.);
                labels[turn.round() as usize % 8] += 1;
            }
            assert!(labels.iter().all(|&n| n >= 2), "{labels:?}");
        }
    }

    /// Labels are along all of the outer circle, whatever the seed.
    #[test]
    fn notebook_problems_have_the_labels_of_the_notebooks() {
        for (toy, expected) in [(Toy::Moons, [5, 5]), (Toy::Circles, [4, 7])] {
            let problem = toy.notebook_problem(3);
            assert_eq!((problem.train.n(), problem.test.n()), (1000, 2000));
            assert_eq!(problem.train.class_counts(), expected, "{toy}");
            assert_eq!(toy.notebook_problem(3), problem);
            assert_ne!(toy.notebook_problem(4).train.x(), problem.train.x());
        }
        for seed in 0..20 {
            let own = Toy::Circles.notebook_problem(seed).train.labelled_only();
            let x = own.x();
            let outer = x.rows().into_iter().zip(own.y()).filter(|(_, y)| **y == Some(1));
            let mut turns: Vec<f64> =
                outer.map(|(x, _)| x[1].atan2(x[0]).to_degrees().rem_euclid(360.)).collect();
            turns.sort_by(f64::total_cmp);
            turns.push(turns[0] + 360.);
            let widest = turns.windows(2).map(|pair| pair[1] - pair[0]).fold(0., f64::max);
            // 294 - 215, and noise of 0.05 on a radius of 1, four deviations of each end.
            assert!(widest < 79. + 24., "{widest}");
        }
        assert_eq!(Toy::Pinwheel.notebook_problem(5), Toy::Pinwheel.problem(5));
    }

    #[test]
    fn names_are_read_back() {
        for toy in Toy::ALL {
            assert_eq!(toy.name().parse::<Toy>().unwrap(), toy);
        }
        assert!("spiral".parse::<Toy>().unwrap_err().to_string().contains("'spiral'"));
    }
}
