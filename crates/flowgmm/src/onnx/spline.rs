//! Rational-quadratic splines as operators. Rows and changed columns are flattened to r lines, as in the flow itself: everything
//! is `[r, bins]` or `[r, 1]`.

use flowgmm_core::bijection::{SPLINE_MIN_BIN, SPLINE_MIN_SLOPE};

use super::{
    graph::{Graph, Value},
    proto::Element,
};

/// z `[n, columns]` of changed columns x, and log|det| `[n, 1]`, given the conditioner's output.
pub(super) fn spline(
    graph: &mut Graph,
    x: &Value,
    output: &Value,
    columns: usize,
    bins: usize,
    bound: f64,
) -> (Value, Value) {
    let mut lines = Lines { graph, bins, bound };
    let raw = lines.graph.reshape(output, &[3 * bins - 1]);
    let value = lines.graph.reshape(x, &[1]);
    let limit = lines.number(bound);
    let zero = lines.number(0.0);
    let far = lines.graph.apply("Abs", &[&value]);
    let outside = lines.graph.apply("Greater", &[&far, &limit]);
    let inside = lines.graph.apply("Where", &[&outside, &zero, &value]);
    let (z, log_slope) = lines.mapped(&raw, &inside);
    let z = lines.graph.apply("Where", &[&outside, &value, &z]);
    let log_slope = lines.graph.apply("Where", &[&outside, &zero, &log_slope]);
    let log_slope = graph.reshape(&log_slope, &[columns]);
    (graph.reshape(&z, &[columns]), graph.sum(&log_slope, 1))
}

struct Lines<'a> {
    graph: &'a mut Graph,
    bins: usize,
    bound: f64,
}

impl Lines<'_> {
    /// z and log dz/dx of values within the box.
    fn mapped(&mut self, raw: &Value, x: &Value) -> (Value, Value) {
        let k = self.bins;
        let parts = [0..k, k..2 * k, 2 * k..3 * k - 1].map(|columns| self.graph.span(raw, columns));
        let (width, height) = (self.sizes(&parts[0]), self.sizes(&parts[1]));
        let slopes = self.slopes(&parts[2], raw);
        let (left_x, left_y) = (self.edges(&width), self.edges(&height));
        let hot = self.one_hot(x, &left_x);
        let mut pick = |of: &Value| {
            let picked = self.graph.apply("Mul", &[of, &hot]);
            self.graph.sum(&picked, 1)
        };
        let [x_k, y_k, w, h] = [&left_x, &left_y, &width, &height].map(&mut pick);
        let [d, d_next] = [0..k, 1..k + 1].map(|columns| {
            let slopes = self.graph.span(&slopes, columns);
            let picked = self.graph.apply("Mul", &[&slopes, &hot]);
            self.graph.sum(&picked, 1)
        });
        let (one, two) = (self.number(1.0), self.number(2.0));
        let mut of = |operator: &str, a: &Value, b: &Value| self.graph.apply(operator, &[a, b]);
        let along = of("Sub", x, &x_k);
        let xi = of("Div", &along, &w);
        let sigma = of("Div", &h, &w);
        let rest = of("Sub", &one, &xi);
        let (product, square, rest_square) =
            (of("Mul", &xi, &rest), of("Mul", &xi, &xi), of("Mul", &rest, &rest));
        // sigma + (d_k + d_{k+1} - 2 sigma) xi (1 - xi)
        let (both, twice) = (of("Add", &d, &d_next), of("Mul", &sigma, &two));
        let bend = of("Sub", &both, &twice);
        let bent = of("Mul", &bend, &product);
        let denominator = of("Add", &sigma, &bent);
        // y_k + h (sigma xi^2 + d_k xi (1 - xi)) / denominator
        let (a, b) = (of("Mul", &sigma, &square), of("Mul", &d, &product));
        let rise = of("Add", &a, &b);
        let rise = of("Mul", &h, &rise);
        let rise = of("Div", &rise, &denominator);
        let z = of("Add", &y_k, &rise);
        // sigma^2 (d_{k+1} xi^2 + 2 sigma xi (1 - xi) + d_k (1 - xi)^2) / denominator^2
        let (a, b, c) =
            (of("Mul", &d_next, &square), of("Mul", &twice, &product), of("Mul", &d, &rest_square));
        let numerator = of("Add", &a, &b);
        let numerator = of("Add", &numerator, &c);
        let quotient = of("Div", &sigma, &denominator);
        let [log_quotient, log_numerator] =
            [&quotient, &numerator].map(|value| self.graph.apply("Log", &[value]));
        let doubled = self.graph.apply("Mul", &[&log_quotient, &two]);
        (z, self.graph.apply("Add", &[&doubled, &log_numerator]))
    }

    /// Positive sizes that fill the box.
    fn sizes(&mut self, raw: &Value) -> Value {
        let shares = self.graph.apply_with("Softmax", &[raw], &[super::graph::Attribute::Int("axis", 1)]);
        let whole = 2.0 * self.bound;
        let free = self.number(whole * (1.0 - SPLINE_MIN_BIN * self.bins as f64));
        let least = self.number(whole * SPLINE_MIN_BIN);
        let scaled = self.graph.apply("Mul", &[&shares, &free]);
        self.graph.apply("Add", &[&scaled, &least])
    }

    /// Slopes at all knots, `[r, bins + 1]`: 1 at the edges of the box, and where the net says 0.
    fn slopes(&mut self, inner: &Value, raw: &Value) -> Value {
        let shift = self.number(((1.0 - SPLINE_MIN_SLOPE).exp() - 1.0).ln());
        let least = self.number(SPLINE_MIN_SLOPE);
        let shifted = self.graph.apply("Add", &[inner, &shift]);
        let soft = self.graph.apply("Softplus", &[&shifted]);
        let inner = self.graph.apply("Add", &[&soft, &least]);
        let edge = self.constant_column(raw, 1.0);
        self.graph.beside(&[&edge, &inner, &edge])
    }

    /// Left edges of bins of these sizes.
    fn edges(&mut self, sizes: &Value) -> Value {
        let k = self.bins;
        let above = (0..k * k).map(|at| f64::from(u8::from(at / k < at % k)));
        let running = self.graph.singles(&[k, k], above);
        let sums = self.graph.apply("MatMul", &[sizes, &running]);
        let bound = self.number(self.bound);
        self.graph.apply("Sub", &[&sums, &bound])
    }

    /// 1 for the bin of each value, `[r, bins]`.
    fn one_hot(&mut self, x: &Value, left: &Value) -> Value {
        let passed = self.graph.apply("GreaterOrEqual", &[x, left]);
        let passed = self.graph.cast(&passed, Element::Float);
        let later = self.graph.span(&passed, 1..self.bins);
        // The first edge is the box's own: rounding must not lose a value that sits on it.
        let (one, zero) = (self.constant_column(x, 1.0), self.constant_column(x, 0.0));
        let (passed, next) = (self.graph.beside(&[&one, &later]), self.graph.beside(&[&later, &zero]));
        self.graph.apply("Sub", &[&passed, &next])
    }

    /// A column of one number, as long as a value.
    fn constant_column(&mut self, like: &Value, value: f64) -> Value {
        let first = self.graph.span(like, 0..1);
        let (zero, value) = (self.number(0.0), self.number(value));
        let zeros = self.graph.apply("Mul", &[&first, &zero]);
        self.graph.apply("Add", &[&zeros, &value])
    }

    fn number(&mut self, value: f64) -> Value {
        self.graph.singles(&[1, 1], [value])
    }
}
