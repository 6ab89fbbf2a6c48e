//! The golden file, and the model whose numbers it holds.

use std::{cell::RefCell, collections::BTreeSet};

use burn_tensor::Tensor;
use flowgmm_core::{
    Engine, Flow, FlowGmm, FlowSpec, Mixture, MixtureSpec, MixtureValues, Trainable,
    bijection::{Bijection, BijectionSpec, Form, Init, Mask, Transform},
    tensor::Place,
};
use ndarray::{Array2, ArrayD};

use crate::{CLASSES, DIM, HIDDEN, LAYERS, PARTS, arrays::Arrays, support::assert_close};

/// The file, and which of its arrays were asked for.
pub struct Golden {
    arrays: Arrays,
    pub seen: RefCell<BTreeSet<String>>,
}

impl Golden {
    pub fn open() -> Self {
        Self { arrays: Arrays::open("golden_tabular.npz"), seen: RefCell::default() }
    }

    pub fn array(&self, name: &str) -> ArrayD<f64> {
        self.seen.borrow_mut().insert(name.to_string());
        self.arrays.get(name)
    }

    pub fn values(&self, name: &str) -> Vec<f64> {
        self.array(name).iter().copied().collect()
    }

    pub fn matrix(&self, name: &str) -> Array2<f64> {
        self.array(name).into_dimensionality().expect("two dimensions")
    }

    pub fn scalar(&self, name: &str) -> f64 {
        self.values(name)[0]
    }

    pub fn indices(&self, name: &str) -> Vec<usize> {
        self.values(name).into_iter().map(|i| i as usize).collect()
    }

    pub fn names(&self) -> Vec<String> {
        self.arrays.names()
    }
}

/// The mixture of the main arrays, or that of the `gen_` arrays.
#[derive(Clone, Copy, PartialEq)]
pub enum Gaussians {
    Unit,
    General,
}

impl Gaussians {
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Unit => "",
            Self::General => "gen_",
        }
    }
}

/// One form of the coupling in one precision on one engine.
pub struct Case<'a> {
    pub golden: &'a Golden,
    pub name: &'static str,
    pub form: Form,
    pub place: Place,
    pub engine: Engine,
    pub tolerance: f64,
    pub x_l: Tensor<2>,
    pub y_l: Vec<usize>,
    pub x_u: Tensor<2>,
    pub x_u1: Tensor<2>,
    pub x_u2: Tensor<2>,
}

impl<'a> Case<'a> {
    pub fn new(
        golden: &'a Golden,
        name: &'static str,
        form: Form,
        place: Place,
        engine: Engine,
        tolerance: f64,
    ) -> Self {
        let rows = |name: &str| place.rows(golden.matrix(name).view());
        Self {
            x_l: rows("in_x_l"),
            y_l: golden.indices("in_y_l"),
            x_u: rows("in_x_u"),
            x_u1: rows("in_x_u1"),
            x_u2: rows("in_x_u2"),
            golden,
            name,
            form,
            place,
            engine,
            tolerance,
        }
    }

    /// Name of an array of this form.
    pub fn key(&self, name: &str) -> String {
        format!("{}_{name}", self.name)
    }

    #[track_caller]
    pub fn check(&self, name: &str, got: &[f64]) {
        let key = self.key(name);
        assert_close(&key, got, &self.golden.values(&key), self.tolerance);
    }

    pub fn model(&self, gaussians: Gaussians, trainable: Trainable) -> FlowGmm {
        let layers = (0..LAYERS).map(|layer| BijectionSpec::Coupling {
            mask: mask(layer),
            hidden: vec![HIDDEN; 2],
            transform: Transform::Affine { form: self.form },
        });
        let spec = FlowSpec { dim: DIM, layers: layers.collect() };
        let mut flow = Flow::new(spec, Init::Random, &mut semisup::rng(0), &self.place).unwrap();
        for (layer, theta) in flow.thetas_mut().into_iter().enumerate() {
            let names: Vec<&str> = theta.parts().iter().map(|part| part.name.as_str()).collect();
            assert_eq!(names, PARTS);
            theta.set(self.place.vector(live_values(self.golden, "", layer)));
        }
        let (sigma, prior) = match gaussians {
            Gaussians::Unit => (vec![1.0; CLASSES], vec![1.0 / CLASSES as f64; CLASSES]),
            Gaussians::General => {
                (self.golden.values("in_sigma_general"), self.golden.values("in_pi_general"))
            }
        };
        let values = MixtureValues {
            means: self.golden.matrix("in_mu"),
            log_sigma: Array2::from_shape_fn((CLASSES, 1), |(k, _)| sigma[k].ln()),
            log_weight: vec![0.0; CLASSES],
            log_prior: prior.iter().map(|p| p.ln()).collect(),
            ..MixtureValues::default()
        };
        let spec = MixtureSpec { trainable, ..MixtureSpec::fixed(DIM, CLASSES) };
        let mixture = Mixture::new(spec, &values, &self.place).unwrap();
        FlowGmm::new(flow, mixture).unwrap().with_engine(self.engine)
    }

    pub fn fixed(&self) -> FlowGmm {
        self.model(Gaussians::Unit, Trainable::default())
    }
}

pub fn mask(layer: usize) -> Mask {
    if layer.is_multiple_of(2) { Mask::KeepFirst } else { Mask::KeepSecond }
}

/// Which entries (row-major) of a golden weight our split nets have; the golden nets see all columns times a mask.
pub fn live(layer: usize, part: &str) -> Vec<usize> {
    let (keep, change) = mask(layer).split(DIM);
    // Raw scales of the changed columns, then their shifts.
    let outputs: Vec<usize> = change.iter().copied().chain(change.iter().map(|c| DIM + c)).collect();
    match part {
        "W1" => (0..HIDDEN).flat_map(|row| keep.iter().map(move |c| row * DIM + c)).collect(),
        "b1" | "b2" => (0..HIDDEN).collect(),
        "W2" => (0..HIDDEN * HIDDEN).collect(),
        "W3" => outputs.iter().flat_map(|row| (0..HIDDEN).map(move |c| row * HIDDEN + c)).collect(),
        "b3" => outputs,
        "g" => change,
        other => unreachable!("{other}"),
    }
}

/// The live entries of `{prefix}w{layer}_*`, part after part: the order of a coupling's parameter vector.
pub fn live_values(golden: &Golden, prefix: &str, layer: usize) -> Vec<f64> {
    let part = |part: &&str| {
        let values = golden.values(&format!("{prefix}w{layer}_{part}"));
        live(layer, part).into_iter().map(|i| values[i]).collect::<Vec<f64>>()
    };
    PARTS.iter().flat_map(part).collect()
}
