/* Template: products with a matrix of which many numbers are zero.
 *
 * Half of a rectified operand or more is zero. Of a row of it, the numbers
 * that are not zero are listed once; then each of them costs a few vectors of
 * the other matrix, and the zeros cost nothing. The other matrix is visited in
 * parts that stay in the cache next to the processor, as there is no register
 * to keep anything of it in.
 *
 * The file that includes this one sets LANES. It may also set
 *   SUM(x)                         the sum of a vector's numbers
 *   COMPACT(x, first, place, value) writes the numbers that are not zero and
 *                                  their places, counted from `first`; returns
 *                                  how many. May write a whole vector.
 *   TRANSPOSE(from, stride, to)    of LANES x LANES numbers
 */
#ifndef DUSPAR_TRAINING_PRODUCTS_TEMPLATE_H_
#define DUSPAR_TRAINING_PRODUCTS_TEMPLATE_H_

#include <stdbool.h>

#include "training/gemm.h"

/* Entries of a list that are used together; lists are filled up with zeros. */
#define TOGETHER 4

/* Rows of a tile of gradients: as registers allow. */
#define GRADIENT_ROWS (LANES >= 16 ? 8 : 4)

#if !defined(SUM)
INLINE float sum_of(vector x) {
  float parts[LANES];
  store(parts, x);
  for (int half = LANES / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) parts[i] += parts[i + half];
  }
  return parts[0];
}
#define SUM sum_of
#endif

#if !defined(COMPACT)
INLINE size_t compact(vector x, uint32_t first, uint32_t* place, float* value) {
  float parts[LANES];
  store(parts, x);
  size_t count = 0;
  for (uint32_t i = 0; i < LANES; ++i) {
    place[count] = first + i;
    value[count] = parts[i];
    count += parts[i] != 0;
  }
  return count;
}
#define COMPACT compact
#endif

#if !defined(TRANSPOSE)
INLINE void transpose(const float* from, size_t stride, float* to) {
  for (size_t i = 0; i < LANES; ++i) {
    for (size_t k = 0; k < LANES; ++k) to[i * LANES + k] = from[k * stride + i];
  }
}
#define TRANSPOSE transpose
#endif

/* Lists of what is not zero, one for each row of a matrix. */
typedef struct nonzeros {
  size_t room; /* entries that a list has memory for */
  uint32_t *counts, *places;
  float* values;
} nonzeros;

/* Entries of memory for a list of up to `most`. */
static size_t list_room(size_t most) {
  return (most + LANES + TOGETHER + 15) / 16 * 16;
}

INLINE void append(const nonzeros* to, size_t row, size_t first, vector x) {
  const size_t end = row * to->room + to->counts[row];
  to->counts[row] +=
      (uint32_t)COMPACT(x, (uint32_t)first, to->places + end, to->values + end);
}

/* Lets lists be used `TOGETHER` entries at a time. Returns how many entries
 * they have. */
static size_t end_lists(const nonzeros* lists, size_t count) {
  size_t total = 0;
  for (size_t row = 0; row < count; ++row) {
    const size_t end = row * lists->room + lists->counts[row];
    total += lists->counts[row];
    for (size_t i = 0; i < TOGETHER; ++i) {
      lists->places[end + i] = 0;
      lists->values[end + i] = 0;
    }
  }
  return total;
}

static void clear_lists(const nonzeros* lists, size_t count) {
  memset(lists->counts, 0, count * sizeof *lists->counts);
}

/* Whether it pays to leave out zeros if `count` of `all` numbers are none. */
static bool is_sparse(size_t count, size_t all) {
  return count * 100 < all * SPARSE_BELOW;
}

/* sums[panel][half] = sum of value * row[place] over a list, where rows have
 * two vectors in each of some panels, `gap` apart. `panels` and `together`,
 * the entries whose sums are independent, are constants. */
