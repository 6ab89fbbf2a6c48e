/** The values of alpha that the page has, in units of sigma_c. */
import { short } from "../../core/format";

export const REACH = 5;
export const ALPHAS = Array.from({ length: 8 * REACH + 1 }, (_, i) => (i - 4 * REACH) / 4);

/** Where an alpha is in a list, or the nearest to it. */
export function nearestAlpha(alphas: number[], alpha: number): number {
  return alphas.reduce((best, a, i) => (Math.abs(a - alpha) < Math.abs(alphas[best] - alpha) ? i : best), 0);
}

export const alphaText = (alpha: number) => `α = ${alpha > 0 ? "+" : ""}${short(alpha)}`;
