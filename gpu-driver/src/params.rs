//! Parameters of kernels as structures with named fields, defined in Rust once.
//!
//! A kernel that is a template over a user's expression has as many operands as the expression has, so its parameters end with lists whose
//! lengths the template knows. [`kernel_params!`](crate::kernel_params) makes the Rust structure, the C++ definition and the assertions that compare
//! the two; [`kernel_constants!`](crate::kernel_constants) does the same for flags and modes.

use smallvec::{Array, SmallVec};

use crate::{DevicePod, Header, KernelType};

/// The C++ template `gpu::List<T, N>`, which lists of parameters are: `N` elements by index, and one that nobody reads where `N` is 0.
pub const LIST: Header = Header {
    name: "list.cuh",
    text: "\
#pragma once
#include \"prelude.cuh\"
namespace gpu {
template <class T, int N> struct List {
    static constexpr int LENGTH = N;
    T at[N > 0 ? N : 1];
    __device__ __forceinline__ const T &operator[](int k) const { return at[k]; }
};
} // namespace gpu
",
};

/// The 64-bit words of a kernel's parameters, as they are written: a `Vec` or a `SmallVec`.
pub trait ParamWords {
    /// Appends a word.
    fn push(&mut self, word: u64);
    /// Appends words that are 0.
    fn push_zeros(&mut self, count: usize);
}

impl ParamWords for Vec<u64> {
    #[inline]
    fn push(&mut self, word: u64) {
        Vec::push(self, word);
    }

    fn push_zeros(&mut self, count: usize) {
        self.resize(self.len() + count, 0);
    }
}

impl<A: Array<Item = u64>> ParamWords for SmallVec<A> {
    #[inline]
    fn push(&mut self, word: u64) {
        SmallVec::push(self, word);
    }

    // `resize` appends word by word.
    fn push_zeros(&mut self, count: usize) {
        const ZEROS: [u64; 64] = [0; 64];
        for done in (0..count).step_by(ZEROS.len()) {
            self.extend_from_slice(&ZEROS[..ZEROS.len().min(count - done)]);
        }
    }
}

/// An element of a list of parameters: a whole number of 64-bit words.
pub trait ListElement: Sized {
    /// The name of its type in C++, without arguments of a template.
    const CUDA_NAME: &'static str;
    /// Words of an element that stands where the list is empty.
    const WORDS: usize;

    /// Appends the words of the element.
    fn write(self, words: &mut impl ParamWords);
}

impl<T: DevicePod> ListElement for T {
    const CUDA_NAME: &'static str = T::CUDA_NAME;
    const WORDS: usize = {
        assert!(size_of::<T>().is_multiple_of(size_of::<u64>()), "an element of a list is whole 64-bit words");
        size_of::<T>() / size_of::<u64>()
    };

    #[inline]
    fn write(self, words: &mut impl ParamWords) {
        KernelType::for_each_word(self, |word| words.push(word));
    }
}

/// A type of constants that host and kernels share.
#[doc(hidden)]
pub trait ConstantType {
    /// The name of the type in C++.
    const CUDA_NAME: &'static str;
}

macro_rules! constant_types {
    ($($rust:ty => $cuda:literal),*) => {$(
        impl ConstantType for $rust {
            const CUDA_NAME: &'static str = $cuda;
        }
    )*};
}

constant_types! { u16 => "uint16_t", u32 => "uint32_t", i32 => "int32_t", u64 => "uint64_t", i64 => "int64_t", usize => "uint64_t" }

/// Appends the words of a structure.
#[doc(hidden)]
pub fn write_head(head: impl DevicePod, words: &mut impl ParamWords) {
    KernelType::for_each_word(head, |word| words.push(word));
}

/// Appends the elements of a list.
#[doc(hidden)]
pub fn write_list<T: ListElement>(list: impl IntoIterator<Item = T>, words: &mut impl ParamWords) {
    let mut is_empty = true;
    for element in list {
        element.write(words);
        is_empty = false;
    }
    if is_empty {
        words.push_zeros(T::WORDS);
    }
}

