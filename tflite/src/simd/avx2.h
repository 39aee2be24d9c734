/* Vectors of eight floats: AVX2 with FMA. See functions_template.h. */
#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "simd/compaction.h"

enum { VF_LANES = 8 };
#define VF_MAX_TILE 5
#define VF_TILE_ROWS 6

typedef __m256 vf;
typedef __m256i vi;

#define X86(name) _mm256_##name
#define X86_BITS(name) _mm256_##name##_si256
#define X86_FLOATS(v) _mm256_castsi256_ps(v)
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
static inline void vf_to_bytes(vf v, uint8_t* to) {
  const vi words = _mm256_cvtps_epi32(v);
  const __m128i halves = _mm_packs_epi32(_mm256_castsi256_si128(words),
                                         _mm256_extracti128_si256(words, 1));
  _mm_storel_epi64((void*)to, _mm_packus_epi16(halves, halves));
}

static inline vf vf_if_positive(vf m, vf v) {
  return _mm256_and_ps(v, _mm256_cmp_ps(m, vf_set(0.0f), _CMP_NLE_UQ));
}

static inline float vf_sum(vf v) {
  __m128 sum =
      _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
  return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
}

/* Four lanes of `v` to the front, and their numbers. */
static inline size_t vf_compact_half(__m128 v, unsigned mask, uint32_t first,
                                     uint32_t* index, float* value) {
  const __m128i order =
      _mm_load_si128((const void*)duspar_compaction[mask].bytes);
  const __m128i lanes = _mm_set_epi32(3, 2, 1, 0);
  const __m128i all = _mm_add_epi32(_mm_set1_epi32((int)first), lanes);
  const __m128i kept = _mm_shuffle_epi8(_mm_castps_si128(v), order);
  _mm_storeu_si128((void*)value, kept);
  _mm_storeu_si128((void*)index, _mm_shuffle_epi8(all, order));
  return duspar_compaction[mask].count;
}

static inline size_t vf_compact(vf v, uint32_t first, uint32_t* index,
                                float* value) {
  const vf above = _mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_NLE_UQ);
  const unsigned mask = (unsigned)_mm256_movemask_ps(above);
  const size_t count = vf_compact_half(_mm256_castps256_ps128(v), mask & 15,
                                       first, index, value);
  return count + vf_compact_half(_mm256_extractf128_ps(v, 1), mask >> 4,
                                 first + 4, index + count, value + count);
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
