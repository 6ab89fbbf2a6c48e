//! Whether a preset suits the data: presets that take their numbers from elsewhere say so before a fit starts.

use semisup::SemiSupervised;

use crate::{FitConfig, Preset};

/// Steps below which no flow has learnt the densities of its classes.
const FEW_STEPS: usize = 500;
/// Rows that the smallest table of the paper has.
const FEW_ROWS: usize = 10_000;

/// Why a preset does not suit these rows, in words; empty where it does.
pub(crate) fn unsuitable(preset: Preset, config: &FitConfig, data: &SemiSupervised) -> Vec<String> {
    let name = match preset {
        Preset::Auto => return Vec::new(),
        Preset::Paper => "paper",
        Preset::PaperToy => "paper-toy",
        Preset::ReferenceCode => "reference-code",
    };
    let (rows, steps, dim) = (data.n(), config.train.steps, data.dim());
    let mut found = Vec::new();
    if steps < FEW_STEPS {
        let cause = match rows < FEW_ROWS {
            true => format!("; its epochs are meant for {FEW_ROWS} rows and more, and these are {rows}"),
            false => String::new(),
        };
        found.push(format!(
            "the preset '{name}' trains for {steps} steps here, too few for a flow to learn from{cause}. Ask for more steps, or use \
             the preset 'auto'"
        ));
    }
    if preset == Preset::PaperToy && (dim != 2 || data.image_shape().is_some()) {
        found.push(format!(
            "the preset 'paper-toy' is for points in the plane, and these rows have {dim} columns. Use 'paper' or 'auto'"
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use semisup::{Toy, digits_problem};

    use super::*;

    #[test]
    fn presets_say_where_they_do_not_suit() {
        let (toy, digits) = (Toy::Moons.problem(0).train, digits_problem(5, 0).train);
        let of = |preset, config: &FitConfig, data| unsuitable(preset, config, data).join("\n");
        assert_eq!(of(Preset::PaperToy, &FitConfig::paper_toy(&toy), &toy), "");
        assert_eq!(of(Preset::Paper, &FitConfig::paper(&toy), &toy), "");
        let few = of(Preset::Paper, &FitConfig::paper(&digits), &digits);
        assert!(few.contains("trains for 50 steps") && few.contains("'auto'"), "{few}");
        let wide = of(Preset::PaperToy, &FitConfig::paper_toy(&digits), &digits);
        assert!(wide.contains("in the plane") && wide.contains("64 columns"), "{wide}");
        let long = FitConfig {
            train: flowgmm_core::train::TrainConfig { steps: 5000, ..FitConfig::paper(&digits).train },
            ..FitConfig::paper(&digits)
        };
        assert_eq!(of(Preset::Paper, &long, &digits), "", "steps that were asked for are enough");
        assert_eq!(of(Preset::Auto, &FitConfig::paper(&digits), &digits), "");
    }
}
