//! A number for every row that depends on nothing but its cells and the seed: it decides the row's shard, its place there, and whether
//! it is sampled. Rows may then come in any order, in any partitions.

use flowgmm_data::{Cells, Frame};

/// Numbers rows.
#[derive(Clone, Copy, Debug)]
pub struct RowKeys {
    seed: u64,
}

impl RowKeys {
    /// The keys of a seed.
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The key of each row of a table, `[n]`; its column of labels, if it has one, does not count. Equal rows have equal keys.
    pub fn of(&self, frame: &Frame, label: Option<&str>) -> Vec<u64> {
        let columns: Vec<&Cells> = frame
            .columns()
            .iter()
            .filter(|column| Some(column.name.as_str()) != label)
            .map(|column| &column.cells)
            .collect();
        let mut bytes = Vec::new();
        (0..frame.n())
            .map(|row| {
                bytes.clear();
                bytes.extend(self.seed.to_le_bytes());
                columns.iter().for_each(|cells| write(cells, row, &mut bytes));
                let digest = blake3::hash(&bytes);
                u64::from_le_bytes(digest.as_bytes()[..8].try_into().expect("eight bytes"))
            })
            .collect()
    }
}

/// A cell as bytes that no other cell of its column has. A text that is a number is that number: whether a column holds texts or
/// numbers may depend on the rows that came with it.
fn write(cells: &Cells, row: usize, bytes: &mut Vec<u8>) {
    match cells.number(row) {
        Ok(None) => bytes.push(0),
        Ok(Some(number)) => {
            bytes.push(1);
            bytes.extend(number.to_le_bytes());
        }
        Err(text) => {
            bytes.push(2);
            bytes.extend((text.len() as u64).to_le_bytes());
            bytes.extend(text.as_bytes());
        }
    }
}

/// The shard of a row, by its key. Another function of the key than its size, which decides the sample.
pub fn shard_of(key: u64, shards: usize) -> usize {
    // The finaliser of SplitMix64: every bit of the key moves every bit of the result.
    let mut z = key.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) % shards.max(1) as u64) as usize
}

/// Which unlabelled rows are sampled: those with the smallest keys, about as many as are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    highest: u64,
}

impl Sampling {
    /// About `wanted` of `total` rows; all of them if there are no more.
    pub fn new(wanted: usize, total: usize) -> Self {
        let highest = match total <= wanted {
            true => u64::MAX,
            false => u64::try_from(((wanted as u128) << 64) / total as u128).unwrap_or(u64::MAX),
        };
        Self { highest }
    }

    /// Whether the row of this key is sampled.
    pub fn holds(&self, key: u64) -> bool {
        key <= self.highest
    }
}

#[cfg(test)]
mod tests {
    use flowgmm_data::Column;

    use super::*;

    fn frame(rows: &[usize]) -> Frame {
        let number = |name: &str, of: fn(usize) -> f64| Column {
            name: name.into(),
            cells: Cells::Numbers(rows.iter().map(|&row| of(row)).collect()),
        };
        let texts: Vec<String> = rows.iter().map(|row| format!("city {}", row % 7)).collect();
        let cells =
            Cells::Texts(texts.iter().map(|text| (text != "city 3").then_some(text.as_str())).collect());
        let columns = vec![
            number("a", |row| if row % 5 == 0 { f64::NAN } else { row as f64 / 3.0 }),
            Column { name: "city".into(), cells },
            number("y", |row| (row % 2) as f64),
        ];
        Frame::new("rows", columns, (1..=rows.len() as u64).collect()).unwrap()
    }

    #[test]
    fn a_key_depends_on_the_cells_and_the_seed_alone() {
        let rows: Vec<usize> = (0..200).collect();
        let backwards: Vec<usize> = (0..200).rev().collect();
        let keys = RowKeys::new(1).of(&frame(&rows), Some("y"));
        let mut others = RowKeys::new(1).of(&frame(&backwards), Some("y"));
        others.reverse();
        assert_eq!(keys, others);
        assert_eq!(keys[17], RowKeys::new(1).of(&frame(&[17]), Some("y"))[0]);
        assert_ne!(keys, RowKeys::new(2).of(&frame(&rows), Some("y")));
        assert_ne!(keys, RowKeys::new(1).of(&frame(&rows), None), "labels count if they are not named");
    }

    #[test]
    fn shards_are_even_and_so_is_the_sample() {
        let rows: Vec<usize> = (1..8001).filter(|row| row % 5 != 0).collect();
        let keys = RowKeys::new(0).of(&frame(&rows), Some("y"));
        let sampling = Sampling::new(640, rows.len());
        let mut sizes = [(0, 0); 8];
        for key in keys {
            let (all, sampled) = &mut sizes[shard_of(key, 8)];
            *all += 1;
            *sampled += usize::from(sampling.holds(key));
        }
        // 800 a shard with a standard deviation of 26, 80 of them sampled with one of 9.
        assert!(
            sizes.iter().all(|(all, some)| (680..920).contains(all) && (40..120).contains(some)),
            "{sizes:?}"
        );
        assert!(Sampling::new(10, 10).holds(u64::MAX) && !Sampling::new(1, 2).holds(u64::MAX));
    }
}
