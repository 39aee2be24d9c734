/* Template: products of a cell's operand with its kernels, and their gradients,
 * with the vectors of simd/functions_template.h, which was included before.
 *
 * Half of a rectified operand or more is zero. Of a row of it, the numbers
 * that are not zero are listed once; then each of them costs a few vectors of
 * the other matrix, and the zeros cost nothing. The other matrix is visited in
 * parts that stay in the cache next to the processor, as there is no register
 * to keep anything of it in. Where few numbers are zero, the product is dense,
 * in tiles that stay in registers.
 *
 * The other matrix is packed in panels: two vectors of its columns, row after
 * row, so that a tile reads it from the first to the last byte.
 */
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"

/* Entries of a list that are used together; lists are filled up with zeros. */
#define TRAIN_TOGETHER 4

/* Rows of a tile of gradients: as registers allow. */
#define TRAIN_GRADIENT_ROWS (VF_LANES >= 16 ? 8 : 4)

/* Zeros are skipped if fewer than so many percent of the numbers are others. */
#define TRAIN_SPARSE_BELOW 70

/* How many of `left` rows the next tile takes: few numbers, as each of them
 * is code of its own. */
DUSPAR_INLINE size_t train_next_rows(size_t left) {
  return left >= VF_TILE_ROWS ? VF_TILE_ROWS
         : left >= 4          ? 4
         : left >= 2          ? 2
                              : 1;
}

/* Lists of what is not zero, one for each row of a matrix. */
typedef struct train_lists {
  size_t room; /* entries that a list has memory for */
  uint32_t *counts, *places;
  float* values;
} train_lists;

/* Entries of memory for a list of up to `most`. */
static size_t train_list_room(size_t most) {
  return duspar_round_up(most + VF_LANES + TRAIN_TOGETHER, 16);
}

DUSPAR_INLINE void train_append(const train_lists* to, size_t row, size_t first,
                                vf x) {
  const size_t end = row * to->room + to->counts[row];
  to->counts[row] += (uint32_t)vf_compact(x, (uint32_t)first, to->places + end,
                                          to->values + end);
}

/* Lets lists be used TRAIN_TOGETHER entries at a time. Returns how many entries
 * they have. */
static size_t train_end_lists(const train_lists* lists, size_t count) {
  size_t total = 0;
  for (size_t row = 0; row < count; ++row) {
    const size_t end = row * lists->room + lists->counts[row];
    total += lists->counts[row];
    for (size_t i = 0; i < TRAIN_TOGETHER; ++i) {
      lists->places[end + i] = 0;
      lists->values[end + i] = 0;
    }
  }
  return total;
}

static void train_clear_lists(const train_lists* lists, size_t count) {
  memset(lists->counts, 0, count * sizeof *lists->counts);
}

/* Whether it pays to leave out zeros if `count` of `all` numbers are none. */
static bool train_is_sparse(size_t count, size_t all) {
  return count * 100 < all * TRAIN_SPARSE_BELOW;
}

/* sums[panel][half] = sum of value * row[place] over a list, where rows have
 * two vectors in each of some panels, `gap` apart. `panels` and `together`,
 * the entries whose sums are independent, are constants. */
DUSPAR_INLINE void train_combine(const int panels, const int together,
                                 const train_lists* lists, size_t row,
                                 const float* matrix, size_t gap,
                                 vf sums[][2]) {
  const uint32_t* place = lists->places + row * lists->room;
  const float* value = lists->values + row * lists->room;
  const uint32_t* end = place + lists->counts[row];
  vf parts[TRAIN_TOGETHER][2][2];
  DUSPAR_UNROLL for (int u = 0; u < together; ++u) {
    DUSPAR_UNROLL for (int p = 0; p < panels; ++p) {
      parts[u][p][0] = parts[u][p][1] = vf_set(0.0f);
    }
  }
  for (; place < end; place += together, value += together) {
    DUSPAR_UNROLL for (int u = 0; u < together; ++u) {
      const float* from = matrix + (size_t)place[u] * (2 * VF_LANES);
      const vf x = vf_set(value[u]);
      DUSPAR_UNROLL for (int p = 0; p < panels; ++p, from += gap) {
        parts[u][p][0] = vf_fma(x, vf_load(from), parts[u][p][0]);
        parts[u][p][1] = vf_fma(x, vf_load(from + VF_LANES), parts[u][p][1]);
      }
    }
  }
  DUSPAR_UNROLL for (int p = 0; p < panels; ++p) {
    DUSPAR_UNROLL for (int half = 0; half < 2; ++half) {
      sums[p][half] = parts[0][p][half];
      DUSPAR_UNROLL for (int u = 1; u < together; ++u) {
        sums[p][half] = vf_add(sums[p][half], parts[u][p][half]);
      }
    }
  }
}

