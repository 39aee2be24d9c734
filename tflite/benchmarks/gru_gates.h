/* What the dense GRUs share, for the vectors included before. */
#ifndef DUSPAR_BENCHMARKS_GRU_GATES_H_
#define DUSPAR_BENCHMARKS_GRU_GATES_H_

#include "gru.h"
#include "simd/functions_template.h"

DUSPAR_INLINE vf exponential(vf v) {
  vf p, s;
  v = vf_atmost(vf_set(43.0f), vf_atleast(vf_set(-43.0f), v));
  vf_split_exp(v, &p, &s);
  return vf_fma(s, p, s);
}

/* The next state, of sums with their biases: two gates in one division. */
DUSPAR_INLINE vf gru_gates(vf update, vf reset, vf input, vf candidate,
                           vf old) {
  const vf one = vf_set(1.0f);
  const vf u = vf_add(one, exponential(vf_sub(vf_set(0.0f), update)));
  const vf r = vf_add(one, exponential(vf_sub(vf_set(0.0f), reset)));
  const vf inverse = vf_div(one, vf_mul(u, r));
  const vf c = vf_fma(vf_mul(inverse, u), candidate, input);
  const vf keep = vf_mul(inverse, r); /* the gate keeps the state */
  const vf b = exponential(vf_add(c, c));
  const vf tanh_c = vf_div(vf_sub(b, one), vf_add(b, one));
  return vf_fma(keep, vf_sub(old, tanh_c), tanh_c);
}

/* Vectors of units, and how many of them a tile has that begins at `first`. */
static inline size_t gru_width(size_t vectors, size_t first, size_t most) {
  const size_t rest = vectors - first;
  const size_t tiles = (rest + most - 1) / most;
  return (rest + tiles - 1) / tiles;
}

static inline size_t gru_padded(size_t units) {
  return (units + VF_LANES - 1) / VF_LANES * VF_LANES;
}

/* Runs the tiles of a step; every file has its own `run_tile` and TILE. */
#define GRU_RUN_TILES(bytes_a_vector)                     \
  const size_t vectors = gru_padded(g->units) / VF_LANES; \
  const char* tile = g->weights;                          \
  for (size_t first = 0; first < vectors;) {              \
    const size_t width = gru_width(vectors, first, TILE); \
    const size_t j = first * VF_LANES;                    \
    switch (width) {                                      \
      case 1:                                             \
        run_tile(1, g, j, tile, x, state, next);          \
        break;                                            \
      case 2:                                             \
        run_tile(2, g, j, tile, x, state, next);          \
        break;                                            \
      case 3:                                             \
        run_tile(3, g, j, tile, x, state, next);          \
        break;                                            \
      default:                                            \
        run_tile(TILE, g, j, tile, x, state, next);       \
        break;                                            \
    }                                                     \
    tile += width * (bytes_a_vector);                     \
    first += width;                                       \
  }                                                       \
  memcpy(state, next, vectors * VF_LANES * sizeof(float))

#endif /* DUSPAR_BENCHMARKS_GRU_GATES_H_ */
