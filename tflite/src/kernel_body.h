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
 * input, and a row the weights to the gate and to the candidate, vector by
 * vector. An input that is zero skips its rows, and the inputs that are not
 * zero are listed before, so that the loop over them has no branches.
 *
 * Weights that are too many for the second cache make one tile: they come from
 * far away, which is fast only in long pieces, and the sums go to memory.
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
enum { AHEAD = 16, LINE = 64 };

/* Outputs of a tile of integers: four rows of it are turned into one vector
 * of four rows by LANES outputs, four times. */
enum { QUAD = 4 * LANES };

/* Bytes of weights from which on whole rows are read, and how many of them at
 * a time. */
enum { FAR = 3 << 18, ROWS = 8 };

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
  bool far;
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
  p->far = weights > FAR;
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
  float* sums; /* of whole rows, as vectors of gate and candidate in turn */
} operand_list;

static size_t list_room(const duspar_shape* shape) {
  return round_up(shape->inputs + AHEAD + LANES, 64);
}

static bool scratch_bytes(const duspar_shape* shape, size_t* bytes) {
  parts p;
  *bytes = 0;
  return find_parts(shape, &p) && shape->inputs < UINT32_MAX &&
         duspar_add_lines(list_room(shape), 9, bytes) &&
         duspar_add_lines(p.padded, 2 * sizeof(float), bytes);
}

static operand_list find_list(const duspar_shape* shape, void* scratch) {
  const size_t room = list_room(shape);
  uint32_t* index = scratch;
  float* value = (void*)(index + room);
  uint8_t* integer = (void*)(value + room);
  return (operand_list){index, value, integer, (void*)(integer + room)};
}

/* How many vectors the tile has that begins with vector `first`: as many as
 * the others, as near as can be. */
static size_t tile_width(const parts* p, size_t first) {
  const size_t rest = p->padded / LANES - first;
  const size_t tiles = p->far ? 1 : (rest + MAX_TILE - 1) / MAX_TILE;
  return (rest + tiles - 1) / tiles;
}

/* Puts weights of one input, from output `first` on, into its row of a tile:
 * `group` of them to the gate, then as many to the candidate, and so on. */
static void pack_row(const duspar_shape* shape, const duspar_cell* cell,
                     size_t input, size_t first, size_t width, size_t group,
                     char* row) {
  const size_t item = duspar_weight_bytes(shape->weight_type);
  const size_t start = input * shape->outputs;
  const char* gate = (const char*)cell->gate_kernel + start * item;
  const char* candidate = (const char*)cell->candidate_kernel + start * item;
  for (size_t place = 0; place < width; ++place) {
    const size_t to = (place + place / group * group) * item;
    size_t from = first + place;
    if (shape->operand_bits != 0) {
      /* The order in which `dot_rows` finds them, by parts of 16 bytes. */
      const size_t within = place % QUAD, vector = within % 16 / 4;
      from += vector * LANES + within / 16 * 4 + within % 4 - within;
    }
    if (from >= shape->outputs) {
      memset(row + to, 0, item);
      memset(row + to + group * item, 0, item);
      continue;
    }
    memcpy(row + to, gate + from * item, item);
    memcpy(row + to + group * item, candidate + from * item, item);
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
  /* Two weights of bfloat16 share a word. */
  const size_t group = integers                                ? QUAD
                       : shape->weight_type == DUSPAR_BFLOAT16 ? 1
                                                               : LANES;
  char* row = to + p.tiles;
  for (size_t first = 0; first < p.padded / LANES;) {
    const size_t width =
        (integers && !p.far ? 4 : tile_width(&p, first)) * LANES;
    for (size_t i = 0; i < shape->inputs; ++i) {
      pack_row(shape, cell, i, first * LANES, width, group, row);
      row += 2 * width * item;
    }
    first += width / LANES;
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

/* (1 - z) state + z tanh(b) with z = sigmoid(a), in one division: with
 * A = exp(a) and B = exp(2 |b|) it is
 *
 *   ((B + 1) state + A (B - 1) sign(b)) / ((A + 1) (B + 1)).
 *
 * B is at least 1 and B + 1 comes of B - 1, so that what B is off by shows
 * little. At the bounds the functions have reached their limits in float32,
 * and the product has not reached its. */
INLINE vf move_state(vf a, vf b, vf state) {
  const vf twice = vf_magnitude(vf_add(b, b));
  vf p, s;
  split_exp(vf_atmost(vf_set(43.0f), vf_atleast(vf_set(-43.0f), a)), &p, &s);
  const vf exp_a = vf_fma(s, p, s);
  split_exp(vf_atmost(vf_set(40.0f), twice), &p, &s);
  const vf less = vf_fma(s, p, vf_sub(s, vf_set(1.0f)));
  const vf more = vf_add(less, vf_set(2.0f));
  const vf above = vf_fma(exp_a, vf_sign(less, b), vf_mul(more, state));
  return vf_div(above, vf_fma(exp_a, more, more));
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
  const float* scales = (const void*)((const char*)packed + p->scales);
  return (outputs){packed, scales, scales + p->padded, state};
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
                         const void* packed, const float* a, float* state,
                         void* scratch) {
  parts p;
  find_parts(shape, &p);
  const operand_list list = find_list(shape, scratch);
  const outputs out = find_outputs(packed, &p, state);
  const size_t count = list_operand(shape, a, false, 0.0f, &list);
  const size_t vectors = p.padded / LANES;
  const char* tile = (const char*)packed + p.tiles;
  if (p.far) {
    run_rows(format, tile, vectors, &list, count, &out);
    return count;
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

/* One tile of integers. */
INLINE void sum_integers(int bits, const char* tile, size_t row_bytes,
                         const operand_list* list, size_t count, vi gate[4],
                         vi candidate[4]) {
  UNROLL for (int t = 0; t < 4; ++t) gate[t] = candidate[t] = vi_zero();
  for (size_t k = 0; k < count; k += 4) {
    UNROLL for (size_t r = 0; r < 4; ++r) {
      const char* next = tile + list->index[k + 8 + r] * row_bytes;
      UNROLL for (int b = 0; b < 2 * QUAD; b += LINE) prefetch(next + b);
    }
    add_integers(bits, tile, row_bytes, list, k, gate, candidate);
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
                           const void* packed, const float* a, float* state,
                           void* scratch) {
  parts p;
  find_parts(shape, &p);
  const operand_list list = find_list(shape, scratch);
  const outputs out = find_outputs(packed, &p, state);
  const float inverse =
      *(const float*)(const void*)((const char*)packed + p.inverse);
  const size_t count = list_operand(shape, a, true, inverse, &list);
  const vf lost = vf_set(to_bytes(&list, count) ? NAN : 1.0f);
  const char* tile = (const char*)packed + p.tiles;
  vi here[8];
  vi* sums = p.far ? (void*)list.sums : here;
  if (p.far) add_integer_rows(bits, tile, p.padded, &list, count);
  for (size_t j = 0; j < shape->outputs; j += QUAD) {
    if (!p.far)
      sum_integers(bits, tile, 2 * QUAD, &list, count, sums, sums + 4);
    UNROLL for (size_t t = 0; t < 4; ++t) {
      if (j + t * LANES >= shape->outputs) continue;
      finish(true, vf_mul(vi_to_vf(sums[t]), lost),
             vf_mul(vi_to_vf(sums[t + 4]), lost), &out, j + t * LANES);
    }
    tile += shape->inputs * 2 * QUAD;
    if (p.far) sums += 8;
  }
  return count;
}

static size_t step_integer(const duspar_shape* shape, const void* packed,
                           const float* a, float* state, void* scratch) {
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
};
