//! PNG: every colour type and depth, interlaced or not, to bytes of grey or of red, green and blue; and back.
//!
//! ```text
//! signature, then chunks { length, kind, body, CRC-32 }: IHDR, (PLTE, tRNS), IDAT.., IEND
//! IDAT together = zlib of scanlines { filter, samples }, of the picture or of its seven interlaced parts
//! ```
//! Of 16 bits the upper 8 are taken; what is transparent is blended with black. See <https://www.w3.org/TR/png-3/>.

use std::io::{Read, Write};

use flate2::{Compression, Crc, read::ZlibDecoder, write::ZlibEncoder};
use flowgmm_data::Picture;

use super::file::Head;

pub(super) const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
/// More pixels than any photograph has.
const MOST_PIXELS: usize = 1 << 28;
/// Start and distance of pixels, down and across, in each part of an interlaced picture.
const INTERLACED: [[usize; 4]; 7] =
    [[0, 0, 8, 8], [0, 4, 8, 8], [4, 0, 8, 4], [0, 2, 4, 4], [2, 0, 4, 2], [0, 1, 2, 2], [1, 0, 2, 1]];

type Outcome<T> = std::result::Result<T, String>;

/// Size and colour, from the chunks before the pixels.
pub(super) fn head(bytes: &[u8]) -> Outcome<Head> {
    let png = Png::read(bytes, Until::Pixels)?;
    Ok(Head { channels: png.channels(), height: png.height, width: png.width })
}

/// The picture.
pub(super) fn decode(bytes: &[u8]) -> Outcome<Picture> {
    Png::read(bytes, Until::End)?.picture()
}

/// A PNG of the picture.
pub(super) fn encode(picture: &Picture) -> Vec<u8> {
    let Picture { channels, height, width, pixels } = picture;
    let mut png = SIGNATURE.to_vec();
    let mut header = [(*width as u32).to_be_bytes(), (*height as u32).to_be_bytes()].concat();
    header.extend([8, if *channels == 1 { 0 } else { 2 }, 0, 0, 0]);
    chunk(&mut png, b"IHDR", &header);
    let mut lines = Vec::with_capacity(height * (1 + width * channels));
    for y in 0..*height {
        lines.push(0); // no filter
        for x in 0..*width {
            lines.extend((0..*channels).map(|c| pixels[(c * height + y) * width + x]));
        }
    }
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&lines).expect("memory takes everything");
    chunk(&mut png, b"IDAT", &packed.finish().expect("memory takes everything"));
    chunk(&mut png, b"IEND", &[]);
    png
}

fn chunk(png: &mut Vec<u8>, kind: &[u8; 4], body: &[u8]) {
    png.extend((body.len() as u32).to_be_bytes());
    png.extend(kind);
    png.extend(body);
    png.extend(sum(kind, body).to_be_bytes());
}

fn sum(kind: &[u8], body: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(kind);
    crc.update(body);
    crc.sum()
}

#[derive(Clone, Copy, PartialEq)]
enum Until {
    Pixels,
    End,
}

#[derive(Clone, Copy, PartialEq)]
enum Colour {
    Grey,
    Rgb,
    Palette,
    GreyAlpha,
    Rgba,
}

struct Png {
    width: usize,
    height: usize,
    depth: usize,
    colour: Colour,
    interlaced: bool,
    palette: Vec<[u8; 3]>,
    transparent: Vec<u8>,
    packed: Vec<u8>,
}

impl Png {
    fn read(bytes: &[u8], until: Until) -> Outcome<Self> {
        let mut rest = bytes.strip_prefix(SIGNATURE).ok_or("it does not start as PNG files do")?;
        let (kind, body) = next_chunk(&mut rest)?;
        let mut png = match &kind {
            b"IHDR" => Self::header(body)?,
            _ => return Err("its first chunk is not IHDR".into()),
        };
        loop {
            let (kind, body) = next_chunk(&mut rest)?;
            match &kind {
                b"IDAT" if until == Until::Pixels => break,
                b"IDAT" => png.packed.extend(body),
                b"PLTE" => png.palette = body.as_chunks::<3>().0.to_vec(),
                b"tRNS" => png.transparent = body.to_vec(),
                b"IEND" => break,
                // A capital letter first: nobody can show the picture without knowing this chunk.
                kind if kind[0].is_ascii_uppercase() => {
                    return Err(format!("it has an unknown chunk {:?}", String::from_utf8_lossy(kind)));
                }
                _ => {}
            }
        }
        if png.colour == Colour::Palette && png.palette.is_empty() {
            return Err("its palette is missing".into());
        }
        Ok(png)
    }

