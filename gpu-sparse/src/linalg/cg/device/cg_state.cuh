// The scalars of a solve by conjugate gradients, and every decision about them.
//
// The decisions are those of linalg/cg/stepwise.rs, in the same order and with the same operations,
// each correctly rounded. A pass stores sums of its blocks. Every block of the next pass adds them
// up, in one order, and comes to the same decision, so that no block waits for another and nothing
// goes through one block. Block 0 writes the decision down. A solve that has stopped changes
// nothing any more, even if more passes are launched.
#pragma once
#include "prelude.cuh"
#include "cg_constants.cuh"

namespace gpu_sparse {

// Why a solve stopped. The host's twin: state.rs.
enum Stop : uint32_t {
    RUNNING,
    REACHED,
    MAX_ITERATIONS,
    CURVATURE_NOT_FINITE,
    STEP_NOT_FINITE,
    RESIDUAL_NOT_FINITE,
    RHO_NOT_FINITE,
    NOT_POSITIVE_DEFINITE,
    PRECONDITIONER_NOT_POSITIVE,
};

struct Scalars {
    double rho;               // r . z
    double square;            // r . r
    double curvature;         // p . q
    double alpha, step, beta; // rounded to the vectors' type
    double evidence;          // the number that stopped the solve, if there is one
    double scale;             // unit of r, p, q, z
    double limit;             // a norm of r, in the caller's unit, at which to stop
    double growth;            // the most by which the norm of r may grow in an iteration
    uint64_t iteration, maxiter;
    uint32_t stop;      // a Stop
    uint32_t wants_rho; // set by a probe for the host: 1 when r . z of the new residual is wanted
};

struct SolverState {
    Scalars start; // of an iteration: stored by its last pass, read by its first two
    Scalars step;  // with alpha and step: stored by the second pass, read by those after it
    double total;  // a sum that is for the host alone
    double history[HISTORY]; // r . r after iteration i, at i % HISTORY
};
static_assert(sizeof(SolverState) == 216 + 8 * HISTORY, "as the host passes it");

__device__ inline void stop(Scalars &s, Stop reason, double evidence) {
    s.stop = reason;
    s.evidence = evidence;
}

// After q = A p: decides the step.
template <class T> __device__ void decide_step(Scalars &s, double curvature) {
    s.curvature = curvature;
    if (!isfinite(curvature)) return stop(s, CURVATURE_NOT_FINITE, 0);
    if (curvature <= 0) return stop(s, NOT_POSITIVE_DEFINITE, curvature);
    double ratio = s.rho / curvature;
    T alpha = T(ratio), step = T(ratio * s.scale);
    if (!isfinite(alpha) || !isfinite(step)) return stop(s, STEP_NOT_FINITE, 0);
    s.alpha = double(alpha);
    s.step = double(step);
}

// After r -= alpha q: returns true when the iteration counts, so that x takes its step. The solve
// goes on unless it is stopped.
__device__ inline bool decide_residual(Scalars &s, double square) {
    double before = s.square;
    s.square = square;
    if (!isfinite(square)) {
        stop(s, RESIDUAL_NOT_FINITE, 0);
        return false;
    }
    if (square > before * s.growth * s.growth) {
        stop(s, NOT_POSITIVE_DEFINITE, s.curvature);
        return false;
    }
    s.iteration++;
    if (sqrt(square) * s.scale <= s.limit) stop(s, REACHED, 0);
    return true;
}

// With r . z of the new residual: decides whether and how to go on.
template <class T> __device__ void decide_direction(Scalars &s, double rho) {
    if (!isfinite(rho)) return stop(s, RHO_NOT_FINITE, 0);
    if (rho <= 0) return stop(s, PRECONDITIONER_NOT_POSITIVE, rho);
    if (s.iteration >= s.maxiter) return stop(s, MAX_ITERATIONS, 0);
    s.beta = double(T(rho / s.rho));
    s.rho = rho;
}

} // namespace gpu_sparse
