/* Template: how variants lay out the weights of a cell, and their scratch
 * memory; see sparse_step_template.h. Takes VF_LANES and VF_MAX_TILE.
 */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "variants/variants.h"

/* Outputs of a tile of integers: four rows of it are turned into one vector
 * of four rows by VF_LANES outputs, four times. */
enum { CELL_QUAD = 4 * VF_LANES };

/* Bytes of weights from which on whole rows are read, and how many of them at
 * a time. */
enum { CELL_FAR = 3 << 18, CELL_ROWS = 8 };

/* Weights in float16 are at most 2 to this power: those of int8 are. */
enum { CELL_HALF_BITS = 7 };

/* The head of the packed weights: where their parts begin, in bytes. A step
 * reads it, instead of computing sizes again. */
typedef struct cell_parts {
  size_t padded; /* outputs, with those that fill up the last vector */
  size_t bias;
  size_t scales;
  size_t alive; /* a byte per input: whether it has weights but zero */
  size_t tiles;
  size_t bytes;
  float inverse;        /* of the operand's scale, for integers */
  duspar_format format; /* of the packed weights */
  bool far;
  bool pruned; /* whether there are inputs without */
} cell_parts;

DUSPAR_INLINE size_t cell_item_bytes(duspar_format format) {
  return format == DUSPAR_FORMAT_FLOAT32    ? 4
         : format == DUSPAR_FORMAT_BFLOAT16 ? 2
         : format == DUSPAR_FORMAT_FLOAT16  ? 2
                                            : 1;
}

static bool cell_find_parts(const duspar_shape* shape, cell_parts* p) {
  bool scaled = shape->weight_type == DUSPAR_INT8;
  const size_t weight = duspar_weight_bytes(shape->weight_type);
  size_t end = 0, weights;
  p->format = duspar_shape_format(shape);
  if (!duspar_add(shape->outputs, CELL_QUAD - 1, &p->padded)) return false;
  p->padded = duspar_round_up(shape->outputs,
                              shape->operand_bits ? CELL_QUAD : VF_LANES);
  p->inverse = 0.0f;
  if (!duspar_multiply(p->padded, 2 * weight, &weights) ||
      !duspar_multiply(weights, shape->inputs, &weights) ||
      !duspar_add_lines(1, sizeof(cell_parts), &end)) {
    return false;
  }
  if (VF_WIDENS_INT8 && p->format == DUSPAR_FORMAT_INT8 &&
      weights <= CELL_FAR / 2) {
    p->format = DUSPAR_FORMAT_BFLOAT16; /* has room for every int8 */
    weights *= 2;
  }
#if defined(VF_HALVES)
  if (p->format == DUSPAR_FORMAT_BFLOAT16) {
    p->format = DUSPAR_FORMAT_FLOAT16;
    scaled = true;
  }
#endif
  p->far =
      weights > CELL_FAR || (VF_WIDENS_INT8 && p->format == DUSPAR_FORMAT_INT8);
  p->bias = end;
  if (!duspar_add_lines(p->padded, sizeof(float), &end)) return false;
  p->scales = end;
  if (!duspar_add_lines(scaled ? p->padded : 0, 2 * sizeof(float), &end)) {
    return false;
  }
  p->alive = end;
  if (!duspar_add_lines(shape->inputs, 1, &end)) return false;
  p->tiles = end;
  p->pruned = false;
  if (!duspar_add_lines(weights, 1, &end)) return false;
  p->bytes = end;
  return true;
}

static bool cell_packed_bytes(const duspar_shape* shape, size_t* bytes) {
  cell_parts p;
  if (!cell_find_parts(shape, &p)) return false;
  *bytes = p.bytes;
  return true;
}

/* The operand without its zeros. */
typedef struct cell_list {
  uint32_t* index;
  float* value;
  void* integers; /* of 8 or 16 bits, or values in float16 */
  float* sums;    /* of whole rows, as vectors of gate and candidate in turn */
  float inverse;  /* of the factor in values in float16, 0 if there are none */
} cell_list;

/* The last vector, and four more integers, may be written behind the end. */
static size_t cell_list_room(const duspar_shape* shape) {
  return duspar_round_up(shape->inputs + VF_LANES + 4, 64);
}

