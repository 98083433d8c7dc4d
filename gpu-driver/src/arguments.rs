//! Kernel arguments whose types both sides check.

use std::{ffi::c_void, fmt, marker::PhantomData};

use crate::raw::CUdeviceptr;

use crate::{DevicePod, Result, Stream};

/// A value that a kernel parameter can take.
///
/// # Safety
/// [`Argument::value`] points to a value of the CUDA C++ type that [`Argument::cuda_type`] names, valid while `self` is.
/// [`Argument::home`] names the stream of all memory that the value points to. Memory behind a writable pointer is borrowed
/// exclusively, behind a readable one shared, for the lifetime of the type.
pub unsafe trait Argument {
    /// The parameter's type in CUDA C++, such as `const float *`.
    fn cuda_type() -> String
    where
        Self: Sized;

    /// The bytes of the value on a device, where the type tells them: launches of kernels from texts compare them.
    fn bytes() -> Option<usize>
    where
        Self: Sized,
    {
        None
    }

    /// Address of the value to pass.
    fn value(&self) -> *const c_void;

    /// The stream that orders the memory this points to, if it points to any.
    fn home(&self) -> Option<&Stream> {
        None
    }

    /// Gives objects that the value leads to, and that the caller may drop, to the graph that `stream` is captured for.
    ///
    /// # Errors
    /// Those of [`Stream::retain_in_graph`].
    fn retain(&self, _stream: &Stream) -> Result<()> {
        Ok(())
    }
}

// SAFETY: a plain number is passed as itself.
unsafe impl<T: DevicePod> Argument for T {
    fn cuda_type() -> String {
        T::CUDA_NAME.to_owned()
    }
    fn bytes() -> Option<usize> {
        Some(size_of::<T>())
    }
    fn value(&self) -> *const c_void {
        std::ptr::from_ref(self).cast()
    }
}

macro_rules! plain {
    ($($type:ty => $cuda:literal),* $(,)?) => {$(
        // SAFETY: the type of the C side has the same size and values.
        unsafe impl Argument for $type {
            fn cuda_type() -> String {
                $cuda.to_owned()
            }
            fn bytes() -> Option<usize> {
                Some(size_of::<Self>())
            }
            fn value(&self) -> *const c_void {
                std::ptr::from_ref(self).cast()
            }
        }
    )*};
}

plain! { bool => "bool" }
#[cfg(target_pointer_width = "64")]
plain! { usize => "uint64_t", isize => "int64_t" }

macro_rules! pointer {
    ($(#[$doc:meta])* $name:ident, $kind:ty, $cuda:literal) => {
        $(#[$doc])*
        pub struct $name<'a, T: DevicePod> {
            address: CUdeviceptr,
            home: &'a Stream,
            _elements: PhantomData<$kind>,
        }

        impl<'a, T: DevicePod> $name<'a, T> {
            pub(crate) fn new(address: CUdeviceptr, home: &'a Stream) -> Self {
                Self { address, home, _elements: PhantomData }
            }
        }

        // SAFETY: the address is passed as the pointer it is.
        unsafe impl<T: DevicePod> Argument for $name<'_, T> {
            fn cuda_type() -> String {
                format!($cuda, T::CUDA_NAME)
            }
            fn bytes() -> Option<usize> {
                Some(size_of::<CUdeviceptr>())
            }
            fn value(&self) -> *const c_void {
                std::ptr::from_ref(&self.address).cast()
            }
            fn home(&self) -> Option<&Stream> {
                Some(self.home)
            }
        }

        impl<T: DevicePod> fmt::Debug for $name<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "<{}>({:#x})"), T::CUDA_NAME, self.address)
            }
        }
    };
}

pointer!(
    /// Device memory that a kernel reads: `const T *`.
    In, &'a T, "const {} *"
);
pointer!(
    /// Device memory that a kernel writes: `T *`.
    Out, &'a mut T, "{} *"
);
pointer!(
    /// Device memory that a kernel reads and writes: `T *`.
    InOut, &'a mut T, "{} *"
);

/// The arguments of one kernel, as a tuple.
///
/// # Safety
/// The lists have one entry per parameter, in order, each true to its [`Argument`]; [`Arguments::for_each_home`] visits the home
/// of each of them, and the signature never changes.
pub unsafe trait Arguments {
    /// The parameter types, as they stand in a C++ function type: `(const float *, uint64_t)`.
    fn signature() -> String;

    /// Calls `use_them` with the address of each value.
    fn with_values<R>(&self, use_them: impl FnOnce(&mut [*mut c_void]) -> R) -> R;

    /// Calls `each` with the home of each argument that points to memory; stops at the first error.
    fn for_each_home<E>(&self, each: impl FnMut(&Stream) -> Result<(), E>) -> Result<(), E>;

    /// Calls [`Argument::retain`] of each argument.
    ///
    /// # Errors
    /// The first one.
    fn retain(&self, stream: &Stream) -> Result<()>;
}

macro_rules! tuples {
    ($(($($name:ident)*))*) => {$(
        // SAFETY: one entry per element, in order.
        unsafe impl<$($name: Argument),*> Arguments for ($($name,)*) {
            fn signature() -> String {
                let types: &[String] = &[$($name::cuda_type()),*];
                format!("({})", types.join(", "))
            }

            #[allow(non_snake_case)]
            fn with_values<R>(&self, use_them: impl FnOnce(&mut [*mut c_void]) -> R) -> R {
                let ($($name,)*) = self;
                use_them(&mut [$($name.value().cast_mut()),*])
            }

            #[allow(non_snake_case, unused_mut, unused_variables)]
            fn for_each_home<E>(&self, mut each: impl FnMut(&Stream) -> Result<(), E>) -> Result<(), E> {
                let ($($name,)*) = self;
                $(if let Some(home) = $name.home() { each(home)?; })*
                Ok(())
            }

            #[allow(non_snake_case, unused_variables)]
            fn retain(&self, stream: &Stream) -> Result<()> {
                let ($($name,)*) = self;
                $($name.retain(stream)?;)*
                Ok(())
            }
        }
    )*};
}

tuples! {
    () (A) (A B) (A B C) (A B C D) (A B C D E_) (A B C D E_ F) (A B C D E_ F G) (A B C D E_ F G H) (A B C D E_ F G H I)
    (A B C D E_ F G H I J) (A B C D E_ F G H I J K) (A B C D E_ F G H I J K L) (A B C D E_ F G H I J K L M)
    (A B C D E_ F G H I J K L M N) (A B C D E_ F G H I J K L M N O) (A B C D E_ F G H I J K L M N O P)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_those_of_the_c_side() {
        type Axpy<'a> = (f32, In<'a, f32>, InOut<'a, f32>, u64);
        assert_eq!(Axpy::signature(), "(float, const float *, float *, uint64_t)");
        assert_eq!(<()>::signature(), "()");
    }

    #[test]
    fn values_are_passed_in_order() {
        let values = (1.5f32, 7u64);
        let (a, b) = values.with_values(|list| {
            assert_eq!(list.len(), 2);
            // SAFETY: the first is an f32, the second a u64.
            unsafe { (*list[0].cast::<f32>(), *list[1].cast::<u64>()) }
        });
        assert_eq!((a, b), (1.5, 7));
    }
}
