/* Training: `duspar_train_forward`, `duspar_train_backward`. Libraries that
 * were built with DUSPAR_TRAINING=OFF do not have these functions.
 */
#ifndef DUSPAR_TRAINING_H_
#define DUSPAR_TRAINING_H_

#include "layer.h"
#include "weights.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a compute budget asks of the passes of a layer: for each operand, e and
 * y or x alone, the occupancy, which is the mean over all entries, steps and
 * sequences of 1 where it is above zero and 0 elsewhere. In its gradient the
 * sigmoid of the entry before it is rectified, divided by `width`, takes the
 * place of this step. */
typedef struct duspar_meter {
  float width;            /* above 0 */
  float* occupancies;     /* receives them in the forward pass, if not NULL */
  const float* gradients; /* of them, for the backward pass; NULL for zeros */
} duspar_meter;

/* What a forward and a backward pass over whole sequences have in common. */
typedef struct duspar_training {
  int32_t kind;       /* duspar_kind */
  int32_t threads;    /* how many may work; 0 and 1 are the caller's alone */
  int64_t batch;      /* sequences, at least 1 */
  int64_t steps;      /* time steps of each, at least 1 */
  int64_t features;   /* N, at least 1 */
  int64_t units;      /* M, at least 1 */
  int64_t chunk;      /* 0, or steps between states that are kept: see below */
  const char* kernel; /* name of the kernel to use; NULL is the fastest */
  const duspar_meter* meter; /* NULL, or what is asked about occupancy */
} duspar_training;

/* Returns the name of training kernel `index` of those that this processor can
 * run, fastest first, or NULL beyond the end. */
DUSPAR_API const char* duspar_train_kernel(size_t index);

/* Sets `*floats` to the size of the reserve: what a forward pass keeps for the
 * backward pass.
 *
 * These are the states before every `chunk` steps; the backward pass computes
 * the steps between them again, which takes a third more time. With `chunk` 0
 * the library chooses the steps and keeps, in memory of its own, what it would
 * have to compute again: 2 (N + M) floats for each step of each sequence, 2 M
 * for SpaR. See `duspar_train_memory`. */
DUSPAR_API duspar_status duspar_train_reserve(const duspar_training* training,
                                              int64_t* floats);

/* Bounds the memory that the library keeps between forward and backward passes
 * and for the next ones, of all threads together, and frees what is above it.
 * With 0 nothing is kept; a negative number leaves the bound, at first 1 GiB.
 * Where the bound is reached, the oldest is lost first: its backward pass
 * takes longer and gives the same. Returns how many bytes are kept now. */
DUSPAR_API int64_t duspar_train_memory(int64_t limit);

/* Runs a layer forward over `steps` steps of `batch` sequences.
 *
 * weights  float32, in the order of duspar/weights.h
 * x, f0, g0, y, f, g as for `duspar_layer_run`; NULL states stand for zeros.
 * reserve  receives what the backward pass needs, if not NULL.
 *
 * Nothing may overlap. Gates are accurate to 2e-7. Results do not depend on
 * the number of threads. */
DUSPAR_API duspar_status duspar_train_forward(const duspar_training* training,
                                              const float* const* weights,
                                              const float* x, const float* f0,
                                              const float* g0, float* y,
                                              float* f, float* g,
                                              float* reserve);

/* Runs backward through time, after `duspar_train_forward` with the same
 * `training`, weights and `x`.
 *
 * reserve     what the forward pass kept
 * dy, df, dg  gradients of y, f and g; NULL stands for zeros
 * dx          receives the gradient of x, if not NULL
 * df0, dg0    receive the gradients of f0 and g0, if not NULL
 * gradients   receive those of the weights, in their order and shapes
 *
 * The gradient of relu at 0 is 0. Nothing may overlap. */
DUSPAR_API duspar_status duspar_train_backward(
    const duspar_training* training, const float* const* weights,
    const float* x, const float* reserve, const float* dy, const float* df,
    const float* dg, float* dx, float* df0, float* dg0,
    float* const* gradients);

/* The two passes as handlers of XLA's foreign function interface, which JAX
 * registers by `jax.ffi.register_ffi_target`. Buffers are float32 but for the
 * first, (kind, threads, chunk, bits of a meter's width or 0) in int32; SpaR
 * has no `g0`, `g`, `dg`, `dg0`, and there are no occupancies without a width.
 *
 *   forward   options, x, f0, g0, weights
 *             -> y, f, g, occupancies and perhaps the reserve
 *   backward  options, x, reserve, dy, df, dg, gradients of the occupancies,
 *             weights -> dx, df0, dg0, gradients of the weights */
struct XLA_FFI_CallFrame;
struct XLA_FFI_Error;
DUSPAR_API struct XLA_FFI_Error* duspar_xla_forward(
    struct XLA_FFI_CallFrame* call);
DUSPAR_API struct XLA_FFI_Error* duspar_xla_backward(
    struct XLA_FFI_CallFrame* call);

#ifdef __cplusplus
}
#endif

#endif /* DUSPAR_TRAINING_H_ */
