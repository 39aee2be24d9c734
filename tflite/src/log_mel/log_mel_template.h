/* Template: the log-mel front end with the vectors of
 * simd/functions_template.h, which was included before. Defines log_mel_bytes,
 * log_mel_pack and log_mel_run.
 *
 * The spectrum of a frame of samples x[LOG_MEL_COLUMNS i + s] comes in two
 * steps. The columns s lie beside each other, so the first step, a fast
 * transform of every column over i, needs no shuffles. It yields Y[k][s] for k
 * up to half of the rows. The second,
 *
 *   X[k + rows t] = sum over s of w(s k) Y[k][s] e^(-2 pi i s t / COLUMNS),
 *
 * with w(n) = e^(-2 pi i n / length), is a product with a matrix of COLUMNS by
 * COLUMNS, which stays in the first cache. The bins come out of order, and the
 * filters know where they are. Of filters side by side only the bins are
 * summed in which one of them is not zero.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "variants/variants.h"

enum { LOG_MEL_COLUMNS = 16 };

/* Where the parts of the packed parameters begin, in bytes. */
typedef struct log_mel_parts {
  size_t rows, bands, blocks; /* blocks of VF_LANES filters */
  size_t order;               /* rows in the order in which they are read */
  size_t window;
  size_t row_turns;    /* cosines and sines of the first step */
  size_t column_turns; /* w(s k) of the second, by k */
  size_t matrix;       /* and its cosines, sines and negated sines, by s */
  size_t ends;         /* of the entries of each block */
  size_t bins;         /* where the power of an entry is */
  size_t weights;      /* VF_LANES for each entry */
  size_t mean, inverse, bytes;
  float offset;
} log_mel_parts;

/* Finds the bins that filters of a block touch; none is 0 to 0. */
static void log_mel_block_edges(const duspar_log_mel_parameters* p,
                                size_t block, size_t* first, size_t* end) {
  *first = *end = 0;
  for (size_t b = block * VF_LANES; b < (block + 1) * VF_LANES && b < p->bands;
       ++b) {
    const size_t from = (size_t)p->edges[2 * b];
    const size_t to = (size_t)p->edges[2 * b + 1];
    if (from == to) continue;
    if (*first == *end || from < *first) *first = from;
    if (to > *end) *end = to;
  }
}

static bool log_mel_find_parts(const duspar_log_mel_parameters* p,
                               log_mel_parts* parts) {
  const size_t rows = p->length / LOG_MEL_COLUMNS, half = rows / 2 + 1;
  const size_t blocks = duspar_round_up(p->bands, VF_LANES) / VF_LANES;
  size_t entries = 0, end = 0;
  for (size_t block = 0; block < blocks; ++block) {
    size_t from, to;
    log_mel_block_edges(p, block, &from, &to);
    entries += to - from;
  }
  const struct {
    size_t *place, count, size;
  } plan[] = {
      {&parts->order, rows, sizeof(uint32_t)},
      {&parts->window, p->length, sizeof(float)},
      {&parts->row_turns, rows, sizeof(float)},
      {&parts->column_turns, 2 * LOG_MEL_COLUMNS * half, sizeof(float)},
      {&parts->matrix, 3 * LOG_MEL_COLUMNS * LOG_MEL_COLUMNS, sizeof(float)},
      {&parts->ends, blocks, sizeof(uint32_t)},
      {&parts->bins, entries, sizeof(uint32_t)},
      {&parts->weights, entries, VF_LANES * sizeof(float)},
      {&parts->mean, blocks, VF_LANES * sizeof(float)},
      {&parts->inverse, blocks, VF_LANES * sizeof(float)},
  };
  if (!duspar_add_lines(1, sizeof *parts, &end)) return false;
  for (size_t i = 0; i < sizeof plan / sizeof plan[0]; ++i) {
    *plan[i].place = end;
    if (!duspar_add_lines(plan[i].count, plan[i].size, &end)) return false;
  }
  parts->rows = rows;
  parts->bands = p->bands;
  parts->blocks = blocks;
  parts->bytes = end;
  parts->offset = p->offset;
  return entries < UINT32_MAX;
}

