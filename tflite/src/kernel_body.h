/* The fast kernels: one text, compiled once for each set of instructions.
 *
 * A file `kernels_*.c` defines KERNEL (the name of its `duspar_kernel`),
 * KERNEL_NAME and KERNEL_USABLE, includes a `vector_*.h`, and then this. What
 * a vector file brings:
 *
 *   LANES              floats in a vector; MAX_TILE, see below
 *   vf, vi             vectors of float and of int32_t
 *   vf_load vf_store vf_set vf_add vf_sub vf_mul vf_fma vf_div
 *   vf_atleast(l, v)   max(l, v), and vf_atmost(l, v): NaN in v stays NaN
 *   vf_pow2(v)         2 to the power of the integer in the low bits of v
 *   vf_magnitude(v)    |v|; vf_sign(v, s): v >= 0 with the sign of s
 *   vf_bfloat16_low, vf_bfloat16_high, vf_int8    floats of narrow weights
 *   vi_zero, vi_to_vf
 *   compact            keeps the lanes that are not zero or below
 *   vq, vq_load, dot_rows    four operands, and four rows times them
 *   prefetch
 *
 * Outputs are cut into tiles of at most MAX_TILE vectors, so that the sums of
 * a tile stay in registers. A tile of the packed weights holds a row for each
 * input: the weights to the gate, then those to the candidate. An input that
 * is zero skips its rows, and the inputs that are not zero are put together
 * before, so that the loop over them has no branches.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels.h"
#include "memory.h"

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#elif defined(__GNUC__)
#define UNROLL _Pragma("GCC unroll 16")
#else
#define UNROLL
#endif

/* Rows that are asked for before they are used. */
enum { AHEAD = 8, LINE = 64 };

/* Outputs of a tile of integers: four rows of it are turned into one vector
 * of four rows by LANES outputs, four times. */
enum { QUAD = 4 * LANES };

