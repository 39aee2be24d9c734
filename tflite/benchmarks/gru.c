/* A dense GRU of float32 with the vectors of the sparse layers. Compiled once
 * for each VECTORS, as GRU with the name GRU_NAME.
 *
 * Weights are packed by tiles of TILE vectors, a row for each entry of the
 * input and then of the state; every row is read.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include VECTORS

#include "gru_gates.h"

/* Four sums for each vector, in 16 or 32 registers. */
enum { TILE = VF_LANES == 8 ? 3 : 4 };

/* Adds the products of one vector with its rows. `last` is the third sum. */
DUSPAR_INLINE void add_products(int width, const float* rows,
                                const float* values, size_t count, vf* update,
                                vf* reset, vf* last) {
  for (size_t k = 0; k < count; ++k, rows += 3 * width * VF_LANES) {
    const vf value = vf_set(values[k]);
    DUSPAR_UNROLL for (int t = 0; t < width; ++t) {
      const float* w = rows + 3 * t * VF_LANES;
      update[t] = vf_fma(value, vf_load(w), update[t]);
      reset[t] = vf_fma(value, vf_load(w + VF_LANES), reset[t]);
      last[t] = vf_fma(value, vf_load(w + 2 * VF_LANES), last[t]);
    }
  }
}

DUSPAR_INLINE void run_tile(int width, const gru* g, size_t j, const char* tile,
                            const float* x, const float* state, float* next) {
  const float* rows = (const void*)tile;
  vf update[TILE], reset[TILE], input[TILE], candidate[TILE];
  DUSPAR_UNROLL for (int t = 0; t < width; ++t) {
    const float* bias = g->vectors + 4 * (j + (size_t)t * VF_LANES);
    update[t] = vf_load(bias);
    reset[t] = vf_load(bias + VF_LANES);
    input[t] = vf_load(bias + 2 * VF_LANES);
    candidate[t] = vf_load(bias + 3 * VF_LANES);
  }
  add_products(width, rows, x, g->inputs, update, reset, input);
  rows += g->inputs * 3 * (size_t)width * VF_LANES;
  add_products(width, rows, state, g->units, update, reset, candidate);
  DUSPAR_UNROLL for (int t = 0; t < width; ++t) {
    const size_t at = j + (size_t)t * VF_LANES;
    vf_store(next + at, gru_gates(update[t], reset[t], input[t], candidate[t],
                                  vf_load(state + at)));
  }
}

static void step(const gru* g, const float* x, float* state) {
  float* next = g->scratch;
  GRU_RUN_TILES((g->inputs + g->units) * 3 * VF_LANES * sizeof(float));
}

static size_t weight_bytes(size_t inputs, size_t units) {
  return (inputs + units) * 3 * gru_padded(units) * sizeof(float);
}

static size_t scratch_bytes(size_t inputs, size_t units) {
  (void)inputs;
  return gru_padded(units) * sizeof(float);
}

static void pack(gru* g, const float* kernel, const float* recurrent,
                 const float* bias) {
  const size_t m = g->units, vectors = gru_padded(m) / VF_LANES;
  float* to = g->weights;
  for (size_t first = 0; first < vectors;) {
    const size_t width = gru_width(vectors, first, TILE);
    for (size_t k = 0; k < g->inputs + m; ++k) {
      const float* row = k < g->inputs ? kernel + k * 3 * m
                                       : recurrent + (k - g->inputs) * 3 * m;
      for (size_t t = 0; t < 3 * width; ++t) {
        for (size_t lane = 0; lane < VF_LANES; ++lane) {
          const size_t unit = (first + t / 3) * VF_LANES + lane;
          *to++ = unit < m ? row[(t % 3) * m + unit] : 0;
        }
      }
    }
    first += width;
  }
  for (size_t unit = 0; unit < m; ++unit) {
    float* at = g->vectors + unit / VF_LANES * 4 * VF_LANES + unit % VF_LANES;
    at[0] = bias[unit] + bias[3 * m + unit];
    at[VF_LANES] = bias[m + unit] + bias[4 * m + unit];
    at[2 * VF_LANES] = bias[2 * m + unit];
    at[3 * VF_LANES] = bias[5 * m + unit];
  }
}

const gru_kernel GRU = {GRU_NAME, weight_bytes, scratch_bytes, pack, step};
