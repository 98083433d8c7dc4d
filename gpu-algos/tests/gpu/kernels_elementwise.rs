//! Kernels of a user's text, run for each place of arrays.
