//! scratch
use flowgmm::*;
use semisup::*;
use std::time::Instant;
fn acc(m: &Model, t: &Labelled) -> f64 {
    semisup::metrics::accuracy(&m.predict(t.x()), t.y())
}
fn main() {
    let seeds: u64 = std::env::args().nth(1).map_or(2, |s| s.parse().unwrap());
    let which = std::env::args().nth(2).unwrap_or("all".into());
    for toy in Toy::ALL {
        if which != "all" && which != toy.name() {
            continue;
        }
        for seed in 0..seeds {
            let p = toy.problem(seed);
            let c = FitConfig::toy();
            let t = Instant::now();
            let m = fit(&c, &p.train, seed).unwrap();
            let dt = t.elapsed().as_secs_f64();
            let t = Instant::now();
            let lo = fit(&c, &p.train.labelled_only(), seed).unwrap();
            let dt2 = t.elapsed().as_secs_f64();
            println!(
                "{} {} semi {:.4} lab {:.4}  {:.1}s {:.1}s loss {:?} cert {:?} rb {}",
                toy.name(),
                seed,
                acc(&m, &p.test),
                acc(&lo, &p.test),
                dt,
                dt2,
                m.history().epochs.last().map(|e| (e.loss, e.terms.clone())),
                m.provenance().certificate.map(|c| (c.round_trip, c.log_det)),
                m.provenance().rollbacks
            );
        }
    }
    if which == "all" || which == "digits" {
        let d = digits();
        for seed in 0..seeds {
            let (train, test) = semisup::split::train_test(d.y(), 0.3, &mut rng(seed));
            let tr = d.select(&train);
            let te = d.select(&test);
            let rows = semisup::split::stratified(tr.y(), 10, 5, &mut rng(seed + 100));
            let data = tr.reveal(&rows).unwrap();
            let c = FitConfig::table(&data);
            let t = Instant::now();
            let m = fit(&c, &data, seed).unwrap();
            let dt = t.elapsed().as_secs_f64();
            let t = Instant::now();
            let lo = fit(&c, &data.labelled_only(), seed).unwrap();
            println!(
                "digits {} semi {:.4} lab {:.4} {:.1}s {:.1}s {:?} {:?} rb {}",
                seed,
                acc(&m, &te),
                acc(&lo, &te),
                dt,
                t.elapsed().as_secs_f64(),
                m.history().epochs.last().map(|e| (e.loss, e.terms.clone())),
                m.provenance().certificate,
                m.provenance().rollbacks
            );
        }
    }
}
