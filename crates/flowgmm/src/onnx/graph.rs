//! A graph of ONNX operators while it is built: every operator names its result, which others take.

use std::ops::Range;

use ndarray::{Array1, Array2, ArrayView2};

use super::proto::{Element, Message, tensor, texts};

/// The name of a value in the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value(pub(super) String);

/// An attribute of an operator.
pub(super) enum Attribute {
    Int(&'static str, i64),
    Float(&'static str, f32),
    Ints(&'static str, Vec<i64>),
    Floats(&'static str, Vec<f32>),
    Text(&'static str, &'static str),
    Texts(&'static str, Vec<&'static str>),
}

/// Nodes and constants of a graph.
#[derive(Default)]
pub(super) struct Graph {
    nodes: Vec<Message>,
    constants: Vec<Message>,
    names: usize,
}

impl Graph {
    /// The result of an operator.
    pub(super) fn apply(&mut self, operator: &str, inputs: &[&Value]) -> Value {
        self.apply_with(operator, inputs, &[])
    }

    /// The result of an operator with attributes.
    pub(super) fn apply_with(
        &mut self,
        operator: &str,
        inputs: &[&Value],
        attributes: &[Attribute],
    ) -> Value {
        let value = self.name();
        self.node(operator, inputs, attributes, "", &value);
        value
    }

    /// The result of an operator of the domain ai.onnx.ml.
    pub(super) fn apply_ml(&mut self, operator: &str, input: &Value, attributes: &[Attribute]) -> Value {
        let value = self.name();
        self.node(operator, &[input], attributes, "ai.onnx.ml", &value);
        value
    }

    /// Gives a value the name of an output.
    pub(super) fn output(&mut self, value: &Value, name: &str) {
        self.node("Identity", &[value], &[], "", &Value(name.into()));
    }

    /// A constant matrix in double precision.
    pub(super) fn matrix(&mut self, values: ArrayView2<f64>) -> Value {
        let raw = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(|name| tensor(name, &[values.nrows(), values.ncols()], Element::Double, raw))
    }

    /// A constant row `[1, n]` in double precision.
    pub(super) fn row(&mut self, values: &[f64]) -> Value {
        let row: Array2<f64> = Array1::from(values.to_vec()).insert_axis(ndarray::Axis(0));
        self.matrix(row.view())
    }

    /// A constant tensor in single precision.
    pub(super) fn singles(&mut self, shape: &[usize], values: impl IntoIterator<Item = f64>) -> Value {
        let raw = values.into_iter().flat_map(|value| (value as f32).to_le_bytes()).collect();
        self.constant(|name| tensor(name, shape, Element::Float, raw))
    }

    /// A constant tensor in double precision.
    pub(super) fn doubles(&mut self, shape: &[usize], values: impl IntoIterator<Item = f64>) -> Value {
        let raw = values.into_iter().flat_map(f64::to_le_bytes).collect();
        self.constant(|name| tensor(name, shape, Element::Double, raw))
    }

    /// A constant vector of whole numbers.
    pub(super) fn whole(&mut self, values: impl IntoIterator<Item = i64>) -> Value {
        let values: Vec<i64> = values.into_iter().collect();
        let raw = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(|name| tensor(name, &[values.len()], Element::Int64, raw))
    }

    /// A constant vector of texts.
    pub(super) fn texts(&mut self, values: &[String]) -> Value {
        self.constant(|name| texts(name, values))
    }

    /// Columns of a matrix, in this order.
    pub(super) fn columns(&mut self, of: &Value, columns: &[usize]) -> Value {
        let columns = self.whole(columns.iter().map(|&column| column as i64));
        self.apply_with("Gather", &[of, &columns], &[Attribute::Int("axis", 1)])
    }

    /// Columns or channels from one number up to another.
    pub(super) fn span(&mut self, of: &Value, columns: Range<usize>) -> Value {
        let [start, end, axis] = [columns.start, columns.end, 1].map(|number| self.whole([number as i64]));
        self.apply("Slice", &[of, &start, &end, &axis])
    }

    /// The same numbers in another shape `[n, ..]`.
    pub(super) fn reshape(&mut self, of: &Value, shape: &[usize]) -> Value {
        let shape = self.whole([-1].into_iter().chain(shape.iter().map(|&length| length as i64)));
        self.apply("Reshape", &[of, &shape])
    }

    /// Matrices side by side, or images with their channels one after the other.
    pub(super) fn beside(&mut self, parts: &[&Value]) -> Value {
        self.apply_with("Concat", parts, &[Attribute::Int("axis", 1)])
    }

    /// Values as another type of element.
    pub(super) fn cast(&mut self, of: &Value, to: Element) -> Value {
        self.apply_with("Cast", &[of], &[Attribute::Int("to", to as i64)])
    }

    /// Sums over an axis, which is kept with length 1.
    pub(super) fn sum(&mut self, of: &Value, axis: i64) -> Value {
        let axes = self.whole([axis]);
        self.apply_with("ReduceSum", &[of, &axes], &[Attribute::Int("keepdims", 1)])
    }

    /// log sum exp over the columns, `[n, 1]`.
    pub(super) fn log_sum_exp(&mut self, of: &Value) -> Value {
        // ReduceLogSumExp of some run-times overflows: the largest is taken out first.
        let largest = self.apply_with(
            "ReduceMax",
            &[of],
            &[Attribute::Ints("axes", vec![1]), Attribute::Int("keepdims", 1)],
        );
        let less = self.apply("Sub", &[of, &largest]);
        let exp = self.apply("Exp", &[&less]);
        let sum = self.sum(&exp, 1);
        let log = self.apply("Log", &[&sum]);
        self.apply("Add", &[&log, &largest])
    }

    /// A GraphProto with these inputs and outputs.
    pub(super) fn finish(self, inputs: Vec<Message>, outputs: Vec<Message>) -> Message {
        let graph =
            Message::default().each(self.nodes, |graph, node| graph.message(1, node)).bytes(2, "flowgmm");
        let graph = graph.each(self.constants, |graph, constant| graph.message(5, constant));
        let graph = graph.each(inputs, |graph, input| graph.message(11, input));
        graph.each(outputs, |graph, output| graph.message(12, output))
    }

    fn name(&mut self) -> Value {
        self.names += 1;
        Value(format!("v{}", self.names))
    }

    fn constant(&mut self, make: impl FnOnce(&str) -> Message) -> Value {
        let value = self.name();
        self.constants.push(make(&value.0));
        value
    }

    fn node(
        &mut self,
        operator: &str,
        inputs: &[&Value],
        attributes: &[Attribute],
        domain: &str,
        output: &Value,
    ) {
        let node = Message::default().each(inputs, |node, input| node.bytes(1, &input.0)).bytes(2, &output.0);
        let node =
            node.bytes(4, operator).each(attributes, |node, attribute| node.message(5, attribute.message()));
        self.nodes.push(if domain.is_empty() { node } else { node.bytes(7, domain) });
    }
}

impl Attribute {
    /// An AttributeProto.
    fn message(&self) -> Message {
        let of = |name: &str| Message::default().bytes(1, name);
        match self {
            Self::Int(name, value) => of(name).int(3, *value).int(20, 2),
            Self::Float(name, value) => of(name).float(2, *value).int(20, 1),
            Self::Text(name, value) => of(name).bytes(4, value).int(20, 3),
            Self::Floats(name, values) => of(name).each(values, |m, &value| m.float(7, value)).int(20, 6),
            Self::Ints(name, values) => of(name).each(values, |m, &value| m.int(8, value)).int(20, 7),
            Self::Texts(name, values) => of(name).each(values, |m, value| m.bytes(9, value)).int(20, 8),
        }
    }
}