static size_t round_up(size_t count, size_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

/* Where the parts of the packed weights begin, in bytes. */
typedef struct parts {
  size_t padded; /* outputs, with those that fill up the last vector */
  size_t scales;
  size_t inverse;
  size_t tiles;
  size_t bytes;
} parts;

static bool find_parts(const duspar_shape* shape, parts* p) {
  const bool scaled = shape->weight_type == DUSPAR_INT8;
  const size_t weight = duspar_weight_bytes(shape->weight_type);
  size_t end = 0, weights;
  if (!duspar_add(shape->outputs, QUAD - 1, &p->padded)) return false;
  p->padded = round_up(shape->outputs, shape->operand_bits ? QUAD : LANES);
  if (!duspar_multiply(p->padded, 2 * weight, &weights) ||
      !duspar_multiply(weights, shape->inputs, &weights)) {
    return false;
  }
  if (!duspar_add_lines(p->padded, sizeof(float), &end)) return false;
  p->scales = end;
  if (!duspar_add_lines(scaled ? p->padded : 0, 2 * sizeof(float), &end)) {
    return false;
  }
  p->inverse = end;
  if (!duspar_add_lines(1, sizeof(float), &end)) return false;
  p->tiles = end;
  if (!duspar_add_lines(weights, 1, &end)) return false;
  p->bytes = end;
  return true;
}

static bool packed_bytes(const duspar_shape* shape, size_t* bytes) {
  parts p;
  if (!find_parts(shape, &p)) return false;
  *bytes = p.bytes;
  return true;
}

/* The operand without its zeros. */
typedef struct operand_list {
  uint32_t* index;
  float* value;
  uint8_t* integer;
} operand_list;

static size_t list_room(const duspar_shape* shape) {
  return round_up(shape->inputs + AHEAD + LANES, 64);
}

static bool scratch_bytes(const duspar_shape* shape, size_t* bytes) {
  *bytes = 0;
  return shape->inputs < UINT32_MAX &&
         duspar_add_lines(list_room(shape), 9, bytes);
}

static operand_list find_list(const duspar_shape* shape, void* scratch) {
  const size_t room = list_room(shape);
  uint32_t* index = scratch;
  float* value = (void*)(index + room);
  return (operand_list){index, value, (void*)(value + room)};
}

/* How many vectors the tile has that begins with vector `first` of `all`:
 * tiles are as equal as can be. */
static int tile_width(size_t all, size_t first) {
  const size_t rest = all - first;
  const size_t tiles = (rest + MAX_TILE - 1) / MAX_TILE;
  return (int)((rest + tiles - 1) / tiles);
}

/* Puts `width` weights of one input into its row of a tile. */
static void pack_row(const duspar_shape* shape, const duspar_cell* cell,
                     size_t input, size_t first, size_t width, char* row) {
  const size_t item = duspar_weight_bytes(shape->weight_type);
  const size_t start = input * shape->outputs;
  const char* gate = cell->gate_kernel;
  const char* candidate = cell->candidate_kernel;
  for (size_t place = 0; place < width; ++place) {
    size_t from = first + place, to = place, to_candidate = place + width;
    if (shape->operand_bits != 0) {
      /* The order in which `dot_rows` finds them, by parts of 16 bytes. */
      const size_t part = place / 16, vector = place % 16 / 4;
      from = first + vector * LANES + part * 4 + place % 4;
    }
    if (shape->weight_type == DUSPAR_BFLOAT16) { /* two in a word */
      to = 2 * place;
      to_candidate = 2 * place + 1;
    }
    if (from >= shape->outputs) {
      memset(row + to * item, 0, item);
      memset(row + to_candidate * item, 0, item);
      continue;
    }
    memcpy(row + to * item, gate + (start + from) * item, item);
    memcpy(row + to_candidate * item, candidate + (start + from) * item, item);
  }
}

static void pack_vector(const duspar_shape* shape, const parts* p,
                        const float* from, float factor, float* to) {
  for (size_t j = 0; j < p->padded; ++j) {
    to[j] = j < shape->outputs ? factor * from[j] : 0.0f;
  }
}

static void pack(const duspar_shape* shape, const duspar_cell* cell,
                 void* packed) {
  const bool integers = shape->operand_bits != 0;
  const size_t item = duspar_weight_bytes(shape->weight_type);
  char* to = packed;
  parts p;
  find_parts(shape, &p); /* packed_bytes has succeeded */
  pack_vector(shape, &p, cell->gate_bias, 1.0f, packed);
  if (shape->weight_type == DUSPAR_INT8) {
    const float factor = integers ? cell->operand_scale : 1.0f;
    float* scales = (void*)(to + p.scales);
    pack_vector(shape, &p, cell->gate_scale, factor, scales);
    pack_vector(shape, &p, cell->candidate_scale, factor, scales + p.padded);
  }
  *(float*)(void*)(to + p.inverse) = integers ? 1.0f / cell->operand_scale : 0;
  char* row = to + p.tiles;
  const size_t vectors = p.padded / LANES;
  for (size_t first = 0; first < vectors;) {
    const size_t tile = integers ? 4 : (size_t)tile_width(vectors, first);
    for (size_t i = 0; i < shape->inputs; ++i) {
      pack_row(shape, cell, i, first * LANES, tile * LANES, row);
      row += 2 * tile * LANES * item;
    }
    first += tile;
  }
}

/* exp(v) - 1 = p * s + (s - 1) for |v| < 88: p is exp of the rest of v, less
 * 1, and s a power of two. The rest is below log(2) / 2, where the polynomial
 * is off by 3e-9. */
INLINE void split_exp(vf v, vf* p, vf* s) {
  const vf shift = vf_set(12582912.0f); /* 1.5 * 2^23: rounds to integers */
  const vf n = vf_fma(v, vf_set(1.44269504f), shift);
  const vf k = vf_sub(n, shift);
  /* log(2) in two parts, so that the product with the first is exact. */
  vf r = vf_fma(k, vf_set(-0.693359375f), v);
  r = vf_fma(k, vf_set(2.12194440e-4f), r);
  vf q = vf_fma(r, vf_set(0x1.6a23d0p-10f), vf_set(0x1.123a20p-7f));
  q = vf_fma(q, r, vf_set(0x1.5558f2p-5f));
  q = vf_fma(q, r, vf_set(0x1.555492p-3f));
  q = vf_fma(q, r, vf_set(0x1.fffffcp-2f));
  *p = vf_fma(vf_mul(r, r), q, r);
  *s = vf_pow2(n);
}

/* (1 - z) state + z tanh(b) with z = sigmoid(a), in one division. */
INLINE vf move_state(vf a, vf b, vf state) {
  const vf one = vf_set(1.0f), edge = vf_set(87.0f);
  const vf lowest = vf_set(-87.0f);
  vf p, s;
  split_exp(vf_atmost(edge, vf_atleast(lowest, vf_sub(vf_set(0.0f), a))), &p,
            &s);
  const vf below_z = vf_add(one, vf_fma(s, p, s));
  const vf twice = vf_mul(vf_set(-2.0f), vf_magnitude(b));
  split_exp(vf_atleast(lowest, twice), &p, &s);
  const vf less = vf_fma(s, p, vf_sub(s, one)); /* exp(-2 |b|) - 1 */
  const vf below_c = vf_add(vf_set(2.0f), less);
  const vf inverse = vf_div(one, vf_mul(below_z, below_c));
  const vf z = vf_mul(inverse, below_c);
  const vf above_c = vf_sub(vf_set(0.0f), less);
  const vf inverse_c = vf_mul(inverse, below_z);
  vf c = vf_mul(above_c, inverse_c);
  /* Products have rounded twice; once more with what they are off by. */
  const vf off = vf_fma(vf_sub(vf_set(0.0f), c), below_c, above_c);
  c = vf_sign(vf_fma(off, inverse_c, c), b);
  return vf_fma(z, c, vf_mul(vf_sub(one, z), state));
}

/* One vector of an operand; less than one at its end. */
INLINE vf load_part(const float* from, size_t count) {
  float whole[LANES] = {0};
  memcpy(whole, from, count * sizeof(float));
  return vf_load(whole);
}

/* Lists the entries of `a` that are not zero or below. With integers they are
 * rounded before, to at most `most`. */
INLINE size_t list_operand(const duspar_shape* shape, const float* a,
                           bool integers, float inverse,
                           const operand_list* list) {
  const vf shift = vf_set(12582912.0f);
  const vf most = vf_set((float)((1 << shape->operand_bits) - 1));
  size_t count = 0;
  for (size_t i = 0; i < shape->inputs; i += LANES) {
    const size_t rest = shape->inputs - i;
    vf v = rest < LANES ? load_part(a + i, rest) : vf_load(a + i);
    if (integers) {
      v = vf_mul(v, vf_set(inverse));
      v = vf_atmost(most, vf_atleast(vf_set(0.0f), v));
      v = vf_sub(vf_add(v, shift), shift);
    }
    count += compact(v, (uint32_t)i, list->index + count, list->value + count);
  }
  /* Those that are asked for, and multiplied with zero, at the end. */
  for (size_t k = 0; k < AHEAD; ++k) {
    list->index[count + k] = count ? list->index[count - 1] : 0;
  }
  return count;
}

/* The tile's weights to both sums of vector `t`. */
INLINE void load_pair(duspar_format format, int width, int t, const char* row,
                      vf* gate, vf* candidate) {
  if (format == DUSPAR_FORMAT_FLOAT32) {
    *gate = vf_load((const float*)(const void*)row + t * LANES);
    *candidate = vf_load((const float*)(const void*)row + (width + t) * LANES);
  } else if (format == DUSPAR_FORMAT_BFLOAT16) {
    *gate = vf_bfloat16_low(row + t * LANES * 4);
    *candidate = vf_bfloat16_high(row + t * LANES * 4);
  } else {
    *gate = vf_int8((const int8_t*)row + t * LANES);
    *candidate = vf_int8((const int8_t*)row + (width + t) * LANES);
  }
}

/* One tile with operands of float32. `width` and `format` are constants. */
INLINE void run_tile(duspar_format format, int width, const char* tile,
                     const operand_list* list, size_t count, const float* bias,
                     const float* gate_scale, const float* candidate_scale,
                     float* state) {
  const int item = format == DUSPAR_FORMAT_FLOAT32    ? 4
                   : format == DUSPAR_FORMAT_BFLOAT16 ? 2
                                                      : 1;
  const size_t row_bytes = (size_t)(2 * width * LANES * item);
  vf gate[MAX_TILE], candidate[MAX_TILE];
  UNROLL for (int t = 0; t < width; ++t) {
    gate[t] = candidate[t] = vf_set(0.0f);
  }
  for (size_t k = 0; k < count; ++k) {
    const char* row = tile + list->index[k] * row_bytes;
    const char* next = tile + list->index[k + AHEAD] * row_bytes;
    UNROLL for (size_t b = 0; b < row_bytes; b += LINE) prefetch(next + b);
    const vf value = vf_set(list->value[k]);
    UNROLL for (int t = 0; t < width; ++t) {
      vf to_gate, to_candidate;
      load_pair(format, width, t, row, &to_gate, &to_candidate);
      gate[t] = vf_fma(value, to_gate, gate[t]);
      candidate[t] = vf_fma(value, to_candidate, candidate[t]);
    }
  }
  UNROLL for (int t = 0; t < width; ++t) {
    if (format == DUSPAR_FORMAT_INT8) {
      gate[t] = vf_mul(gate[t], vf_load(gate_scale + t * LANES));
      candidate[t] = vf_mul(candidate[t], vf_load(candidate_scale + t * LANES));
    }
    gate[t] = vf_add(gate[t], vf_load(bias + t * LANES));
    vf_store(state + t * LANES,
             move_state(gate[t], candidate[t], vf_load(state + t * LANES)));
  }
}

/* A step with operands of float32. */
INLINE size_t run_floats(duspar_format format, const duspar_shape* shape,
                         const void* packed, const float* a, float* state,
                         void* scratch) {
  parts p;
  find_parts(shape, &p);
  const operand_list list = find_list(shape, scratch);
  const size_t count = list_operand(shape, a, false, 0.0f, &list);
  const size_t item = duspar_weight_bytes(shape->weight_type);
  const size_t vectors = p.padded / LANES;
  const char* tile = (const char*)packed + p.tiles;
  const float* scales = (const void*)((const char*)packed + p.scales);
  for (size_t first = 0; first < vectors;) {
    const int width = tile_width(vectors, first);
    const size_t j = first * LANES;
    const float* bias = (const float*)packed + j;
    const float* to_gate = scales + j;
    const float* to_candidate = to_gate + p.padded;
#define CASE(WIDTH)                                                          \
  case WIDTH:                                                                \
    run_tile(format, WIDTH, tile, &list, count, bias, to_gate, to_candidate, \
             state + j);                                                     \
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
#endif
#if MAX_TILE >= 7
      CASE(7)
#endif
#if MAX_TILE >= 8
      CASE(8)
#endif
    }
#undef CASE
    tile += shape->inputs * (size_t)width * 2 * LANES * item;
    first += (size_t)width;
  }
  return count;
}