static bool cell_scratch_bytes(const duspar_shape* shape, size_t* bytes) {
  cell_parts p;
  *bytes = 0;
  return cell_find_parts(shape, &p) && shape->inputs < UINT32_MAX &&
         duspar_add_lines(cell_list_room(shape), 10, bytes) &&
         duspar_add_lines(p.padded, 2 * sizeof(float), bytes);
}

static cell_list cell_find_list(const duspar_shape* shape, void* scratch) {
  const size_t room = cell_list_room(shape);
  uint32_t* index = scratch;
  float* value = (void*)(index + room);
  uint16_t* integers = (void*)(value + room);
  return (cell_list){index, value, integers, (void*)(integers + room), 0.0f};
}

/* How many vectors the tile has that begins with vector `first`: as many as
 * the others, as near as can be. */
static size_t cell_tile_width(const cell_parts* p, size_t first) {
  const size_t rest = p->padded / VF_LANES - first;
  const size_t tiles = p->far ? 1 : (rest + VF_MAX_TILE - 1) / VF_MAX_TILE;
  return (uint32_t)(rest + tiles - 1) / (uint32_t)tiles; /* the faster one */
}

/* The float that a weight of 8 or 16 bits stands for, without its scale. */
static float cell_widen(const duspar_shape* shape, const void* from) {
  float value = *(const int8_t*)from;
  if (shape->weight_type == DUSPAR_BFLOAT16) {
    uint16_t upper;
    memcpy(&upper, from, sizeof upper);
    const uint32_t bits = (uint32_t)upper << 16;
    memcpy(&value, &bits, sizeof value);
  }
  return value;
}

/* Puts one weight in its place; float16 is divided by `scale` before. */
static void cell_pack_weight(const duspar_shape* shape, const cell_parts* p,
                             const void* kernel, size_t at, float scale,
                             char* to) {
  const size_t item = duspar_weight_bytes(shape->weight_type);
  const char* from = (const char*)kernel + at * item;
  if (item == 1 && p->format == DUSPAR_FORMAT_BFLOAT16) {
    const float value = cell_widen(shape, from);
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint16_t upper = (uint16_t)(bits >> 16);
    memcpy(to, &upper, sizeof upper);
    return;
  }
#if defined(VF_HALVES)
  if (p->format == DUSPAR_FORMAT_FLOAT16) {
    vh_round_one((double)cell_widen(shape, from) / scale, to);
    return;
  }
#endif
  (void)scale;
  memcpy(to, from, item);
  if (VQ_WIDE(shape->operand_bits)) *to = (char)(*to ^ 128);
}

/* Puts weights of one input, from output `first` on, into its row of a tile:
 * `group` of them to the gate, then as many to the candidate, and so on. */
static void cell_pack_row(const duspar_shape* shape, const duspar_cell* cell,
                          const cell_parts* p, const float* scales,
                          size_t input, size_t first, size_t width,
                          size_t group, char* row) {
  const size_t item = cell_item_bytes(p->format);
  memset(row, VQ_WIDE(shape->operand_bits) ? 128 : 0, 2 * width * item);
  for (size_t place = 0; place < width; ++place) {
    char* to = row + (place + place / group * group) * item;
    size_t from = first + place;
    if (shape->operand_bits != 0) {
      /* The order in which `vi_dot_rows` finds them, by parts of 16 bytes. */
      const size_t within = place % CELL_QUAD, vector = within % 16 / 4;
      from += vector * VF_LANES + within / 16 * 4 + within % 4 - within;
    }
    if (from >= shape->outputs) continue;
    const bool own =
        scales != NULL; /* of weights that have none by themselves */
    const float gate = own ? scales[from] : 1.0f;
    const float candidate = own ? scales[p->padded + from] : 1.0f;
    from += input * shape->outputs;
    cell_pack_weight(shape, p, cell->gate_kernel, from, gate, to);
    cell_pack_weight(shape, p, cell->candidate_kernel, from, candidate,
                     to + group * item);
  }
}

static void cell_pack_vector(const duspar_shape* shape, const cell_parts* p,
                             const float* from, float factor, float* to) {
  for (size_t j = 0; j < p->padded; ++j) {
    to[j] = j < shape->outputs ? factor * from[j] : 0.0f;
  }
}

