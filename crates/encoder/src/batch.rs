//! Which texts are computed together.

/// Tokens in a batch: few enough that a batch's activations stay in a cache, many enough that reading the weights
/// again for every batch costs nothing.
const TOKENS: usize = 512;
/// Batches to aim for, so that as many threads can work, with at least this many tokens each.
const BATCHES: usize = 32;
const FEWEST_TOKENS: usize = 64;

/// Indices of texts of these token counts, in batches; long texts first, so that the last batches end together.
/// Depends on the texts alone, not on the machine.
pub(crate) fn pack(lengths: &[usize]) -> Vec<Vec<usize>> {
    let budget = (lengths.iter().sum::<usize>() / BATCHES).clamp(FEWEST_TOKENS, TOKENS);
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(lengths[i]));
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut room = 0;
    for i in order {
        match batches.last_mut() {
            Some(batch) if lengths[i] <= room => {
                batch.push(i);
                room -= lengths[i];
            }
            _ => {
                batches.push(vec![i]);
                room = budget.saturating_sub(lengths[i]);
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_in_one_batch_within_budget() {
        for n in [0, 1, 10, 1000] {
            let lengths: Vec<usize> = (0..n).map(|i| i * 37 % 700).collect();
            let batches = pack(&lengths);
            for batch in &batches {
                let tokens: usize = batch.iter().map(|&i| lengths[i]).sum();
                assert!(tokens <= TOKENS || batch.len() == 1, "{tokens} tokens in {}", batch.len());
            }
            let mut all: Vec<usize> = batches.into_iter().flatten().collect();
            all.sort_unstable();
            assert_eq!(all, (0..n).collect::<Vec<_>>());
        }
    }
}
