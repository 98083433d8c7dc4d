//! The sweep over failing driver calls, as the tests of every crate with an error of its own need it.

/// Defines `KINDS`, the kinds of driver calls that are made to fail, and the function `sweep` of a crate's tests, which lets each call of one kind
/// fail and returns their number.
///
/// The arguments are the crate's error, the name of the driver's error in a pattern, and that pattern of the crate's error.
/// ```text
/// testkit::failure_sweep!(ArrayError, error in ArrayError::Driver(error));
/// ```
/// `sweep(call, prepare, operation, check)` prepares a state on a device, runs the operation on it with one call failing, and lets `check` look at
/// the state and at the result, which is None where the operation failed. It uses `Emulated::fail_each` of gpu-driver, which the tests depend on.
#[macro_export]
macro_rules! failure_sweep {
    ($error:ty, $driver:ident in $pattern:pat) => {
        const KINDS: [::gpu_driver::emulated::Call; 5] = {
            use ::gpu_driver::emulated::Call;
            [Call::Allocation, Call::Launch, Call::ModuleLoad, Call::Copy, Call::Event]
        };

        fn sweep<S, T>(
            call: ::gpu_driver::emulated::Call,
            prepare: impl Fn(&::gpu_driver::Device) -> ::std::result::Result<S, $error>,
            operation: impl Fn(&mut S) -> ::std::result::Result<T, $error>,
            check: impl Fn(&S, Option<&T>) -> $crate::Outcome,
        ) -> ::std::result::Result<u64, Box<dyn ::std::error::Error>> {
            let expected = |error: &$error| match error {
                $pattern => call.leads_to($driver),
                _ => false,
            };
            let prepare = |device: &::gpu_driver::Device| Ok(prepare(device)?);
            Ok(::gpu_driver::emulated::Emulated::new().fail_each(call, prepare, operation, check, expected)?.calls)
        }
    };
}