/// Text that asserts the order of the head's fields, and the bytes of each field and of the whole: nothing lies between two of them.
///
/// NVRTC has no `offsetof`, so the order is that in which the fields take the values 1, 2, 3, ….
#[doc(hidden)]
pub fn check(instance: &str, head: &[(&str, usize)], lists: &[(&str, usize)]) -> String {
    let values: Vec<String> = (1..=head.len()).map(|value| value.to_string()).collect();
    let values = values.join(", ");
    let order = head.iter().enumerate().map(|(at, (field, _))| format!("{instance}{{{values}}}.{field} == {}", at + 1));
    let lists: Vec<_> = lists.iter().map(|&(list, words)| (list, size_of::<u64>() * words)).collect();
    let fields = || head.iter().chain(&lists);
    let sizes = fields().map(|(field, bytes)| format!("sizeof({instance}::{field}) == {bytes}"));
    let all: usize = fields().map(|(_, bytes)| bytes).sum();
    let conditions: Vec<String> = order.chain(sizes).chain([format!("sizeof({instance}) == {all}")]).collect();
    format!("static_assert({}, \"the parameters of Rust\");\n", conditions.join(" && "))
}

/// Whether a text is `name`, or a template of that name.
#[doc(hidden)]
pub const fn names(text: &str, name: &str) -> bool {
    let (text, name) = (text.as_bytes(), name.as_bytes());
    let mut at = 0;
    while at < name.len() {
        if at >= text.len() || text[at] != name[at] {
            return false;
        }
        at += 1;
    }
    text.len() == name.len() || text[name.len()] == b'<'
}

/// The bytes of some texts together.
#[doc(hidden)]
pub const fn length_of(texts: &[&str]) -> usize {
    let (mut length, mut text) = (0, 0);
    while text < texts.len() {
        length += texts[text].len();
        text += 1;
    }
    length
}

/// Some texts one behind the other, which have `N` bytes together.
#[doc(hidden)]
pub const fn joined<const N: usize>(texts: &[&str]) -> [u8; N] {
    let (mut bytes, mut length, mut text) = ([0; N], 0, 0);
    while text < texts.len() {
        let from = texts[text].as_bytes();
        let mut at = 0;
        while at < from.len() {
            bytes[length] = from[at];
            length += 1;
            at += 1;
        }
        text += 1;
    }
    bytes
}

/// Joins constant texts into one constant text: the header of a kernel's parameters, as [`kernel_params!`](crate::kernel_params) shows.
///
/// ```
/// const NAME: &str = "rows";
/// const TEXT: &str = gpu_driver::joined_text!["#include \"", NAME, ".cuh\"\n"];
/// assert_eq!(TEXT, "#include \"rows.cuh\"\n");
/// ```
#[macro_export]
macro_rules! joined_text {
    ($($text:expr),* $(,)?) => {{
        const TEXTS: &[&str] = &[$($text),*];
        const BYTES: [u8; $crate::params::length_of(TEXTS)] = $crate::params::joined(TEXTS);
        const TEXT: &str = match ::core::str::from_utf8(&BYTES) {
            Ok(text) => text,
            Err(_) => panic!("texts are UTF-8"),
        };
        TEXT
    }};
}

