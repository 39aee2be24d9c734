/* A dense GRU of int8 weights, one scale for every column, times operands of
 * 8 bits (7 without VNNI, where two products of 8 would not fit). Compiled
 * once for each VECTORS of x86, as GRU with the name GRU_NAME.
 *
 * Weights lie as the instructions want them: for four rows, the four bytes of
 * a column beside each other, by tiles of TILE vectors. Operands are signed;
 * an offset makes them unsigned, and the bias takes it off again. The state
 * stays float and is rounded for the products alone.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include VECTORS

#include "gru_gates.h"

#if defined(__AVX512BW__)
enum { TILE = 4 };
DUSPAR_INLINE vi load(const void* p) { return _mm512_loadu_si512(p); }
DUSPAR_INLINE vi broadcast(int32_t four) { return _mm512_set1_epi32(four); }
#else
enum { TILE = 3 };
DUSPAR_INLINE vi load(const void* p) { return _mm256_loadu_si256(p); }
DUSPAR_INLINE vi broadcast(int32_t four) { return _mm256_set1_epi32(four); }
#endif

#if defined(__AVX512VNNI__)
enum { OFFSET = 128 };
DUSPAR_INLINE vi add_four(vi sum, vi operands, vi weights) {
  return _mm512_dpbusd_epi32(sum, operands, weights);
}
#elif defined(__AVXVNNI__)
enum { OFFSET = 128 };
DUSPAR_INLINE vi add_four(vi sum, vi operands, vi weights) {
  return _mm256_dpbusd_avx_epi32(sum, operands, weights);
}
#elif defined(__AVX512BW__)
enum { OFFSET = 64 };
DUSPAR_INLINE vi add_four(vi sum, vi operands, vi weights) {
  const vi pairs = _mm512_maddubs_epi16(operands, weights);
  return _mm512_add_epi32(sum, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
}
#else
enum { OFFSET = 64 };
DUSPAR_INLINE vi add_four(vi sum, vi operands, vi weights) {
  const vi pairs = _mm256_maddubs_epi16(operands, weights);
  return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
#endif

/* Inputs beyond +-4 are cut off; the state is between -1 and 1. */
static const float input_range = 4.0f, state_range = 1.0f;

static size_t fours(size_t count) { return (count + 3) / 4; }

static void round_operand(const float* from, size_t count, float range,
                          uint8_t* to) {
  const float most = OFFSET - 1, inverse = most / range;
  for (size_t k = 0; k < count; ++k) {
    float v = from[k] * inverse;
    v = v > most ? most : v < -most ? -most : v;
    to[k] = (uint8_t)(int)(v + OFFSET + 0.5f);
  }
}

/* Sums of one operand's products, as floats on top of `to`. */
DUSPAR_INLINE void add_products(int width, const int8_t* rows,
                                const uint8_t* operand, size_t count,
                                const float* scales, vf to[3][TILE]) {
  vi sums[3][TILE];
  DUSPAR_UNROLL for (int t = 0; t < width; ++t) {
    sums[0][t] = sums[1][t] = sums[2][t] = vi_set(0);
  }
  for (size_t k = 0; k < count; ++k, rows += 12 * width * VF_LANES) {
    int32_t four;
    memcpy(&four, operand + 4 * k, sizeof four);
    const vi q = broadcast(four);
    DUSPAR_UNROLL for (int t = 0; t < width; ++t) {
      const int8_t* w = rows + 12 * t * VF_LANES;
      sums[0][t] = add_four(sums[0][t], q, load(w));
      sums[1][t] = add_four(sums[1][t], q, load(w + 4 * VF_LANES));
      sums[2][t] = add_four(sums[2][t], q, load(w + 8 * VF_LANES));
    }
  }
  DUSPAR_UNROLL for (int t = 0; t < width; ++t) {
    DUSPAR_UNROLL for (int i = 0; i < 3; ++i) {
      const vf scale = vf_load(scales + (GRU_VECTORS * t + i) * VF_LANES);
      to[i][t] = vf_fma(vi_to_vf(sums[i][t]), scale, to[i][t]);
    }
  }
}

