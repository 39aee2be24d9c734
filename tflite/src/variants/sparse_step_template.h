/* The fast kernels: one text, compiled once for each set of instructions.
 *
 * A file `kernels_*.c` defines KERNEL (the name of its `duspar_kernel`),
 * KERNEL_NAME and KERNEL_USABLE, includes a `vector_*.h`, and then this. What
 * a vector file brings:
 *
 *   LANES              floats in a vector; MAX_TILE, see below
 *   vf, vi             vectors of float and of int32_t
 *   vf_load vf_store vf_set vf_add vf_sub vf_mul vf_fma vf_div
 *   vf_load_part vf_store_part    only the first `count` lanes; vf_first makes
 *                      the others zero
 *   vf_any_nan(v)      whether a lane is NaN; vf_to_bytes stores what is
 *                      integers from 0 to 255, and NaN as any
 *   vf_atleast(l, v)   max(l, v), and vf_atmost(l, v): NaN in v stays NaN
 *   vf_pow2(v)         2 to the power of the integer in the low bits of v
 *   vf_split(v, &m)    v = m times 2 to the power of the result, m from 2/3 to
 *                      4/3, for v that is normal and above zero
 *   vf_magnitude(v)    |v|; vf_sign(v, s): v >= 0 with the sign of s
 *   vf_bfloat16_low, vf_bfloat16_high, vf_int8    floats of narrow weights
 *   vi_zero, vi_to_vf
 *   compact            keeps the lanes that are not zero or below
 *   vq, vq_load, dot_rows    four operands, and four rows times them
 *   prefetch
 *
 * Outputs are cut into tiles of at most MAX_TILE vectors, so that the sums of
 * a tile stay in registers. A tile of the packed weights holds a row for each
 * input, and a row the weights to the gate and to the candidate, vector by
 * vector. An input that is zero skips its rows, as does one whose weights are
 * all zero, and the others are listed before, so that the loop over them has
 * no branches.
 *
 * Weights that are too many for the second cache make one tile: they come from
 * far away, which is fast only in long pieces, and the sums go to memory.
 */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "log_mel/log_mel_template.h"
#include "simd/gates.h"
#include "variants/packing_template.h"
#include "variants/variants.h"

/* The vector of an operand that begins with entry `i`; what lies behind the
 * operand's end is zero. */
INLINE vf read_operand(const duspar_step_operand* a, size_t i, size_t rest) {
  const bool part = rest < LANES;
  vf v = vf_set(0.0f);
  if (a->x != NULL) {
    v = part ? vf_load_part(a->x + i, rest) : vf_load(a->x + i);
  }
  if (a->state != NULL) {
    const vf moved = vf_add(vf_load(a->state + i), vf_load(a->bias + i));
    v = a->x != NULL ? vf_sub(v, moved) : moved;
    if (part) v = vf_first(v, rest);
  }
  if (a->out != NULL) {
    if (part) {
      vf_store_part(a->out + i, v, rest);
    } else {
      vf_store(a->out + i, v);
    }
  }
  return v;
}

/* Takes entries out of the list whose weights are all zero. Infinity stays:
 * times zero it is NaN. No branches: they could not be foreseen. */
static size_t drop_pruned(const char* alive, const operand_list* list,
                          size_t count) {
  size_t kept = 0;
  for (size_t k = 0; k < count; ++k) {
    const uint32_t i = list->index[k];
    const float value = list->value[k];
    list->index[kept] = i;
    list->value[kept] = value;
    kept += (size_t)alive[i] | (size_t)!(value <= FLT_MAX);
  }
  return kept;
}

/* Lists the entries of an operand that are not zero or below, sets how many
 * there are, and returns how many of them have weights. With integers they are
 * rounded before, to at most `most`, and NaN is put in `lost`. */
