/* Products of matrices, in tiles that stay in registers.
 *
 * The right matrix is packed in panels: a few vectors of its columns, row
 * after row, so that a tile reads it from the first to the last byte. The file
 * that includes this one sets LANES and TILE_ROWS, rows of a tile that is two
 * vectors wide.
 */
#ifndef DUSPAR_GEMM_H_
#define DUSPAR_GEMM_H_

#include "vectors.h"

/* Rows of a tile of `accumulate_outer`: a divisor of LANES. */
#define OUTER_ROWS (LANES >= 16 ? 8 : LANES >= 4 ? 4 : 1)

/* tile = sum over `parts` of a[row][k] * panel[k][column], k < inner. The
 * parts of `a` lie `gap` floats apart, those of the panel after each other.
 * `rows` and `columns` (of vectors) are constants once this is inlined. */
INLINE void multiply(const int rows, const int columns, const float* a,
                     size_t stride, size_t parts, size_t gap, size_t inner,
                     const float* panel, vector tile[][2]) {
  UNROLL for (int r = 0; r < rows; ++r) {
    UNROLL for (int c = 0; c < columns; ++c) tile[r][c] = SPLAT(0.0f);
  }
  for (size_t part = 0; part < parts; ++part, a += gap) {
    for (size_t k = 0; k < inner; ++k, panel += columns * LANES) {
      vector b[2];
      UNROLL for (int c = 0; c < columns; ++c) b[c] = load(panel + c * LANES);
      UNROLL for (int r = 0; r < rows; ++r) {
        const vector x = SPLAT(a[(size_t)r * stride + k]);
        UNROLL for (int c = 0; c < columns; ++c) tile[r][c] += x * b[c];
      }
    }
  }
}

/* How many of `left` rows the next tile takes: few numbers, as each of them
 * is code of its own. */
INLINE size_t next_rows(size_t left) {
  return left >= TILE_ROWS ? TILE_ROWS : left >= 4 ? 4 : left >= 2 ? 2 : 1;
}

/* Calls `function(rows, ...)` with a constant number of rows. */
/* clang-format off */
#define WITH_ROWS(rows, function, ...)                        \
  if ((rows) == TILE_ROWS) function(TILE_ROWS, __VA_ARGS__);  \
  else if ((rows) == 4) function(4, __VA_ARGS__);             \
  else if ((rows) == 2) function(2, __VA_ARGS__);             \
  else function(1, __VA_ARGS__);
/* clang-format on */

INLINE void product_tile(const int rows, const int columns, const float* a,
                         size_t stride, size_t gap, size_t inner,
                         const float* panel, float* out, size_t out_stride) {
  vector tile[TILE_ROWS][2];
  multiply(rows, columns, a, stride, 2, gap, inner, panel, tile);
  UNROLL for (int r = 0; r < rows; ++r) {
    UNROLL for (int c = 0; c < columns; ++c) {
      store(out + (size_t)r * out_stride + c * LANES, tile[r][c]);
    }
  }
}

/* out (rows, padded width) = a @ panels, where `a` has two parts in each row,
 * `gap` apart. Panels are two vectors wide, the last perhaps one. */
NOINLINE void product(size_t rows, size_t padded_width, const float* a,
                      size_t stride, size_t gap, size_t inner,
                      const float* panels, float* out) {
  for (size_t j = 0; j < padded_width; j += 2 * LANES) {
    const float* panel = panels + j * 2 * inner;
    for (size_t first = 0, count; first < rows; first += count) {
      count = next_rows(rows - first);
      const float* from = a + first * stride;
      float* to = out + first * padded_width + j;
      if (padded_width - j > LANES) {
        WITH_ROWS(count, product_tile, 2, from, stride, gap, inner, panel, to,
                  padded_width)
      } else {
        WITH_ROWS(count, product_tile, 1, from, stride, gap, inner, panel, to,
                  padded_width)
      }
    }
  }
}

/* sum (rows, width) += a @ b over `inner` columns of `a`, whose rows lie
 * `stride` apart; `rows` is a multiple of OUTER_ROWS, `width` of 2 LANES. */
NOINLINE void accumulate_outer(size_t rows, size_t width, size_t inner,
                               const float* a, size_t stride, const float* b,
                               float* sum) {
  for (size_t j = 0; j < width; j += 2 * LANES) {
    for (size_t i = 0; i < rows; i += OUTER_ROWS) {
      vector tile[OUTER_ROWS][2];
      UNROLL for (int r = 0; r < OUTER_ROWS; ++r) {
        tile[r][0] = tile[r][1] = SPLAT(0.0f);
      }
      for (size_t k = 0; k < inner; ++k) {
        const vector first = load(b + k * width + j);
        const vector second = load(b + k * width + j + LANES);
        UNROLL for (int r = 0; r < OUTER_ROWS; ++r) {
          const vector x = SPLAT(a[(i + (size_t)r) * stride + k]);
          tile[r][0] += x * first;
          tile[r][1] += x * second;
        }
      }
      UNROLL for (int r = 0; r < OUTER_ROWS; ++r) {
        float* to = sum + (i + (size_t)r) * width + j;
        store(to, load(to) + tile[r][0]);
        store(to + LANES, load(to + LANES) + tile[r][1]);
      }
    }
  }
}

#endif /* DUSPAR_GEMM_H_ */
