/* Brings the lanes of a vector that are above zero, or NaN, to the front.
 *
 * `compact_*` write these numbers and their places, which are counted from
 * `first`, as whole vectors, and return how many there are. */
#ifndef DUSPAR_SIMD_COMPACTION_H_
#define DUSPAR_SIMD_COMPACTION_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

/* For each set of wanted lanes of four, the order of the 16 bytes, and how
 * many lanes there are. */
typedef struct duspar_compaction_order {
  _Alignas(16) uint8_t bytes[16]; /* beyond 15: nothing */
  uint32_t count;
} duspar_compaction_order;

static const duspar_compaction_order duspar_compaction[16] = {
    {{128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
      128},
     0},
    {{0, 1, 2, 3, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128},
     1},
    {{4, 5, 6, 7, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128},
     1},
    {{0, 1, 2, 3, 4, 5, 6, 7, 128, 128, 128, 128, 128, 128, 128, 128}, 2},
    {{8, 9, 10, 11, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128},
     1},
    {{0, 1, 2, 3, 8, 9, 10, 11, 128, 128, 128, 128, 128, 128, 128, 128}, 2},
    {{4, 5, 6, 7, 8, 9, 10, 11, 128, 128, 128, 128, 128, 128, 128, 128}, 2},
    {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 128, 128, 128, 128}, 3},
    {{12, 13, 14, 15, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
      128},
     1},
    {{0, 1, 2, 3, 12, 13, 14, 15, 128, 128, 128, 128, 128, 128, 128, 128}, 2},
    {{4, 5, 6, 7, 12, 13, 14, 15, 128, 128, 128, 128, 128, 128, 128, 128}, 2},
    {{0, 1, 2, 3, 4, 5, 6, 7, 12, 13, 14, 15, 128, 128, 128, 128}, 3},
    {{8, 9, 10, 11, 12, 13, 14, 15, 128, 128, 128, 128, 128, 128, 128, 128}, 2},
    {{0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15, 128, 128, 128, 128}, 3},
    {{4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 128, 128, 128, 128}, 3},
    {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, 4},
};

#if defined(__AVX512F__)
/* In registers, then stored whole: compressing to memory is slow. */
static inline size_t compact_avx512(__m512 v, uint32_t first, uint32_t* index,
                                    float* value) {
  const __m512i lanes =
      _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  const __m512i all = _mm512_add_epi32(_mm512_set1_epi32((int)first), lanes);
  const __mmask16 mask =
      _mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_NLE_UQ);
  _mm512_storeu_ps(value, _mm512_maskz_compress_ps(mask, v));
  _mm512_storeu_si512(index, _mm512_maskz_compress_epi32(mask, all));
  return (size_t)_mm_popcnt_u32(mask);
}
#endif

#if defined(__AVX2__)
/* Four lanes of `v` to the front, and their numbers. */
static inline size_t compact_half(__m128 v, unsigned mask, uint32_t first,
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

static inline size_t compact_avx2(__m256 v, uint32_t first, uint32_t* index,
                                  float* value) {
  const __m256 above = _mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_NLE_UQ);
  const unsigned mask = (unsigned)_mm256_movemask_ps(above);
  const size_t count =
      compact_half(_mm256_castps256_ps128(v), mask & 15, first, index, value);
  return count + compact_half(_mm256_extractf128_ps(v, 1), mask >> 4, first + 4,
                              index + count, value + count);
}
#endif

#if defined(__aarch64__)
static inline size_t compact_neon(float32x4_t v, uint32_t first,
                                  uint32_t* index, float* value) {
  static const uint32_t bits[] = {1, 2, 4, 8}, lanes[] = {0, 1, 2, 3};
  const uint32x4_t below = vcleq_f32(v, vdupq_n_f32(0.0f));
  const uint32_t mask = vaddvq_u32(vbicq_u32(vld1q_u32(bits), below));
  const uint8x16_t order = vld1q_u8(duspar_compaction[mask].bytes);
  const uint32x4_t all = vaddq_u32(vdupq_n_u32(first), vld1q_u32(lanes));
  const uint8x16_t kept = vqtbl1q_u8(vreinterpretq_u8_f32(v), order);
  const uint8x16_t numbers = vqtbl1q_u8(vreinterpretq_u8_u32(all), order);
  vst1q_f32(value, vreinterpretq_f32_u8(kept));
  vst1q_u32(index, vreinterpretq_u32_u8(numbers));
  return duspar_compaction[mask].count;
}
#endif

#endif /* DUSPAR_SIMD_COMPACTION_H_ */
