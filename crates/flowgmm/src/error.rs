pub use flowgmm_core::{Error, Result};
