//! The scalars of a solve as they stand in device memory.
#![expect(unsafe_code, reason = "the layout promise of a structure that kernels share")]

use gpu_driver::{DevicePod, Header, joined_text, kernel_constants};

kernel_constants! {
    const CONSTANTS: &str;
    /// Iterations whose residuals the state remembers.
    pub(crate) const HISTORY: usize = 64;
}

/// The header of this constant.
pub(super) const STATE_CONSTANTS: Header = Header {
    name: "cg_constants.cuh",
    text: joined_text![
        "#pragma once\n#include \"prelude.cuh\"\nnamespace gpu_sparse {\n",
        CONSTANTS,
        "} // namespace gpu_sparse\n",
    ],
};

/// Twin of `Scalars` in cg_state.cuh, which explains the fields.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scalars {
    pub(crate) rho: f64,
    pub(crate) square: f64,
    pub(crate) curvature: f64,
    pub(crate) alpha: f64,
    pub(crate) step: f64,
    pub(crate) beta: f64,
    pub(crate) evidence: f64,
    pub(crate) scale: f64,
    pub(crate) limit: f64,
    pub(crate) growth: f64,
    pub(crate) iteration: u64,
    pub(crate) maxiter: u64,
    pub(crate) stop: u32,
    pub(crate) wants_rho: u32,
}

/// Twin of `SolverState` there.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct SolverState {
    pub(crate) start: Scalars,
    pub(crate) step: Scalars,
    pub(crate) total: f64,
    pub(crate) history: [f64; HISTORY],
}

// SAFETY: numbers alone, without padding: twice twelve of 8 bytes and two of 4, then 1 + HISTORY of 8. cg_state.cuh asserts the same size.
unsafe impl DevicePod for SolverState {
    const CUDA_NAME: &'static str = "gpu_sparse::SolverState";
}

const _: () = assert!(size_of::<SolverState>() == 216 + 8 * HISTORY);

/// Why a solve on the device stopped; `Stop` in cg_state.cuh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    Reached,
    MaxIterations,
    CurvatureNotFinite,
    StepNotFinite,
    ResidualNotFinite,
    RhoNotFinite,
    NotPositiveDefinite,
    PreconditionerNotPositive,
}

impl Scalars {
    /// Before any pass.
    pub(crate) const START: Self = Self {
        rho: 0.0,
        square: 0.0,
        curvature: 0.0,
        alpha: 0.0,
        step: 0.0,
        beta: 0.0,
        evidence: 0.0,
        scale: 1.0,
        limit: 0.0,
        growth: 0.0,
        iteration: 0,
        maxiter: 0,
        stop: 0,
        wants_rho: 0,
    };

    /// The reason for the stop; `None` while the solve runs.
    pub(crate) fn stop(&self) -> Option<Stop> {
        match self.stop {
            0 => None,
            1 => Some(Stop::Reached),
            2 => Some(Stop::MaxIterations),
            3 => Some(Stop::CurvatureNotFinite),
            4 => Some(Stop::StepNotFinite),
            5 => Some(Stop::ResidualNotFinite),
            6 => Some(Stop::RhoNotFinite),
            7 => Some(Stop::NotPositiveDefinite),
            _ => Some(Stop::PreconditionerNotPositive),
        }
    }
}

impl SolverState {
    /// Before a sequence of iterations that starts with these scalars.
    pub(crate) const fn new(start: Scalars) -> Self {
        Self { start, step: start, total: 0.0, history: [0.0; HISTORY] }
    }

    /// `r . r` after iteration `iteration`, one of the last [`HISTORY`].
    pub(crate) fn square_after(&self, iteration: u64) -> f64 {
        self.history[(iteration % HISTORY as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The constants on the CUDA side, read from its text.
    #[test]
    fn both_sides_name_the_same_stops() {
        let text = include_str!("cg_state.cuh");
        let list = text.split("enum Stop : uint32_t {").nth(1).unwrap().split('}').next().unwrap();
        let names: Vec<String> = list.split(',').map(|name| name.trim().replace('_', "").to_lowercase()).collect();
        assert_eq!(names[0], "running");
        for (code, name) in names.iter().enumerate().skip(1).filter(|(_, name)| !name.is_empty()) {
            let stop = Scalars { stop: code as u32, ..Scalars::START }.stop().unwrap();
            assert_eq!(format!("{stop:?}").to_lowercase(), *name);
        }
        assert_eq!(Scalars::START.stop(), None);
    }
}
