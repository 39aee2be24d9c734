/* Training with AVX-512. */
#include "training/pass.h"

#if defined(__AVX512F__)
#include "base/cpu.h"
#include "simd/compaction.h"

/* Pairs of rows are interleaved, by numbers, then by pairs of them; then the
 * fours change places. */
static inline void transpose_lanes(const float* from, size_t stride,
                                   float* to) {
  __m512 a[16], b[16];
  for (size_t i = 0; i < 16; ++i) a[i] = _mm512_loadu_ps(from + i * stride);
  for (size_t i = 0; i < 16; i += 2) {
    b[i] = _mm512_unpacklo_ps(a[i], a[i + 1]);
    b[i + 1] = _mm512_unpackhi_ps(a[i], a[i + 1]);
  }
  for (size_t i = 0; i < 16; i += 4) {
    for (size_t k = 0; k < 2; ++k) {
      const __m512d p = _mm512_castps_pd(b[i + k]);
      const __m512d q = _mm512_castps_pd(b[i + k + 2]);
      a[i + 2 * k] = _mm512_castpd_ps(_mm512_unpacklo_pd(p, q));
      a[i + 2 * k + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(p, q));
    }
  }
  for (size_t i = 0; i < 4; ++i) {
    b[i] = _mm512_shuffle_f32x4(a[i], a[i + 4], 0x88);
    b[i + 4] = _mm512_shuffle_f32x4(a[i], a[i + 4], 0xdd);
    b[i + 8] = _mm512_shuffle_f32x4(a[i + 8], a[i + 12], 0x88);
    b[i + 12] = _mm512_shuffle_f32x4(a[i + 8], a[i + 12], 0xdd);
  }
  for (size_t i = 0; i < 8; ++i) {
    const __m512 even = _mm512_shuffle_f32x4(b[i], b[i + 8], 0x88);
    const __m512 odd = _mm512_shuffle_f32x4(b[i], b[i + 8], 0xdd);
    _mm512_storeu_ps(to + i * 16, even);
    _mm512_storeu_ps(to + (i + 8) * 16, odd);
  }
}

#define LANES 16
#define TILE_ROWS 8
#define SPARSE_BELOW 70
#define MAX(a, b) ((vector)_mm512_max_ps((__m512)(a), (__m512)(b)))
#define MIN(a, b) ((vector)_mm512_min_ps((__m512)(a), (__m512)(b)))
#define SUM(x) _mm512_reduce_add_ps((__m512)(x))
#define COMPACT(x, first, place, value) \
  compact_avx512((__m512)(x), first, place, value)
#define TRANSPOSE transpose_lanes
#define IN_REGISTER(x) __asm__("" : "+v"(x))
#include "training/slice_template.h"

static bool usable(void) { return duspar_cpu_has_avx512(); }

static const duspar_trainer trainer = TRAINER("avx512");
const duspar_trainer* const duspar_trainer_avx512 = &trainer;
#else
const duspar_trainer* const duspar_trainer_avx512 = NULL;
#endif