/* Rows of a matrix become lists: list k holds what is not zero in column k. */
DUSPAR_NOINLINE void train_list_columns(size_t rows, size_t width,
                                        const float* matrix,
                                        const train_lists* lists) {
  train_clear_lists(lists, width);
  for (size_t r = 0; r < rows; r += VF_LANES) {
    const size_t left = rows - r;
    for (size_t i = 0; i < width; i += VF_LANES) {
      const float* from = matrix + r * width + i;
      float block[VF_LANES * VF_LANES] = {0};
      if (left >= VF_LANES) {
        vf_transpose(from, width, block);
      } else {
        for (size_t b = 0; b < left; ++b) {
          for (size_t k = 0; k < VF_LANES; ++k) {
            block[k * VF_LANES + b] = from[b * width + k];
          }
        }
      }
      for (size_t k = 0; k < VF_LANES; ++k) {
        train_append(lists, i + k, r, vf_load(block + k * VF_LANES));
      }
    }
  }
}

/* What `listed_gradients` works on. */
typedef struct train_gradient_of {
  size_t width;        /* of the rows of everything but `out` */
  const float* matrix; /* (inputs, width) */
  const float* d_sums; /* (rows, width), the gradient of operand @ matrix */
  float* d_matrix;     /* (inputs, width), is added to */
  float* d_operand;    /* (rows, stride), or NULL */
  size_t stride;
} train_gradient_of;

/* Some entries of the list of column `k`: each row of `d_sums` that is loaded
 * serves both gradients. */
DUSPAR_INLINE void train_gradient_tile(const int count,
                                       const train_gradient_of* to, size_t k,
                                       const uint32_t* places,
                                       const float* values) {
  const size_t width = to->width;
  const float *row[8], *matrix = to->matrix + k * width;
  float* d_matrix = to->d_matrix + k * width;
  vf x[8], sums[8];
  DUSPAR_UNROLL for (int r = 0; r < count; ++r) {
    row[r] = to->d_sums + places[r] * width;
    x[r] = vf_set(values[r]);
    sums[r] = vf_set(0.0f);
  }
  for (size_t j = 0; j < width; j += VF_LANES) {
    const vf m = vf_load(matrix + j);
    vf total = vf_set(0.0f);
    DUSPAR_UNROLL for (int r = 0; r < count; ++r) {
      vf d = vf_load(row[r] + j);
      VF_PIN(d);
      sums[r] = vf_fma(d, m, sums[r]);
      total = vf_fma(d, x[r], total);
    }
    vf_store(d_matrix + j, vf_add(vf_load(d_matrix + j), total));
  }
  if (to->d_operand == NULL) return;
  float* out = to->d_operand + k;
  DUSPAR_UNROLL for (int r = 0; r < count; ++r) {
    out[places[r] * to->stride] = vf_sum(sums[r]);
  }
}

/* From the gradient of a product to those of its operand and matrix: list k
 * holds the numbers of column k of the operand. Where the operand is zero,
 * its gradient is left alone. */
DUSPAR_NOINLINE void train_listed_gradients(size_t inputs,
                                            const train_lists* lists,
                                            const train_gradient_of* to) {
  for (size_t k = 0; k < inputs; ++k) {
    const uint32_t* places = lists->places + k * lists->room;
    const float* values = lists->values + k * lists->room;
    size_t left = lists->counts[k];
    for (; left >= TRAIN_GRADIENT_ROWS; left -= TRAIN_GRADIENT_ROWS) {
      train_gradient_tile(TRAIN_GRADIENT_ROWS, to, k, places, values);
      places += TRAIN_GRADIENT_ROWS;
      values += TRAIN_GRADIENT_ROWS;
    }
    if (left & 4) {
      train_gradient_tile(4, to, k, places, values);
      places += 4;
      values += 4;
    }
    if (left & 2) {
      train_gradient_tile(2, to, k, places, values);
      places += 2;
      values += 2;
    }
    if (left & 1) train_gradient_tile(1, to, k, places, values);
  }
}
