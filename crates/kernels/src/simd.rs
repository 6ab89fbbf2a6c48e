//! Sixteen f32 lanes: one AVX-512 register, two AVX2 registers, or a plain array.
//!
//! A kernel is a struct implementing [`Kernel`]; [`dispatch`] runs it compiled for the widest instruction
//! set this CPU has. `Kernel::run` and all it calls must be `#[inline(always)]`, or they are compiled for
//! the baseline CPU instead.

use std::sync::OnceLock;

#[cfg(target_arch = "x86_64")]
mod x86;

/// Sixteen consecutive rows of one feature.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Lane(pub [f32; 16]);

pub(crate) const ZERO: Lane = Lane([0.0; 16]);

impl Lane {
    /// The sum of the sixteen, by halves: four additions deep, not fifteen.
    #[inline(always)]
    pub(crate) fn sum(&self) -> f32 {
        let x = &self.0;
        let mut eight: [f32; 8] = std::array::from_fn(|l| x[l] + x[l + 8]);
        for half in [4, 2, 1] {
            for l in 0..half {
                eight[l] += eight[l + half];
            }
        }
        eight[0]
    }
}

/// The numbers of a buffer one after the other.
pub(crate) fn flat(lanes: &[Lane]) -> &[f32] {
    // SAFETY: a Lane is exactly sixteen f32 without padding, so the slice is 16 len() of them.
    unsafe { std::slice::from_raw_parts(lanes.as_ptr().cast(), 16 * lanes.len()) }
}

/// [`flat`], to write to.
pub(crate) fn flat_mut(lanes: &mut [Lane]) -> &mut [f32] {
    // SAFETY: as in `flat`; the borrow is exclusive and any f32 is a valid lane.
    unsafe { std::slice::from_raw_parts_mut(lanes.as_mut_ptr().cast(), 16 * lanes.len()) }
}

/// Numbers as lanes, as far as they are aligned like them: what comes before, the lanes, what comes after.
pub(crate) fn lanes_of(numbers: &mut [f32]) -> (&mut [f32], &mut [Lane], &mut [f32]) {
    // SAFETY: a Lane is exactly sixteen f32 without padding, and any f32 is a valid one.
    unsafe { numbers.align_to_mut() }
}

/// The operations a kernel may use. Methods are sound only inside [`dispatch`], which checks the CPU.
pub(crate) trait Lanes {
    /// A register (or registers) holding sixteen values.
    type V: Copy;
    /// Whether the register file holds 24 sums and their operands.
    const WIDE: bool;
    fn load(from: &Lane) -> Self::V;
    fn store(v: Self::V, to: &mut Lane);
    fn splat(x: f32) -> Self::V;
    /// `a * b + c`
    fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// `max(v, 0)`; NaN stays NaN.
    fn relu(v: Self::V) -> Self::V;
    /// `v` where `gate > 0`, else 0.
    fn where_positive(gate: Self::V, v: Self::V) -> Self::V;
    /// `a * b + c` on one number, fused where that is one instruction.
    fn fma1(a: f32, b: f32, c: f32) -> f32;
    /// Asks for a cache line; any address is fine, nothing is read.
    fn prefetch(address: *const f32);
    /// A store past the caches, to be closed by [`Lanes::end_of_stream`] before another thread may look.
    #[inline(always)]
    fn stream(from: &Lane, to: &mut Lane) {
        *to = *from;
    }
    /// Lets other threads see what was streamed.
    #[inline(always)]
    fn end_of_stream() {}
    /// The bits of `v`, of which only `kept` stay where not `x <= threshold`.
    fn clear_above(v: Self::V, x: Self::V, threshold: f32, kept: u32) -> Self::V;
    /// Four numbers of each of sixteen rows, by columns.
    ///
    /// # Safety
    /// Four numbers can be read from each address.
    #[inline(always)]
    unsafe fn four_columns(rows: &[*const f32; 16], to: &mut [Lane; 4]) {
        for (r, row) in rows.iter().enumerate() {
            for (c, to) in to.iter_mut().enumerate() {
                // SAFETY: c < 4.
                to.0[r] = unsafe { *row.add(c) };
            }
        }
    }
    /// One register, where single ones count.
    type R: Copy;
    /// How many values a register holds: a divisor of sixteen.
    const WIDTH: usize;
    /// A register of zeros.
    fn zeros() -> Self::R;
    /// The values from `from` on.
    ///
    /// # Safety
    /// `WIDTH` numbers must be readable there, and their address a multiple of their size.
    unsafe fn load_register(from: *const f32) -> Self::R;
    /// `a * b + c`
    fn fma_register(a: Self::R, b: Self::R, c: Self::R) -> Self::R;
    /// The sum of the values of each of four registers.
    fn sum_registers(r: [Self::R; 4]) -> [f32; 4];
    /// 16 rows of 16 from `from`, transposed into `to`; both with a stride between rows.
    #[inline(always)]
    fn transpose_16x16(from: &[f32], from_stride: usize, to: &mut [f32], to_stride: usize) {
        for r in 0..16 {
            let row = &from[r * from_stride..][..16];
            for c in 0..16 {
                to[c * to_stride + r] = row[c];
            }
        }
    }
}