INLINE size_t list_operand(const duspar_shape* shape, const void* packed,
                           const parts* p, const duspar_step_operand* a,
                           bool integers, const operand_list* list,
                           size_t* counted, bool* lost) {
  const vf shift = vf_set(12582912.0f);
  const vf most = vf_set((float)((1 << shape->operand_bits) - 1));
  vf nan = vf_set(0.0f);
  size_t count = 0;
  for (size_t i = 0; i < shape->inputs; i += LANES) {
    vf v = read_operand(a, i, shape->inputs - i);
    if (integers) {
      v = vf_mul(v, vf_set(p->inverse));
      v = vf_atmost(most, vf_atleast(vf_set(0.0f), v));
      v = vf_sub(vf_add(v, shift), shift);
      nan = vf_add(nan, v);
    }
    count += compact(v, (uint32_t)i, list->index + count, list->value + count);
  }
  *counted = count;
  if (p->pruned) {
    count = drop_pruned((const char*)packed + p->alive, list, count);
  }
  /* At the end, rows that are multiplied with zero: any. */
  for (size_t k = 0; k < AHEAD; ++k) {
    list->index[count + k] = count ? list->index[count - 1] : 0;
  }
  if (integers) {
    *lost = vf_any_nan(nan);
    for (size_t k = 0; k < count; k += LANES) {
      vf_to_bytes(vf_load(list->value + k), list->integer + k);
    }
    for (size_t k = count; k < count + 4; ++k) list->integer[k] = 0;
  }
  return count;
}

INLINE size_t item_bytes(duspar_format format) {
  return format == DUSPAR_FORMAT_FLOAT32    ? 4
         : format == DUSPAR_FORMAT_BFLOAT16 ? 2
                                            : 1;
}

/* The weights of a row to both sums of vector `t`. */
INLINE void load_pair(duspar_format format, const char* row, size_t t, vf* gate,
                      vf* candidate) {
  const char* pair = row + t * 2 * LANES * item_bytes(format);
  if (format == DUSPAR_FORMAT_FLOAT32) {
    *gate = vf_load((const float*)(const void*)pair);
    *candidate = vf_load((const float*)(const void*)pair + LANES);
  } else if (format == DUSPAR_FORMAT_BFLOAT16) {
    *gate = vf_bfloat16_low(pair);
    *candidate = vf_bfloat16_high(pair);
  } else {
    *gate = vf_int8((const int8_t*)pair);
    *candidate = vf_int8((const int8_t*)pair + LANES);
  }
}

/* Vectors of what a step needs beside the weights. */
typedef struct outputs {
  const float* bias;
  const float* gate_scale;
  const float* candidate_scale;
  float* state;
} outputs;

static outputs find_outputs(const void* packed, const parts* p, float* state) {
  const float* bias = (const void*)((const char*)packed + p->bias);
  const float* scales = (const void*)((const char*)packed + p->scales);
  return (outputs){bias, scales, scales + p->padded, state};
}

/* Moves a vector of the state by its sums. */
INLINE void finish(bool scaled, vf gate, vf candidate, const outputs* out,
                   size_t j) {
  if (scaled) {
    gate = vf_mul(gate, vf_load(out->gate_scale + j));
    candidate = vf_mul(candidate, vf_load(out->candidate_scale + j));
  }
  gate = vf_add(gate, vf_load(out->bias + j));
  vf_store(out->state + j,
           move_state(gate, candidate, vf_load(out->state + j)));
}

/* One tile. `width` and `format` are constants. */
INLINE void run_tile(duspar_format format, size_t width, const char* tile,
                     const operand_list* list, size_t count, const outputs* out,
                     size_t j) {
  const size_t row_bytes = 2 * width * LANES * item_bytes(format);
  vf gate[MAX_TILE], candidate[MAX_TILE];
  UNROLL for (size_t t = 0; t < width; ++t) {
    gate[t] = candidate[t] = vf_set(0.0f);
  }
  for (size_t k = 0; k < count; ++k) {
    const char* row = tile + list->index[k] * row_bytes;
    const char* next = tile + list->index[k + AHEAD] * row_bytes;
    UNROLL for (size_t b = 0; b < row_bytes; b += LINE) prefetch(next + b);
    const vf value = vf_set(list->value[k]);
    UNROLL for (size_t t = 0; t < width; ++t) {
      vf to_gate, to_candidate;
      load_pair(format, row, t, &to_gate, &to_candidate);
      gate[t] = vf_fma(value, to_gate, gate[t]);
      candidate[t] = vf_fma(value, to_candidate, candidate[t]);
    }
  }
  UNROLL for (size_t t = 0; t < width; ++t) {
    finish(format == DUSPAR_FORMAT_INT8, gate[t], candidate[t], out,
           j + t * LANES);
  }
}

