//! A legend shared by the panels of a grid: each mark as the panels draw it, with its name.

use minijinja::{Value, context};

use crate::safe_text::with_tooltip;
use crate::theme::class_tone;

/// The most characters of a name that are shown; the whole name is its tooltip.
const MAX_CHARS: usize = 48;

/// Marks and what they mean.
#[derive(Clone, Debug, Default)]
pub struct Legend {
    /// In reading order.
    pub items: Vec<(Mark, String)>,
}

/// A mark of a [`Panel`](crate::Panel).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A square in the colour of class `k`.
    Class(usize),
    /// A triangle without a class: labelled data in general.
    Labelled,
    /// A soft-blue dot.
    Unlabelled,
    /// A dashed line.
    Boundary,
    /// Rings at one and two standard deviations.
    Component,
}

impl Legend {
    /// The classes by name, then the marks every panel of the paper's figure 1 uses.
    pub fn for_classes<S: AsRef<str>>(names: &[S]) -> Self {
        let classes = names.iter().enumerate().map(|(k, name)| (Mark::Class(k), name.as_ref().to_string()));
        let marks = [
            (Mark::Labelled, "labelled"),
            (Mark::Unlabelled, "unlabelled"),
            (Mark::Boundary, "decision boundary"),
            (Mark::Component, "component, 1σ and 2σ"),
        ];
        Legend { items: classes.chain(marks.map(|(mark, name)| (mark, name.to_string()))).collect() }
    }

    /// What the template sees: each mark's markup and its name.
    pub(crate) fn view(&self) -> Value {
        let view = |(mark, name): &(Mark, String)| {
            let (shown, full) = with_tooltip(name, MAX_CHARS);
            context! { mark => mark.svg(), name => shown.as_ref(), full => full.as_deref() }
        };
        Value::from_iter(self.items.iter().map(view))
    }
}

impl Mark {
    fn svg(self) -> String {
        let class_square;
        let shape = match self {
            Mark::Class(k) => {
                let tone = class_tone(k);
                class_square = format!(
                    r#"<rect x="2" y="2" width="12" height="12" rx="3" class="{tone}" fill="currentColor"/>"#
                );
                class_square.as_str()
            }
            Mark::Labelled => {
                r#"<path class="fg-ink" fill="none" stroke="currentColor" stroke-width="1.4" stroke-linejoin="round" d="M8 2.5l5.2 9.5h-10.4z"/>"#
            }
            Mark::Unlabelled => r#"<circle class="fg-dots" fill="currentColor" cx="8" cy="8" r="3.2"/>"#,
            Mark::Boundary => {
                r#"<path class="fg-ink" stroke="currentColor" stroke-width="1.6" stroke-dasharray="4 2.4" d="M0 8h16"/>"#
            }
            Mark::Component => {
                r#"<g class="fg-soft" fill="none" stroke="currentColor" stroke-width="1.2"><circle cx="8" cy="8" r="3.2"/><circle cx="8" cy="8" r="6.6"/></g>"#
            }
        };
        format!(r#"<svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">{shape}</svg>"#)
    }
}
