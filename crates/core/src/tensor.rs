//! The few tensor helpers everything else shares: crossing the border to `ndarray`, and log-space sums.
//!
//! Rows are data points. A per-row quantity (a log-det, a log-likelihood) is a column `[n, 1]`, so that it
//! broadcasts against `[n, K]` without reshaping.

use burn_tensor::{DType, Device, Int, Tensor, TensorData};
use ndarray::{Array2, ArrayView2};

use crate::{Result, device, device::DeviceName};

/// The device of a model and the precision in which it computes.
#[derive(Clone, Debug)]
pub struct Place {
    /// The Burn device.
    pub device: Device,
    /// `F32` for work, `F64` for oracles and certificates, which only the CPU computes.
    pub dtype: DType,
}

impl Place {
    /// The CPU in single precision: what training and scoring use.
    pub fn cpu() -> Self {
        Self { device: Device::flex(), dtype: DType::F32 }
    }

    /// The device of this name in single precision, or an error that says how to get it.
    pub fn on(name: &DeviceName) -> Result<Self> {
        Ok(Self { device: device::open(name)?, dtype: DType::F32 })
    }

    /// The CPU in double precision: what tests and certificates use.
    pub fn cpu_f64() -> Self {
        Self { device: Device::flex(), dtype: DType::F64 }
    }

    /// The hardware's name: `cpu`, or the GPU's own name.
    pub fn describe(&self) -> String {
        device::model_name(&self.device).unwrap_or_else(|| "cpu".into())
    }

    /// The device and precision of a tensor.
    pub fn of<const D: usize>(tensor: &Tensor<D>) -> Self {
        Self { device: tensor.device().without_autodiff(), dtype: tensor.dtype() }
    }

    /// A vector on this place.
    pub fn vector(&self, values: Vec<f64>) -> Tensor<1> {
        let n = values.len();
        self.tensor(values, [n])
    }

    /// A row-major matrix on this place.
    pub fn matrix(&self, values: Vec<f64>, shape: [usize; 2]) -> Tensor<2> {
        self.tensor(values, shape)
    }

    /// Rows of an array on this place.
    pub fn rows(&self, x: ArrayView2<f64>) -> Tensor<2> {
        self.matrix(x.iter().copied().collect(), [x.nrows(), x.ncols()])
    }

    /// Single-precision rows, taken over without conversion where the place computes in single precision.
    pub fn rows_f32(&self, values: Vec<f32>, shape: [usize; 2]) -> Tensor<2> {
        match self.dtype {
            DType::F32 => Tensor::from_data(TensorData::new(values, shape), (&self.device, self.dtype)),
            _ => self.tensor(values.into_iter().map(f64::from).collect(), shape),
        }
    }

    /// Column or row numbers, for `select`.
    pub fn indices(&self, indices: &[usize]) -> Tensor<1, Int> {
        let values: Vec<i64> = indices.iter().map(|&i| i as i64).collect();
        Tensor::from_data(TensorData::new(values, [indices.len()]), &self.device)
    }

    fn tensor<const D: usize>(&self, values: Vec<f64>, shape: [usize; D]) -> Tensor<D> {
        // Converting here, and not in the backend, keeps one copy of the data for the common f32 case.
        match self.dtype {
            DType::F32 => {
                let values: Vec<f32> = values.into_iter().map(|v| v as f32).collect();
                Tensor::from_data(TensorData::new(values, shape), (&self.device, self.dtype))
            }
            _ => Tensor::from_data(TensorData::new(values, shape), (&self.device, self.dtype)),
        }
    }
}

/// All values of a tensor as doubles, row-major.
pub fn to_vec<const D: usize>(tensor: &Tensor<D>) -> Vec<f64> {
    tensor.clone().without_autodiff().try_into_vec_as::<f64>().expect("a device that works can be read")
}

/// A matrix as an array.
pub fn to_array(tensor: &Tensor<2>) -> Array2<f64> {
    let [n, d] = tensor.dims();
    Array2::from_shape_vec((n, d), to_vec(tensor)).expect("a tensor's data fills its shape")
}

/// One number.
pub fn to_scalar<const D: usize>(tensor: &Tensor<D>) -> f64 {
    to_vec(tensor)[0]
}

/// log sum_k exp(a[:, k]) -> `[n, 1]`, shifted by the row maximum so that nothing overflows.
///
/// The maximum is a constant for the gradient: its contribution cancels.
pub fn log_sum_exp(a: Tensor<2>) -> Tensor<2> {
    let max = a.clone().detach().max_dim(1);
    (a - max.clone()).exp().sum_dim(1).log() + max
}

/// a[:, k] - log sum_k exp(a[:, k]): log-probabilities from log-weights, `[n, K]`.
pub fn log_normalise(a: Tensor<2>) -> Tensor<2> {
    a.clone() - log_sum_exp(a)
}

/// Rows of the identity: `[n, n_classes]`.
pub fn one_hot(y: &[usize], n_classes: usize, place: &Place) -> Tensor<2> {
    let mut q = vec![0.0; y.len() * n_classes];
    for (row, &k) in y.iter().enumerate() {
        q[row * n_classes + k] = 1.0;
    }
    place.matrix(q, [y.len(), n_classes])
}
