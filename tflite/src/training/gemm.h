/* Products of matrices, in tiles that stay in registers.
 *
 * The right matrix is packed in panels: two vectors of its columns, row after
 * row, so that a tile reads it from the first to the last byte. The file
 * that includes this one sets LANES and TILE_ROWS, rows of a tile that is two
 * vectors wide.
 */
#ifndef DUSPAR_TRAINING_GEMM_H_
#define DUSPAR_TRAINING_GEMM_H_

#include "training/vectors.h"

#if !defined(IN_REGISTER)
#define IN_REGISTER(x) (void)(x)
#endif

/* tile = a[row][k] * panel[k][column], summed over k < inner. `rows` is a
 * constant once this is inlined. */
INLINE void multiply(const int rows, const float* a, size_t stride,
                     size_t inner, const float* panel, vector tile[][2]) {
  UNROLL for (int r = 0; r < rows; ++r) {
    tile[r][0] = tile[r][1] = SPLAT(0.0f);
  }
  for (size_t k = 0; k < inner; ++k, panel += 2 * LANES) {
    vector b[2];
    UNROLL for (int c = 0; c < 2; ++c) b[c] = load(panel + c * LANES);
    UNROLL for (int r = 0; r < rows; ++r) {
      const vector x = SPLAT(a[(size_t)r * stride + k]);
      UNROLL for (int c = 0; c < 2; ++c) tile[r][c] += x * b[c];
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

#endif /* DUSPAR_TRAINING_GEMM_H_ */
