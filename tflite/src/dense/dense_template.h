/* Template: dense layers and layer normalizations of one vector, with the
 * vectors of simd/functions_template.h, which was included before. Defines
 * dense_functions.
 *
 * Outputs are cut into tiles of up to DENSE_TILE vectors. A tile holds a row
 * for each pair of inputs, and a row the weights of both to every vector of
 * outputs: bfloat16 has both in one word. Each has sums of its own, so that
 * additions do not wait for each other.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "dense/dense.h"

enum { DENSE_TILE = 4 };

/* How a packed layer begins. */
typedef struct dense_parts {
  size_t inputs, outputs, vectors;
  bool narrow;
  size_t bias, tiles, end; /* in bytes */
} dense_parts;

static bool dense_find_parts(const duspar_dense_parameters* p, dense_parts* d) {
  const size_t width = p->narrow ? 1 : 2; /* words of a pair of weights */
  size_t pairs, words, padded;
  if (!duspar_add(p->outputs, VF_LANES - 1, &padded) ||
      !duspar_add(p->inputs, 1, &pairs)) {
    return false;
  }
  *d = (dense_parts){.inputs = p->inputs,
                     .outputs = p->outputs,
                     .vectors = padded / VF_LANES,
                     .narrow = p->narrow};
  padded = d->vectors * VF_LANES;
  if (!duspar_multiply(pairs / 2, width, &words) ||
      !duspar_multiply(words, padded, &words)) {
    return false;
  }
  if (!duspar_add_lines(1, sizeof *d, &d->end)) return false;
  d->bias = d->end;
  if (!duspar_add_lines(padded, sizeof(float), &d->end)) return false;
  d->tiles = d->end;
  return duspar_add_lines(words, sizeof(float), &d->end);
}

static bool dense_bytes(const duspar_dense_parameters* p, size_t* bytes) {
  dense_parts d;
  if (!dense_find_parts(p, &d)) return false;
  *bytes = d.end;
  return true;
}

/* The bits of the weight from input `k` to output `j`; zero beyond the end. */
static uint32_t dense_weight(const duspar_dense_parameters* p, size_t j,
                             size_t k) {
  uint32_t bits = 0;
  if (j < p->outputs && k < p->inputs) {
    memcpy(&bits, p->kernel + j * p->inputs + k, sizeof bits);
  }
  return bits;
}

static void dense_pack(const duspar_dense_parameters* p, void* packed) {
  dense_parts d;
  if (!dense_find_parts(p, &d)) return;
  char* to = packed;
  memset(to, 0, d.end);
  memcpy(to, &d, sizeof d);
  if (p->bias != NULL) {
    memcpy(to + d.bias, p->bias, p->outputs * sizeof(float));
  }
  uint32_t* word = (uint32_t*)(void*)(to + d.tiles);
  for (size_t first = 0; first < d.vectors; first += DENSE_TILE) {
    const size_t left = d.vectors - first;
    const size_t width = (left < DENSE_TILE ? left : DENSE_TILE) * VF_LANES;
    for (size_t k = 0; k < p->inputs; k += 2) {
      for (size_t v = 0; v < width; v += VF_LANES) {
        for (size_t lane = 0; lane < VF_LANES; ++lane, ++word) {
          const size_t j = first * VF_LANES + v + lane;
          const uint32_t a = dense_weight(p, j, k);
          const uint32_t b = dense_weight(p, j, k + 1);
          if (d.narrow) {
            *word = a >> 16 | b;
          } else {
            word[0] = a;
            word[VF_LANES] = b;
          }
        }
        if (!d.narrow) word += VF_LANES;
      }
    }
  }
}

/* sigmoid(v) = A / (A + 1) with A = exp(v); see vf_gate_parts. */
DUSPAR_INLINE vf dense_sigmoid(vf v) {
  vf p, s;
  vf_split_exp(vf_atmost(vf_set(43.0f), vf_atleast(vf_set(-43.0f), v)), &p, &s);
  const vf exp_v = vf_fma(s, p, s);
  return vf_div(exp_v, vf_add(exp_v, vf_set(1.0f)));
}

/* Adds the products of a pair of inputs to the sums of `width` vectors. */
DUSPAR_INLINE void dense_add_pair(bool narrow, size_t width, vf a, vf b,
                                  const char* row, vf* even, vf* odd) {
  enum { BYTES = VF_LANES * 4 };
  DUSPAR_UNROLL
  for (size_t v = 0; v < width; ++v) {
    if (narrow) {
      even[v] = vf_fma(a, vf_bfloat16_low(row + v * BYTES), even[v]);
      odd[v] = vf_fma(b, vf_bfloat16_high(row + v * BYTES), odd[v]);
    } else {
      const float* weights = (const float*)(const void*)(row + 2 * v * BYTES);
      even[v] = vf_fma(a, vf_load(weights), even[v]);
      odd[v] = vf_fma(b, vf_load(weights + VF_LANES), odd[v]);
    }
  }
}

/* Computes one tile of `width` vectors, whose weights are at `row`, and
 * returns where those of the next tile are. */