/* Whether all weights of an input are zero, of either sign. */
static bool cell_is_pruned(const duspar_shape* shape, const void* kernel,
                           size_t input) {
  const size_t item = duspar_weight_bytes(shape->weight_type);
  const bool sign = shape->weight_type != DUSPAR_INT8;
  const uint8_t* row = (const uint8_t*)kernel + input * shape->outputs * item;
  for (size_t j = 0; j < shape->outputs; ++j, row += item) {
    uint8_t bits = sign ? row[item - 1] & 0x7f : row[item - 1];
    for (size_t b = 0; b + 1 < item; ++b) bits |= row[b];
    if (bits != 0) return false;
  }
  return true;
}

#if defined(VF_HALVES)
/* Powers of two by which weights of bfloat16 become numbers of at most 128, the
 * largest of each output at least 64, as those of int8 are: so float16 has all
 * bits of those down to 2^-24 of the largest. False if some are not finite. */
static bool cell_pack_half_scales(const duspar_shape* shape, const void* kernel,
                                  float* scales) {
  for (size_t j = 0; j < shape->outputs; ++j) {
    float most = 0.0f;
    int exponent = CELL_HALF_BITS;
    for (size_t i = 0; i < shape->inputs; ++i) {
      const size_t at = i * shape->outputs + j;
      const char* from = (const char*)kernel + at * sizeof(uint16_t);
      const float size = fabsf(cell_widen(shape, from));
      if (!(size <= FLT_MAX)) return false;
      if (size > most) most = size;
    }
    if (most > 0.0f) frexpf(most, &exponent);
    scales[j] = ldexpf(1.0f, exponent - CELL_HALF_BITS);
  }
  return true;
}
#endif

static void cell_pack(const duspar_shape* shape, const duspar_cell* cell,
                      void* packed) {
  const bool integers = shape->operand_bits != 0;
  char* to = packed;
  cell_parts p = {0};
  cell_find_parts(shape, &p); /* cell_packed_bytes has succeeded */
  if (integers) p.inverse = 1.0f / cell->operand_scale;
  for (size_t i = 0; i < shape->inputs; ++i) {
    const bool pruned = cell_is_pruned(shape, cell->gate_kernel, i) &&
                        cell_is_pruned(shape, cell->candidate_kernel, i);
    to[p.alive + i] = !pruned;
    p.pruned |= pruned;
  }
  float* own = NULL;
#if defined(VF_HALVES)
  if (p.format == DUSPAR_FORMAT_FLOAT16 &&
      shape->weight_type == DUSPAR_BFLOAT16) {
    own = (void*)(to + p.scales);
    memset(own, 0, 2 * p.padded * sizeof(float));
    if (!cell_pack_half_scales(shape, cell->gate_kernel, own) ||
        !cell_pack_half_scales(shape, cell->candidate_kernel, own + p.padded)) {
      p.format = DUSPAR_FORMAT_BFLOAT16;
    }
  }
#endif
  memcpy(packed, &p, sizeof p);
  cell_pack_vector(shape, &p, cell->gate_bias, 1.0f, (void*)(to + p.bias));
  if (shape->weight_type == DUSPAR_INT8) {
    const float factor = integers ? cell->operand_scale : 1.0f;
    float* scales = (void*)(to + p.scales);
    cell_pack_vector(shape, &p, cell->gate_scale, factor, scales);
    cell_pack_vector(shape, &p, cell->candidate_scale, factor,
                     scales + p.padded);
  }
  /* Two weights of bfloat16 share a word. */
  const size_t group = integers                             ? CELL_QUAD
                       : p.format == DUSPAR_FORMAT_BFLOAT16 ? 1
                                                            : VF_LANES;
  char* row = to + p.tiles;
  for (size_t first = 0; first < p.padded / VF_LANES;) {
    const size_t width =
        (integers && !p.far ? 4 : cell_tile_width(&p, first)) * VF_LANES;
    for (size_t i = 0; i < shape->inputs; ++i) {
      cell_pack_row(shape, cell, &p, own, i, first * VF_LANES, width, group,
                    row);
      row += 2 * width * cell_item_bytes(p.format);
    }
    first += width / VF_LANES;
  }
}
