//! `Debug` of the error types.

/// Implements `Debug` for an error type of which these are all variants: the variant's name, then the text of `Display`. So an error
/// that `main` returns names the remedy, and so does one at which `unwrap` panics.
#[doc(hidden)]
#[macro_export]
macro_rules! debug_by_text {
    ($error:ident: $($variant:ident),* $(,)?) => {
        impl ::core::fmt::Debug for $error {
            /// The variant's name, then the text of `Display`.
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let name = match self {
                    $(Self::$variant { .. } => ::core::stringify!($variant),)*
                };
                ::core::write!(f, "{name}: {self}")
            }
        }
    };
}
