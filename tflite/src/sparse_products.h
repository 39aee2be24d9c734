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
 *   TRANSPOSE(from, stride, to, to_stride) of LANES x LANES numbers
 */
#ifndef DUSPAR_SPARSE_PRODUCTS_H_
#define DUSPAR_SPARSE_PRODUCTS_H_

#include <stdbool.h>

#include "gemm.h"

/* Entries of a list that are used together; lists are filled up with zeros. */
#define TOGETHER 4

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
INLINE void transpose(const float* from, size_t stride, float* to,
                      size_t to_stride) {
  for (size_t i = 0; i < LANES; ++i) {
    for (size_t k = 0; k < LANES; ++k) {
      to[i * to_stride + k] = from[k * stride + i];
    }
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
  to->counts[row] += (uint32_t)COMPACT(x, (uint32_t)first, to->places + end,
                                       to->values + end);
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

/* Rows of a matrix become lists: list k holds what is not zero in column k,
 * and `columns` all of it. Row 0 is number `first` of each column. */
NOINLINE void list_columns(size_t rows, size_t width, const float* matrix,
                           size_t first, const nonzeros* lists,
                           float* columns) {
  const size_t stride = lists->room;
  for (size_t r = 0; r < rows; r += LANES) {
    const size_t left = rows - r;
    for (size_t i = 0; i < width; i += LANES) {
      const float* from = matrix + r * width + i;
      float* to = columns + i * stride + first + r;
      if (left >= LANES) {
        TRANSPOSE(from, width, to, stride);
      } else {
        for (size_t k = 0; k < LANES; ++k) {
          for (size_t b = 0; b < LANES; ++b) {
            to[k * stride + b] = b < left ? from[b * width + k] : 0.0f;
          }
        }
      }
      for (size_t k = 0; k < LANES; ++k) {
        append(lists, i + k, first + r, load(to + k * stride));
      }
    }
  }
}

INLINE void dot_tile(const int count, const float* a, size_t width,
                     const uint32_t* places, size_t first, const float* rows,
                     float* out, size_t stride) {
  const float* row[8];
  vector sums[8];
  UNROLL for (int r = 0; r < count; ++r) {
    row[r] = rows + (places[r] - first) * width;
    sums[r] = SPLAT(0.0f);
  }
  for (size_t j = 0; j < width; j += LANES) {
    const vector x = load(a + j);
    UNROLL for (int r = 0; r < count; ++r) sums[r] += x * load(row[r] + j);
  }
  UNROLL for (int r = 0; r < count; ++r) {
    out[(places[r] - first) * stride] = SUM(sums[r]);
  }
}

/* out[row][k] = matrix[k] . rows[row], where row `row` is in list k from entry
 * `starts[k]` on, there as `first + row`. Other numbers of `out` are left
 * alone. */
NOINLINE void listed_dots(size_t count, size_t width, const float* matrix,
                          const nonzeros* lists, const uint32_t* starts,
                          size_t first, const float* rows, float* out,
                          size_t stride) {
  for (size_t k = 0; k < count; ++k, matrix += width, ++out) {
    const uint32_t* places = lists->places + k * lists->room + starts[k];
    size_t left = lists->counts[k] - starts[k];
    for (; left >= 8; left -= 8, places += 8) {
      dot_tile(8, matrix, width, places, first, rows, out, stride);
    }
    if (left & 4) {
      dot_tile(4, matrix, width, places, first, rows, out, stride);
      places += 4;
    }
    if (left & 2) {
      dot_tile(2, matrix, width, places, first, rows, out, stride);
      places += 2;
    }
    if (left & 1) {
      dot_tile(1, matrix, width, places, first, rows, out, stride);
    }
  }
}

INLINE void add_sums(const int panels, vector sums[][2], float* to) {
  UNROLL for (int p = 0; p < panels; ++p, to += 2 * LANES) {
    store(to, load(to) + sums[p][0]);
    store(to + LANES, load(to + LANES) + sums[p][1]);
  }
}

/* sum (count, panels) += lists @ b, as `accumulate_outer`. */
NOINLINE void accumulate_listed(size_t count, size_t panels, size_t room,
                                const nonzeros* lists, const float* b,
                                float* sum) {
  const size_t gap = room * 2 * LANES;
  for (size_t j = 0; j < panels; j += 2, b += 2 * gap) {
    for (size_t k = 0; k < count; ++k) {
      float* to = sum + (k * panels + j) * 2 * LANES;
      vector sums[2][2];
      if (panels - j > 1) {
        combine(2, 2, lists, k, b, gap, sums);
        add_sums(2, sums, to);
      } else {
        combine(1, 4, lists, k, b, gap, sums);
        add_sums(1, sums, to);
      }
    }
  }
}

#endif /* DUSPAR_SPARSE_PRODUCTS_H_ */
