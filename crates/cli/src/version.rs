//! What `--version` says: the program, the commit it was built from, what its kernels run on, and the files it writes.

use std::sync::LazyLock;

/// Version and commit.
pub const SHORT: &str = concat!(env!("CARGO_PKG_VERSION"), env!("FLOWGMM_COMMIT"));

/// Everything that a bug report needs.
pub fn long() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let (instructions, format) = (flowgmm::instruction_set(), flowgmm::FORMAT);
        format!("{SHORT}\ninstruction set: {instructions}\nmodel file format: {format}")
    });
    &TEXT
}