/* Adds whole rows, `rows` at a time, to the sums in memory. */
INLINE void add_rows(duspar_format format, size_t rows, const char* tile,
                     size_t vectors, const operand_list* list, size_t k) {
  const size_t row_bytes = 2 * vectors * LANES * item_bytes(format);
  const char* row[ROWS];
  vf value[ROWS];
  UNROLL for (size_t r = 0; r < rows; ++r) {
    row[r] = tile + list->index[k + r] * row_bytes;
    value[r] = vf_set(list->value[k + r]);
  }
  for (size_t t = 0; t < vectors; ++t) {
    float* sums = list->sums + 2 * t * LANES;
    vf gate = vf_load(sums), candidate = vf_load(sums + LANES);
    UNROLL for (size_t r = 0; r < rows; ++r) {
      vf to_gate, to_candidate;
      load_pair(format, row[r], t, &to_gate, &to_candidate);
      gate = vf_fma(value[r], to_gate, gate);
      candidate = vf_fma(value[r], to_candidate, candidate);
    }
    vf_store(sums, gate);
    vf_store(sums + LANES, candidate);
  }
}

INLINE void run_rows(duspar_format format, const char* tile, size_t vectors,
                     const operand_list* list, size_t count,
                     const outputs* out) {
  size_t k = 0;
  memset(list->sums, 0, 2 * vectors * LANES * sizeof(float));
  for (; k + ROWS <= count; k += ROWS) {
    add_rows(format, ROWS, tile, vectors, list, k);
  }
  for (; k < count; ++k) add_rows(format, 1, tile, vectors, list, k);
  for (size_t t = 0; t < vectors; ++t) {
    const float* sums = list->sums + 2 * t * LANES;
    finish(format == DUSPAR_FORMAT_INT8, vf_load(sums), vf_load(sums + LANES),
           out, t * LANES);
  }
}

/* A step with operands of float32. */
INLINE size_t run_floats(duspar_format format, const duspar_shape* shape,
                         const void* packed, const duspar_step_operand* a,
                         float* state, void* scratch) {
  const parts p = *(const parts*)packed;
  const operand_list list = find_list(shape, scratch);
  const outputs out = find_outputs(packed, &p, state);
  size_t counted;
  const size_t count =
      list_operand(shape, packed, &p, a, false, &list, &counted, NULL);
  const size_t vectors = p.padded / LANES;
  const char* tile = (const char*)packed + p.tiles;
  if (p.far) {
    run_rows(format, tile, vectors, &list, count, &out);
    return counted;
  }
  for (size_t first = 0; first < vectors;) {
    const size_t width = tile_width(&p, first);
#define CASE(WIDTH)                                                  \
  case WIDTH:                                                        \
    run_tile(format, WIDTH, tile, &list, count, &out, first* LANES); \
    break;
    switch (width) {
      CASE(1)
      CASE(2)
      CASE(3)
      CASE(4)
#if MAX_TILE >= 5
      CASE(5)
#endif
#if MAX_TILE >= 6
      CASE(6)
      CASE(7)
      CASE(8)
#endif
    }
#undef CASE
    tile += shape->inputs * width * 2 * LANES * item_bytes(format);
    first += width;
  }
  return counted;
}

static size_t step_float32(const duspar_shape* shape, const void* packed,
                           const duspar_step_operand* a, float* state,
                           void* scratch) {
  return run_floats(DUSPAR_FORMAT_FLOAT32, shape, packed, a, state, scratch);
}

static size_t step_bfloat16(const duspar_shape* shape, const void* packed,
                            const duspar_step_operand* a, float* state,
                            void* scratch) {
  return run_floats(DUSPAR_FORMAT_BFLOAT16, shape, packed, a, state, scratch);
}

static size_t step_int8(const duspar_shape* shape, const void* packed,
                        const duspar_step_operand* a, float* state,
                        void* scratch) {
  return run_floats(DUSPAR_FORMAT_INT8, shape, packed, a, state, scratch);
}

