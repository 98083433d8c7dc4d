//! The values that textures give, by the rules of the CUDA programming guide ("Texture fetching"): the texels around a place, weighted by
//! the fraction of the place in steps of 1/256.

use gpu_driver_core::texels::{address_mode, texture_flag};

use super::{Channel, TexelForm, Texels, Texture};

/// Alignment of the memory of a texture.
pub(crate) const LEAST_TEXTURE_ALIGNMENT: usize = 512;
/// Alignment of the rows of pitched memory.
pub(crate) const TEXTURE_PITCH_ALIGNMENT: usize = 32;

/// Steps of a weight between two texels: 8 bits behind the point.
const STEPS: f64 = 256.0;

/// The place that a kernel asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coordinates {
    pub(crate) at: [f32; 3],
    /// The layer, or the index into memory without a form.
    pub(crate) layer: i32,
}

/// Why a texture gives no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It has another form than the function reads.
    Form,
    /// Its array was not made for gathers.
    Gather,
}

/// The texels of one axis that a value is made of, None for one beyond the border, and the weight of the second.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Taps {
    indices: [Option<usize>; 2],
    weight: f64,
}

/// How a coordinate becomes texels.
#[derive(Clone, Copy)]
struct Axis {
    length: usize,
    mode: u32,
    is_normalized: bool,
    is_linear: bool,
}

impl Axis {
    fn taps(self, coordinate: f32) -> Taps {
        let length = self.length as f64;
        let place = if self.is_normalized { f64::from(coordinate) * length } else { f64::from(coordinate) };
        if !self.is_linear {
            // The conversion saturates.
            return Taps { indices: [self.index(place.floor() as i64), None], weight: 0.0 };
        }
        let (first, fraction) = ((place - 0.5).floor(), (place - 0.5) - (place - 0.5).floor());
        let weight = if fraction.is_finite() { (fraction * STEPS).round() / STEPS } else { 0.0 };
        let first = first as i64;
        Taps { indices: [self.index(first), self.index(first.saturating_add(1))], weight }
    }

    /// The texel that stands for an index; None for the border's colour.
    fn index(self, index: i64) -> Option<usize> {
        let length = self.length as i64;
        // Without normalized coordinates there is no period.
        let index = match self.mode {
            address_mode::WRAP if self.is_normalized => index.rem_euclid(length),
            address_mode::MIRROR if self.is_normalized => {
                let within = index.rem_euclid(2 * length);
                within.min(2 * length - 1 - within)
            }
            address_mode::BORDER => return (0..length).contains(&index).then_some(index as usize),
            _ => index.clamp(0, length - 1),
        };
        Some(index as usize)
    }
}

/// The face of a cube that a direction leads to, and the place on it from 0 to 1.
fn face([x, y, z]: [f32; 3]) -> (usize, [f32; 2]) {
    let size = [x.abs(), y.abs(), z.abs()];
    let (face, major, s, t) = if size[0] >= size[1] && size[0] >= size[2] {
        if x >= 0.0 { (0, size[0], -z, -y) } else { (1, size[0], z, -y) }
    } else if size[1] >= size[2] {
        if y >= 0.0 { (2, size[1], x, z) } else { (3, size[1], x, -z) }
    } else if z >= 0.0 {
        (4, size[2], x, -y)
    } else {
        (5, size[2], -x, -y)
    };
    (face, [s, t].map(|part| (part / major + 1.0) / 2.0))
}

impl Texture {
    /// The value at a place, as the bits of up to four channels. `read` is asked for each texel's bytes before they are read.
    pub(crate) fn sample(
        &self,
        form: TexelForm,
        at: Coordinates,
        read: &mut dyn FnMut(usize, usize),
    ) -> Result<[u32; 4], Refusal> {
        if form != self.texels.form {
            return Err(Refusal::Form);
        }
        if form == TexelForm::Memory {
            let index = usize::try_from(at.layer).ok().filter(|&index| index < self.texels.columns);
            return Ok(index.map_or([0; 4], |index| self.bits(self.value([index, 0, 0], read))));
        }
        let (axes, layer, at) = self.place(form, at);
        let none = Taps { indices: [Some(0), None], weight: 0.0 };
        let mut taps = [none; 3];
        for (axis, (taps, at)) in taps.iter_mut().zip(at).enumerate().take(axes) {
            *taps = self.axis(form, axis).taps(at);
        }
        if axes < 3 {
            taps[2].indices[0] = Some(layer);
        }
        Ok(self.bits(self.weighted(&taps, read)))
    }