static bool log_mel_bytes(const duspar_log_mel_parameters* p, size_t* packed,
                          size_t* scratch) {
  log_mel_parts parts;
  *scratch = 0;
  if (!log_mel_find_parts(p, &parts)) return false;
  *packed = parts.bytes;
  /* The rows; a row's turned columns; the power of all bins. */
  return duspar_add_lines(
      p->length + 2 * LOG_MEL_COLUMNS + (parts.rows / 2 + 1) * LOG_MEL_COLUMNS,
      sizeof(float), scratch);
}

/* e^(-2 pi i part / whole); `negated` is the sine's sign turned round. */
static void log_mel_set_turn(size_t part, size_t whole, float* cosine,
                             float* negated) {
  const double angle =
      6.283185307179586477 * (double)(part % whole) / (double)whole;
  *cosine = (float)cos(angle);
  *negated = (float)sin(angle);
}

/* Where the second step puts the power of a bin: that of its mirror image is
 * the same. */
static uint32_t log_mel_place_of_bin(size_t bin, size_t length) {
  const size_t rows = length / LOG_MEL_COLUMNS;
  if (bin % rows > rows / 2) bin = length - bin;
  return (uint32_t)(bin % rows * LOG_MEL_COLUMNS + bin / rows);
}

static void log_mel_pack_filters(const duspar_log_mel_parameters* p,
                                 uint32_t* ends, uint32_t* bins,
                                 float* weights) {
  const float* filters = p->filters;
  uint32_t entries = 0;
  for (size_t block = 0; block * VF_LANES < p->bands; ++block) {
    size_t from, to;
    log_mel_block_edges(p, block, &from, &to);
    for (size_t bin = from; bin < to; ++bin) {
      bins[entries + (bin - from)] = log_mel_place_of_bin(bin, p->length);
    }
    float* rows = weights + (size_t)entries * VF_LANES;
    memset(rows, 0, (to - from) * VF_LANES * sizeof(float));
    for (size_t i = 0; i < VF_LANES && block * VF_LANES + i < p->bands; ++i) {
      const int32_t* edges = p->edges + 2 * (block * VF_LANES + i);
      for (int32_t bin = edges[0]; bin < edges[1]; ++bin) {
        rows[((size_t)bin - from) * VF_LANES + i] = *filters++;
      }
    }
    entries += (uint32_t)(to - from);
    ends[block] = entries;
  }
}

static void log_mel_pack(const duspar_log_mel_parameters* p, void* packed) {
  char* to = packed;
  log_mel_parts parts;
  log_mel_find_parts(p, &parts); /* log_mel_bytes has succeeded */
  memset(packed, 0, parts.bytes);
  memcpy(packed, &parts, sizeof parts);
  memcpy(to + parts.window, p->window, p->length * sizeof(float));
  uint32_t* order = (void*)(to + parts.order);
  for (size_t i = 1; i < parts.rows; ++i) { /* bits turned round */
    order[i] = order[i / 2] / 2 + (i % 2 ? (uint32_t)parts.rows / 2 : 0);
  }
  float* turns = (void*)(to + parts.row_turns);
  for (size_t k = 0; k < parts.rows / 2; ++k) {
    log_mel_set_turn(k, parts.rows, &turns[2 * k], &turns[2 * k + 1]);
  }
  turns = (void*)(to + parts.column_turns);
  for (size_t k = 0; k <= parts.rows / 2; ++k, turns += 2 * LOG_MEL_COLUMNS) {
    for (size_t s = 0; s < LOG_MEL_COLUMNS; ++s) {
      log_mel_set_turn(s * k, p->length, &turns[s],
                       &turns[LOG_MEL_COLUMNS + s]);
    }
  }
  float* matrix = (void*)(to + parts.matrix);
  for (size_t s = 0; s < LOG_MEL_COLUMNS; ++s, matrix += 3 * LOG_MEL_COLUMNS) {
    for (size_t t = 0; t < LOG_MEL_COLUMNS; ++t) {
      log_mel_set_turn(s * t, LOG_MEL_COLUMNS, &matrix[t],
                       &matrix[LOG_MEL_COLUMNS + t]);
      matrix[2 * LOG_MEL_COLUMNS + t] = -matrix[LOG_MEL_COLUMNS + t];
    }
  }
  log_mel_pack_filters(p, (void*)(to + parts.ends), (void*)(to + parts.bins),
                       (void*)(to + parts.weights));
  float* mean = (void*)(to + parts.mean);
  float* inverse = (void*)(to + parts.inverse);
  for (size_t b = 0; b < p->bands; ++b) {
    mean[b] = p->mean[b];
    inverse[b] = 1.0f / p->deviation[b];
  }
}

