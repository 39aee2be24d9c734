/* Vectors of eight floats: AVX2 with FMA, and AVX-VNNI if the compiler may use
 * it. See functions_template.h. */
#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "simd/compaction.h"

enum { VF_LANES = 8 };
#define VF_MAX_TILE 5
#define VF_MAX_ROWS 4
#define VF_TILE_ROWS 6
#define VF_WIDENS_INT8 true

typedef __m256 vf;
typedef __m256i vi, vx;

#define X86(name) _mm256_##name
#define X86_BITS(name) _mm256_##name##_si256
#define X86_FLOATS(v) _mm256_castsi256_ps(v)
#define X86_PAIRS(q, weights) _mm256_maddubs_epi16(q, weights)
#if defined(__AVXVNNI__)
#define X86_DOT(sum, q, weights) _mm256_dpbusd_avx_epi32(sum, q, weights)
#endif
#include "simd/x86_template.h"

static inline vi vf_first_mask(size_t count) {
  const vi lanes = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), lanes);
}

static inline vf vf_load_part(const float* p, size_t count) {
  return _mm256_maskload_ps(p, vf_first_mask(count));
}

static inline void vf_store_part(float* p, vf v, size_t count) {
  _mm256_maskstore_ps(p, vf_first_mask(count), v);
}

static inline vf vf_first(vf v, size_t count) {
  return _mm256_and_ps(v, _mm256_castsi256_ps(vf_first_mask(count)));
}

static inline vf vf_int8(const int8_t* p) {
  const __m128i bytes = _mm_loadl_epi64((const void*)p);
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
}

static inline bool vf_any_nan(vf v) {
  return _mm256_movemask_ps(_mm256_cmp_ps(v, v, _CMP_UNORD_Q)) != 0;
}

/* NaN is made the lowest integer, and that, with saturation, 0. */
static inline void vq_store(int bits, vf v, void* list, size_t k) {
  const vi words = _mm256_cvtps_epi32(v);
  const __m128i halves = _mm_packus_epi32(_mm256_castsi256_si128(words),
                                          _mm256_extracti128_si256(words, 1));
  if (VQ_WIDE(bits)) {
    _mm_storeu_si128((void*)((uint16_t*)list + k), halves);
  } else {
    _mm_storel_epi64((void*)((uint8_t*)list + k),
                     _mm_packus_epi16(halves, halves));
  }
}

static inline vf vf_if_above(vf l, vf m, vf v) {
  return _mm256_and_ps(v, _mm256_cmp_ps(m, l, _CMP_NLE_UQ));
}

static inline float vf_sum(vf v) {
  __m128 sum =
      _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
  return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
}

#define VF_GATHERS true
static inline size_t vf_gather(vf* v, uint32_t first, uint32_t* index) {
  const vf above = _mm256_cmp_ps(*v, _mm256_setzero_ps(), _CMP_NLE_UQ);
  const unsigned mask = (unsigned)_mm256_movemask_ps(above);
  const vi order = _mm256_cvtepu8_epi32(
      _mm_loadl_epi64((const void*)&duspar_eight_lanes[mask]));
  *v = _mm256_permutevar8x32_ps(*v, order);
  _mm256_storeu_si256((void*)index,
                      _mm256_add_epi32(order, _mm256_set1_epi32((int)first)));
  return (size_t)_mm_popcnt_u32(mask);
}

static inline void vf_transpose(const float* from, size_t stride, float* to) {
  vf a[8];
  vf_transpose_fours(from, stride, a);
  for (size_t i = 0; i < 4; ++i) {
    const vf low = _mm256_permute2f128_ps(a[i], a[i + 4], 0x20);
    const vf high = _mm256_permute2f128_ps(a[i], a[i + 4], 0x31);
    _mm256_storeu_ps(to + i * 8, low);
    _mm256_storeu_ps(to + (i + 4) * 8, high);
  }
}

#define VF_PIN(v) __asm__("" : "+x"(v))