DUSPAR_INLINE const char* dense_tile(bool narrow, size_t width,
                                     const dense_parts* d, const float* x,
                                     const float* bias, const float* factor,
                                     duspar_activation activation,
                                     const char* row, float* out, size_t rest) {
  const size_t bytes = width * VF_LANES * (narrow ? 4 : 8);
  vf even[DENSE_TILE], odd[DENSE_TILE];
  for (size_t v = 0; v < width; ++v) {
    even[v] = vf_load(bias + v * VF_LANES);
    odd[v] = vf_set(0.0f);
  }
  size_t k = 0;
  for (; k + 1 < d->inputs; k += 2, row += bytes) {
    dense_add_pair(narrow, width, vf_set(x[k]), vf_set(x[k + 1]), row, even,
                   odd);
  }
  if (k < d->inputs) {
    dense_add_pair(narrow, width, vf_set(x[k]), vf_set(0.0f), row, even, odd);
    row += bytes;
  }
  for (size_t v = 0; v < width; ++v) {
    const size_t at = v * VF_LANES, left = rest - at;
    vf y = vf_add(even[v], odd[v]);
    if (activation == DUSPAR_RELU) y = vf_rectify(y);
    if (activation == DUSPAR_SIGMOID) y = dense_sigmoid(y);
    if (factor != NULL) y = vf_mul(y, vf_load_rest(factor + at, left));
    vf_store_rest(out + at, y, left);
  }
  return row;
}

DUSPAR_INLINE void dense_tiles(bool narrow, const char* packed, const float* x,
                               const float* factor,
                               duspar_activation activation, float* out) {
  const dense_parts* d = (const dense_parts*)(const void*)packed;
  const float* bias = (const float*)(const void*)(packed + d->bias);
  const char* row = packed + d->tiles;
  for (size_t first = 0; first < d->vectors; first += DENSE_TILE) {
    const size_t at = first * VF_LANES, rest = d->outputs - at;
    const float* times = factor != NULL ? factor + at : NULL;
#define DENSE_RUN(width)                                                   \
  row = dense_tile(narrow, width, d, x, bias + at, times, activation, row, \
                   out + at, rest)
    switch (d->vectors - first) {
      case 1:
        DENSE_RUN(1);
        break;
      case 2:
        DENSE_RUN(2);
        break;
      case 3:
        DENSE_RUN(3);
        break;
      default:
        DENSE_RUN(DENSE_TILE);
    }
#undef DENSE_RUN
  }
}

static void dense_run(const void* packed, const float* x, const float* factor,
                      duspar_activation activation, float* out) {
  if (((const dense_parts*)packed)->narrow) {
    dense_tiles(true, packed, x, factor, activation, out);
  } else {
    dense_tiles(false, packed, x, factor, activation, out);
  }
}

static void dense_normalize(const duspar_norm* norm, const float* x,
                            float* out) {
  const size_t size = norm->size;
  vf sum = vf_set(0.0f);
  for (size_t i = 0; i < size; i += VF_LANES) {
    sum = vf_add(sum, vf_load_rest(x + i, size - i));
  }
  const float mean = vf_sum(sum) / (float)size;
  sum = vf_set(0.0f);
  for (size_t i = 0; i < size; i += VF_LANES) {
    vf v = vf_sub(vf_load_rest(x + i, size - i), vf_set(mean));
    if (size - i < VF_LANES) v = vf_first(v, size - i);
    sum = vf_fma(v, v, sum);
  }
  const float variance = vf_sum(sum) / (float)size;
  const vf inverse = vf_set(1.0f / sqrtf(variance + norm->epsilon));
  for (size_t i = 0; i < size; i += VF_LANES) {
    const size_t left = size - i;
    const vf v = vf_sub(vf_load_rest(x + i, left), vf_set(mean));
    const vf scale = vf_mul(inverse, vf_load_rest(norm->gamma + i, left));
    vf_store_rest(out + i, vf_fma(v, scale, vf_load_rest(norm->beta + i, left)),
                  left);
  }
}

static void dense_add_rows(size_t rows, size_t width, const float* x,
                           float* out) {
  for (size_t at = 0; at < width; at += DENSE_TILE * VF_LANES) {
    vf sums[DENSE_TILE];
    const size_t rest = width - at;
    const size_t vectors = (rest + VF_LANES - 1) / VF_LANES;
    const size_t tile = vectors < DENSE_TILE ? vectors : DENSE_TILE;
    for (size_t v = 0; v < DENSE_TILE; ++v) sums[v] = vf_set(0.0f);
    for (size_t row = 0; row < rows; ++row) {
      const float* from = x + row * width + at;
      for (size_t v = 0; v < tile; ++v) {
        const size_t done = v * VF_LANES;
        sums[v] = vf_add(sums[v], vf_load_rest(from + done, rest - done));
      }
    }
    for (size_t v = 0; v < tile; ++v) {
      const size_t done = v * VF_LANES;
      vf_store_rest(out + at + done, sums[v], rest - done);
    }
  }
}

#define DENSE_FUNCTIONS \
  {dense_bytes, dense_pack, dense_run, dense_normalize, dense_add_rows}
