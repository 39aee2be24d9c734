/* Template: one step of a cell, with the vectors of simd/functions_template.h,
 * which was included before. Defines cell_step_float32 and cell_step_narrow;
 * integer_step_template.h is for operands that are integers.
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
 * operand's end is zero. Which of them there are, is a constant. */
DUSPAR_INLINE vf cell_read_operand(bool x, bool state,
                                   const duspar_step_operand* a, size_t i,
                                   size_t rest) {
  vf v = vf_set(0.0f);
  if (x) v = vf_load_rest(a->x + i, rest);
  if (state) {
    const vf moved =
        vf_add(vf_load_rest(a->state + i, rest), vf_load(a->bias + i));
    v = x ? vf_sub(v, moved) : moved;
    if (rest < VF_LANES) v = vf_first(v, rest);
  }
  if (!x && a->out != NULL) vf_store_rest(a->out + i, v, rest);
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

/* What is found when an operand is listed. */
typedef struct cell_found {
  size_t count;   /* entries of the list, which have weights */
  size_t counted; /* entries that are not zero, with weights or without */
  float sum;      /* of the integers in the list, or NaN */
} cell_found;

/* Lists one vector of entries that are not zero or below, and returns how many
 * they are. Integers, of `bits` bits, are rounded before, and added to `sums`.
 */
DUSPAR_INLINE size_t cell_list_vector(int bits, vf v, size_t i, float inverse,
                                      const cell_list* list, size_t count,
                                      vf* sums) {
  const vf shift = vf_set(12582912.0f); /* rounds to integers */
  if (bits != 0) {
    v = vf_mul(v, vf_set(inverse));
    v = vf_atmost(vf_set(bits == 7 ? 127.0f : 255.0f),
                  vf_atleast(vf_set(0.0f), v));
    v = vf_sub(vf_add(v, shift), shift);
    *sums = vf_add(*sums, v);
  }
#if VF_GATHERS
  const size_t more = vf_gather(&v, (uint32_t)i, list->index + count);
  vf_store(list->value + count, v);
  if (bits != 0) vq_store(bits, v, list->integers, count);
  return more;
#else
  return vf_compact(v, (uint32_t)i, list->index + count, list->value + count);
#endif
}

DUSPAR_INLINE size_t cell_list_vectors(int bits, bool x, bool state,
                                       size_t inputs,
                                       const duspar_step_operand* a,
                                       float inverse, const cell_list* list,
                                       vf* sums) {
  size_t i = 0, count = 0;
  for (; i + VF_LANES <= inputs; i += VF_LANES) {
    const vf v = cell_read_operand(x, state, a, i, VF_LANES);
    count += cell_list_vector(bits, v, i, inverse, list, count, sums);
  }
  if (i < inputs) {
    const vf v = cell_read_operand(x, state, a, i, inputs - i);
    count += cell_list_vector(bits, v, i, inverse, list, count, sums);
  }
  return count;
}

DUSPAR_INLINE cell_found cell_list_operand(int bits, const duspar_shape* shape,
                                           const void* packed,
                                           const cell_parts* p,
                                           const duspar_step_operand* a,
                                           const cell_list* list) {
  const size_t inputs = shape->inputs;
  const float inverse = p->inverse;
  vf sums = vf_set(0.0f);
  size_t count;
  if (a->state == NULL) {
    count =
        cell_list_vectors(bits, true, false, inputs, a, inverse, list, &sums);
  } else if (a->x == NULL) {
    count =
        cell_list_vectors(bits, false, true, inputs, a, inverse, list, &sums);
  } else {
    count =
        cell_list_vectors(bits, true, true, inputs, a, inverse, list, &sums);
  }
  cell_found found = {count, count, bits != 0 ? vf_sum(sums) : 0.0f};
  if (p->pruned) {
    const char* alive = (const char*)packed + p->alive;
    found.count = cell_drop_pruned(alive, list, count);
  }
  /* Rows behind the end may be asked for, or multiplied with zero: any. */
  for (size_t k = 0; k < VF_MAX_ROWS; ++k) {
    list->index[found.count + k] = list->index[0];
  }
  return found;
}

DUSPAR_NOINLINE cell_found cell_list_floats(const duspar_shape* shape,
                                            const void* packed,
                                            const cell_parts* p,
                                            const duspar_step_operand* a,
                                            const cell_list* list) {
  return cell_list_operand(0, shape, packed, p, a, list);
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
#if defined(VF_HALVES)
  } else if (format == DUSPAR_FORMAT_FLOAT16) {
    *gate = vh_low(vh_load(pair));
    *candidate = vh_high(vh_load(pair));
#endif
  } else {
    *gate = vf_int8((const int8_t*)pair);
    *candidate = vf_int8((const int8_t*)pair + VF_LANES);
  }
}