/// Scalars laid out in two directions: `value(i, k)` is `values[i * row + k * step]`.
#[derive(Clone, Copy)]
pub(crate) struct Grid<'a> {
    pub values: &'a [f32],
    pub row: usize,
    pub step: usize,
}

/// `sums[i][m] += sum over k < n of w(i, k) x[k * x_step + m]`: the innermost loop of all matrix products. `ahead` is an
/// address to prefetch and how far it moves with each `k`.
///
/// Bounds are checked once, not in the loop: with one check per row the narrower register file runs out.
///
/// # Panics
/// If a slice is shorter than that.
#[inline(always)]
pub(crate) fn multiply_add<L: Lanes, const MV: usize, const NR: usize>(
    sums: &mut [[L::V; MV]; NR],
    w: Grid,
    x: &[Lane],
    x_step: usize,
    n: usize,
    ahead: Option<(*const f32, usize)>,
) {
    let Some(last) = n.checked_sub(1) else { return };
    assert!((NR - 1) * w.row + last * w.step < w.values.len() && last * x_step + MV <= x.len());
    let mut sum = *sums;
    let (mut scalars, mut vectors) = (w.values.as_ptr(), x.as_ptr());
    for k in 0..n {
        if let Some((address, step)) = ahead {
            L::prefetch(address.wrapping_add(k * step));
        }
        // SAFETY: `k <= last`, so both indices are within the lengths that were checked above; a pointer past the last
        // `k` is made and not read.
        unsafe {
            let xs: [L::V; MV] = std::array::from_fn(|m| L::load(&*vectors.add(m)));
            for (i, sum) in sum.iter_mut().enumerate() {
                let w_ik = L::splat(*scalars.add(i * w.row));
                for (sum, x) in sum.iter_mut().zip(xs) {
                    *sum = L::fma(w_ik, x, *sum);
                }
            }
        }
        scalars = scalars.wrapping_add(w.step);
        vectors = vectors.wrapping_add(x_step);
    }
    *sums = sum;
}

/// `sums[i][j] += a[i] b[j]`, where the rows of `a` and of `b` are `lanes` long and one after the other: dot products,
/// to be completed by [`Lanes::sum_registers`].
///
/// # Panics
/// If a slice is shorter than that.
#[inline(always)]
#[allow(
    clippy::needless_range_loop,
    reason = "loops over register arrays, unrolled by their constant bounds"
)]
pub(crate) fn multiply_rows<L: Lanes, const MA: usize, const NB: usize>(
    sums: &mut [[L::R; NB]; MA],
    a: &[Lane],
    b: &[Lane],
    lanes: usize,
) {
    assert!(MA * lanes <= a.len() && NB * lanes <= b.len());
    let mut sum = *sums;
    let (a, b) = (flat(a).as_ptr(), flat(b).as_ptr());
    for k in (0..16 * lanes).step_by(L::WIDTH) {
        // SAFETY: `WIDTH` divides 16, so row i's numbers `k .. k + WIDTH` end before `16 * lanes * (i + 1)`, which the check
        // above keeps inside the slice; lanes are aligned to 64 bytes and `k` is a multiple of `WIDTH`.
        unsafe {
            // The shorter side is held, the longer passes by: 3 + 1 + 12 registers for a tile of 3 x 4, all that AVX2 has.
            let held: [L::R; MA] = std::array::from_fn(|i| L::load_register(a.add(16 * lanes * i + k)));
            for j in 0..NB {
                let b = L::load_register(b.add(16 * lanes * j + k));
                for i in 0..MA {
                    sum[i][j] = L::fma_register(held[i], b, sum[i][j]);
                }
            }
        }
    }
    *sums = sum;
}

pub(crate) trait Kernel {
    fn run<L: Lanes>(self);
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Level {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

/// Every level this CPU can run, widest first.
pub(crate) fn levels() -> impl Iterator<Item = Level> {
    #[cfg(target_arch = "x86_64")]
    let wide = {
        let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        let avx512 = avx2 && is_x86_feature_detected!("avx512f");
        [avx512.then_some(Level::Avx512), avx2.then_some(Level::Avx2)]
    };
    #[cfg(not(target_arch = "x86_64"))]
    let wide = [None, None];
    wide.into_iter().flatten().chain([Level::Portable])
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => "AVX-512",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => "AVX2",
            Self::Portable if cfg!(target_arch = "aarch64") => "NEON",
            Self::Portable => "portable code",
        }
    }

    /// What [`ENVIRONMENT`] calls it.
    fn word(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => "avx2",
            Self::Portable => "portable",
        }
    }
}

/// The environment variable that makes kernels use a narrower instruction set than the widest: `avx2` or `portable`.
pub const ENVIRONMENT: &str = "FLOWGMM_SIMD";

