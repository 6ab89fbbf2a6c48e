/** The values of alpha that the page has, in units of sigma_c. */
import { short } from "../../core/format";

export const REACH = 5;
export const ALPHAS = Array.from({ length: 8 * REACH + 1 }, (_, i) => (i - 4 * REACH) / 4);

export const alphaText = (alpha: number) => `α = ${alpha > 0 ? "+" : ""}${short(alpha)}`;
