//! Fenced blocks of a Markdown page.

/// A block between fences.
pub struct Block {
    /// The word after the first fence.
    pub kind: String,
    /// What is between the fences.
    pub body: String,
    /// The line of the first fence, from 1.
    pub line: usize,
}

/// All blocks of a page.
pub fn blocks(text: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut open = false;
    for (at, line) in text.lines().enumerate() {
        match (line.strip_prefix("```"), open) {
            (Some(kind), false) => {
                found.push(Block { kind: kind.trim().into(), body: String::new(), line: at + 1 });
                open = true;
            }
            (Some(_), true) => open = false,
            (None, true) => {
                let block = found.last_mut().expect("it is open");
                block.body += line;
                block.body.push('\n');
            }
            (None, false) => {}
        }
    }
    assert!(!open, "a block that does not end");
    found
}

/// The page without its blocks.
pub fn prose(text: &str) -> String {
    let mut open = false;
    let outside = text.lines().filter(|line| {
        let fence = line.starts_with("```");
        open ^= fence;
        !open && !fence
    });
    outside.collect::<Vec<_>>().join("\n")
}
