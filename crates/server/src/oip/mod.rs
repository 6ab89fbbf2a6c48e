//! The Open Inference Protocol v2 over REST: a tensor for each column in, tensors by name out.
//!
//! ```text
//! POST /v2/models/M/infer  {"inputs": [{"name": "width", "shape": [2], "datatype": "FP64", "data": [1.5, 2.0]}, ...]}
//!   -> {"outputs": [{"name": "class", "shape": [2], "datatype": "BYTES", "data": ["a", "b"]}, ...]}
//! ```
//!
//! Shapes are `[n]` or `[n, 1]`; a model of numbers alone also takes one tensor `[n, columns]`, a model of images one of
//! `[n, height, width]` or `[n, height, width, channels]`. Elements may follow the JSON as bytes, as Triton's client sends them. Other clients send a table as Arrow IPC, and get one. What is answered
//! is what `flowgmm predict` writes, to the last bit.

mod arrow;
mod infer;
mod metadata;
mod tensor;

pub use infer::{infer, infer_version};
pub use metadata::{live, model, model_ready, model_version, models, ready, server, version_ready};