/* Adds four rows of integers to the sums of QUAD outputs. */
INLINE void add_integers(int bits, const char* tile, size_t row_bytes,
                         const operand_list* list, size_t k, vi gate[4],
                         vi candidate[4]) {
  const int8_t* rows = (const int8_t*)tile;
  const vq q = vq_load(bits, list->integer + k);
  const int8_t* r0 = rows + list->index[k] * row_bytes;
  const int8_t* r1 = rows + list->index[k + 1] * row_bytes;
  const int8_t* r2 = rows + list->index[k + 2] * row_bytes;
  const int8_t* r3 = rows + list->index[k + 3] * row_bytes;
  dot_rows(bits, gate, r0, r1, r2, r3, q);
  dot_rows(bits, candidate, r0 + QUAD, r1 + QUAD, r2 + QUAD, r3 + QUAD, q);
}

/* One tile of integers: the sums of the gate, then of the candidate. */
INLINE void sum_integers(int bits, const char* tile, const operand_list* list,
                         size_t count, vi sums[8]) {
  vi gate[4], candidate[4]; /* in registers */
  UNROLL for (int t = 0; t < 4; ++t) gate[t] = candidate[t] = vi_zero();
  for (size_t k = 0; k < count; k += 4) {
    UNROLL for (size_t r = 0; r < 4; ++r) {
      const char* next = tile + (size_t)list->index[k + 8 + r] * 2 * QUAD;
      UNROLL for (int b = 0; b < 2 * QUAD; b += LINE) prefetch(next + b);
    }
    add_integers(bits, tile, 2 * QUAD, list, k, gate, candidate);
  }
  UNROLL for (int t = 0; t < 4; ++t) {
    sums[t] = gate[t];
    sums[t + 4] = candidate[t];
  }
}

/* Whole rows of integers, four at a time, with the sums in memory. */
INLINE void add_integer_rows(int bits, const char* tile, size_t padded,
                             const operand_list* list, size_t count) {
  vi* sums = (void*)list->sums;
  memset(sums, 0, 2 * padded * sizeof(int32_t));
  for (size_t k = 0; k < count; k += 4) {
    for (size_t j = 0; j < padded; j += QUAD) {
      vi* gate = sums + 2 * j / LANES;
      add_integers(bits, tile + 2 * j, 2 * padded, list, k, gate, gate + 4);
    }
  }
}

INLINE size_t run_integers(int bits, const duspar_shape* shape,
                           const void* packed, const duspar_step_operand* a,
                           float* state, void* scratch) {
  const parts p = *(const parts*)packed;
  const operand_list list = find_list(shape, scratch);
  const outputs out = find_outputs(packed, &p, state);
  bool lost = false;
  size_t counted;
  const size_t count =
      list_operand(shape, packed, &p, a, true, &list, &counted, &lost);
  const vf keep = vf_set(lost ? NAN : 1.0f);
  const char* tile = (const char*)packed + p.tiles;
  vi here[8];
  vi* sums = p.far ? (void*)list.sums : here;
  if (p.far) add_integer_rows(bits, tile, p.padded, &list, count);
  for (size_t j = 0; j < shape->outputs; j += QUAD) {
    if (!p.far) sum_integers(bits, tile, &list, count, sums);
    UNROLL for (size_t t = 0; t < 4; ++t) {
      if (j + t * LANES >= shape->outputs) continue;
      finish(true, vf_mul(vi_to_vf(sums[t]), keep),
             vf_mul(vi_to_vf(sums[t + 4]), keep), &out, j + t * LANES);
    }
    tile += shape->inputs * 2 * QUAD;
    if (p.far) sums += 8;
  }
  return counted;
}

static size_t step_integer(const duspar_shape* shape, const void* packed,
                           const duspar_step_operand* a, float* state,
                           void* scratch) {
  if (shape->operand_bits == 7) {
    return run_integers(7, shape, packed, a, state, scratch);
  }
  return run_integers(8, shape, packed, a, state, scratch);
}

static bool usable(void) { return KERNEL_USABLE; }

const duspar_kernel KERNEL = {
    .name = KERNEL_NAME,
    .usable = usable,
    .packed_bytes = packed_bytes,
    .scratch_bytes = scratch_bytes,
    .pack = pack,
    .step =
        {
            [DUSPAR_FORMAT_FLOAT32] = step_float32,
            [DUSPAR_FORMAT_BFLOAT16] = step_bfloat16,
            [DUSPAR_FORMAT_INT8] = step_int8,
            [DUSPAR_FORMAT_INTEGER] = step_integer,
        },
    .log_mel = {log_mel_bytes, log_mel_pack, log_mel_run},
};