static size_t step_float32(const duspar_shape* shape, const void* packed,
                           const float* a, float* state, void* scratch) {
  return run_floats(DUSPAR_FORMAT_FLOAT32, shape, packed, a, state, scratch);
}

static size_t step_bfloat16(const duspar_shape* shape, const void* packed,
                            const float* a, float* state, void* scratch) {
  return run_floats(DUSPAR_FORMAT_BFLOAT16, shape, packed, a, state, scratch);
}

static size_t step_int8(const duspar_shape* shape, const void* packed,
                        const float* a, float* state, void* scratch) {
  return run_floats(DUSPAR_FORMAT_INT8, shape, packed, a, state, scratch);
}

/* One tile with operands that are integers, four rows at a time. */
INLINE void sum_integers(int bits, const char* tile, const operand_list* list,
                         size_t count, vi* gate, vi* candidate) {
  const int8_t* rows = (const int8_t*)tile;
  const uint32_t* index = list->index;
  UNROLL for (int t = 0; t < 4; ++t) gate[t] = candidate[t] = vi_zero();
  for (size_t k = 0; k < count; k += 4) {
    const vq q = vq_load(bits, list->integer + k);
    const int8_t* r0 = rows + (size_t)index[k] * 2 * QUAD;
    const int8_t* r1 = rows + (size_t)index[k + 1] * 2 * QUAD;
    const int8_t* r2 = rows + (size_t)index[k + 2] * 2 * QUAD;
    const int8_t* r3 = rows + (size_t)index[k + 3] * 2 * QUAD;
    UNROLL for (int r = 0; r < 4; ++r) {
      const int8_t* next = rows + (size_t)index[k + 4 + r] * 2 * QUAD;
      UNROLL for (int b = 0; b < 2 * QUAD; b += LINE) prefetch(next + b);
    }
    dot_rows(bits, gate, r0, r1, r2, r3, q);
    dot_rows(bits, candidate, r0 + QUAD, r1 + QUAD, r2 + QUAD, r3 + QUAD, q);
  }
}

