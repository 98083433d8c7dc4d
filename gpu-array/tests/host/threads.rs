//! Threads that cannot be had. rayon's pool is one of the process, so each case has a process of its own.

use std::{env, process::Command};

use gpu_array::{ArrayError, expression::host, start_threads};
use ndarray::array;

/// Set in the process whose threads cannot be had.
const CHILD: &str = "GPU_ARRAY_TEST_OF_THREADS";

#[test]
fn threads_that_cannot_be_had_are_an_error() {
    if env::var_os(CHILD).is_some() {
        let x = array![1.0, 2.0];
        let refused = (host(&x) + 1.0).eval();
        assert!(matches!(&refused, Err(ArrayError::Threads { reason }) if reason.contains("20000")), "{refused:?}");
        assert!(matches!(start_threads(), Err(ArrayError::Threads { .. })));
        // What returns no error goes on with one thread.
        assert_eq!(rayon::current_num_threads(), 1);
        return;
    }
    let this = env::current_exe().expect("a test has a path");
    let test = "threads::threads_that_cannot_be_had_are_an_error";
    let output = Command::new(this).args(["--exact", test]).env(CHILD, "1").env("RAYON_NUM_THREADS", "20000").output();
    let output = output.expect("it starts");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
}