/* Joins the transforms of the even and of the odd rows of a column, of `half`
 * rows each, to one. A transform of n real rows has the real part of entry k
 * in row k and the imaginary part in row n - k. */
DUSPAR_INLINE void log_mel_join_rows(float* block, size_t half,
                                     const float* turns, size_t stride) {
  const vf zero = vf_set(0.0f);
  for (size_t c = 0; c < LOG_MEL_COLUMNS; c += VF_LANES) {
    float* even = block + c;
    float* odd = even + half * LOG_MEL_COLUMNS;
    const vf e = vf_load(even), o = vf_load(odd);
    vf_store(even, vf_add(e, o));
    vf_store(odd, vf_sub(e, o));
    if (half < 2) continue;
    float* middle = odd + half / 2 * LOG_MEL_COLUMNS;
    vf_store(middle, vf_sub(zero, vf_load(middle)));
  }
  for (size_t k = 1; k < half / 2; ++k) {
    const vf cosine = vf_set(turns[2 * k * stride]);
    const vf sine = vf_set(turns[2 * k * stride + 1]);
    for (size_t c = 0; c < LOG_MEL_COLUMNS; c += VF_LANES) {
      float* even_real = block + k * LOG_MEL_COLUMNS + c;
      float* even_imag = block + (half - k) * LOG_MEL_COLUMNS + c;
      float* odd_real = even_real + half * LOG_MEL_COLUMNS;
      float* odd_imag = even_imag + half * LOG_MEL_COLUMNS;
      const vf er = vf_load(even_real), ei = vf_load(even_imag);
      const vf re = vf_load(odd_real), oi = vf_load(odd_imag);
      const vf tr = vf_fma(cosine, re, vf_mul(sine, oi));
      const vf ti = vf_sub(vf_mul(cosine, oi), vf_mul(sine, re));
      vf_store(even_real, vf_add(er, tr));
      vf_store(odd_imag, vf_add(ei, ti));
      vf_store(even_imag, vf_sub(er, tr));
      vf_store(odd_real, vf_sub(ti, ei));
    }
  }
}

/* The second step for one k: the power of COLUMNS bins. */
DUSPAR_INLINE void log_mel_join_columns(const float* matrix,
                                        const float* turned, float* power) {
  for (size_t c = 0; c < LOG_MEL_COLUMNS; c += VF_LANES) {
    vf real = vf_set(0.0f), real_too = real, imag = real, imag_too = real;
    DUSPAR_UNROLL for (size_t s = 0; s < LOG_MEL_COLUMNS; ++s) {
      const float* row = matrix + 3 * LOG_MEL_COLUMNS * s + c;
      const vf cosine = vf_load(row), sine = vf_load(row + LOG_MEL_COLUMNS);
      const vf r = vf_set(turned[s]), i = vf_set(turned[LOG_MEL_COLUMNS + s]);
      real = vf_fma(r, cosine, real);
      real_too = vf_fma(i, sine, real_too);
      imag = vf_fma(i, cosine, imag);
      imag_too = vf_fma(r, vf_load(row + 2 * LOG_MEL_COLUMNS), imag_too);
    }
    real = vf_add(real, real_too);
    imag = vf_add(imag, imag_too);
    vf_store(power + c, vf_fma(real, real, vf_mul(imag, imag)));
  }
}

/* log(v) for v that is NaN or not below the smallest normal number: the
 * mantissa less 1 is between -1/3 and 1/3, where the polynomial is off by
 * 4e-8 of the logarithm. */