INLINE void combine(const int panels, const int together, const nonzeros* lists,
                    size_t row, const float* matrix, size_t gap,
                    vector sums[][2]) {
  const uint32_t* place = lists->places + row * lists->room;
  const float* value = lists->values + row * lists->room;
  const uint32_t* end = place + lists->counts[row];
  vector parts[TOGETHER][2][2];
  UNROLL for (int u = 0; u < together; ++u) {
    UNROLL for (int p = 0; p < panels; ++p) {
      parts[u][p][0] = parts[u][p][1] = SPLAT(0.0f);
    }
  }
  for (; place < end; place += together, value += together) {
    UNROLL for (int u = 0; u < together; ++u) {
      const float* from = matrix + (size_t)place[u] * (2 * LANES);
      const vector x = SPLAT(value[u]);
      UNROLL for (int p = 0; p < panels; ++p, from += gap) {
        parts[u][p][0] += x * load(from);
        parts[u][p][1] += x * load(from + LANES);
      }
    }
  }
  UNROLL for (int p = 0; p < panels; ++p) {
    UNROLL for (int half = 0; half < 2; ++half) {
      sums[p][half] = parts[0][p][half];
      UNROLL for (int u = 1; u < together; ++u) {
        sums[p][half] += parts[u][p][half];
      }
    }
  }
}

/* Rows of a matrix become lists: list k holds what is not zero in column k. */
NOINLINE void list_columns(size_t rows, size_t width, const float* matrix,
                           const nonzeros* lists) {
  clear_lists(lists, width);
  for (size_t r = 0; r < rows; r += LANES) {
    const size_t left = rows - r;
    for (size_t i = 0; i < width; i += LANES) {
      const float* from = matrix + r * width + i;
      float block[LANES * LANES] = {0};
      if (left >= LANES) {
        TRANSPOSE(from, width, block);
      } else {
        for (size_t b = 0; b < left; ++b) {
          for (size_t k = 0; k < LANES; ++k) {
            block[k * LANES + b] = from[b * width + k];
          }
        }
      }
      for (size_t k = 0; k < LANES; ++k) {
        append(lists, i + k, r, load(block + k * LANES));
      }
    }
  }
}

/* What `listed_gradients` works on. */
typedef struct gradient_of {
  size_t width;        /* of the rows of everything but `out` */
  const float* matrix; /* (inputs, width) */
  const float* d_sums; /* (rows, width), the gradient of operand @ matrix */
  float* d_matrix;     /* (inputs, width), is added to */
  float* d_operand;    /* (rows, stride), or NULL */
  size_t stride;
} gradient_of;

/* Some entries of the list of column `k`: each row of `d_sums` that is loaded
 * serves both gradients. */
INLINE void gradient_tile(const int count, const gradient_of* to, size_t k,
                          const uint32_t* places, const float* values) {
  const size_t width = to->width;
  const float *row[8], *matrix = to->matrix + k * width;
  float* d_matrix = to->d_matrix + k * width;
  vector x[8], sums[8];
  UNROLL for (int r = 0; r < count; ++r) {
    row[r] = to->d_sums + places[r] * width;
    x[r] = SPLAT(values[r]);
    sums[r] = SPLAT(0.0f);
  }
  for (size_t j = 0; j < width; j += LANES) {
    const vector m = load(matrix + j);
    vector total = SPLAT(0.0f);
    UNROLL for (int r = 0; r < count; ++r) {
      vector d = load(row[r] + j);
      IN_REGISTER(d);
      sums[r] += d * m;
      total += d * x[r];
    }
    store(d_matrix + j, load(d_matrix + j) + total);
  }
  if (to->d_operand == NULL) return;
  float* out = to->d_operand + k;
  UNROLL for (int r = 0; r < count; ++r) {
    out[places[r] * to->stride] = SUM(sums[r]);
  }
}

/* From the gradient of a product to those of its operand and matrix: list k
 * holds the numbers of column k of the operand. Where the operand is zero,
 * its gradient is left alone. */
NOINLINE void listed_gradients(size_t inputs, const nonzeros* lists,
                               const gradient_of* to) {
  for (size_t k = 0; k < inputs; ++k) {
    const uint32_t* places = lists->places + k * lists->room;
    const float* values = lists->values + k * lists->room;
    size_t left = lists->counts[k];
    for (; left >= GRADIENT_ROWS; left -= GRADIENT_ROWS) {
      gradient_tile(GRADIENT_ROWS, to, k, places, values);
      places += GRADIENT_ROWS;
      values += GRADIENT_ROWS;
    }
    if (left & 4) {
      gradient_tile(4, to, k, places, values);
      places += 4;
      values += 4;
    }
    if (left & 2) {
      gradient_tile(2, to, k, places, values);
      places += 2;
      values += 2;
    }
    if (left & 1) gradient_tile(1, to, k, places, values);
  }
}

#endif /* DUSPAR_TRAINING_PRODUCTS_TEMPLATE_H_ */
