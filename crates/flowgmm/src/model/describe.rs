//! A model's architecture in words.

use super::Model;

impl Model {
    /// Layers and Gaussians: `flow of 8 x affine on 20 dimensions; 4 Gaussians for 4 classes`.
    pub fn describe_architecture(&self) -> String {
        let spec = self.gmm.spec();
        let kinds: Vec<String> = spec.flow.layers.iter().map(|layer| layer.kind().to_string()).collect();
        format!(
            "flow of {} on {} dimensions; {} Gaussians for {} classes",
            repeated(&kinds),
            spec.flow.dim,
            spec.mixture.n_components(),
            spec.mixture.n_classes()
        )
    }
}

/// `2 x a, 3 x (b, c)`: names that follow each other, and pairs of them.
fn repeated(names: &[String]) -> String {
    let mut parts = Vec::new();
    let mut rest = names;
    while !rest.is_empty() {
        let times =
            |length: usize| rest.chunks_exact(length).take_while(|part| *part == &rest[..length]).count();
        let length = if rest.len() > 2 && times(1) == 1 && times(2) > 1 { 2 } else { 1 };
        let (count, part) = (times(length), rest[..length].join(", "));
        parts.push(if length == 1 { format!("{count} x {part}") } else { format!("{count} x ({part})") });
        rest = &rest[count * length..];
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::repeated;

    #[test]
    fn layers_that_repeat_are_counted() {
        let names = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
        assert_eq!(repeated(&names("a a a")), "3 x a");
        assert_eq!(
            repeated(&names("l s m c m c m c s m c m c a a")),
            "1 x l, 1 x s, 3 x (m, c), 1 x s, 2 x (m, c), 2 x a"
        );
        assert_eq!(repeated(&names("a b")), "1 x a, 1 x b");
    }
}