    fn header(body: &[u8]) -> Outcome<Self> {
        let &[w0, w1, w2, w3, h0, h1, h2, h3, depth, colour, 0, 0, interlaced @ (0 | 1)] = body else {
            return Err("its header is not that of a PNG file".into());
        };
        let width = u32::from_be_bytes([w0, w1, w2, w3]) as usize;
        let height = u32::from_be_bytes([h0, h1, h2, h3]) as usize;
        let (colour, depths): (_, &[u8]) = match colour {
            0 => (Colour::Grey, &[1, 2, 4, 8, 16]),
            2 => (Colour::Rgb, &[8, 16]),
            3 => (Colour::Palette, &[1, 2, 4, 8]),
            4 => (Colour::GreyAlpha, &[8, 16]),
            6 => (Colour::Rgba, &[8, 16]),
            _ => return Err(format!("its colour type {colour} is unknown")),
        };
        if !depths.contains(&depth) {
            return Err(format!("its colours have {depth} bits, which their type does not allow"));
        }
        if width == 0 || height == 0 || width.checked_mul(height).is_none_or(|area| area > MOST_PIXELS) {
            return Err(format!("its size is {height} x {width} pixels"));
        }
        Ok(Self {
            width,
            height,
            depth: depth.into(),
            colour,
            interlaced: interlaced == 1,
            palette: Vec::new(),
            transparent: Vec::new(),
            packed: Vec::new(),
        })
    }

    /// 1 for grey, also where all colours of a palette are.
    fn channels(&self) -> usize {
        let grey = match self.colour {
            Colour::Grey | Colour::GreyAlpha => true,
            Colour::Rgb | Colour::Rgba => false,
            Colour::Palette => self.palette.iter().all(|[r, g, b]| r == g && g == b),
        };
        if grey { 1 } else { 3 }
    }

    /// Samples of a pixel as they are stored.
    fn samples(&self) -> usize {
        match self.colour {
            Colour::Grey | Colour::Palette => 1,
            Colour::GreyAlpha => 2,
            Colour::Rgb => 3,
            Colour::Rgba => 4,
        }
    }

    fn picture(self) -> Outcome<Picture> {
        let parts: Vec<[usize; 4]> = if self.interlaced { INTERLACED.to_vec() } else { vec![[0, 0, 1, 1]] };
        let bits = self.samples() * self.depth;
        let count = |size: usize, start: usize, step: usize| size.saturating_sub(start).div_ceil(step);
        let sizes = parts.iter().map(|[top, left, down, across]| {
            let (height, width) = (count(self.height, *top, *down), count(self.width, *left, *across));
            // A part without columns has no scanlines either.
            (if width == 0 { 0 } else { height }, width, (width * bits).div_ceil(8))
        });
        let sizes: Vec<(usize, usize, usize)> = sizes.collect();
        let expected: usize = sizes.iter().map(|(height, _, line)| height * (1 + line)).sum();
        let mut lines = Vec::new();
        let unpacked =
            ZlibDecoder::new(self.packed.as_slice()).take(expected as u64 + 1).read_to_end(&mut lines);
        unpacked.map_err(|error| format!("its pixels are damaged ({error})"))?;
        if lines.len() != expected {
            return Err(format!("its pixels take {} bytes, expected {expected}", lines.len()));
        }
        let (channels, area) = (self.channels(), self.height * self.width);
        let mut pixels = vec![0; channels * area];
        let mut rest = lines.as_mut_slice();
        for ([top, left, down, across], (height, width, line)) in parts.into_iter().zip(sizes) {
            let (part, after) = rest.split_at_mut(height * (1 + line));
            rest = after;
            unfilter(part, line, bits.div_ceil(8))?;
            for (y, samples) in part.chunks_exact(1 + line).enumerate() {
                for x in 0..width {
                    let colour = self.pixel(&samples[1..], x)?;
                    let at = (top + y * down) * self.width + left + x * across;
                    (0..channels).for_each(|c| pixels[c * area + at] = colour[c]);
                }
            }
        }
        Ok(Picture::new(channels, self.height, self.width, pixels))
    }

