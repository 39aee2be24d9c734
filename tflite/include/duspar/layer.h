/* Layers without TFLite: `duspar_layer_create`, `duspar_layer_run`. */
#ifndef DUSPAR_LAYER_H_
#define DUSPAR_LAYER_H_

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum duspar_kind {
  DUSPAR_KIND_SPAR = 0,
  DUSPAR_KIND_DUSPAR = 1,
} duspar_kind;

typedef enum duspar_weight_type {
  DUSPAR_FLOAT32 = 0,
  DUSPAR_BFLOAT16 = 1, /* the upper 16 bits of a float32, as int16_t */
  DUSPAR_INT8 = 2,     /* times a float32 scale for each output channel */
} duspar_weight_type;

/* The weights of one sparsifying cell with `inputs` and `outputs`. Kernels
 * have the shape (inputs, outputs), a row for each input.
 *
 * With int8 weights the operand a can be rounded to integers, too, of
 * `operand_bits` bits. All in float32, rint to nearest, ties to even:
 *
 *   q_i = min(rint(a_i * (1 / operand_scale)), 2^bits - 1), 0 unless a_i > 0
 *   S_j = sum of q_i * weight_ij, exact, as an int32
 *
 * and (a @ kernel)_j is S_j * (operand_scale * scale_j). What counts as zero,
 * and is skipped, is q_i. NaN makes all sums of its step NaN. */
typedef struct duspar_cell {
  const void* gate_kernel;
  const void* candidate_kernel;
  const float* gate_bias;       /* (outputs) */
  const float* gate_scale;      /* (outputs), for DUSPAR_INT8, else NULL */
  const float* candidate_scale; /* (outputs), for DUSPAR_INT8, else NULL */
  float operand_scale;          /* above 0; for operands with bits, else 0 */
} duspar_cell;

/* Everything that makes a layer. SpaR leaves `feedback` and the two last
 * biases NULL. */
typedef struct duspar_parameters {
  int32_t kind;                  /* duspar_kind */
  int32_t weight_type;           /* duspar_weight_type */
  int32_t features;              /* N, at least 1 */
  int32_t units;                 /* M, at least 1 */
  int32_t operand_bits;          /* 0: float32; 7 or 8, with DUSPAR_INT8 */
  duspar_cell feedforward;       /* N inputs, M outputs */
  duspar_cell feedback;          /* M inputs, N outputs */
  const float* feedforward_bias; /* (M) */
  const float* feedback_bias;    /* (N) */
} duspar_parameters;

/* What a run counted. `steps` counts each entry of the batch. Operands are
 * {x} of SpaR and {e, y} of DuSpaR; see `duspar_operand`. */
typedef struct duspar_counts {
  uint64_t invocations;
  uint64_t steps;
  uint64_t nonzeros[2];
} duspar_counts;

/* A layer: weights as a kernel wants them. It never changes, so threads may
 * run one layer at the same time. */
typedef struct duspar_layer duspar_layer;

/* Makes a layer from a copy of its parameters.
 *
 * `kernel` names the kernel to use; NULL is the fastest that the processor
 * can run. Returns NULL on failure. */
DUSPAR_API duspar_layer* duspar_layer_create(
    const duspar_parameters* parameters, const char* kernel);

/* Frees a layer. NULL is allowed. */
DUSPAR_API void duspar_layer_destroy(duspar_layer* layer);

/* Returns the name of the kernel that runs `layer`. */
DUSPAR_API const char* duspar_layer_kernel(const duspar_layer* layer);

/* Returns the bytes that the weights of `layer` take in memory. */
DUSPAR_API size_t duspar_layer_bytes(const duspar_layer* layer);

/* Runs a layer over `steps` steps of `batch` sequences.
 *
 * x   (batch, steps, N)  the input
 * f0  (batch, M)         the first state before the first step
 * g0  (batch, N)         the second state; SpaR has none: NULL
 * y   (batch, steps, M)  receives the output, if not NULL
 * f   (batch, M)         receives the state after the last step, if not NULL
 * g   (batch, N)         the same for the second state
 *
 * `f` may be `f0` and `g` may be `g0`; nothing else may overlap. With no
 * steps the states are copied. `counts`, if not NULL, is added to. */
DUSPAR_API duspar_status duspar_layer_run(const duspar_layer* layer,
                                          int64_t batch, int64_t steps,
                                          const float* x, const float* f0,
                                          const float* g0, float* y, float* f,
                                          float* g, duspar_counts* counts);

#ifdef __cplusplus
}
#endif

#endif /* DUSPAR_LAYER_H_ */
