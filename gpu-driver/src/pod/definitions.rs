//! Structures of Rust in CUDA C++.

use std::fmt::Write;

use crate::{DevicePod, DriverError, Header, Result};

/// The C++ definitions of structures, each once, in an order in which they compile, and the headers with the types of their fields.
///
/// ```
/// use gpu_driver::{Definitions, DevicePod};
///
/// #[repr(C)]
/// #[derive(Clone, Copy, Debug, DevicePod)]
/// struct Point {
///     x: f32,
///     y: f32,
/// }
/// #[repr(C)]
/// #[derive(Clone, Copy, Debug, DevicePod)]
/// struct Segment {
///     from: Point,
///     to: Point,
/// }
/// let text = Definitions::of::<Segment>()?.text();
/// let [point, segment] = ["struct alignas(4) Point {", "struct alignas(4) Segment {"].map(|head| text.find(head));
/// assert!(point < segment);
/// # Ok::<(), gpu_driver::DriverError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Definitions {
    structures: Vec<(&'static str, String)>,
    headers: Vec<Header>,
}

impl Definitions {
    /// No definitions.
    pub fn new() -> Self {
        Self::default()
    }

    /// The definitions that the type's name needs.
    ///
    /// # Errors
    /// `TypeName` where two different structures in it have one name.
    pub fn of<T: DevicePod>() -> Result<Self> {
        let mut all = Self::new();
        T::define(&mut all)?;
        Ok(all)
    }

    /// Adds a structure of these fields: name and C++ type of each. Size and alignment are asserted in C++; since the fields fill the structure, that
    /// leaves each of them one place.
    ///
    /// # Errors
    /// `TypeName` where another structure has the name.
    pub fn add<T: DevicePod>(&mut self, fields: &[(&'static str, &'static str)]) -> Result<()> {
        let (name, text) = (T::CUDA_NAME, text::<T>(fields));
        match self.structures.iter().find(|(other, _)| *other == name) {
            None => self.structures.push((name, text)),
            Some((_, other)) if *other == text => (),
            Some((_, other)) => return Err(DriverError::TypeName { name, first: other.clone(), second: text }),
        }
        Ok(())
    }

    /// Adds a header with a type that the names need.
    pub fn include(&mut self, header: Header) {
        if !self.headers.contains(&header) {
            self.headers.push(header);
        }
    }

    /// The headers that the text includes: a program with the text has them.
    pub fn headers(&self) -> &[Header] {
        &self.headers
    }

    /// The text to put before code that uses the names; it needs the prelude, and [`Definitions::headers`].
    pub fn text(&self) -> String {
        let includes = self.headers.iter().map(|header| format!("#include \"{}\"\n", header.name));
        includes.chain(self.structures.iter().map(|(_, text)| text.clone())).collect()
    }
}

fn text<T: DevicePod>(fields: &[(&str, &str)]) -> String {
    let (name, size, align) = (T::CUDA_NAME, size_of::<T>(), T::CUDA_ALIGN);
    let mut text = format!("struct alignas({align}) {name} {{");
    for (field, cuda_type) in fields {
        let _ = write!(text, " {cuda_type} {field};");
    }
    let layout = format!("sizeof({name}) == {size} && alignof({name}) == {align}");
    let _ = writeln!(text, " }};\nstatic_assert({layout}, \"the layout of Rust\");");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    mod one {
        #[repr(C)]
        #[derive(Clone, Copy, Debug, crate::DevicePod)]
        #[device_pod(crate = crate)]
        pub(super) struct Pair {
            pub(super) a: f32,
            pub(super) b: i32,
        }
    }

    mod other {
        #[repr(C)]
        #[derive(Clone, Copy, Debug, crate::DevicePod)]
        #[device_pod(crate = crate)]
        pub(super) struct Pair {
            a: f32,
            b: u32,
        }
    }

    #[test]
    fn a_structure_is_written_once_and_a_name_has_one_meaning() {
        let mut all = Definitions::new();
        one::Pair::define(&mut all).unwrap();
        one::Pair::define(&mut all).unwrap();
        let text = all.text();
        assert_eq!(text.matches("struct alignas(4) Pair { float a; int32_t b; };").count(), 1, "{text}");
        assert!(text.contains("sizeof(Pair) == 8 && alignof(Pair) == 4"), "{text}");
        let error = other::Pair::define(&mut all).unwrap_err();
        assert!(matches!(&error, DriverError::TypeName { name: "Pair", .. }), "{error}");
        assert!(error.to_string().contains("uint32_t b"), "{error}");
    }

    #[cfg(feature = "num-complex")]
    #[test]
    fn a_structure_is_aligned_as_its_complex_fields_are_in_cuda() {
        use num_complex::Complex;

        #[repr(C)]
        #[derive(Clone, Copy, Debug, crate::DevicePod)]
        #[device_pod(crate = crate)]
        struct Wave {
            frequency: f64,
            amplitude: Complex<f32>,
        }
        #[repr(C)]
        #[derive(Clone, Copy, Debug, crate::DevicePod)]
        #[device_pod(crate = crate)]
        struct Pairs {
            a: Complex<f64>,
            b: Wave,
        }
        let text = Definitions::of::<Pairs>().unwrap().text();
        assert!(
            text.contains("struct alignas(8) Wave { double frequency; gpu::Complex<float> amplitude; };"),
            "{text}"
        );
        assert!(text.contains("sizeof(Pairs) == 32 && alignof(Pairs) == 16"), "{text}");
    }

    #[cfg(all(feature = "half", feature = "num-complex"))]
    #[test]
    fn headers_of_fields_are_included_once() {
        #[repr(C)]
        #[derive(Clone, Copy, Debug, crate::DevicePod)]
        #[device_pod(crate = crate)]
        struct Weights {
            a: half::f16,
            b: half::bf16,
            size: f32,
            c: num_complex::Complex<f32>,
        }
        let definitions = Definitions::of::<Weights>().unwrap();
        assert_eq!(definitions.headers(), [crate::HALF, crate::COMPLEX]);
        let text = definitions.text();
        assert!(
            text.starts_with("#include \"half.cuh\"\n#include \"complex.cuh\"\nstruct alignas(8) Weights {"),
            "{text}"
        );
        assert_eq!(Definitions::of::<f32>().unwrap().headers(), []);
    }

    #[test]
    fn its_fields_are_where_they_are() {
        let pair = one::Pair { a: 1.5, b: -1 };
        assert_eq!((pair.a, pair.b), (1.5, -1));
    }
}
