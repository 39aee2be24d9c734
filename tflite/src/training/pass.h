/* Forward and backward passes over whole sequences, in slices of the batch.
 *
 * A variant's trainer computes one slice: forward_template.h and
 * backward_template.h are compiled once for each. training.c checks, divides
 * the batch and adds up.
 *
 * Rows of numbers are padded to whole vectors: a width w becomes w rounded up
 * to a multiple of `lanes`. What lies in the padding is zero.
 */
#ifndef DUSPAR_TRAINING_PASS_H_
#define DUSPAR_TRAINING_PASS_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "duspar.h"

/* Memory that is dealt out from its start; without a base it only counts. */
typedef struct duspar_arena {
  float* base;
  size_t used;
} duspar_arena;

/* Takes `count` floats, in whole cache lines. */
static inline float* duspar_arena_take(duspar_arena* arena, size_t count) {
  float* start = arena->base == NULL ? NULL : arena->base + arena->used;
  arena->used += duspar_round_up(count, 16);
  return start;
}

/* A sparsifying cell, ready to be multiplied. */
typedef struct duspar_packed_cell {
  size_t inputs, outputs;
  float* panels; /* of gate and candidate side by side, for forward */
  float* rows;   /* of gate and candidate after each other, for backward */
  float* gate_bias;
  float* offset; /* feedforward: added to f; feedback: added to g */
} duspar_packed_cell;

/* What all slices of a pass share. A forward pass leaves the gradients NULL.
 */
typedef struct duspar_pass {
  bool dual; /* DuSpaR */
  size_t batch, steps, features, units;
  size_t chunk; /* steps between states that are kept */
  size_t padded_features, padded_units;
  duspar_packed_cell cells[2];
  const float *x, *f0, *g0;
  float *y, *f, *g;
  const float *dy, *df, *dg;
  float *dx, *df0, *dg0;
  float inverse_width; /* of the meter; 0 if there is none */
  float* charges[2];   /* gradient of each entry of e and of y where the sigmoid
                        * is steepest, padded; NULL without a meter */
} duspar_pass;

/* Gradients of the weights of one slice, padded. */
typedef struct duspar_slice_gradients {
  float* kernels[2]; /* (inputs, gate and candidate) of each cell */
  float* gate_bias[2];
  float* offset[2];
} duspar_slice_gradients;

/* Some rows of the batch. */
typedef struct duspar_slice {
  size_t first, rows;
  float* reserve; /* states before each chunk, for backward; or NULL */
  float* gates;   /* of all steps, or NULL: they are computed again */
  float* scratch;
  uint64_t* nonzeros; /* of each operand; or NULL: they are not counted */
  duspar_slice_gradients gradients;
} duspar_slice;

/* The passes over a slice, as a variant computes them. */
typedef struct duspar_trainer {
  size_t lanes;
  /* Floats of scratch memory of a slice. */
  size_t (*scratch)(const duspar_pass* pass, size_t rows, bool backward);
  /* Copies the kernels of a cell to where it points. */
  void (*pack)(const duspar_packed_cell* cell, const float* gate,
               const float* candidate, bool backward);
  void (*forward)(const duspar_pass* pass, const duspar_slice* slice);
  void (*backward)(const duspar_pass* pass, const duspar_slice* slice);
} duspar_trainer;

/* Floats of the states of a slice: f, then g. */
static inline size_t duspar_states_size(const duspar_pass* pass, size_t rows) {
  return rows * (pass->padded_units + (pass->dual ? pass->padded_features : 0));
}

/* Floats of what a step of a slice computes: gate and candidate of the
 * feedforward cell, then of the other. */
static inline size_t duspar_gates_size(const duspar_pass* pass, size_t rows) {
  return 2 * duspar_states_size(pass, rows);
}

#endif /* DUSPAR_TRAINING_PASS_H_ */
