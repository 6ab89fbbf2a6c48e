//! The affine half of a convolutional coupling on one image; the formulas are `pointwise`'s, here on rows of pixels
//! with a bias on the net's output: raw = o + bias_s, t = o' + bias_t.

use crate::coupling::Form;
use crate::pointwise::{exp, tanh};
use crate::simd::{Kernel, Lanes};

/// Sixteen numbers from a slice that may be shorter.
#[inline(always)]
fn wide(from: &[f32]) -> [f32; 16] {
    let mut to = [0.0; 16];
    to[..from.len()].copy_from_slice(from);
    to
}

/// What the backward pass needs of one image, `[c, pixels]` each.
pub(super) struct Kept<T> {
    pub(super) tanh: T,
    pub(super) e_s: T,
    pub(super) p: T,
}

/// z of the changed channels and their sum of s.
pub(super) struct Forward<'a> {
    pub(super) form: Form,
    pub(super) pixels: usize,
    pub(super) g: &'a [f32],     // [c]
    pub(super) bias: &'a [f32],  // [2 c]
    pub(super) o: &'a [f32],     // [2 c, pixels]
    pub(super) x: &'a mut [f32], // [c, pixels]: x -> z
    pub(super) kept: Kept<&'a mut [f32]>,
    pub(super) log_det: &'a mut f32,
}

impl Kernel for Forward<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        let (c, pixels) = (self.g.len(), self.pixels);
        let (raw, t) = self.o.split_at(c * pixels);
        let mut sums = [0.0f32; 16];
        for j in 0..c {
            let (g, bias_s, bias_t) = (self.g[j], self.bias[j], self.bias[c + j]);
            for start in (j * pixels..(j + 1) * pixels).step_by(16) {
                let end = (start + 16).min((j + 1) * pixels);
                let (raw, t, x) = (wide(&raw[start..end]), wide(&t[start..end]), wide(&self.x[start..end]));
                let mut out = [[0.0f32; 16]; 5]; // tanh, s, e^s, p, z
                for l in 0..16 {
                    let th = tanh::<L>(raw[l] + bias_s);
                    let s = g * th;
                    let e_s = exp::<L>(s);
                    let t = t[l] + bias_t;
                    let (p, z) = match self.form {
                        Form::ShiftThenScale => ((x[l] + t) * e_s, (x[l] + t) * e_s),
                        Form::ScaleThenShift => (x[l] * e_s, L::fma1(x[l], e_s, t)),
                    };
                    (out[0][l], out[1][l], out[2][l], out[3][l], out[4][l]) = (th, s, e_s, p, z);
                }
                let len = end - start;
                for l in 0..len {
                    sums[l] += out[1][l];
                }
                self.kept.tanh[start..end].copy_from_slice(&out[0][..len]);
                self.kept.e_s[start..end].copy_from_slice(&out[2][..len]);
                self.kept.p[start..end].copy_from_slice(&out[3][..len]);
                self.x[start..end].copy_from_slice(&out[4][..len]);
            }
        }
        *self.log_det += sums.iter().sum::<f32>();
    }
}

/// x of the changed channels.
pub(super) struct Inverse<'a> {
    pub(super) form: Form,
    pub(super) pixels: usize,
    pub(super) g: &'a [f32],
    pub(super) bias: &'a [f32],
    pub(super) o: &'a [f32],
    pub(super) z: &'a mut [f32], // [c, pixels]: z -> x
}

impl Kernel for Inverse<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        let (c, pixels) = (self.g.len(), self.pixels);
        let (raw, t) = self.o.split_at(c * pixels);
        for (j, z) in self.z.chunks_exact_mut(pixels).enumerate() {
            let (raw, t) = (&raw[j * pixels..][..pixels], &t[j * pixels..][..pixels]);
            for ((z, raw), t) in z.iter_mut().zip(raw).zip(t) {
                let e_minus_s = exp::<L>(-(self.g[j] * tanh::<L>(raw + self.bias[j])));
                let t = t + self.bias[c + j];
                *z = match self.form {
                    Form::ShiftThenScale => *z * e_minus_s - t,
                    Form::ScaleThenShift => (*z - t) * e_minus_s,
                };
            }
        }
    }
}

/// The gradients of the changed channels, of the net's output and of g.
pub(super) struct Backward<'a> {
    pub(super) form: Form,
    pub(super) pixels: usize,
    pub(super) g: &'a [f32],
    pub(super) kept: Kept<&'a [f32]>,
    pub(super) grad: &'a mut [f32], // [c, pixels]: gz -> gx
    pub(super) grad_log_det: f32,
    pub(super) grad_o: &'a mut [f32], // [2 c, pixels]
    pub(super) grad_g: &'a mut [f32], // [c]
}

impl Kernel for Backward<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        let (c, pixels) = (self.g.len(), self.pixels);
        let (graw, gt) = self.grad_o.split_at_mut(c * pixels);
        for j in 0..c {
            let g = self.g[j];
            let mut gg = [0.0f32; 16];
            for start in (j * pixels..(j + 1) * pixels).step_by(16) {
                let end = (start + 16).min((j + 1) * pixels);
                let (th, e_s) = (wide(&self.kept.tanh[start..end]), wide(&self.kept.e_s[start..end]));
                let (p, gz) = (wide(&self.kept.p[start..end]), wide(&self.grad[start..end]));
                let (mut gx, mut gr) = ([0.0f32; 16], [0.0f32; 16]);
                for l in 0..16 {
                    let gs = L::fma1(gz[l], p[l], self.grad_log_det);
                    // Past the end tanh is 0, so nothing is added there.
                    gg[l] = L::fma1(gs, th[l], gg[l]);
                    gr[l] = gs * g * (1.0 - th[l] * th[l]);
                    gx[l] = gz[l] * e_s[l];
                }
                let len = end - start;
                graw[start..end].copy_from_slice(&gr[..len]);
                gt[start..end].copy_from_slice(match self.form {
                    Form::ShiftThenScale => &gx[..len],
                    Form::ScaleThenShift => &gz[..len],
                });
                self.grad[start..end].copy_from_slice(&gx[..len]);
            }
            self.grad_g[j] = gg.iter().sum();
        }
    }
}
