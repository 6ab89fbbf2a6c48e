//! The gradient of a narrow layer's weights, as dot products over the rows of many panels:
//!
//! ```text
//! gW [out, in] = sum_rows gy [out, rows] x [in, rows]
//! ```
//!
//! Rows lie one after the other in both operands, so nothing is transposed, and no lane stays empty however few features a
//! side has. A tile of 3 x 4 sums, a register each, runs over all rows; the sums of their values are what is left to do. With
//! many features on both sides that costs more than one transpose for all of them: see [`crate::weights`].

use crate::simd::{Kernel, Lane, Lanes, Level, level, multiply_rows};
use crate::weights::Operands;

/// Whether dot products are the faster way to the gradient of a layer with these features, by measurements.
pub(crate) fn pay(panels: &[Operands], n_in: usize, n_out: usize) -> bool {
    let lanes: usize = panels.iter().map(|p| p.lanes).sum();
    let enough = match level() {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => lanes >= 16,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => true,
        Level::Portable => false,
    };
    enough && (3..=32).contains(&n_in.min(n_out))
}

/// `gw[o, i] = sum over panels and rows of gy[o] x[i]`.
pub(crate) struct Dots<'a> {
    pub panels: &'a [Operands<'a>],
    pub n_in: usize,
    pub gw: &'a mut [f32], // [out, in]
}

/// Where a sum goes: the features of the wide and of the narrow side, and whether the wide one is the layer's output.
#[derive(Clone, Copy)]
struct Sides {
    wide: usize,
    narrow: usize,
    output_is_wide: bool,
}

impl Kernel for Dots<'_> {
    #[inline(always)]
    fn run<L: Lanes>(mut self) {
        let (n_in, n_out) = (self.n_in, self.gw.len() / self.n_in);
        let output_is_wide = n_out > n_in;
        let sides = Sides { wide: n_in.max(n_out), narrow: n_in.min(n_out), output_is_wide };
        let mut i = 0;
        while i + 3 <= sides.wide {
            self.features::<L, 3>(sides, i);
            i += 3;
        }
        while i < sides.wide {
            self.features::<L, 1>(sides, i);
            i += 1;
        }
    }
}

impl Dots<'_> {
    /// The sums of features `i .. i + MA` of the wide side and all of the narrow one.
    #[inline(always)]
    fn features<L: Lanes, const MA: usize>(&mut self, sides: Sides, i: usize) {
        let tiles = sides.narrow.div_ceil(4);
        let mut j = 0;
        for t in 0..tiles {
            // Sizes that differ by at most one.
            j += match (t + 1) * sides.narrow / tiles - j {
                4 => self.tile::<L, MA, 4>(sides, i, j),
                3 => self.tile::<L, MA, 3>(sides, i, j),
                2 => self.tile::<L, MA, 2>(sides, i, j),
                _ => self.tile::<L, MA, 1>(sides, i, j),
            };
        }
    }

    /// The sums of features `i .. i + MA` and `j .. j + NB`. Returns `NB`.
    #[inline(always)]
    fn tile<L: Lanes, const MA: usize, const NB: usize>(
        &mut self,
        sides: Sides,
        i: usize,
        j: usize,
    ) -> usize {
        let mut sums = [[L::zeros(); NB]; MA];
        for panel in self.panels {
            let (a, b): (&[Lane], &[Lane]) =
                if sides.output_is_wide { (panel.gy, panel.x) } else { (panel.x, panel.gy) };
            multiply_rows::<L, MA, NB>(&mut sums, &a[i * panel.lanes..], &b[j * panel.lanes..], panel.lanes);
        }
        for (i, sums) in (i..).zip(sums) {
            let mut four = [L::zeros(); 4];
            four[..NB].copy_from_slice(&sums);
            let values = L::sum_registers(four);
            for (j, value) in (j..).zip(&values[..NB]) {
                let at = if sides.output_is_wide { i * self.n_in + j } else { j * self.n_in + i };
                self.gw[at] = *value;
            }
        }
        NB
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{dispatch_on, levels};

    /// Every tile shape on every level against loops. Sums of at most 96 products below 1: 1e-4 is generous.
    #[test]
    fn dot_products_agree_with_loops_on_every_level() {
        let number = |i: usize| ((i * 2_654_435_761) % 1000) as f32 / 500.0 - 1.0;
        let lanes = |n: usize, seed: usize| -> Vec<Lane> {
            (0..n).map(|i| Lane(std::array::from_fn(|l| number(16 * i + l + seed)))).collect()
        };
        for (n_in, n_out) in [(3, 3), (4, 7), (9, 5), (2, 6), (8, 1), (11, 10), (32, 34)] {
            let sizes = [4, 1, 3];
            let (gy, x) = (sizes.map(|s| lanes(n_out * s, s)), sizes.map(|s| lanes(n_in * s, 7 * s)));
            let panels: Vec<Operands> =
                (0..3).map(|p| Operands { gy: &gy[p], x: &x[p], lanes: sizes[p] }).collect();
            for level in levels() {
                let mut gw = vec![f32::NAN; n_out * n_in];
                dispatch_on(level, Dots { panels: &panels, n_in, gw: &mut gw });
                for (at, got) in gw.iter().enumerate() {
                    let (o, i) = (at / n_in, at % n_in);
                    let row = |p: &Operands, v: usize, l: usize| {
                        p.gy[o * p.lanes + v].0[l] * p.x[i * p.lanes + v].0[l]
                    };
                    let lane = |p: &Operands, v: usize| (0..16).map(|l| row(p, v, l)).sum::<f32>();
                    let want: f32 =
                        panels.iter().map(|p| (0..p.lanes).map(|v| lane(p, v)).sum::<f32>()).sum();
                    assert!((got - want).abs() < 1e-4, "{level:?} {n_in} {n_out}: {got} {want}");
                }
            }
        }
    }
}