    /// Red, green and blue of pixel `x` of a line, blended with black.
    fn pixel(&self, line: &[u8], x: usize) -> Outcome<[u8; 3]> {
        let stored = |s: usize| sample(line, x * self.samples() + s, self.depth);
        let byte = |s: usize| match self.depth {
            16 => (stored(s) >> 8) as u8,
            8 => stored(s) as u8,
            depth => (usize::from(stored(s)) * 255 / ((1 << depth) - 1)) as u8,
        };
        let key = |s: usize| self.transparent.get(2 * s..2 * s + 2).map(|k| u16::from_be_bytes([k[0], k[1]]));
        let keyed = |n: usize| if (0..n).all(|s| key(s) == Some(stored(s))) { 0 } else { 255 };
        let (colour, alpha) = match self.colour {
            Colour::Grey => ([byte(0); 3], keyed(1)),
            Colour::Rgb => ([byte(0), byte(1), byte(2)], keyed(3)),
            Colour::GreyAlpha => ([byte(0); 3], byte(1)),
            Colour::Rgba => ([byte(0), byte(1), byte(2)], byte(3)),
            Colour::Palette => {
                let index = usize::from(stored(0));
                let colour = self.palette.get(index).copied();
                let colour = colour.ok_or_else(|| format!("colour {index} is not in its palette"))?;
                (colour, self.transparent.get(index).copied().unwrap_or(255))
            }
        };
        Ok(colour.map(|v| ((u32::from(v) * u32::from(alpha) + 127) / 255) as u8))
    }
}

/// Sample `at` of a line of samples of `depth` bits.
fn sample(line: &[u8], at: usize, depth: usize) -> u16 {
    match depth {
        16 => u16::from_be_bytes([line[2 * at], line[2 * at + 1]]),
        8 => line[at].into(),
        _ => {
            let bit = at * depth;
            u16::from(line[bit / 8] >> (8 - depth - bit % 8)) & ((1 << depth) - 1)
        }
    }
}

/// Kind and body of the next chunk, whose sum is checked.
fn next_chunk<'a>(rest: &mut &'a [u8]) -> Outcome<([u8; 4], &'a [u8])> {
    let mut take = |n: usize| -> Outcome<&'a [u8]> {
        let (taken, after) = rest.split_at_checked(n).ok_or("it ends too early")?;
        *rest = after;
        Ok(taken)
    };
    let four = |bytes: &[u8]| [bytes[0], bytes[1], bytes[2], bytes[3]];
    let length = u32::from_be_bytes(four(take(4)?)) as usize;
    let kind = four(take(4)?);
    let body = take(length)?;
    if u32::from_be_bytes(four(take(4)?)) != sum(&kind, body) {
        return Err(format!("the sum of its chunk {:?} is wrong", String::from_utf8_lossy(&kind)));
    }
    Ok((kind, body))
}

/// Undoes the filters of scanlines of `line` bytes, whose pixels are `step` bytes apart.
fn unfilter(lines: &mut [u8], line: usize, step: usize) -> Outcome<()> {
    let mut above = vec![0; line];
    for scanline in lines.chunks_exact_mut(1 + line) {
        let (filter, samples) = scanline.split_first_mut().expect("a line has its filter");
        for i in 0..line {
            let left = if i >= step { samples[i - step] } else { 0 };
            let corner = if i >= step { above[i - step] } else { 0 };
            let guess = match filter {
                0 => 0,
                1 => left,
                2 => above[i],
                3 => ((u16::from(left) + u16::from(above[i])) / 2) as u8,
                4 => paeth(left, above[i], corner),
                other => return Err(format!("a line has the unknown filter {other}")),
            };
            samples[i] = samples[i].wrapping_add(guess);
        }
        above.copy_from_slice(samples);
    }
    Ok(())
}

/// Whichever neighbour is nearest to left + above - corner.
fn paeth(left: u8, above: u8, corner: u8) -> u8 {
    let [a, b, c] = [left, above, corner].map(i16::from);
    let (to_a, to_b, to_c) = ((b - c).abs(), (a - c).abs(), (a + b - 2 * c).abs());
    if to_a <= to_b && to_a <= to_c {
        left
    } else if to_b <= to_c {
        above
    } else {
        corner
    }
}

#[cfg(test)]
mod tests;