#if defined(VF_HALVES)
#include "variants/half_sums_template.h"
#endif

/* Vectors of what a step needs beside the weights. */
typedef struct cell_outputs {
  const float* bias;
  const float* gate_scale;
  const float* candidate_scale;
  const float* before;
  float* state;
  size_t count;
} cell_outputs;

static cell_outputs cell_find_outputs(const duspar_shape* shape,
                                      const void* packed, const cell_parts* p,
                                      const float* before, float* state) {
  const float* bias = (const void*)((const char*)packed + p->bias);
  const float* scales = (const void*)((const char*)packed + p->scales);
  return (cell_outputs){bias,   scales, scales + p->padded,
                        before, state,  shape->outputs};
}

/* Moves the vector of the state that begins with entry `j` by its sums. */
DUSPAR_INLINE void cell_finish(bool scaled, vf gate, vf candidate,
                               const cell_outputs* out, size_t j) {
  if (scaled) {
    gate = vf_mul(gate, vf_load(out->gate_scale + j));
    candidate = vf_mul(candidate, vf_load(out->candidate_scale + j));
  }
  gate = vf_add(gate, vf_load(out->bias + j));
  const size_t rest = out->count - j;
  const vf before = vf_load_rest(out->before + j, rest);
  vf_store_rest(out->state + j, vf_move_state(gate, candidate, before), rest);
}

/* Moves the whole state by sums in memory, vectors of gate and candidate in
 * turn. In one loop at the end, gates take less time than tile by tile. */
DUSPAR_INLINE void cell_finish_all(bool scaled, size_t vectors,
                                   const float* sums, const cell_outputs* out) {
  for (size_t t = 0; t < vectors; ++t, sums += 2 * VF_LANES) {
    cell_finish(scaled, vf_load(sums), vf_load(sums + VF_LANES), out,
                t * VF_LANES);
  }
}

/* Adds `rows` rows to the sums of a tile. */
DUSPAR_INLINE void cell_add_to_tile(duspar_format format, size_t width,
                                    size_t rows, const char* tile,
                                    const cell_list* list, size_t k, vf* gate,
                                    vf* candidate) {
  const size_t row_bytes = 2 * width * VF_LANES * cell_item_bytes(format);
  const char* row[VF_MAX_ROWS];
  vf value[VF_MAX_ROWS];
  DUSPAR_UNROLL for (size_t r = 0; r < rows; ++r) {
    row[r] = tile + list->index[k + r] * row_bytes;
    value[r] = vf_set(list->value[k + r]);
#if defined(VF_PREFETCH)
    const char* next = tile + list->index[k + r + VF_MAX_ROWS] * row_bytes;
    DUSPAR_UNROLL for (size_t b = 0; b < row_bytes; b += 64)
        VF_PREFETCH(next + b);
#endif
  }
  DUSPAR_UNROLL for (size_t t = 0; t < width; ++t) {
    DUSPAR_UNROLL for (size_t r = 0; r < rows; ++r) {
      vf to_gate, to_candidate;
      cell_load_pair(format, row[r], t, &to_gate, &to_candidate);
      gate[t] = vf_fma(value[r], to_gate, gate[t]);
      candidate[t] = vf_fma(value[r], to_candidate, candidate[t]);
    }
  }
}

/* One tile. `width` and `format` are constants. Processors fetch ahead what is
 * read in order, gaps and all: where there are gaps, rows are read some at a
 * time, which they do not take for an order. */
DUSPAR_INLINE void cell_run_tile(duspar_format format, size_t width, bool gaps,
                                 const char* tile, const cell_list* list,
                                 size_t count, float* sums) {
  vf gate[VF_MAX_TILE], candidate[VF_MAX_TILE];
  size_t k = 0;
  DUSPAR_UNROLL for (size_t t = 0; t < width; ++t) {
    gate[t] = candidate[t] = vf_set(0.0f);
  }
#if defined(VF_HALVES)
  if (format == DUSPAR_FORMAT_FLOAT16 && list->inverse > 0.0f) {
    k = cell_add_halves_to_tile(width, tile, list, count, gate, candidate);
  }
#endif
  for (; gaps && k + VF_MAX_ROWS <= count; k += VF_MAX_ROWS) {
    cell_add_to_tile(format, width, VF_MAX_ROWS, tile, list, k, gate,
                     candidate);
  }
  for (; k < count; ++k) {
    cell_add_to_tile(format, width, 1, tile, list, k, gate, candidate);
  }
  DUSPAR_UNROLL for (size_t t = 0; t < width; ++t) {
    vf_store(sums + 2 * t * VF_LANES, gate[t]);
    vf_store(sums + (2 * t + 1) * VF_LANES, candidate[t]);
  }
}

