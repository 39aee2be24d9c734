/* Template: one step of a cell whose operands are integers: defines
 * cell_step_integer. Operands are listed, and the state is moved, by
 * sparse_step_template.h, which was included before.
 *
 * Tiles have CELL_QUAD outputs. Four rows are interleaved in registers, and
 * multiplied with four operands at once.
 */
#include "variants/variants.h"

/* Lists an operand, rounded; the list ends with zeros. */
DUSPAR_INLINE cell_found cell_list_integers(int bits, const duspar_shape* shape,
                                            const void* packed,
                                            const cell_parts* p,
                                            const duspar_step_operand* a,
                                            const cell_list* list) {
  cell_found found = cell_list_operand(bits, shape, packed, p, a, list);
  const size_t count = found.count;
  for (size_t k = 0; (!VF_GATHERS || p->pruned) && k < count; k += VF_LANES) {
    vq_store(bits, vf_load(list->value + k), list->integers, k);
  }
  if (p->pruned && found.sum == found.sum) {
    found.sum = 0.0f;
    for (size_t k = 0; k < count; ++k) found.sum += list->value[k];
  }
  vq_store(bits, vf_set(0.0f), list->integers, count);
  return found;
}

/* Adds four rows of integers to the sums of CELL_QUAD outputs. */
DUSPAR_INLINE void cell_add_integers(int bits, const char* tile,
                                     size_t row_bytes, const cell_list* list,
                                     size_t k, vi gate[4], vi candidate[4]) {
  const int8_t* row[4];
  DUSPAR_UNROLL for (size_t r = 0; r < 4; ++r) {
    row[r] = (const int8_t*)tile + list->index[k + r] * row_bytes;
  }
  const vq q = vq_load(bits, list->integers, k);
  vi_dot_rows(bits, gate, row, q);
  DUSPAR_UNROLL for (size_t r = 0; r < 4; ++r) row[r] += CELL_QUAD;
  vi_dot_rows(bits, candidate, row, q);
}

/* One tile of integers: the sums of the gate, then of the candidate. */
DUSPAR_INLINE void cell_sum_integers(int bits, const char* tile,
                                     const cell_list* list, size_t count,
                                     vi start, vi* sums) {
  vi gate[4], candidate[4]; /* in registers */
  DUSPAR_UNROLL for (int t = 0; t < 4; ++t) gate[t] = candidate[t] = start;
  for (size_t k = 0; k < count; k += 4) {
    cell_add_integers(bits, tile, 2 * CELL_QUAD, list, k, gate, candidate);
  }
  DUSPAR_UNROLL for (int t = 0; t < 4; ++t) {
    sums[t] = gate[t];
    sums[t + 4] = candidate[t];
  }
}

/* Whole rows of integers, four at a time, with the sums in memory. */
DUSPAR_INLINE void cell_sum_integer_rows(int bits, const char* tile,
                                         size_t padded, const cell_list* list,
                                         size_t count, vi start, vi* sums) {
  for (size_t t = 0; t < 2 * padded / VF_LANES; ++t) sums[t] = start;
  for (size_t k = 0; k < count; k += 4) {
    for (size_t j = 0; j < padded; j += CELL_QUAD) {
      vi* gate = sums + 2 * j / VF_LANES;
      cell_add_integers(bits, tile + 2 * j, 2 * padded, list, k, gate,
                        gate + 4);
    }
  }
}

/* Moves the state by all sums: four vectors of the gate, then four of the
 * candidate. */
DUSPAR_INLINE void cell_finish_integers(const vi* sums, bool lost,
                                        const cell_outputs* out) {
  for (size_t j = 0; j < out->count; sums += 4) {
    for (size_t t = 0; t < 4 && j < out->count; ++t, ++sums, j += VF_LANES) {
      vf gate = vi_to_vf(sums[0]), candidate = vi_to_vf(sums[4]);
      if (lost) gate = candidate = vf_set(NAN);
      cell_finish(true, gate, candidate, out, j);
    }
  }
}

DUSPAR_INLINE size_t cell_run_integers(int bits, const duspar_shape* shape,
                                       const void* packed,
                                       const duspar_step_operand* a,
                                       const float* before, float* state,
                                       void* scratch) {
  const cell_parts p = *(const cell_parts*)packed;
  const cell_list list = cell_find_list(shape, scratch);
  const cell_outputs out = cell_find_outputs(shape, packed, &p, before, state);
  const cell_found found =
      cell_list_integers(bits, shape, packed, &p, a, &list);
  const size_t count = found.count;
  const bool lost = found.sum != found.sum;
  /* What is added to weights that are unsigned is taken off. */
  const vi start = vi_set(VQ_WIDE(bits) && !lost ? -128 * (int)found.sum : 0);
  const char* tile = (const char*)packed + p.tiles;
  vi* const sums = (void*)list.sums;
  if (p.far) {
    cell_sum_integer_rows(bits, tile, p.padded, &list, count, start, sums);
  } else {
    for (size_t j = 0; j < p.padded; j += CELL_QUAD) {
      cell_sum_integers(bits, tile, &list, count, start,
                        sums + 2 * j / VF_LANES);
      tile += shape->inputs * 2 * CELL_QUAD;
    }
  }
  cell_finish_integers(sums, lost, &out);
  return found.counted;
}

static size_t cell_step_integer(const duspar_shape* shape, const void* packed,
                                const duspar_step_operand* a,
                                const float* before, float* state,
                                void* scratch) {
  if (shape->operand_bits == 7) {
    return cell_run_integers(7, shape, packed, a, before, state, scratch);
  }
  return cell_run_integers(8, shape, packed, a, before, state, scratch);
}
