//! scratch
use flowgmm::*;
use semisup::*;
use serde_json::Value;
use std::time::Instant;
fn acc(m: &Model, t: &Labelled) -> f64 {
    semisup::metrics::accuracy(&m.predict(t.x()), t.y())
}
fn merge(a: &mut Value, b: &Value) {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) if !b.contains_key("kind") => for (k, v) in b { merge(a.entry(k.clone()).or_insert(Value::Null), v) },
        (a, b) => *a = b.clone(),
    }
}
fn main() {
    let seeds: u64 = std::env::args().nth(1).map_or(2, |s| s.parse().unwrap());
    let which = std::env::args().nth(2).unwrap_or("all".into());
    let over: Value = std::env::args().nth(3).map_or(Value::Null, |s| serde_json::from_str(&s).unwrap());
    let first: u64 = std::env::args().nth(4).map_or(0, |s| s.parse().unwrap());
    let lab = std::env::args().nth(5).is_some();
    let mut problems = vec![];
    for seed in first..first+seeds {
        if let Ok(toy) = which.parse::<Toy>() {
            let p = toy.problem(seed);
            problems.push((FitConfig::toy(), p.train, p.test, seed));
        } else {
            let d = digits();
            let (train, test) = semisup::split::train_test(d.y(), 0.3, &mut rng(seed));
            let tr = d.select(&train); let te = d.select(&test);
            let rows = semisup::split::stratified(tr.y(), 10, 5, &mut rng(seed + 100));
            let data = tr.reveal(&rows).unwrap();
            problems.push((FitConfig::table(&data), data, te, seed));
        }
    }
    let (mut a, mut b) = (vec![], vec![]);
    for (c, data, te, seed) in problems {
        let mut v = serde_json::to_value(&c).unwrap();
        if !over.is_null() { merge(&mut v, &over); }
        let c: FitConfig = serde_json::from_value(v).unwrap();
        let t = Instant::now();
        let m = fit(&c, &data, seed).unwrap();
        let dt = t.elapsed().as_secs_f64();
        a.push(acc(&m, &te));
        let lo = if lab { acc(&fit(&c, &data.labelled_only(), seed).unwrap(), &te) } else { f64::NAN };
        b.push(lo);
        println!("{which} {} semi {:.4} lab {:.4} {:.1}s {:?} rb {}", seed, acc(&m, &te), lo, dt, m.history().epochs.last().map(|e| (e.loss, e.terms.clone())), m.provenance().rollbacks);
    }
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    println!("MEAN {which} semi {:.4} lab {:.4}", mean(&a), mean(&b));
}