DUSPAR_INLINE void run_tile(int width, const gru* g, size_t j, const char* tile,
                            const uint8_t* x, const float* state, float* next) {
  const int8_t* rows = (const void*)tile;
  const float* vectors = g->vectors + GRU_VECTORS * j;
  vf of_x[3][TILE], of_state[3][TILE];
  DUSPAR_UNROLL for (int t = 0; t < width; ++t) {
    const float* bias = vectors + GRU_VECTORS * t * VF_LANES;
    of_x[0][t] = vf_load(bias);
    of_x[1][t] = vf_load(bias + VF_LANES);
    of_x[2][t] = vf_load(bias + 2 * VF_LANES);
  }
  add_products(width, rows, x, fours(g->inputs), vectors + 4 * VF_LANES, of_x);
  rows += fours(g->inputs) * 12 * (size_t)width * VF_LANES;
  DUSPAR_UNROLL for (int t = 0; t < width; ++t) {
    of_state[0][t] = of_x[0][t];
    of_state[1][t] = of_x[1][t];
    of_state[2][t] = vf_load(vectors + (GRU_VECTORS * t + 3) * VF_LANES);
  }
  add_products(width, rows, x + 4 * fours(g->inputs), fours(g->units),
               vectors + 7 * VF_LANES, of_state);
  DUSPAR_UNROLL for (int t = 0; t < width; ++t) {
    const size_t at = j + (size_t)t * VF_LANES;
    vf_store(next + at, gru_gates(of_state[0][t], of_state[1][t], of_x[2][t],
                                  of_state[2][t], vf_load(state + at)));
  }
}

static void step(const gru* g, const float* input, float* state) {
  float* next = g->scratch;
  uint8_t* x = (uint8_t*)(next + gru_padded(g->units));
  round_operand(input, g->inputs, input_range, x);
  round_operand(state, g->units, state_range, x + 4 * fours(g->inputs));
  GRU_RUN_TILES((fours(g->inputs) + fours(g->units)) * 12 * VF_LANES);
}

static size_t weight_bytes(size_t inputs, size_t units) {
  return (fours(inputs) + fours(units)) * 12 * gru_padded(units);
}

static size_t scratch_bytes(size_t inputs, size_t units) {
  return gru_padded(units) * sizeof(float) + 4 * (fours(inputs) + fours(units));
}

/* Rounds and packs the four rows from `k` on of one column. */
static void pack_four(const float* matrix, size_t rows, size_t stride, size_t k,
                      size_t column, float scale, int8_t* to) {
  for (size_t i = 0; i < 4; ++i) {
    const float w = k + i < rows ? matrix[(k + i) * stride + column] : 0;
    to[i] = scale > 0 ? (int8_t)lrintf(w / scale) : 0;
  }
}

static float column_scale(const float* matrix, size_t rows, size_t stride,
                          size_t column) {
  float most = 0;
  for (size_t k = 0; k < rows; ++k) {
    most = fmaxf(most, fabsf(matrix[k * stride + column]));
  }
  return most / 127;
}

/* One operand's part of a tile; scales and what the offset adds go to the
 * vectors of bias. */
static int8_t* pack_part(gru* g, const float* matrix, size_t rows, size_t first,
                         size_t width, size_t scales, float range, int8_t* to) {
  const size_t m = g->units;
  const float operand_scale = range / (OFFSET - 1);
  for (size_t t = 0; t < 3 * width; ++t) {
    for (size_t lane = 0; lane < VF_LANES; ++lane) {
      const size_t unit = (first + t / 3) * VF_LANES + lane, gate = t % 3;
      if (unit >= m) continue;
      const size_t column = gate * m + unit;
      const float scale = column_scale(matrix, rows, 3 * m, column);
      float* at = g->vectors + (first + t / 3) * GRU_VECTORS * VF_LANES + lane;
      const size_t bias = gate < 2 ? gate : scales == 4 ? 2 : 3;
      at[(scales + gate) * VF_LANES] = scale * operand_scale;
      for (size_t k = 0; k < fours(rows); ++k) {
        int8_t* four = to + 4 * ((k * 3 * width + t) * VF_LANES + lane);
        pack_four(matrix, rows, 3 * m, 4 * k, column, scale, four);
        for (int i = 0; i < 4; ++i) {
          at[bias * VF_LANES] -=
              OFFSET * (float)four[i] * scale * operand_scale;
        }
      }
    }
  }
  return to + fours(rows) * 12 * width * VF_LANES;
}

static void pack(gru* g, const float* kernel, const float* recurrent,
                 const float* bias) {
  const size_t m = g->units, vectors = gru_padded(m) / VF_LANES;
  for (size_t unit = 0; unit < m; ++unit) {
    float* at =
        g->vectors + unit / VF_LANES * GRU_VECTORS * VF_LANES + unit % VF_LANES;
    at[0] = bias[unit] + bias[3 * m + unit];
    at[VF_LANES] = bias[m + unit] + bias[4 * m + unit];
    at[2 * VF_LANES] = bias[2 * m + unit];
    at[3 * VF_LANES] = bias[5 * m + unit];
  }
  int8_t* to = g->weights;
  for (size_t first = 0; first < vectors;) {
    const size_t width = gru_width(vectors, first, TILE);
    to = pack_part(g, kernel, g->inputs, first, width, 4, input_range, to);
    to = pack_part(g, recurrent, m, first, width, 7, state_range, to);
    first += width;
  }
}

const gru_kernel GRU = {GRU_NAME, weight_bytes, scratch_bytes, pack, step};
