/* How the fast kernels lay out weights and scratch memory; see
 * `kernel_body.h`. LANES and MAX_TILE were set before. */
#ifndef DUSPAR_VARIANTS_PACKING_TEMPLATE_H_
#define DUSPAR_VARIANTS_PACKING_TEMPLATE_H_

#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "variants/variants.h"

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

/* The head of the packed weights: where their parts begin, in bytes. A step
 * reads it, instead of computing sizes again. */
typedef struct parts {
  size_t padded; /* outputs, with those that fill up the last vector */
  size_t bias;
  size_t scales;
  size_t alive; /* a byte for each input: whether it has weights but zero */
  size_t tiles;
  size_t bytes;
  float inverse; /* of the operand's scale, for integers */
  bool far;
  bool pruned; /* whether there are inputs without */
} parts;

static bool find_parts(const duspar_shape* shape, parts* p) {
  const bool scaled = shape->weight_type == DUSPAR_INT8;
  const size_t weight = duspar_weight_bytes(shape->weight_type);
  size_t end = 0, weights;
  if (!duspar_add(shape->outputs, QUAD - 1, &p->padded)) return false;
  p->padded = round_up(shape->outputs, shape->operand_bits ? QUAD : LANES);
  p->inverse = 0.0f;
  if (!duspar_multiply(p->padded, 2 * weight, &weights) ||
      !duspar_multiply(weights, shape->inputs, &weights) ||
      !duspar_add_lines(1, sizeof(parts), &end)) {
    return false;
  }
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
  return (uint32_t)(rest + tiles - 1) / (uint32_t)tiles; /* the faster one */
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

/* Whether all weights of an input are zero, of either sign. */
static bool is_pruned(const duspar_shape* shape, const void* kernel,
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

static void pack(const duspar_shape* shape, const duspar_cell* cell,
                 void* packed) {
  const bool integers = shape->operand_bits != 0;
  const size_t item = duspar_weight_bytes(shape->weight_type);
  char* to = packed;
  parts p;
  find_parts(shape, &p); /* packed_bytes has succeeded */
  if (integers) p.inverse = 1.0f / cell->operand_scale;
  for (size_t i = 0; i < shape->inputs; ++i) {
    const bool pruned = is_pruned(shape, cell->gate_kernel, i) &&
                        is_pruned(shape, cell->candidate_kernel, i);
    to[p.alive + i] = !pruned;
    p.pruned |= pruned;
  }
  memcpy(packed, &p, sizeof p);
  pack_vector(shape, &p, cell->gate_bias, 1.0f, (void*)(to + p.bias));
  if (shape->weight_type == DUSPAR_INT8) {
    const float factor = integers ? cell->operand_scale : 1.0f;
    float* scales = (void*)(to + p.scales);
    pack_vector(shape, &p, cell->gate_scale, factor, scales);
    pack_vector(shape, &p, cell->candidate_scale, factor, scales + p.padded);
  }
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

#endif /* DUSPAR_VARIANTS_PACKING_TEMPLATE_H_ */