/// Defines constants that host and kernels share, and the constant `$text` with their definitions in C++.
///
/// ```
/// gpu_driver::kernel_constants! {
///     const MODES: &str;
///     /// The value itself does not count.
///     pub const EXCLUSIVE: u32 = 1;
///     /// From the last element to the first.
///     pub const BACKWARD: u32 = 2;
/// }
/// assert_eq!(MODES, "constexpr uint32_t EXCLUSIVE = 1;\nconstexpr uint32_t BACKWARD = 2;\n");
/// ```
/// The values are literals. [`kernel_params!`](crate::kernel_params) says how the text comes into a kernel.
#[macro_export]
macro_rules! kernel_constants {
    (
        $text_vis:vis const $text:ident: &str;
        $($(#[$attribute:meta])* $vis:vis const $name:ident: $type:ty = $value:literal;)*
    ) => {
        $($(#[$attribute])* $vis const $name: $type = $value;)*
        /// Definitions in C++ of the constants beside this one.
        $text_vis const $text: &str = $crate::joined_text![
            $("constexpr ", <$type as $crate::params::ConstantType>::CUDA_NAME, concat!(" ", stringify!($name), " = ", stringify!($value), ";\n")),*
        ];
    };
}

/// Defines a structure of plain types, for example an element of a list of parameters, and its `DEFINITION` in C++.
///
/// ```
/// gpu_driver::kernel_struct! {
///     /// A row.
///     pub struct Row {
///         /// The address of its first element.
///         address: u64,
///         /// Elements from one to the next.
///         stride: i64,
///     }
/// }
/// let text = Row::DEFINITION;
/// assert!(text.starts_with("struct alignas(8) Row {\n    uint64_t address;\n    int64_t stride;\n};\n"), "{text}");
/// ```
#[macro_export]
macro_rules! kernel_struct {
    (
        $(#[$attribute:meta])*
        $vis:vis struct $name:ident {
            $($(#[$field_attribute:meta])* $field:ident: $type:ty),+ $(,)?
        }
    ) => {
        $(#[$attribute])*
        #[repr(C, align(8))]
        #[derive(Clone, Copy, Debug, $crate::DevicePod)]
        #[device_pod(crate = $crate)]
        $vis struct $name {
            $($(#[$field_attribute])* $vis $field: $type,)+
        }

        impl $name {
            /// The definition in C++.
            $vis const DEFINITION: &str = $crate::joined_text![
                concat!("struct alignas(8) ", stringify!($name), " {\n"),
                $("    ", <$type as $crate::DevicePod>::CUDA_NAME, concat!(" ", stringify!($field), ";\n"),)+
                "};\n"
            ];
        }
    };
}

/// Defines the parameters of a kernel: a structure in Rust, and the same in C++.
///
/// The first fields are a structure of plain types, a [`DevicePod`](crate::DevicePod) of whole 64-bit words; lists stand behind it. A list has a type of
/// elements and a length in C++, which may depend on the arguments of the template; in Rust it is anything to iterate over.
///
/// ```
/// # use gpu_driver::{Header, LIST};
/// gpu_driver::kernel_params! {
///     /// The parameters of a kernel that adds rows.
///     struct SumParams<"class Rows">, SumHead {
///         /// Elements of a row.
///         length: u64,
///         /// The address of the sums.
///         sums: u64;
///         /// The address of each row.
///         rows: ["uint64_t"; "Rows::COUNT"],
///     }
/// }
/// const PARAMS: Header = Header {
///     name: "sum_params.cuh",
///     text: gpu_driver::joined_text!["#pragma once\n#include \"list.cuh\"\n", SumHead::DEFINITION],
/// };
/// let mut words: Vec<u64> = Vec::new();
/// SumParams { head: SumHead { length: 100, sums: 0x7000 }, rows: [0x1000u64, 0x2000] }.write(&mut words);
/// assert_eq!(words, [100, 0x7000, 0x1000, 0x2000]);
/// assert!(PARAMS.text.contains("uint64_t length;"));
/// // For the program, which knows that there are two rows of a word each:
/// let check = SumHead::check("SumParams<TwoRows>", [2]);
/// assert!(check.contains("sizeof(SumParams<TwoRows>) == 32"));
/// ```
///
/// A program has [`LIST`](crate::LIST) and a header with the `DEFINITION` of the head; `check` gives text for it that asserts the layout of
/// the structure, for lists of so many words. An empty list takes the words of one element.
#[macro_export]
macro_rules! kernel_params {
    (
        $(#[$attribute:meta])*
        $vis:vis struct $name:ident<$template:literal>, $head:ident {
            $($(#[$field_attribute:meta])* $field:ident: $type:ty),+ ;
            $($(#[$list_attribute:meta])* $list:ident: [$element:literal; $length:literal]),+ $(,)?
        }
    ) => {
        $(#[$attribute])*
        #[allow(non_camel_case_types, reason = "the type of a list has the list's name")]
        $vis struct $name<$($list),+> {
            /// The fields before the lists.
            $vis head: $head,
            $($(#[$list_attribute])* $vis $list: $list,)+
        }

        #[doc = concat!("The fields of [`", stringify!($name), "`] before its lists.")]
        #[repr(C)]
        #[derive(Clone, Copy, Debug, $crate::DevicePod)]
        #[device_pod(crate = $crate)]
        $vis struct $head {
            $($(#[$field_attribute])* $vis $field: $type,)+
        }

        impl $head {
            /// The definition in C++.
            $vis const DEFINITION: &str = $crate::joined_text![
                concat!("template <", $template, "> struct ", stringify!($name), " {\n"),
                $("    ", <$type as $crate::DevicePod>::CUDA_NAME, concat!(" ", stringify!($field), ";\n"),)+
                $(concat!("    gpu::List<", $element, ", ", $length, "> ", stringify!($list), ";\n"),)+
                "};\n"
            ];

            /// Text for the program that asserts the layout of `instance`, the C++ name of the structure, for lists of so many words.
            $vis fn check(instance: &str, words: [usize; [$(stringify!($list)),+].len()]) -> String {
                let fields = [$((stringify!($field), ::core::mem::size_of::<$type>()),)+];
                let mut words = words.into_iter();
                let lists = [$((stringify!($list), words.next().unwrap_or(0))),+];
                $crate::params::check(instance, &fields, &lists)
            }
        }

        #[allow(non_camel_case_types, reason = "the type of a list has the list's name")]
        impl<$($list: IntoIterator<Item: $crate::params::ListElement>),+> $name<$($list),+> {
            /// Appends the 64-bit words of the parameters.
            $vis fn write(self, words: &mut impl $crate::params::ParamWords) {
                $(const {
                    let name = <<$list as IntoIterator>::Item as $crate::params::ListElement>::CUDA_NAME;
                    assert!($crate::params::names($element, name), "elements of another type");
                })+
                $crate::params::write_head(self.head, words);
                $($crate::params::write_list(self.$list, words);)+
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    kernel_constants! {
        const MODES: &str;
        /// One bit.
        const FIRST: u32 = 1;
        /// Another.
        const SECOND: u64 = 2;
    }

    kernel_params! {
        /// Parameters.
        struct Params<"class E, int N">, Head {
            /// A number.
            count: u64,
            /// Two halves.
            low: u32,
            /// The other half.
            high: i32;
            /// Addresses.
            addresses: ["uint64_t"; "E::COUNT"],
            /// Numbers.
            numbers: ["double"; "N"],
        }
    }

    #[test]
    fn constants_are_the_same_in_both_languages() {
        assert_eq!(MODES, "constexpr uint32_t FIRST = 1;\nconstexpr uint64_t SECOND = 2;\n");
        assert_eq!((FIRST, SECOND), (1, 2));
    }

    #[test]
    fn words_stand_in_the_order_of_the_fields() {
        let mut words: Vec<u64> = Vec::new();
        let head = Head { count: 7, low: 1, high: -1 };
        Params { head, addresses: [3u64, 4], numbers: [1.0f64] }.write(&mut words);
        assert_eq!(words, [7, 0xffff_ffff_0000_0001, 3, 4, 1.0f64.to_bits()]);
        let mut words: Vec<u64> = Vec::new();
        Params { head, addresses: [0u64; 0], numbers: std::iter::empty::<f64>() }.write(&mut words);
        assert_eq!(words[2..], [0, 0], "an empty list has an element in C++");
    }

    #[test]
    fn the_text_says_where_each_field_is() {
        assert_eq!(
            Head::DEFINITION,
            "template <class E, int N> struct Params {\n    uint64_t count;\n    uint32_t low;\n    int32_t high;\n    \
             gpu::List<uint64_t, E::COUNT> addresses;\n    gpu::List<double, N> numbers;\n};\n"
        );
        let text = Head::check("Params<Two, 1>", [2, 1]);
        let order = ["{1, 2, 3}.count == 1", "{1, 2, 3}.low == 2", "{1, 2, 3}.high == 3"];
        let sizes = ["::low) == 4", "::addresses) == 16", "::numbers) == 8", "sizeof(Params<Two, 1>) == 40"];
        for part in order.into_iter().chain(sizes) {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn names_of_elements_are_compared() {
        assert!(names("uint64_t", "uint64_t") && names("Axis<3>", "Axis"));
        assert!(!names("uint64_t", "double") && !names("uint64", "uint64_t") && !names("Axes<3>", "Axis"));
    }
}