/// The instruction set the kernels use on this CPU: the widest, unless [`ENVIRONMENT`] names another.
pub fn instruction_set() -> &'static str {
    level().name()
}

/// The instruction sets that this CPU has, widest first, as [`ENVIRONMENT`] calls them.
pub fn instruction_sets() -> Vec<&'static str> {
    levels().map(Level::word).collect()
}

/// What is wrong with the value of [`ENVIRONMENT`], if anything: then the widest instruction set is used.
pub fn check_environment() -> Result<(), String> {
    match wanted() {
        Some(wanted) if named(&wanted).is_none() => {
            let sets = instruction_sets().join(", ");
            Err(format!(
                "{ENVIRONMENT} is '{wanted}', and this CPU has {sets}: name one of them, or unset it"
            ))
        }
        _ => Ok(()),
    }
}

/// The instruction set that the environment names; an empty name is none.
fn wanted() -> Option<String> {
    let name = std::env::var(ENVIRONMENT).ok()?.trim().to_ascii_lowercase();
    (!name.is_empty()).then_some(name)
}

fn named(word: &str) -> Option<Level> {
    levels().find(|level| level.word() == word)
}

/// Runs `kernel` at the widest level of this CPU.
#[inline]
pub(crate) fn dispatch<K: Kernel>(kernel: K) {
    dispatch_on(level(), kernel);
}

/// The level of this process: as the environment says, if this CPU has it, else the widest.
fn of_process() -> Level {
    static CHOSEN: OnceLock<Level> = OnceLock::new();
    *CHOSEN
        .get_or_init(|| wanted().and_then(|name| named(&name)).or(levels().next()).unwrap_or(Level::Portable))
}

#[cfg(not(test))]
#[inline]
pub(crate) fn level() -> Level {
    of_process()
}

/// In tests a level can be forced, so that the narrower ones run too.
#[cfg(test)]
pub(crate) fn level() -> Level {
    FORCED.get().unwrap_or_else(of_process)
}

#[cfg(test)]
thread_local! {
    /// The level [`dispatch`] uses on this thread.
    pub(crate) static FORCED: std::cell::Cell<Option<Level>> = const { std::cell::Cell::new(None) };
}

/// Runs `kernel` at `level`, which must come from [`levels`].
#[inline]
pub(crate) fn dispatch_on<K: Kernel>(level: Level, kernel: K) {
    match level {
        // SAFETY: `levels` yields Avx512 only after detecting avx512f, avx2 and fma on this CPU.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { x86::run_avx512(kernel) },
        // SAFETY: `levels` yields Avx2 only after detecting avx2 and fma on this CPU.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { x86::run_avx2(kernel) },
        Level::Portable => kernel.run::<Portable>(),
    }
}

pub(crate) struct Portable;

impl Lanes for Portable {
    type V = Lane;
    const WIDE: bool = false;
    #[inline(always)]
    fn load(from: &Lane) -> Lane {
        *from
    }
    #[inline(always)]
    fn store(v: Lane, to: &mut Lane) {
        *to = v;
    }
    #[inline(always)]
    fn splat(x: f32) -> Lane {
        Lane([x; 16])
    }
    #[inline(always)]
    fn fma(a: Lane, b: Lane, c: Lane) -> Lane {
        Lane(std::array::from_fn(|l| a.0[l] * b.0[l] + c.0[l]))
    }
    #[inline(always)]
    fn relu(v: Lane) -> Lane {
        Lane(v.0.map(|x| if x < 0.0 { 0.0 } else { x }))
    }
    #[inline(always)]
    fn where_positive(gate: Lane, v: Lane) -> Lane {
        Lane(std::array::from_fn(|l| if gate.0[l] > 0.0 { v.0[l] } else { 0.0 }))
    }
    #[inline(always)]
    fn fma1(a: f32, b: f32, c: f32) -> f32 {
        a * b + c
    }
    #[inline(always)]
    fn prefetch(_: *const f32) {}
    #[inline(always)]
    fn clear_above(v: Lane, x: Lane, threshold: f32, kept: u32) -> Lane {
        Lane(std::array::from_fn(|l| {
            let below = if x.0[l] <= threshold { u32::MAX } else { 0 };
            f32::from_bits(v.0[l].to_bits() & (kept | below))
        }))
    }
    type R = [f32; 4];
    const WIDTH: usize = 4;
    #[inline(always)]
    fn zeros() -> Self::R {
        [0.0; 4]
    }
    #[inline(always)]
    unsafe fn load_register(from: *const f32) -> Self::R {
        // SAFETY: the caller vouches for four aligned numbers.
        unsafe { *from.cast() }
    }
    #[inline(always)]
    fn fma_register(a: Self::R, b: Self::R, c: Self::R) -> Self::R {
        std::array::from_fn(|l| a[l] * b[l] + c[l])
    }
    #[inline(always)]
    fn sum_registers(r: [Self::R; 4]) -> [f32; 4] {
        r.map(|r| (r[0] + r[1]) + (r[2] + r[3]))
    }
}
