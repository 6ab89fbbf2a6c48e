//! JPEG, baseline or progressive, grey or colour, by `zune-jpeg`.

use flowgmm_data::Image;
use zune_core::{bytestream::ZCursor, colorspace::ColorSpace, options::DecoderOptions};
use zune_jpeg::JpegDecoder;

use super::file::Head;

type Outcome<T> = std::result::Result<T, String>;

pub(super) const START: &[u8] = b"\xff\xd8\xff";
const END: [u8; 2] = [0xff, 0xd9];
/// More than any photograph has, on a side and in all.
const LONGEST: usize = 1 << 15;
const MOST_PIXELS: usize = 1 << 28;

/// Size and colour, without the pixels.
pub(super) fn head(bytes: &[u8]) -> Outcome<Head> {
    guarded(|| {
        let mut decoder = decoder(bytes, ColorSpace::RGB);
        decoder.decode_headers().map_err(|error| error.to_string())?;
        let info = decoder.info().ok_or("it has no header")?;
        if usize::from(info.height) * usize::from(info.width) > MOST_PIXELS {
            return Err(format!("its size is {} x {} pixels", info.height, info.width));
        }
        let channels = if info.components == 1 { 1 } else { 3 };
        Ok(Head { channels, height: info.height.into(), width: info.width.into() })
    })
}

/// The picture.
pub(super) fn decode(bytes: &[u8]) -> Outcome<Image> {
    let Head { channels, height, width } = head(bytes)?;
    // Decoders fill in what is missing at the end; a picture whose end is missing is damaged.
    if !bytes.as_chunks::<2>().0.contains(&END) && !bytes[1..].as_chunks::<2>().0.contains(&END) {
        return Err("it ends too early".into());
    }
    guarded(|| {
        let colours = if channels == 1 { ColorSpace::Luma } else { ColorSpace::RGB };
        let pixels = decoder(bytes, colours).decode().map_err(|error| error.to_string())?;
        if pixels.len() != channels * height * width {
            return Err(format!(
                "it has {} bytes of pixels, expected {}",
                pixels.len(),
                channels * height * width
            ));
        }
        let planes = (0..channels).flat_map(|c| pixels.iter().skip(c).step_by(channels).copied());
        Ok(Image::new(channels, height, width, planes.collect()))
    })
}

fn decoder(bytes: &[u8], colours: ColorSpace) -> JpegDecoder<ZCursor<&[u8]>> {
    let options = DecoderOptions::default()
        .set_strict_mode(true)
        .set_max_width(LONGEST)
        .set_max_height(LONGEST)
        .jpeg_set_out_colorspace(colours);
    JpegDecoder::new_with_options(ZCursor::new(bytes), options)
}

/// Runs a decoder; a panic of its own counts as damage.
fn guarded<T>(decode: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    flowgmm_tables::survive(decode).unwrap_or_else(|| Err("its parts contradict each other".into()))
}
