/* Template: one step of a cell, with the vectors of simd/functions_template.h,
 * which was included before. Defines cell_step_float32, cell_step_bfloat16,
 * cell_step_int8 and cell_step_integer.
 *
 * Outputs are cut into tiles of at most VF_MAX_TILE vectors, so that the sums
 * of a tile stay in registers. A tile of the packed weights holds a row for
 * each input, and a row the weights to the gate and to the candidate, vector by
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

#include "variants/packing_template.h"
#include "variants/variants.h"

/* The vector of an operand that begins with entry `i`; what lies behind the
 * operand's end is zero. */
DUSPAR_INLINE vf cell_read_operand(const duspar_step_operand* a, size_t i,
                                   size_t rest) {
  vf v = vf_set(0.0f);
  if (a->x != NULL) v = vf_load_rest(a->x + i, rest);
  if (a->state != NULL) {
    const vf moved = vf_add(vf_load(a->state + i), vf_load(a->bias + i));
    v = a->x != NULL ? vf_sub(v, moved) : moved;
    if (rest < VF_LANES) v = vf_first(v, rest);
  }
  if (a->out != NULL) vf_store_rest(a->out + i, v, rest);
  return v;
}

/* Takes entries out of the list whose weights are all zero. Infinity stays:
 * times zero it is NaN. No branches: they could not be foreseen. */
