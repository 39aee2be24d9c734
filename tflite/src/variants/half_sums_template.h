/* Template: products in float16, for sparse_step_template.h. Takes VF_HALVES.
 *
 * Float16 has 11 bits, so eight rows at a time are summed in it, and the sums
 * of eight are added up in float32. A row has, vector by vector, the weights to
 * the gate and those to the candidate, which share a vector of float16.
 *
 * Weights are at most 2^7. A power of two makes the largest operand of a step
 * less than 2^5, so eight products are at most 2^15: nothing overflows, however
 * large operands are, and none that matters is too small for float16.
 */

enum { CELL_HALF_ROWS = 8, CELL_HALF_OPERAND = 5 };

/* Lists the operands in float16, too, and rows to be asked for behind their
 * end. If one is infinite or NaN, `inverse` stays 0, and the step is made in
 * float32. */
DUSPAR_NOINLINE void cell_list_halves(cell_list* list, size_t count) {
  uint16_t* halves = list->integers;
  float *value = list->value, most, factor;
  vf all = vf_set(0.0f);
  uint32_t bits;
  vf_store(value + count, all); /* the last vector may be a part */
  for (size_t k = 0; k < count; k += VF_LANES) {
    all = vf_atleast(all, vf_load(value + k));
  }
  most = vf_most(all);
  if (!(most <= FLT_MAX)) return;
  /* The exponents of both, which are normal, as floats have them. */
  memcpy(&bits, &most, sizeof bits);
  bits >>= 23;
  if (bits < CELL_HALF_OPERAND) bits = CELL_HALF_OPERAND;
  const uint32_t inverse = (bits + 1 - CELL_HALF_OPERAND) << 23;
  bits = (254u << 23) - inverse;
  memcpy(&factor, &bits, sizeof factor);
  memcpy(&list->inverse, &inverse, sizeof inverse);
  for (size_t k = 0; k < count; k += VF_LANES) {
    vh_round(vf_mul(vf_load(value + k), vf_set(factor)), halves + k);
  }
  for (size_t k = 0; k < CELL_HALF_ROWS; ++k) {
    list->index[count + k] = list->index[0];
  }
}

DUSPAR_INLINE const char* cell_half_row(const char* tile, size_t row_bytes,
                                        const cell_list* list, size_t k) {
  return tile + list->index[k] * row_bytes;
}

/* Adds sums in float16 to those in float32. */
DUSPAR_INLINE void cell_add_halves(vh sum, vf inverse, vf* gate,
                                   vf* candidate) {
  *gate = vf_fma(vh_low(sum), inverse, *gate);
  *candidate = vf_fma(vh_high(sum), inverse, *candidate);
}

/* Adds all rows of the list to the sums of a tile, and returns how many they
 * are. `width` is a constant. */
DUSPAR_INLINE size_t cell_add_halves_to_tile(size_t width, const char* tile,
                                             const cell_list* list,
                                             size_t count, vf* gate,
                                             vf* candidate) {
  const size_t vector = 2 * VF_LANES * sizeof(uint16_t);
  const size_t row_bytes = width * vector;
  const uint16_t* halves = list->integers;
  const vf inverse = vf_set(list->inverse);
  vh sum[VF_MAX_TILE];
  size_t k = 0;
  for (; k + CELL_HALF_ROWS <= count; k += CELL_HALF_ROWS) {
    const vh a = vh_load(halves + k);
    DUSPAR_UNROLL for (size_t r = 0; r < CELL_HALF_ROWS; ++r) {
      const char* row = cell_half_row(tile, row_bytes, list, k + r);
#if defined(VF_PREFETCH)
      const char* next =
          cell_half_row(tile, row_bytes, list, k + r + CELL_HALF_ROWS);
      DUSPAR_UNROLL for (size_t b = 0; b < row_bytes; b += 64)
          VF_PREFETCH(next + b);
#endif
      DUSPAR_UNROLL for (size_t t = 0; t < width; ++t) {
        const vh weights = vh_load(row + t * vector);
        sum[t] = r == 0 ? vh_mul_lane(weights, a, 0)
                        : vh_fma_lane(weights, a, (int)r, sum[t]);
      }
    }
    DUSPAR_UNROLL for (size_t t = 0; t < width; ++t) {
      cell_add_halves(sum[t], inverse, &gate[t], &candidate[t]);
    }
  }
  if (k == count) return count;
  DUSPAR_UNROLL for (size_t t = 0; t < width; ++t) sum[t] = vh_zero();
  for (; k < count; ++k) {
    const char* row = cell_half_row(tile, row_bytes, list, k);
    const vh a = vh_load(halves + k); /* there is room behind the last */
    DUSPAR_UNROLL for (size_t t = 0; t < width; ++t) {
      sum[t] = vh_fma_lane(vh_load(row + t * vector), a, 0, sum[t]);
    }
  }
  DUSPAR_UNROLL for (size_t t = 0; t < width; ++t) {
    cell_add_halves(sum[t], inverse, &gate[t], &candidate[t]);
  }
  return count;
}

/* Adds eight whole rows to the sums in memory, as often as the list has them,
 * and returns how many they are; the others are left. */
DUSPAR_INLINE size_t cell_add_rows_of_halves(const char* tile, size_t vectors,
                                             const cell_list* list,
                                             size_t count, float* sums) {
  const size_t vector = 2 * VF_LANES * sizeof(uint16_t);
  const uint16_t* halves = list->integers;
  const vf inverse = vf_set(list->inverse);
  size_t k = 0;
  for (; k + CELL_HALF_ROWS <= count; k += CELL_HALF_ROWS) {
    const vh a = vh_load(halves + k);
    const char* row[CELL_HALF_ROWS];
    DUSPAR_UNROLL for (size_t r = 0; r < CELL_HALF_ROWS; ++r) {
      row[r] = cell_half_row(tile, vectors * vector, list, k + r);
    }
    for (size_t t = 0; t < vectors; ++t) {
      float* at = sums + t * 2 * VF_LANES;
      vf gate = vf_load(at), candidate = vf_load(at + VF_LANES);
      vh sum = vh_mul_lane(vh_load(row[0] + t * vector), a, 0);
      DUSPAR_UNROLL for (size_t r = 1; r < CELL_HALF_ROWS; ++r) {
        sum = vh_fma_lane(vh_load(row[r] + t * vector), a, (int)r, sum);
      }
      cell_add_halves(sum, inverse, &gate, &candidate);
      vf_store(at, gate);
      vf_store(at + VF_LANES, candidate);
    }
  }
  return k;
}
