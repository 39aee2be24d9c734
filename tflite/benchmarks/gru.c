/* A dense GRU as fast as we can write one, with the same vectors: what sparse
 * layers have to beat. Compiled once for each VECTORS, as the function GRU.
 *
 * As in Keras with `reset_after`: three gates of the input and three of the
 * state. Weights are packed by tiles of TILE vectors, a row for each entry of
 * the input and then of the state; every row is read.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include VECTORS

#include "gru.h"
#include "kernel_gates.h"

/* Four sums for each vector, in 16 or 32 registers. */
enum { TILE = LANES == 8 ? 3 : 4 };

/* Adds the products of one vector with its rows. `last` is the third sum. */
INLINE void add_products(int width, const float* rows, const float* values,
                         size_t count, vf* update, vf* reset, vf* last) {
  for (size_t k = 0; k < count; ++k, rows += 3 * width * LANES) {
    const vf value = vf_set(values[k]);
    UNROLL for (int t = 0; t < width; ++t) {
      const float* w = rows + 3 * t * LANES;
      update[t] = vf_fma(value, vf_load(w), update[t]);
      reset[t] = vf_fma(value, vf_load(w + LANES), reset[t]);
      last[t] = vf_fma(value, vf_load(w + 2 * LANES), last[t]);
    }
  }
}

INLINE vf exponential(vf v) {
  vf p, s;
  v = vf_atmost(vf_set(43.0f), vf_atleast(vf_set(-43.0f), v));
  split_exp(v, &p, &s);
  return vf_fma(s, p, s);
}

INLINE void run_tile(int width, const gru* g, size_t j, const float* tile,
                     const float* x, const float* state, float* next) {
  const vf one = vf_set(1.0f);
  vf update[TILE], reset[TILE], input[TILE], candidate[TILE];
  UNROLL for (int t = 0; t < width; ++t) {
    const float* bias = g->bias + 4 * (j + (size_t)t * LANES);
    update[t] = vf_load(bias);
    reset[t] = vf_load(bias + LANES);
    input[t] = vf_load(bias + 2 * LANES);
    candidate[t] = vf_load(bias + 3 * LANES);
  }
  add_products(width, tile, x, g->inputs, update, reset, input);
  tile += g->inputs * 3 * (size_t)width * LANES;
  add_products(width, tile, state, g->units, update, reset, candidate);
  UNROLL for (int t = 0; t < width; ++t) {
    const size_t at = j + (size_t)t * LANES;
    const vf u = vf_add(one, exponential(vf_sub(vf_set(0.0f), update[t])));
    const vf r = vf_add(one, exponential(vf_sub(vf_set(0.0f), reset[t])));
    const vf inverse = vf_div(one, vf_mul(u, r));
    const vf c = vf_fma(vf_mul(inverse, u), candidate[t], input[t]);
    /* The gate keeps the state: this is its other half. */
    const vf keep = vf_mul(inverse, r);
    const vf b = exponential(vf_add(c, c));
    const vf tanh_c = vf_div(vf_sub(b, one), vf_add(b, one));
    const vf old = vf_load(state + at);
    vf_store(next + at, vf_fma(keep, vf_sub(old, tanh_c), tanh_c));
  }
}

static void step(const gru* g, const float* x, float* state) {
  const size_t vectors = (g->units + LANES - 1) / LANES;
  const float* tile = g->weights;
  for (size_t first = 0; first < vectors;) {
    const size_t rest = vectors - first;
    const size_t tiles = (rest + TILE - 1) / TILE;
    const size_t width = (rest + tiles - 1) / tiles;
    const size_t j = first * LANES;
    switch (width) {
      case 1:
        run_tile(1, g, j, tile, x, state, g->next);
        break;
      case 2:
        run_tile(2, g, j, tile, x, state, g->next);
        break;
      case 3:
        run_tile(3, g, j, tile, x, state, g->next);
        break;
      default:
        run_tile(TILE, g, j, tile, x, state, g->next);
        break;
    }
    tile += (g->inputs + g->units) * 3 * width * LANES;
    first += width;
  }
  memcpy(state, g->next, vectors * LANES * sizeof(float));
}

/* Room for weights as they are read, in floats. */
static size_t room(size_t inputs, size_t units) {
  const size_t padded = (units + LANES - 1) / LANES * LANES;
  return (inputs + units) * 3 * padded;
}

const gru_kernel GRU = {step, room};