static size_t cell_drop_pruned(const char* alive, const cell_list* list,
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
DUSPAR_INLINE size_t cell_list_operand(const duspar_shape* shape,
                                       const void* packed, const cell_parts* p,
                                       const duspar_step_operand* a,
                                       bool integers, const cell_list* list,
                                       size_t* counted, bool* lost) {
  const vf shift = vf_set(12582912.0f);
  const vf most = vf_set((float)((1 << shape->operand_bits) - 1));
  vf nan = vf_set(0.0f);
  size_t count = 0;
  for (size_t i = 0; i < shape->inputs; i += VF_LANES) {
    vf v = cell_read_operand(a, i, shape->inputs - i);
    if (integers) {
      v = vf_mul(v, vf_set(p->inverse));
      v = vf_atmost(most, vf_atleast(vf_set(0.0f), v));
      v = vf_sub(vf_add(v, shift), shift);
      nan = vf_add(nan, v);
    }
    count +=
        vf_compact(v, (uint32_t)i, list->index + count, list->value + count);
  }
  *counted = count;
  if (p->pruned) {
    count = cell_drop_pruned((const char*)packed + p->alive, list, count);
  }
  /* At the end, rows that are multiplied with zero: any. */
  for (size_t k = 0; k < CELL_AHEAD; ++k) {
    list->index[count + k] = count ? list->index[count - 1] : 0;
  }
  if (integers) {
    *lost = vf_any_nan(nan);
    for (size_t k = 0; k < count; k += VF_LANES) {
      vf_to_bytes(vf_load(list->value + k), list->integer + k);
    }
    for (size_t k = count; k < count + 4; ++k) list->integer[k] = 0;
  }
  return count;
}

DUSPAR_INLINE size_t cell_item_bytes(duspar_format format) {
  return format == DUSPAR_FORMAT_FLOAT32    ? 4
         : format == DUSPAR_FORMAT_BFLOAT16 ? 2
                                            : 1;
}

/* The weights of a row to both sums of vector `t`. */
DUSPAR_INLINE void cell_load_pair(duspar_format format, const char* row,
                                  size_t t, vf* gate, vf* candidate) {
  const char* pair = row + t * 2 * VF_LANES * cell_item_bytes(format);
  if (format == DUSPAR_FORMAT_FLOAT32) {
    *gate = vf_load((const float*)(const void*)pair);
    *candidate = vf_load((const float*)(const void*)pair + VF_LANES);
  } else if (format == DUSPAR_FORMAT_BFLOAT16) {
    *gate = vf_bfloat16_low(pair);
    *candidate = vf_bfloat16_high(pair);
  } else {
    *gate = vf_int8((const int8_t*)pair);
    *candidate = vf_int8((const int8_t*)pair + VF_LANES);
  }
}

/* Vectors of what a step needs beside the weights. */
typedef struct cell_outputs {
  const float* bias;
  const float* gate_scale;
  const float* candidate_scale;
  float* state;
} cell_outputs;

static cell_outputs cell_find_outputs(const void* packed, const cell_parts* p,
                                      float* state) {
  const float* bias = (const void*)((const char*)packed + p->bias);
  const float* scales = (const void*)((const char*)packed + p->scales);
  return (cell_outputs){bias, scales, scales + p->padded, state};
}

/* Moves a vector of the state by its sums. */
DUSPAR_INLINE void cell_finish(bool scaled, vf gate, vf candidate,
                               const cell_outputs* out, size_t j) {
  if (scaled) {
    gate = vf_mul(gate, vf_load(out->gate_scale + j));
    candidate = vf_mul(candidate, vf_load(out->candidate_scale + j));
  }
  gate = vf_add(gate, vf_load(out->bias + j));
  vf_store(out->state + j,
           vf_move_state(gate, candidate, vf_load(out->state + j)));
}

/* One tile. `width` and `format` are constants. */
DUSPAR_INLINE void cell_run_tile(duspar_format format, size_t width,
                                 const char* tile, const cell_list* list,
                                 size_t count, const cell_outputs* out,
                                 size_t j) {
  const size_t row_bytes = 2 * width * VF_LANES * cell_item_bytes(format);
  vf gate[VF_MAX_TILE], candidate[VF_MAX_TILE];
  DUSPAR_UNROLL for (size_t t = 0; t < width; ++t) {
    gate[t] = candidate[t] = vf_set(0.0f);
  }
  for (size_t k = 0; k < count; ++k) {
    const char* row = tile + list->index[k] * row_bytes;
    const char* next = tile + list->index[k + CELL_AHEAD] * row_bytes;
    DUSPAR_UNROLL for (size_t b = 0; b < row_bytes; b += CELL_LINE)
        simd_prefetch(next + b);
    const vf value = vf_set(list->value[k]);
    DUSPAR_UNROLL for (size_t t = 0; t < width; ++t) {
      vf to_gate, to_candidate;
      cell_load_pair(format, row, t, &to_gate, &to_candidate);
      gate[t] = vf_fma(value, to_gate, gate[t]);
      candidate[t] = vf_fma(value, to_candidate, candidate[t]);
    }
  }
  DUSPAR_UNROLL for (size_t t = 0; t < width; ++t) {
    cell_finish(format == DUSPAR_FORMAT_INT8, gate[t], candidate[t], out,
                j + t * VF_LANES);
  }
}

/* Adds whole rows, `rows` at a time, to the sums in memory. */
DUSPAR_INLINE void cell_add_rows(duspar_format format, size_t rows,
                                 const char* tile, size_t vectors,
                                 const cell_list* list, size_t k) {
  const size_t row_bytes = 2 * vectors * VF_LANES * cell_item_bytes(format);
  const char* row[CELL_ROWS];
  vf value[CELL_ROWS];
  DUSPAR_UNROLL for (size_t r = 0; r < rows; ++r) {
    row[r] = tile + list->index[k + r] * row_bytes;
    value[r] = vf_set(list->value[k + r]);
  }
  for (size_t t = 0; t < vectors; ++t) {
    float* sums = list->sums + 2 * t * VF_LANES;
    vf gate = vf_load(sums), candidate = vf_load(sums + VF_LANES);
    DUSPAR_UNROLL for (size_t r = 0; r < rows; ++r) {
      vf to_gate, to_candidate;
      cell_load_pair(format, row[r], t, &to_gate, &to_candidate);
      gate = vf_fma(value[r], to_gate, gate);
      candidate = vf_fma(value[r], to_candidate, candidate);
    }
    vf_store(sums, gate);
    vf_store(sums + VF_LANES, candidate);
  }
}

DUSPAR_INLINE void cell_run_rows(duspar_format format, const char* tile,
                                 size_t vectors, const cell_list* list,
                                 size_t count, const cell_outputs* out) {
  size_t k = 0;
  memset(list->sums, 0, 2 * vectors * VF_LANES * sizeof(float));
  for (; k + CELL_ROWS <= count; k += CELL_ROWS) {
    cell_add_rows(format, CELL_ROWS, tile, vectors, list, k);
  }
  for (; k < count; ++k) cell_add_rows(format, 1, tile, vectors, list, k);
  for (size_t t = 0; t < vectors; ++t) {
    const float* sums = list->sums + 2 * t * VF_LANES;
    cell_finish(format == DUSPAR_FORMAT_INT8, vf_load(sums),
                vf_load(sums + VF_LANES), out, t * VF_LANES);
  }
}

/* A step with operands of float32. */
DUSPAR_INLINE size_t cell_run_floats(duspar_format format,
                                     const duspar_shape* shape,
                                     const void* packed,
                                     const duspar_step_operand* a, float* state,
                                     void* scratch) {
  const cell_parts p = *(const cell_parts*)packed;
  const cell_list list = cell_find_list(shape, scratch);
  const cell_outputs out = cell_find_outputs(packed, &p, state);
  size_t counted;
  const size_t count =
      cell_list_operand(shape, packed, &p, a, false, &list, &counted, NULL);
  const size_t vectors = p.padded / VF_LANES;
  const char* tile = (const char*)packed + p.tiles;
  if (p.far) {
    cell_run_rows(format, tile, vectors, &list, count, &out);
    return counted;
  }
  for (size_t first = 0; first < vectors;) {
    const size_t width = cell_tile_width(&p, first);
#define CELL_CASE(WIDTH)                                                     \
  case WIDTH:                                                                \
    cell_run_tile(format, WIDTH, tile, &list, count, &out, first* VF_LANES); \
    break;
    switch (width) {
      CELL_CASE(1)
      CELL_CASE(2)
      CELL_CASE(3)
      CELL_CASE(4)
#if VF_MAX_TILE >= 5
      CELL_CASE(5)
#endif
#if VF_MAX_TILE >= 6
      CELL_CASE(6)
      CELL_CASE(7)
      CELL_CASE(8)
#endif
    }
#undef CELL_CASE
    tile += shape->inputs * width * 2 * VF_LANES * cell_item_bytes(format);
    first += width;
  }
  return counted;
}

/* The format is a constant within each. */
#define CELL_STEP(name, format)                                       \
  static size_t name(const duspar_shape* shape, const void* packed,   \
                     const duspar_step_operand* a, float* state,      \
                     void* scratch) {                                 \
    return cell_run_floats(format, shape, packed, a, state, scratch); \
  }
CELL_STEP(cell_step_float32, DUSPAR_FORMAT_FLOAT32)
CELL_STEP(cell_step_bfloat16, DUSPAR_FORMAT_BFLOAT16)
CELL_STEP(cell_step_int8, DUSPAR_FORMAT_INT8)

/* Adds four rows of integers to the sums of CELL_QUAD outputs. */
DUSPAR_INLINE void cell_add_integers(int bits, const char* tile,
                                     size_t row_bytes, const cell_list* list,
                                     size_t k, vi gate[4], vi candidate[4]) {
  const int8_t* row[4];
  DUSPAR_UNROLL for (size_t r = 0; r < 4; ++r) {
    row[r] = (const int8_t*)tile + list->index[k + r] * row_bytes;
  }
  const vq q = vq_load(bits, list->integer + k);
  vi_dot_rows(bits, gate, row, q);
  DUSPAR_UNROLL for (size_t r = 0; r < 4; ++r) row[r] += CELL_QUAD;
  vi_dot_rows(bits, candidate, row, q);
}

/* One tile of integers: the sums of the gate, then of the candidate. */
DUSPAR_INLINE void cell_sum_integers(int bits, const char* tile,
                                     const cell_list* list, size_t count,
                                     vi sums[8]) {
  vi gate[4], candidate[4]; /* in registers */
  DUSPAR_UNROLL for (int t = 0; t < 4; ++t) gate[t] = candidate[t] = vi_zero();
  for (size_t k = 0; k < count; k += 4) {
    DUSPAR_UNROLL for (size_t r = 0; r < 4; ++r) {
      const char* next = tile + (size_t)list->index[k + 8 + r] * 2 * CELL_QUAD;
      DUSPAR_UNROLL for (int b = 0; b < 2 * CELL_QUAD; b += CELL_LINE)
          simd_prefetch(next + b);
    }
    cell_add_integers(bits, tile, 2 * CELL_QUAD, list, k, gate, candidate);
  }
  DUSPAR_UNROLL for (int t = 0; t < 4; ++t) {
    sums[t] = gate[t];
    sums[t + 4] = candidate[t];
  }
}

/* Whole rows of integers, four at a time, with the sums in memory. */
DUSPAR_INLINE void cell_add_integer_rows(int bits, const char* tile,
                                         size_t padded, const cell_list* list,
                                         size_t count) {
  vi* sums = (void*)list->sums;
  memset(sums, 0, 2 * padded * sizeof(int32_t));
  for (size_t k = 0; k < count; k += 4) {
    for (size_t j = 0; j < padded; j += CELL_QUAD) {
      vi* gate = sums + 2 * j / VF_LANES;
      cell_add_integers(bits, tile + 2 * j, 2 * padded, list, k, gate,
                        gate + 4);
    }
  }
}

DUSPAR_INLINE size_t cell_run_integers(int bits, const duspar_shape* shape,
                                       const void* packed,
                                       const duspar_step_operand* a,
                                       float* state, void* scratch) {
  const cell_parts p = *(const cell_parts*)packed;
  const cell_list list = cell_find_list(shape, scratch);
  const cell_outputs out = cell_find_outputs(packed, &p, state);
  bool lost = false;
  size_t counted;
  const size_t count =
      cell_list_operand(shape, packed, &p, a, true, &list, &counted, &lost);
  const vf keep = vf_set(lost ? NAN : 1.0f);
  const char* tile = (const char*)packed + p.tiles;
  vi here[8];
  vi* sums = p.far ? (void*)list.sums : here;
  if (p.far) cell_add_integer_rows(bits, tile, p.padded, &list, count);
  for (size_t j = 0; j < shape->outputs; j += CELL_QUAD) {
    if (!p.far) cell_sum_integers(bits, tile, &list, count, sums);
    DUSPAR_UNROLL for (size_t t = 0; t < 4; ++t) {
      if (j + t * VF_LANES >= shape->outputs) continue;
      cell_finish(true, vf_mul(vi_to_vf(sums[t]), keep),
                  vf_mul(vi_to_vf(sums[t + 4]), keep), &out, j + t * VF_LANES);
    }
    tile += shape->inputs * 2 * CELL_QUAD;
    if (p.far) sums += 8;
  }
  return counted;
}

static size_t cell_step_integer(const duspar_shape* shape, const void* packed,
                                const duspar_step_operand* a, float* state,
                                void* scratch) {
  if (shape->operand_bits == 7) {
    return cell_run_integers(7, shape, packed, a, state, scratch);
  }
  return cell_run_integers(8, shape, packed, a, state, scratch);
}
