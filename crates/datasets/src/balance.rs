//! Classes of equal size, as the paper makes them: rows of the larger classes are left out.

use semisup::Labelled;

/// The first rows of every class, as many as the smallest class has, in their order (paper, appendix D: "we then subsample the
/// fraction of background class examples so that the dataset is balanced").
pub fn balance(data: &Labelled) -> Labelled {
    let count = |class: usize| data.y().iter().filter(|&&y| y == class).count();
    let smallest = (0..data.n_classes()).map(count).min().unwrap_or(0);
    let mut left = vec![smallest; data.n_classes()];
    let kept: Vec<usize> = (0..data.n())
        .filter(|&row| {
            let left = &mut left[data.y()[row]];
            let kept = *left > 0;
            *left -= usize::from(kept);
            kept
        })
        .collect();
    data.select(&kept)
}

#[cfg(test)]
mod tests {
    use semisup::{Labelled, ndarray::Array2};

    use super::balance;

    #[test]
    fn the_first_rows_of_every_class_are_kept() {
        let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let x = Array2::from_shape_fn((6, 1), |(row, _)| row as f64);
        let data = Labelled::new(x, vec![0, 0, 1, 0, 1, 0], names(&["a", "b"]), names(&["x"])).unwrap();
        let even = balance(&data);
        assert_eq!((even.x().column(0).to_vec(), even.y()), (vec![0., 1., 2., 4.], &[0, 0, 1, 1][..]));
    }
}
