//! Sixteen lanes in one AVX-512 register or two AVX2 registers.
//!
//! SAFETY of every block here: reached only through [`super::dispatch_on`], after the CPU was checked; a
//! [`Lane`] is 64 readable and writable bytes aligned to 64.

use super::{Kernel, Lane, Lanes};
use std::arch::x86_64::*;

#[target_feature(enable = "avx512f,avx2,fma")]
pub(super) fn run_avx512<K: Kernel>(kernel: K) {
    kernel.run::<Avx512>();
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn run_avx2<K: Kernel>(kernel: K) {
    kernel.run::<Avx2>();
}

pub(super) struct Avx512;

impl Lanes for Avx512 {
    type V = __m512;
    const WIDE: bool = true;
    #[inline(always)]
    fn load(from: &Lane) -> __m512 {
        // SAFETY: see above.
        unsafe { _mm512_load_ps(from.0.as_ptr()) }
    }
    #[inline(always)]
    fn store(v: __m512, to: &mut Lane) {
        // SAFETY: see above.
        unsafe { _mm512_store_ps(to.0.as_mut_ptr(), v) }
    }
    #[inline(always)]
    fn splat(x: f32) -> __m512 {
        // SAFETY: see above.
        unsafe { _mm512_set1_ps(x) }
    }
    #[inline(always)]
    fn fma(a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: see above.
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }
    #[inline(always)]
    fn relu(v: __m512) -> __m512 {
        // SAFETY: see above. The second operand wins when either is NaN.
        unsafe { _mm512_max_ps(_mm512_setzero_ps(), v) }
    }
    #[inline(always)]
    fn where_positive(gate: __m512, v: __m512) -> __m512 {
        // SAFETY: see above.
        unsafe { _mm512_maskz_mov_ps(_mm512_cmp_ps_mask::<_CMP_GT_OQ>(gate, _mm512_setzero_ps()), v) }
    }
    #[inline(always)]
    fn fma1(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
    #[inline(always)]
    fn prefetch(address: *const f32) {
        // SAFETY: a prefetch of any address is harmless.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
    }
    #[inline(always)]
    fn stream(from: &Lane, to: &mut Lane) {
        // SAFETY: see above.
        unsafe { _mm512_stream_ps(to.0.as_mut_ptr(), _mm512_load_ps(from.0.as_ptr())) }
    }
    #[inline(always)]
    fn end_of_stream() {
        // SAFETY: a fence has no conditions.
        unsafe { _mm_sfence() }
    }
    type R = __m512;
    const WIDTH: usize = 16;
    #[inline(always)]
    fn zeros() -> __m512 {
        // SAFETY: see above.
        unsafe { _mm512_setzero_ps() }
    }
    #[inline(always)]
    unsafe fn load_register(from: *const f32) -> __m512 {
        // SAFETY: see above; the caller vouches for sixteen aligned numbers.
        unsafe { _mm512_load_ps(from) }
    }
    #[inline(always)]
    fn fma_register(a: __m512, b: __m512, c: __m512) -> __m512 {
        Self::fma(a, b, c)
    }
    #[inline(always)]
    fn sum_registers(r: [__m512; 4]) -> [f32; 4] {
        let mut halves = [Avx2::zeros(); 4];
        for i in 0..4 {
            // SAFETY: see above.
            unsafe {
                let high = _mm256_castpd_ps(_mm512_extractf64x4_pd::<1>(_mm512_castps_pd(r[i])));
                halves[i] = _mm256_add_ps(_mm512_castps512_ps256(r[i]), high);
            }
        }
        Avx2::sum_registers(halves)
    }
    #[inline(always)]
    fn clear_above(v: __m512, x: __m512, threshold: f32, kept: u32) -> __m512 {
        // SAFETY: see above.
        unsafe {
            let above = _mm512_cmp_ps_mask::<_CMP_NLE_UQ>(x, _mm512_set1_ps(threshold));
            let v = _mm512_castps_si512(v);
            let kept = _mm512_set1_epi32(kept as i32);
            _mm512_castsi512_ps(_mm512_mask_and_epi32(v, above, v, kept))
        }
    }
    #[inline(always)]
    unsafe fn four_columns(rows: &[*const f32; 16], to: &mut [Lane; 4]) {
        // SAFETY: see above, and the caller's promise for every row.
        unsafe {
            // Quarter q of a[i] is row 4 q + i: a 4 x 4 transpose of all quarters.
            let a: [__m512; 4] = std::array::from_fn(|i| {
                let z = _mm512_castps128_ps512(_mm_loadu_ps(rows[i]));
                let z = _mm512_insertf32x4::<1>(z, _mm_loadu_ps(rows[4 + i]));
                let z = _mm512_insertf32x4::<2>(z, _mm_loadu_ps(rows[8 + i]));
                _mm512_insertf32x4::<3>(z, _mm_loadu_ps(rows[12 + i]))
            });
            let [low, high] = [0, 2].map(|i| _mm512_castps_pd(_mm512_unpacklo_ps(a[i], a[i + 1])));
            _mm512_store_ps(to[0].0.as_mut_ptr(), _mm512_castpd_ps(_mm512_unpacklo_pd(low, high)));
            _mm512_store_ps(to[1].0.as_mut_ptr(), _mm512_castpd_ps(_mm512_unpackhi_pd(low, high)));
            let [low, high] = [0, 2].map(|i| _mm512_castps_pd(_mm512_unpackhi_ps(a[i], a[i + 1])));
            _mm512_store_ps(to[2].0.as_mut_ptr(), _mm512_castpd_ps(_mm512_unpacklo_pd(low, high)));
            _mm512_store_ps(to[3].0.as_mut_ptr(), _mm512_castpd_ps(_mm512_unpackhi_pd(low, high)));
        }
    }
    #[inline(always)]
    fn transpose_16x16(from: &[f32], from_stride: usize, to: &mut [f32], to_stride: usize) {
        // SAFETY: see above; every row is sliced to 16 numbers before it is read or written.
        unsafe {
            let mut a = [_mm512_setzero_ps(); 16];
            for r in 0..16 {
                a[r] = _mm512_loadu_ps(from[r * from_stride..][..16].as_ptr());
            }
            // Pairs of rows, then fours, within each quarter of a register.
            let mut b = a;
            for i in 0..8 {
                b[2 * i] = _mm512_unpacklo_ps(a[2 * i], a[2 * i + 1]);
                b[2 * i + 1] = _mm512_unpackhi_ps(a[2 * i], a[2 * i + 1]);
            }
            for i in 0..4 {
                for half in 0..2 {
                    let (lo, hi) = (_mm512_castps_pd(b[4 * i + half]), _mm512_castps_pd(b[4 * i + 2 + half]));
                    a[4 * i + 2 * half] = _mm512_castpd_ps(_mm512_unpacklo_pd(lo, hi));
                    a[4 * i + 2 * half + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(lo, hi));
                }
            }
            // a[4 i + c] holds rows 4 i .. 4 i + 4 of columns c, c + 4, c + 8, c + 12: a 4 x 4 transpose
            // of quarters gathers each column's sixteen rows.
            for c in 0..4 {
                let low = _mm512_shuffle_f32x4::<0x88>(a[c], a[4 + c]); // columns c, c + 8 of rows 0..8
                let low_odd = _mm512_shuffle_f32x4::<0xdd>(a[c], a[4 + c]); // c + 4, c + 12
                let high = _mm512_shuffle_f32x4::<0x88>(a[8 + c], a[12 + c]); // of rows 8..16
                let high_odd = _mm512_shuffle_f32x4::<0xdd>(a[8 + c], a[12 + c]);
                b[c] = _mm512_shuffle_f32x4::<0x88>(low, high);
                b[c + 8] = _mm512_shuffle_f32x4::<0xdd>(low, high);
                b[c + 4] = _mm512_shuffle_f32x4::<0x88>(low_odd, high_odd);
                b[c + 12] = _mm512_shuffle_f32x4::<0xdd>(low_odd, high_odd);
            }
            for c in 0..16 {
                _mm512_storeu_ps(to[c * to_stride..][..16].as_mut_ptr(), b[c]);
            }
        }
    }
}

pub(super) struct Avx2;

impl Lanes for Avx2 {
    type V = [__m256; 2];
    const WIDE: bool = false;
    #[inline(always)]
    fn load(from: &Lane) -> Self::V {
        // SAFETY: see above; the second half starts 32 bytes in.
        unsafe { [_mm256_load_ps(from.0.as_ptr()), _mm256_load_ps(from.0.as_ptr().add(8))] }
    }
    #[inline(always)]
    fn store(v: Self::V, to: &mut Lane) {
        // SAFETY: see above; the second half starts 32 bytes in.
        unsafe {
            _mm256_store_ps(to.0.as_mut_ptr(), v[0]);
            _mm256_store_ps(to.0.as_mut_ptr().add(8), v[1]);
        }
    }
    #[inline(always)]
    fn splat(x: f32) -> Self::V {
        // SAFETY: see above.
        unsafe { [_mm256_set1_ps(x); 2] }
    }
    #[inline(always)]
    fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        // SAFETY: see above.
        unsafe { [_mm256_fmadd_ps(a[0], b[0], c[0]), _mm256_fmadd_ps(a[1], b[1], c[1])] }
    }
    #[inline(always)]
    fn relu(v: Self::V) -> Self::V {
        // SAFETY: see above. The second operand wins when either is NaN.
        unsafe { [_mm256_max_ps(_mm256_setzero_ps(), v[0]), _mm256_max_ps(_mm256_setzero_ps(), v[1])] }
    }
    #[inline(always)]
    fn where_positive(gate: Self::V, v: Self::V) -> Self::V {
        // SAFETY: see above.
        unsafe {
            let zero = _mm256_setzero_ps();
            let keep = |i: usize| _mm256_and_ps(_mm256_cmp_ps::<_CMP_GT_OQ>(gate[i], zero), v[i]);
            [keep(0), keep(1)]
        }
    }
    #[inline(always)]
    fn fma1(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
    #[inline(always)]
    fn prefetch(address: *const f32) {
        // SAFETY: a prefetch of any address is harmless.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
    }
    #[inline(always)]
    fn stream(from: &Lane, to: &mut Lane) {
        for half in [0, 8] {
            // SAFETY: see above; both halves are eight numbers inside their lanes, aligned to 32 bytes.
            unsafe {
                let eight = _mm256_load_ps(from.0.as_ptr().add(half));
                _mm256_stream_ps(to.0.as_mut_ptr().add(half), eight);
            }
        }
    }
    #[inline(always)]
    fn end_of_stream() {
        // SAFETY: a fence has no conditions.
        unsafe { _mm_sfence() }
    }
    type R = __m256;
    const WIDTH: usize = 8;
    #[inline(always)]
    fn zeros() -> __m256 {
        // SAFETY: see above.
        unsafe { _mm256_setzero_ps() }
    }
    #[inline(always)]
    unsafe fn load_register(from: *const f32) -> __m256 {
        // SAFETY: see above; the caller vouches for eight aligned numbers.
        unsafe { _mm256_load_ps(from) }
    }
    #[inline(always)]
    fn fma_register(a: __m256, b: __m256, c: __m256) -> __m256 {
        // SAFETY: see above.
        unsafe { _mm256_fmadd_ps(a, b, c) }
    }
    #[inline(always)]
    fn sum_registers(r: [__m256; 4]) -> [f32; 4] {
        let mut sums = [0.0; 4];
        // SAFETY: see above; `sums` has room for the four numbers that are stored.
        unsafe {
            // Neighbours, then their neighbours: four sums in each half.
            let pairs = [_mm256_hadd_ps(r[0], r[1]), _mm256_hadd_ps(r[2], r[3])];
            let fours = _mm256_hadd_ps(pairs[0], pairs[1]);
            let all = _mm_add_ps(_mm256_castps256_ps128(fours), _mm256_extractf128_ps::<1>(fours));
            _mm_storeu_ps(sums.as_mut_ptr(), all);
        }
        sums
    }
    #[inline(always)]
    fn clear_above(v: Self::V, x: Self::V, threshold: f32, kept: u32) -> Self::V {
        // SAFETY: see above.
        unsafe {
            let kept = _mm256_castsi256_ps(_mm256_set1_epi32(kept as i32));
            let threshold = _mm256_set1_ps(threshold);
            let clear = |i: usize| {
                let above = _mm256_cmp_ps::<_CMP_NLE_UQ>(x[i], threshold);
                _mm256_andnot_ps(_mm256_andnot_ps(kept, above), v[i])
            };
            [clear(0), clear(1)]
        }
    }
    #[inline(always)]
    unsafe fn four_columns(rows: &[*const f32; 16], to: &mut [Lane; 4]) {
        for half in [0, 8] {
            // SAFETY: see above, and the caller's promise for every row; a half begins 0 or 32 bytes in.
            unsafe {
                // Half h of a[i] is row 4 h + i: a 4 x 4 transpose of both halves.
                let a: [__m256; 4] = std::array::from_fn(|i| {
                    let low = _mm256_castps128_ps256(_mm_loadu_ps(rows[half + i]));
                    _mm256_insertf128_ps::<1>(low, _mm_loadu_ps(rows[half + 4 + i]))
                });
                let [low, high] = [0, 2].map(|i| _mm256_unpacklo_ps(a[i], a[i + 1]));
                _mm256_store_ps(to[0].0.as_mut_ptr().add(half), _mm256_shuffle_ps::<0x44>(low, high));
                _mm256_store_ps(to[1].0.as_mut_ptr().add(half), _mm256_shuffle_ps::<0xee>(low, high));
                let [low, high] = [0, 2].map(|i| _mm256_unpackhi_ps(a[i], a[i + 1]));
                _mm256_store_ps(to[2].0.as_mut_ptr().add(half), _mm256_shuffle_ps::<0x44>(low, high));
                _mm256_store_ps(to[3].0.as_mut_ptr().add(half), _mm256_shuffle_ps::<0xee>(low, high));
            }
        }
    }
    #[inline(always)]
    fn transpose_16x16(from: &[f32], from_stride: usize, to: &mut [f32], to_stride: usize) {
        for (r, c) in [(0, 0), (0, 8), (8, 0), (8, 8)] {
            let from = &from[r * from_stride + c..];
            let to = &mut to[c * to_stride + r..];
            // SAFETY: see above; every row is sliced to eight numbers before it is read or written.
            unsafe {
                let a: [__m256; 8] =
                    std::array::from_fn(|i| _mm256_loadu_ps(from[i * from_stride..][..8].as_ptr()));
                // Pairs of rows, then fours, within each half of a register; b[4 i + c] then holds rows 4 i .. 4 i + 4 of
                // columns c and c + 4, and halves change places.
                let mut b = a;
                for i in [0, 4] {
                    let (low, low_next) =
                        (_mm256_unpacklo_ps(a[i], a[i + 1]), _mm256_unpacklo_ps(a[i + 2], a[i + 3]));
                    let (high, high_next) =
                        (_mm256_unpackhi_ps(a[i], a[i + 1]), _mm256_unpackhi_ps(a[i + 2], a[i + 3]));
                    b[i] = _mm256_shuffle_ps::<0x44>(low, low_next);
                    b[i + 1] = _mm256_shuffle_ps::<0xee>(low, low_next);
                    b[i + 2] = _mm256_shuffle_ps::<0x44>(high, high_next);
                    b[i + 3] = _mm256_shuffle_ps::<0xee>(high, high_next);
                }
                for c in 0..4 {
                    let near = _mm256_permute2f128_ps::<0x20>(b[c], b[c + 4]);
                    let far = _mm256_permute2f128_ps::<0x31>(b[c], b[c + 4]);
                    _mm256_storeu_ps(to[c * to_stride..][..8].as_mut_ptr(), near);
                    _mm256_storeu_ps(to[(c + 4) * to_stride..][..8].as_mut_ptr(), far);
                }
            }
        }
    }
}
