//! flowgmm