    /// One channel of the four texels around a place, as the linear filter would take them: counterclockwise from the lower left, where rows go down.
    pub(crate) fn gather(
        &self,
        channel: usize,
        [x, y, _]: [f32; 3],
        read: &mut dyn FnMut(usize, usize),
    ) -> Result<[u32; 4], Refusal> {
        if !self.texels.gathers {
            return Err(Refusal::Gather);
        }
        let taps = |axis, at| Axis { is_linear: true, ..self.axis(TexelForm::Plane, axis) }.taps(at).indices;
        let (columns, rows) = (taps(0, x), taps(1, y));
        Ok([(0, 1), (1, 1), (1, 0), (0, 0)].map(|(i, j)| {
            let value = match (columns[i], rows[j]) {
                (Some(column), Some(row)) => self.value([column, row, 0], read),
                _ => self.border(),
            };
            self.bits(value)[channel]
        }))
    }

    /// The number of axes that are filtered, the layer for those that are not, and the coordinates along the axes.
    fn place(&self, form: TexelForm, Coordinates { at, layer }: Coordinates) -> (usize, usize, [f32; 3]) {
        let within = |layers: usize| usize::try_from(layer).unwrap_or(0).min(layers.saturating_sub(1));
        match form {
            TexelForm::Memory | TexelForm::Line => (1, 0, at),
            TexelForm::Plane => (2, 0, at),
            TexelForm::Volume => (3, 0, at),
            TexelForm::LayeredLine => (1, within(self.texels.layers), at),
            TexelForm::LayeredPlane => (2, within(self.texels.layers), at),
            TexelForm::Cubemap | TexelForm::LayeredCubemap => {
                let (face, [s, t]) = face(at);
                (2, within(self.texels.layers / 6) * 6 + face, [s, t, 0.0])
            }
        }
    }

    fn axis(&self, form: TexelForm, axis: usize) -> Axis {
        let is_linear = self.descriptor.is_linear != 0;
        let is_cube = matches!(form, TexelForm::Cubemap | TexelForm::LayeredCubemap);
        let length = [self.texels.columns, self.texels.rows, self.texels.layers][axis];
        Axis {
            length,
            // A direction never leaves its face, but the neighbours of a texel at its edge do.
            mode: if is_cube && !is_linear { address_mode::CLAMP } else { self.descriptor.address_modes[axis] },
            is_normalized: is_cube || self.descriptor.flags & texture_flag::NORMALIZED_COORDINATES != 0,
            is_linear,
        }
    }

    /// The weighted sum of the texels, or the one texel that has all the weight.
    fn weighted(&self, [x, y, z]: &[Taps; 3], read: &mut dyn FnMut(usize, usize)) -> Sampled {
        let mut sum = Sampled::Floats([0.0; 4]);
        for corner in 0..8usize {
            let [i, j, k] = [corner & 1, corner >> 1 & 1, corner >> 2];
            let weight =
                [(x, i), (y, j), (z, k)].map(|(taps, at)| if at == 0 { 1.0 - taps.weight } else { taps.weight });
            let weight: f64 = weight.iter().product();
            if weight == 0.0 {
                continue;
            }
            let value = match (x.indices[i], y.indices[j], z.indices[k]) {
                (Some(x), Some(y), Some(z)) => self.value([x, y, z], read),
                _ => self.border(),
            };
            match (&mut sum, value) {
                (Sampled::Floats(sum), Sampled::Floats(value)) => {
                    sum.iter_mut().zip(value).for_each(|(sum, value)| *sum += weight * value);
                }
                (sum, integers) => *sum = integers,
            }
        }
        sum
    }

    /// The value of one texel.
    fn value(&self, [column, row, layer]: [usize; 3], read: &mut dyn FnMut(usize, usize)) -> Sampled {
        let Texels { channel, channels, .. } = self.texels;
        let (address, bytes) = (self.texels.address(column, row, layer), self.texels.element_bytes());
        read(address, bytes);
        let mut stored = [0; 4];
        for (stored, at) in stored.iter_mut().zip((address..).step_by(channel.bytes())).take(channels) {
            // SAFETY: `read` has seen that the element's bytes may be read.
            *stored = unsafe {
                match channel.bytes() {
                    1 => (at as *const u8).read_unaligned().into(),
                    2 => (at as *const u16).read_unaligned().into(),
                    _ => (at as *const u32).read_unaligned(),
                }
            };
        }
        if self.gives_floats() {
            Sampled::Floats(stored.map(|stored| channel.to_float(stored)))
        } else {
            Sampled::Integers(stored.map(|stored| channel.to_integer(stored)))
        }
    }

    fn border(&self) -> Sampled {
        if self.gives_floats() {
            Sampled::Floats(self.descriptor.border.map(f64::from))
        } else {
            // The field holds the bits of integers for textures of integers.
            Sampled::Integers(self.descriptor.border.map(f32::to_bits))
        }
    }

    fn bits(&self, value: Sampled) -> [u32; 4] {
        match value {
            Sampled::Floats(floats) => floats.map(|float| (float as f32).to_bits()),
            Sampled::Integers(integers) => integers,
        }
    }
}