DUSPAR_INLINE vf log_mel_logarithm(vf v) {
  vf mantissa;
  const vf exponent = vf_split(v, &mantissa);
  const vf f = vf_sub(mantissa, vf_set(1.0f));
  vf q = vf_fma(f, vf_set(0x1.1b0950p-3f), vf_set(-0x1.35b3d4p-3f));
  q = vf_fma(q, f, vf_set(0x1.1f963ep-3f));
  q = vf_fma(q, f, vf_set(-0x1.515a6cp-3f));
  q = vf_fma(q, f, vf_set(0x1.99c31ep-3f));
  q = vf_fma(q, f, vf_set(-0x1.000b1cp-2f));
  q = vf_fma(q, f, vf_set(0x1.555528p-2f));
  q = vf_fma(q, f, vf_set(-0.5f));
  const vf rest = vf_fma(vf_mul(f, f), q, f);
  const vf result = vf_fma(exponent, vf_set(0.693147182f), rest);
  /* Below all logarithms, unless v is infinite or NaN. */
  const vf odd = vf_fma(v, vf_set(0x1p-100f), vf_set(-0x1p30f));
  return vf_atleast(result, odd);
}

/* Features of one frame. */
static void log_mel_run(const void* packed, const float* frame, float* features,
                        void* scratch) {
  const log_mel_parts* p = packed;
  const char* from = packed;
  const size_t rows = p->rows;
  const uint32_t* order = (const void*)(from + p->order);
  const float* window = (const void*)(from + p->window);
  const float* turns = (const void*)(from + p->row_turns);
  float* grid = scratch;
  float* turned = grid + rows * LOG_MEL_COLUMNS;
  float* power = turned + 2 * LOG_MEL_COLUMNS;
  for (size_t i = 0; i < rows; ++i) {
    const size_t row = order[i] * (size_t)LOG_MEL_COLUMNS;
    for (size_t c = 0; c < LOG_MEL_COLUMNS; c += VF_LANES) {
      const vf w = vf_load(window + row + c);
      vf_store(grid + i * LOG_MEL_COLUMNS + c,
               vf_mul(vf_load(frame + row + c), w));
    }
  }
  for (size_t half = 1; half < rows; half *= 2) {
    for (size_t i = 0; i < rows; i += 2 * half) {
      log_mel_join_rows(grid + i * LOG_MEL_COLUMNS, half, turns,
                        rows / half / 2);
    }
  }
  turns = (const void*)(from + p->column_turns);
  for (size_t k = 0; k <= rows / 2; ++k, turns += 2 * LOG_MEL_COLUMNS) {
    const bool is_real = k == 0 || k == rows / 2;
    for (size_t c = 0; c < LOG_MEL_COLUMNS; c += VF_LANES) {
      const vf cosine = vf_load(turns + c),
               sine = vf_load(turns + LOG_MEL_COLUMNS + c);
      const vf r = vf_load(grid + k * LOG_MEL_COLUMNS + c);
      const vf i = is_real ? vf_set(0.0f)
                           : vf_load(grid + (rows - k) * LOG_MEL_COLUMNS + c);
      vf_store(turned + c, vf_fma(r, cosine, vf_mul(i, sine)));
      vf_store(turned + LOG_MEL_COLUMNS + c,
               vf_sub(vf_mul(i, cosine), vf_mul(r, sine)));
    }
    log_mel_join_columns((const void*)(from + p->matrix), turned,
                         power + k * LOG_MEL_COLUMNS);
  }
  const uint32_t* ends = (const void*)(from + p->ends);
  const uint32_t* bins = (const void*)(from + p->bins);
  const float* weights = (const void*)(from + p->weights);
  const float* mean = (const void*)(from + p->mean);
  const float* inverse = (const void*)(from + p->inverse);
  size_t e = 0;
  for (size_t block = 0; block < p->blocks; ++block) {
    const size_t band = block * VF_LANES;
    vf sum = vf_set(0.0f), other = sum;
    for (; e + 1 < ends[block]; e += 2) {
      const float* row = weights + e * VF_LANES;
      sum = vf_fma(vf_set(power[bins[e]]), vf_load(row), sum);
      other =
          vf_fma(vf_set(power[bins[e + 1]]), vf_load(row + VF_LANES), other);
    }
    for (; e < ends[block]; ++e) {
      sum =
          vf_fma(vf_set(power[bins[e]]), vf_load(weights + e * VF_LANES), sum);
    }
    vf v = log_mel_logarithm(vf_add(vf_add(sum, other), vf_set(p->offset)));
    v = vf_mul(vf_sub(v, vf_load(mean + band)), vf_load(inverse + band));
    vf_store_rest(features + band, v, p->bands - band);
  }
}