/* Adds whole rows, `rows` at a time, to the sums in memory. */
DUSPAR_INLINE void cell_add_rows(duspar_format format, size_t rows,
                                 const char* tile, size_t vectors,
                                 const cell_list* list, size_t k, float* sums) {
  const size_t row_bytes = 2 * vectors * VF_LANES * cell_item_bytes(format);
  const char* row[CELL_ROWS];
  vf value[CELL_ROWS];
  DUSPAR_UNROLL for (size_t r = 0; r < rows; ++r) {
    row[r] = tile + list->index[k + r] * row_bytes;
    value[r] = vf_set(list->value[k + r]);
  }
  for (size_t t = 0; t < vectors; ++t, sums += 2 * VF_LANES) {
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
                                 size_t count, float* sums) {
  size_t k = 0;
  memset(sums, 0, 2 * vectors * VF_LANES * sizeof(float));
#if defined(VF_HALVES)
  if (format == DUSPAR_FORMAT_FLOAT16 && list->inverse > 0.0f) {
    k = cell_add_rows_of_halves(tile, vectors, list, count, sums);
  }
#endif
  for (; k + CELL_ROWS <= count; k += CELL_ROWS) {
    cell_add_rows(format, CELL_ROWS, tile, vectors, list, k, sums);
  }
  for (; k < count; ++k) cell_add_rows(format, 1, tile, vectors, list, k, sums);
}

/* A step with operands of float32, and `format` of packed weights. */
DUSPAR_INLINE size_t cell_run_floats(duspar_format format,
                                     const duspar_shape* shape,
                                     const void* packed,
                                     const duspar_step_operand* a,
                                     const float* before, float* state,
                                     void* scratch) {
  const cell_parts p = *(const cell_parts*)packed;
  cell_list list = cell_find_list(shape, scratch);
  const cell_outputs out = cell_find_outputs(shape, packed, &p, before, state);
  const cell_found found = cell_list_floats(shape, packed, &p, a, &list);
  const size_t count = found.count, vectors = p.padded / VF_LANES;
  const bool scaled =
      shape->weight_type == DUSPAR_INT8 || format == DUSPAR_FORMAT_FLOAT16;
  const bool gaps = count < shape->inputs - shape->inputs / 8;
  const char* tile = (const char*)packed + p.tiles;
#if defined(VF_HALVES)
  if (format == DUSPAR_FORMAT_FLOAT16) cell_list_halves(&list, count);
#endif
  if (p.far) cell_run_rows(format, tile, vectors, &list, count, list.sums);
  for (size_t first = 0; first < vectors && !p.far;) {
    const size_t width = cell_tile_width(&p, first);
#define CELL_CASE(WIDTH)                                   \
  case WIDTH:                                              \
    cell_run_tile(format, WIDTH, gaps, tile, &list, count, \
                  list.sums + 2 * first * VF_LANES);       \
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
  cell_finish_all(scaled, vectors, list.sums, &out);
  return found.counted;
}

/* The format is a constant within each. */
#define CELL_STEP(name, format)                                               \
  static size_t name(const duspar_shape* shape, const void* packed,           \
                     const duspar_step_operand* a, const float* before,       \
                     float* state, void* scratch) {                           \
    return cell_run_floats(format, shape, packed, a, before, state, scratch); \
  }
CELL_STEP(cell_step_float32, DUSPAR_FORMAT_FLOAT32)
CELL_STEP(cell_step_bfloat16, DUSPAR_FORMAT_BFLOAT16)
CELL_STEP(cell_step_bytes, DUSPAR_FORMAT_INT8)

#if defined(VF_HALVES)
CELL_STEP(cell_step_float16, DUSPAR_FORMAT_FLOAT16)
#endif

/* Weights of 8 or 16 bits, however they were packed. */
static size_t cell_step_narrow(const duspar_shape* shape, const void* packed,
                               const duspar_step_operand* a,
                               const float* before, float* state,
                               void* scratch) {
  const duspar_format format = ((const cell_parts*)packed)->format;
#if defined(VF_HALVES)
  if (format == DUSPAR_FORMAT_FLOAT16) {
    return cell_step_float16(shape, packed, a, before, state, scratch);
  }
#endif
  return format == DUSPAR_FORMAT_INT8
             ? cell_step_bytes(shape, packed, a, before, state, scratch)
             : cell_step_bfloat16(shape, packed, a, before, state, scratch);
}
