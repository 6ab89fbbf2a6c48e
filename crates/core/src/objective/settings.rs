//! The settings of the objective: its terms, their forms and weights.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The likelihood of a labelled row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LabelledTerm {
    /// log pi_y + log p(x | y): eq. 4.
    Joint,
    /// log p(x | y) alone: the authors' tabular code.
    Conditional,
}

/// The likelihood of an unlabelled row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnlabelledTerm {
    /// -log p(x), eq. 4.
    Marginal,
    /// Appendix A: -sum_k q_k log p(x | k) with q held constant since the last E-step.
    Em,
}

/// Units of the likelihood terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Nats per row, as in the paper.
    Total,
    /// Nats per row and dimension, so that all terms are of one size.
    PerDimension,
}

/// How the agreement of two views is measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Agreement {
    /// Eq. 7: -log p(x' | y'').
    Likelihood,
    /// Eq. 6: the squared difference of the posteriors.
    SquaredDifference,
    /// -log p(y'' | x') with the pseudo-label y'' = argmax p(. | x''), where p(y'' | x'') is at least `confidence`.
    CrossEntropy {
        /// Pseudo-labels of lower probability are not used.
        confidence: f64,
    },
}

/// Consistency regularisation: two views of an unlabelled row should be of one class.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Consistency {
    /// How agreement is measured.
    pub agreement: Agreement,
    /// Its final weight.
    pub weight: f64,
    /// Fraction of training over which the weight rises linearly from 0.
    pub ramp: f64,
}

/// Soft targets: teacher predictions for unlabelled rows, whose weight falls linearly to 0 early in training.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SoftTargets {
    /// Weight at the start.
    pub weight: f64,
    /// Fraction of training after which it is 0.
    pub until: f64,
}

/// The weighted sum of terms that training minimises.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Objective {
    /// Weight of the labelled likelihood.
    pub labelled: f64,
    /// What it contains.
    pub labelled_term: LabelledTerm,
    /// Weight of the unlabelled likelihood.
    pub unlabelled: f64,
    /// Its form.
    pub unlabelled_term: UnlabelledTerm,
    /// Units of the likelihoods.
    pub scale: Scale,
    /// Weight of the posterior cross-entropy on labelled rows: 0 is fully generative.
    pub cross_entropy: f64,
    /// Temperature by which posterior logits are divided in the discriminative terms.
    pub temperature: f64,
    /// Agreement of two views of unlabelled rows.
    pub consistency: Option<Consistency>,
    /// Weight of the distribution alignment.
    pub alignment: f64,
    /// Cross-entropy with teacher predictions.
    pub soft_targets: Option<SoftTargets>,
}

/// Declares the terms once, so that none can lack a name, a label or its place in [`TermName::ALL`].
macro_rules! term_names {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $label:literal;)*) => {
        /// A term of the objective.
        // Declared in the order of their names, so that maps sorted by term are sorted by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum TermName {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl TermName {
            /// All terms, sorted by name.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The name, as in histories and configurations.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The name in figures and messages.
            pub fn label(self) -> &'static str {
                match self {
                    $(Self::$variant => $label,)*
                }
            }
        }
    };
}

term_names! {
    /// Distribution alignment.
    Alignment = "alignment", "alignment";
    /// Consistency of two views.
    Consistency = "consistency", "consistency";
    /// Cross-entropy of the posterior on labelled rows.
    CrossEntropy = "cross_entropy", "cross-entropy";
    /// Likelihood of labelled rows.
    Labelled = "labelled", "labelled";
    /// Cross-entropy with teacher predictions.
    SoftTargets = "soft_targets", "soft targets";
    /// Likelihood of unlabelled rows.
    Unlabelled = "unlabelled", "unlabelled";
}

impl fmt::Display for TermName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Objective {
    /// Eq. 4 with means over rows instead of sums, and nothing else.
    pub fn likelihood() -> Self {
        Self {
            labelled: 1.0,
            labelled_term: LabelledTerm::Joint,
            unlabelled: 1.0,
            unlabelled_term: UnlabelledTerm::Marginal,
            scale: Scale::Total,
            cross_entropy: 0.0,
            temperature: 1.0,
            consistency: None,
            alignment: 0.0,
            soft_targets: None,
        }
    }

    /// The largest weight of a term during training; 0 if it is off.
    pub fn weight_of(&self, term: TermName) -> f64 {
        match term {
            TermName::Alignment => self.alignment,
            TermName::Consistency => self.consistency.map_or(0.0, |consistency| consistency.weight),
            TermName::CrossEntropy => self.cross_entropy,
            TermName::Labelled => self.labelled,
            TermName::SoftTargets => self.soft_targets.map_or(0.0, |soft| soft.weight),
            TermName::Unlabelled => self.unlabelled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_read_back() {
        assert!(TermName::ALL.windows(2).all(|w| w[0] < w[1] && w[0].name() < w[1].name()));
        for term in TermName::ALL {
            let json = serde_json::to_string(term).unwrap();
            assert_eq!(json, format!("\"{term}\""));
            assert_eq!(serde_json::from_str::<TermName>(&json).unwrap(), *term);
        }
    }
}
