/* Training with AVX2 and fused multiply-add. */
#include "training/pass.h"

#if defined(__AVX2__) && defined(__FMA__)
#include "base/cpu.h"
#include "simd/compaction.h"

static inline float sum_lanes(__m256 x) {
  __m128 sum =
      _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
  return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
}

/* Pairs of rows are interleaved, by numbers, then by pairs of them; then the
 * fours change places. */
static inline void transpose_lanes(const float* from, size_t stride,
                                   float* to) {
  __m256 a[8], b[8];
  for (size_t i = 0; i < 8; ++i) a[i] = _mm256_loadu_ps(from + i * stride);
  for (size_t i = 0; i < 8; i += 2) {
    b[i] = _mm256_unpacklo_ps(a[i], a[i + 1]);
    b[i + 1] = _mm256_unpackhi_ps(a[i], a[i + 1]);
  }
  for (size_t i = 0; i < 8; i += 4) {
    for (size_t k = 0; k < 2; ++k) {
      a[i + 2 * k] = _mm256_shuffle_ps(b[i + k], b[i + k + 2], 0x44);
      a[i + 2 * k + 1] = _mm256_shuffle_ps(b[i + k], b[i + k + 2], 0xee);
    }
  }
  for (size_t i = 0; i < 4; ++i) {
    const __m256 low = _mm256_permute2f128_ps(a[i], a[i + 4], 0x20);
    const __m256 high = _mm256_permute2f128_ps(a[i], a[i + 4], 0x31);
    _mm256_storeu_ps(to + i * 8, low);
    _mm256_storeu_ps(to + (i + 4) * 8, high);
  }
}

#define LANES 8
#define TILE_ROWS 6
#define SPARSE_BELOW 70
#define MAX(a, b) ((vector)_mm256_max_ps((__m256)(a), (__m256)(b)))
#define MIN(a, b) ((vector)_mm256_min_ps((__m256)(a), (__m256)(b)))
#define SUM(x) sum_lanes((__m256)(x))
#define COMPACT(x, first, place, value) \
  compact_avx2((__m256)(x), first, place, value)
#define TRANSPOSE transpose_lanes
#define IN_REGISTER(x) __asm__("" : "+x"(x))
#include "training/slice_template.h"

static bool usable(void) {
  return duspar_cpu_has_avx2() && duspar_cpu_has_fma();
}

static const duspar_trainer trainer = TRAINER("avx2");
const duspar_trainer* const duspar_trainer_avx2 = &trainer;
#else
const duspar_trainer* const duspar_trainer_avx2 = NULL;
#endif
