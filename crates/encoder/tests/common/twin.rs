//! The network as plain f64 loops: one text, one token, one head, one number at a time.

use super::{DIM, Family, HEADS, LAYERS, Model, POSITIONS, layer_names, token_ids};

pub type Row = Vec<f64>;

/// Token vectors of the last layer, for a text cut to what the model can read.
pub fn token_vectors(model: &Model, text: &str) -> Vec<Row> {
    let offset = if model.family == Family::Roberta { 2 } else { 0 }; // pad_token_id 1, and one more
    let eps = if model.family == Family::DistilBert { 1e-12 } else { 1e-5 };
    let ids = token_ids(text, POSITIONS - offset);
    let t = |name: &str| -> Vec<f64> { model.tensors[name].1.iter().map(|&v| f64::from(v)).collect() };
    let (word, position) =
        (t("embeddings.word_embeddings.weight"), t("embeddings.position_embeddings.weight"));
    let mut h: Vec<Row> = Vec::new();
    for (p, &id) in ids.iter().enumerate() {
        // Roberta gives a token that is its padding (here [UNK], number 1) the position 1, and counts the others.
        let before = ids[..p].iter().filter(|&&i| i != 1).count();
        let p = match (model.family, id) {
            (Family::Roberta, 1) => 1,
            (Family::Roberta, _) => before + offset,
            _ => p,
        };
        let mut row: Row = (0..DIM).map(|c| word[id * DIM + c] + position[p * DIM + c]).collect();
        if model.family != Family::DistilBert {
            let types = t("embeddings.token_type_embeddings.weight");
            row.iter_mut().zip(&types).for_each(|(x, t)| *x += t);
        }
        h.push(norm(&row, &t("embeddings.LayerNorm.weight"), &t("embeddings.LayerNorm.bias"), eps));
    }
    for l in 0..LAYERS {
        let names = layer_names(model.family, l);
        let w = |part: usize| (t(&format!("{}.weight", names[part])), t(&format!("{}.bias", names[part])));
        let apply = |part: usize, rows: &[Row]| -> Vec<Row> {
            let (w, b) = w(part);
            rows.iter().map(|x| linear(x, &w, &b)).collect()
        };
        let add_norm = |part: usize, h: &[Row], add: &[Row]| -> Vec<Row> {
            let (gamma, beta) = w(part);
            let sums = h.iter().zip(add).map(|(a, b)| a.iter().zip(b).map(|(a, b)| a + b).collect::<Row>());
            sums.map(|row| norm(&row, &gamma, &beta, eps)).collect()
        };
        let mixed = attention(&apply(0, &h), &apply(1, &h), &apply(2, &h));
        h = add_norm(4, &h, &apply(3, &mixed));
        let inner: Vec<Row> =
            apply(5, &h).iter().map(|row| row.iter().map(|&x| activation(model, x)).collect()).collect();
        h = add_norm(7, &h, &apply(6, &inner));
    }
    h
}

pub fn mean(rows: &[Row]) -> Row {
    (0..DIM).map(|c| rows.iter().map(|r| r[c]).sum::<f64>() / rows.len() as f64).collect()
}

fn linear(x: &[f64], w: &[f64], b: &[f64]) -> Row {
    (0..b.len()).map(|o| b[o] + (0..x.len()).map(|k| w[o * x.len() + k] * x[k]).sum::<f64>()).collect()
}

fn norm(x: &[f64], gamma: &[f64], beta: &[f64], eps: f64) -> Row {
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    let var = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    (0..x.len()).map(|c| gamma[c] * (x[c] - mean) / (var + eps).sqrt() + beta[c]).collect()
}

fn attention(q: &[Row], k: &[Row], v: &[Row]) -> Vec<Row> {
    let width = DIM / HEADS;
    let mut out = vec![vec![0.0; DIM]; q.len()];
    for (head, i) in (0..HEADS).flat_map(|h| (0..q.len()).map(move |i| (h, i))) {
        let columns = head * width..(head + 1) * width;
        let score =
            |j: usize| columns.clone().map(|c| q[i][c] * k[j][c]).sum::<f64>() / (width as f64).sqrt();
        let e: Vec<f64> = (0..q.len()).map(|j| score(j).exp()).collect();
        let sum: f64 = e.iter().sum();
        for c in columns.clone() {
            out[i][c] = (0..q.len()).map(|j| e[j] / sum * v[j][c]).sum();
        }
    }
    out
}

fn activation(model: &Model, x: f64) -> f64 {
    let name = model.config.get("hidden_act").or(model.config.get("activation")).unwrap().as_str().unwrap();
    match name {
        "gelu" => x / 2.0 * (1.0 + erf(x / 2f64.sqrt())),
        "gelu_new" => {
            x / 2.0 * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh())
        }
        "relu" => x.max(0.0),
        other => panic!("{other}"),
    }
}

/// By its series; the sum loses no more than 1e-9 up to |x| = 4, where erf is 1 to 1e-8.
fn erf(x: f64) -> f64 {
    if x.abs() > 4.0 {
        return x.signum();
    }
    let (mut term, mut sum) = (x, x);
    for n in 1..150 {
        term *= -x * x / n as f64;
        sum += term / (2 * n + 1) as f64;
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}
