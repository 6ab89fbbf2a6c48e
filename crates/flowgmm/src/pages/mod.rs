//! What pages share: short numbers and names, drawings of the latent plane, loss curves.

mod drawing;

use flowgmm_report::safe_text;

pub(crate) use drawing::{around, ellipses, losses, points};

/// `0.9914` as `99.1 %`, with a space that does not break.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1}\u{a0}%", 100.0 * share)
}

/// A difference of shares in points: `+3.1`.
pub(crate) fn signed(difference: f64) -> String {
    let points = format!("{:+.1}", 100.0 * difference);
    if points == "-0.0" { "+0.0".into() } else { points.replace('-', "\u{2212}") }
}

/// What predictions rest on, in a sentence; nothing where they are the flow's own. `flow_weight` is that of the flow.
pub(crate) fn rests_on(flow_weight: Option<f64>) -> String {
    flow_weight.map_or_else(String::new, |w| {
        format!(
            "Predictions are a blend: the flow's Bayes rule counts {}, experts that know no densities (trees, a logistic \
             regression and naive Bayes) {}. Densities, samples, the latent space and the decision boundary are the flow's \
             alone.",
            percent(w),
            percent(1.0 - w)
        )
    })
}

/// Text from outside, made safe and in at most so many characters.
pub(crate) fn short(text: &str, most: usize) -> String {
    safe_text(text, most).into_owned()
}