/* The operands as bytes, filled up to whole groups of four; whether one of
 * them was NaN. */
static bool to_bytes(const operand_list* list, size_t count) {
  float total = 0.0f; /* NaN if one of them is */
  for (size_t k = 0; k < count; ++k) {
    const float value = list->value[k];
    list->integer[k] = isnan(value) ? 0 : (uint8_t)value;
    total += value;
  }
  for (size_t k = count; k < count + 4; ++k) list->integer[k] = 0;
  return isnan(total);
}

static size_t step_integer(const duspar_shape* shape, const void* packed,
                           const float* a, float* state, void* scratch) {
  parts p;
  find_parts(shape, &p);
  const operand_list list = find_list(shape, scratch);
  const float inverse =
      *(const float*)(const void*)((const char*)packed + p.inverse);
  const size_t count = list_operand(shape, a, true, inverse, &list);
  const vf lost = vf_set(to_bytes(&list, count) ? NAN : 1.0f);
  const float* scales = (const void*)((const char*)packed + p.scales);
  const char* tile = (const char*)packed + p.tiles;
  for (size_t j = 0; j < shape->outputs; j += QUAD) {
    vi gate[4], candidate[4];
    if (shape->operand_bits == 7) {
      sum_integers(7, tile, &list, count, gate, candidate);
    } else {
      sum_integers(8, tile, &list, count, gate, candidate);
    }
    UNROLL for (int t = 0; t < 4; ++t) {
      const size_t at = j + (size_t)t * LANES;
      if (at >= shape->outputs) continue;
      const vf factor = vf_mul(vf_load(scales + at), lost);
      const vf factor_c = vf_mul(vf_load(scales + p.padded + at), lost);
      const vf to_gate = vf_add(vf_mul(vi_to_vf(gate[t]), factor),
                                vf_load((const float*)packed + at));
      const vf to_candidate = vf_mul(vi_to_vf(candidate[t]), factor_c);
      vf_store(state + at,
               move_state(to_gate, to_candidate, vf_load(state + at)));
    }
    tile += shape->inputs * 2 * QUAD;
  }
  return count;
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
};