#[derive(Clone, Copy)]
enum Sampled {
    Floats([f64; 4]),
    Integers([u32; 4]),
}

impl Channel {
    /// A stored channel as a float: integers from 0 or -1 to 1.
    fn to_float(self, stored: u32) -> f64 {
        match self {
            Self::Float => f64::from(f32::from_bits(stored)),
            Self::Half => f64::from(half(stored as u16)),
            Self::Unsigned(1) => f64::from(stored) / f64::from(u8::MAX),
            Self::Unsigned(_) => f64::from(stored) / f64::from(u16::MAX),
            Self::Signed(1) => (f64::from(stored as i8) / f64::from(i8::MAX)).max(-1.0),
            Self::Signed(_) => (f64::from(stored as i16) / f64::from(i16::MAX)).max(-1.0),
        }
    }

    /// A stored channel as the bits of an integer of 32 bits.
    fn to_integer(self, stored: u32) -> u32 {
        match self {
            Self::Signed(1) => i32::from(stored as i8) as u32,
            Self::Signed(2) => i32::from(stored as i16) as u32,
            _ => stored,
        }
    }
}

/// A number of IEEE's 16 bits.
fn half(bits: u16) -> f32 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
    let size = match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1024.0 + fraction) * 2f32.powi(exponent - 25),
    };
    if bits >> 15 == 0 { size } else { -size }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(mode: u32, is_normalized: bool, is_linear: bool) -> Axis {
        Axis { length: 4, mode, is_normalized, is_linear }
    }

    #[test]
    fn indices_beyond_the_ends_follow_the_mode() {
        let of = |mode, indices: [i64; 7]| indices.map(|index| axis(mode, true, false).index(index));
        let far = [-5, -4, -1, 0, 3, 4, 9];
        assert_eq!(of(address_mode::WRAP, far), [3, 0, 3, 0, 3, 0, 1].map(Some));
        assert_eq!(of(address_mode::MIRROR, far), [3, 3, 0, 0, 3, 3, 1].map(Some));
        assert_eq!(of(address_mode::CLAMP, far), [0, 0, 0, 0, 3, 3, 3].map(Some));
        assert_eq!(of(address_mode::BORDER, far), [None, None, None, Some(0), Some(3), None, None]);
        assert_eq!(axis(address_mode::WRAP, false, false).index(4), Some(3), "without a period");
    }

    #[test]
    fn weights_are_steps_of_one_in_256() {
        let taps = |place| axis(address_mode::CLAMP, false, true).taps(place);
        assert_eq!(taps(1.5), Taps { indices: [Some(1), Some(2)], weight: 0.0 });
        assert_eq!(taps(1.75), Taps { indices: [Some(1), Some(2)], weight: 0.25 });
        assert_eq!(taps(1.5 + 1.4 / 256.0).weight, 1.0 / 256.0);
        assert_eq!(taps(1.499999).weight, 1.0, "rounded to the second texel");
        assert_eq!(taps(0.25), Taps { indices: [Some(0), Some(0)], weight: 0.75 });
        for odd in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30, -1e30] {
            assert!(taps(odd).indices.iter().all(|index| index.is_some_and(|index| index < 4)));
            axis(address_mode::MIRROR, true, true).taps(odd);
        }
    }

    #[test]
    fn directions_lead_to_faces() {
        let directions = [[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]];
        for (want, direction) in directions.into_iter().chain([[0.0, 0.0, -1.0]]).enumerate() {
            assert_eq!(face(direction), (want, [0.5, 0.5]));
        }
        assert_eq!(face([2.0, 1.0, -1.0]), (0, [0.75, 0.25]));
        assert_eq!(face([0.5, 1.0, -2.0]), (5, [0.375, 0.25]));
    }

    #[test]
    fn halves_are_exact() {
        for (bits, want) in
            [(0x3c00, 1.0), (0xc000, -2.0), (0x7bff, 65504.0), (0x0001, 2f32.powi(-24)), (0x0400, 2f32.powi(-14))]
        {
            assert_eq!(half(bits), want);
        }
        assert!(half(0x7c00).is_infinite() && half(0x7e00).is_nan() && half(0x8000).is_sign_negative());
    }

    #[test]
    fn integers_become_numbers_up_to_one() {
        let [unsigned, signed] = [Channel::Unsigned(1), Channel::Signed(1)];
        assert_eq!((unsigned.to_float(255), unsigned.to_float(0)), (1.0, 0.0));
        assert_eq!((signed.to_float(127), signed.to_float(0x80), signed.to_float(0x81)), (1.0, -1.0, -1.0));
        assert_eq!((Channel::Signed(2).to_float(0x8000), Channel::Unsigned(2).to_float(65535)), (-1.0, 1.0));
        assert_eq!((signed.to_integer(0xff), unsigned.to_integer(0xff)), (u32::MAX, 255));
    }
}
