//! The boundary between classes of a class map: marching squares, chained and smoothed.
//!
//! Grid nodes are the centres of the map's cells. Where two neighbouring nodes differ the boundary crosses
//! their edge; crossings of one square are joined, and where three or more classes meet they join in its
//! middle. Segments are chained into polylines because a dash pattern starts anew at every gap, and passed
//! through a few 1-2-1 averages because a staircase of cells is the raster's shape, not the classifier's:
//! no vertex moves by more than about one cell.

use std::collections::BTreeMap;

/// A point in units of cells: (0, 0) is the map's top-left corner, (width, height) its bottom right.
pub(crate) type Vertex = [f64; 2];

/// Doubled grid coordinates of a crossing: exact, so that neighbouring squares agree on it.
type Node = (i32, i32);

const SMOOTHING_PASSES: usize = 4;

/// The polylines where `class` changes. A ring of repeated cells around the map carries lines to its rim.
pub(crate) fn boundaries(
    width: usize,
    height: usize,
    class: impl Fn(usize, usize) -> usize,
) -> Vec<Vec<Vertex>> {
    if width == 0 || height == 0 {
        return Vec::new();
    }
    let at = |column: i32, row: i32| {
        class(column.clamp(0, width as i32 - 1) as usize, row.clamp(0, height as i32 - 1) as usize)
    };
    let mut links: BTreeMap<Node, Vec<Node>> = BTreeMap::new();
    for row in -1..height as i32 {
        for column in -1..width as i32 {
            // Clockwise from the top left.
            let corners =
                [at(column, row), at(column + 1, row), at(column + 1, row + 1), at(column, row + 1)];
            for (a, b) in square(column, row, corners) {
                links.entry(a).or_default().push(b);
                links.entry(b).or_default().push(a);
            }
        }
    }
    chain(links).into_iter().map(|line| smooth(line.into_iter().map(vertex).collect())).collect()
}

/// The segments inside one square of four nodes.
fn square(column: i32, row: i32, corners: [usize; 4]) -> Vec<(Node, Node)> {
    let (c, r) = (2 * column, 2 * row);
    let middles = [(c + 1, r), (c + 2, r + 1), (c + 1, r + 2), (c, r + 1)]; // top, right, bottom, left
    let crossed: Vec<Node> =
        (0..4).filter(|&i| corners[i] != corners[(i + 1) % 4]).map(|i| middles[i]).collect();
    match crossed[..] {
        [] => Vec::new(),
        [a, b] => vec![(a, b)],
        // A saddle of two classes: cut off the top-right and bottom-left corners.
        [top, right, bottom, left] if corners[0] == corners[2] => vec![(top, right), (bottom, left)],
        [top, right, bottom, left] if corners[1] == corners[3] => vec![(left, top), (right, bottom)],
        _ => crossed.iter().map(|&end| (end, (c + 1, r + 1))).collect(),
    }
}

/// Joins segments into lines: first those that end somewhere, then the closed ones.
fn chain(mut links: BTreeMap<Node, Vec<Node>>) -> Vec<Vec<Node>> {
    let ends: Vec<Node> = links.iter().filter(|(_, next)| next.len() != 2).map(|(&node, _)| node).collect();
    let is_end = |node: &Node| ends.binary_search(node).is_ok();
    let all: Vec<Node> = links.keys().copied().collect();
    let mut lines = Vec::new();
    for &start in ends.iter().chain(&all) {
        while let Some(second) = take_link(&mut links, start) {
            let mut line = vec![start, second];
            let mut here = second;
            while here != start && !is_end(&here) {
                let Some(next) = take_link(&mut links, here) else { break };
                line.push(next);
                here = next;
            }
            lines.push(line);
        }
    }
    lines
}

/// Uses up one segment at `from`, in both directions.
fn take_link(links: &mut BTreeMap<Node, Vec<Node>>, from: Node) -> Option<Node> {
    let to = links.get_mut(&from)?.pop()?;
    if let Some(back) = links.get_mut(&to)
        && let Some(i) = back.iter().position(|&node| node == from)
    {
        back.swap_remove(i);
    }
    Some(to)
}

fn vertex((column, row): Node) -> Vertex {
    [f64::from(column) / 2.0 + 0.5, f64::from(row) / 2.0 + 0.5]
}

/// Averages neighbours 1-2-1 in a line of two vertices or more; the ends of an open line stay, a closed line has none.
fn smooth(mut line: Vec<Vertex>) -> Vec<Vertex> {
    let mean = |a: Vertex, b: Vertex, c: Vertex| [0, 1].map(|d| 0.25 * a[d] + 0.5 * b[d] + 0.25 * c[d]);
    let last = line.len() - 1;
    let closed = last > 2 && line[0] == line[last];
    for _ in 0..SMOOTHING_PASSES {
        let inner: Vec<Vertex> = line.windows(3).map(|w| mean(w[0], w[1], w[2])).collect();
        let seam = mean(line[last - 1], line[0], line[1]);
        line[1..last].copy_from_slice(&inner);
        if closed {
            line[0] = seam;
            line[last] = seam;
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vertical_split_is_one_straight_line_from_rim_to_rim() {
        let lines = boundaries(4, 3, |column, _| usize::from(column >= 2));
        assert_eq!(lines.len(), 1);
        assert!(lines[0].iter().all(|v| v[0] == 2.0));
        let rows: Vec<f64> = lines[0].iter().map(|v| v[1]).collect();
        assert!(rows.first().unwrap().min(*rows.last().unwrap()) <= 0.0);
        assert!(rows.first().unwrap().max(*rows.last().unwrap()) >= 3.0);
    }

    #[test]
    fn an_island_is_one_closed_line() {
        let lines = boundaries(7, 7, |c, r| usize::from((2..5).contains(&c) && (2..5).contains(&r)));
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].first(), lines[0].last());
    }

    #[test]
    fn three_classes_meet_in_one_point() {
        let lines = boundaries(6, 6, |c, r| if r >= 3 { 2 } else { usize::from(c >= 3) });
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|l| l.first() == Some(&[3.0, 3.0]) || l.last() == Some(&[3.0, 3.0])));
    }

    #[test]
    fn no_map_and_a_map_of_one_class_have_no_boundary() {
        assert!(boundaries(0, 5, |_, _| 0).is_empty());
        assert!(boundaries(5, 5, |_, _| 3).is_empty());
    }
}
