/* Vectors of eight floats: AVX2 with FMA. See `kernel_body.h`. */
#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "simd/compaction.h"

enum { LANES = 8 };
#define MAX_TILE 5

typedef __m256 vf;
typedef __m256i vi;

static inline vf vf_load(const float* p) { return _mm256_loadu_ps(p); }
static inline void vf_store(float* p, vf v) { _mm256_storeu_ps(p, v); }
static inline vi first_lanes(size_t count) {
  const vi lanes = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), lanes);
}

static inline vf vf_load_part(const float* p, size_t count) {
  return _mm256_maskload_ps(p, first_lanes(count));
}

static inline void vf_store_part(float* p, vf v, size_t count) {
  _mm256_maskstore_ps(p, first_lanes(count), v);
}

static inline vf vf_first(vf v, size_t count) {
  return _mm256_and_ps(v, _mm256_castsi256_ps(first_lanes(count)));
}

static inline vf vf_set(float x) { return _mm256_set1_ps(x); }
static inline vf vf_add(vf a, vf b) { return _mm256_add_ps(a, b); }
static inline vf vf_sub(vf a, vf b) { return _mm256_sub_ps(a, b); }
static inline vf vf_mul(vf a, vf b) { return _mm256_mul_ps(a, b); }
static inline vf vf_div(vf a, vf b) { return _mm256_div_ps(a, b); }
static inline vf vf_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }

/* Of two numbers, one NaN, these instructions give the second. */
static inline vf vf_atleast(vf l, vf v) { return _mm256_max_ps(l, v); }
static inline vf vf_atmost(vf l, vf v) { return _mm256_min_ps(l, v); }

static inline vf vf_pow2(vf v) {
  const vi one = _mm256_set1_epi32(127 << 23);
  const vi exponent = _mm256_slli_epi32(_mm256_castps_si256(v), 23);
  return _mm256_castsi256_ps(_mm256_add_epi32(exponent, one));
}

static inline vf vf_split(vf v, vf* mantissa) {
  const vi least = _mm256_set1_epi32(0x3f2aaaab); /* 2/3 */
  const vi bits = _mm256_sub_epi32(_mm256_castps_si256(v), least);
  const vi rest = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffff));
  *mantissa = _mm256_castsi256_ps(_mm256_add_epi32(rest, least));
  return _mm256_cvtepi32_ps(_mm256_srai_epi32(bits, 23));
}

static inline vf vf_magnitude(vf v) {
  return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), v);
}

static inline vf vf_sign(vf v, vf s) {
  return _mm256_or_ps(v, _mm256_and_ps(_mm256_set1_ps(-0.0f), s));
}

static inline vf vf_bfloat16_low(const char* p) {
  const vi words = _mm256_loadu_si256((const void*)p);
  return _mm256_castsi256_ps(_mm256_slli_epi32(words, 16));
}

static inline vf vf_bfloat16_high(const char* p) {
  const vi words = _mm256_loadu_si256((const void*)p);
  const vi mask = _mm256_set1_epi32((int)0xffff0000u);
  return _mm256_castsi256_ps(_mm256_and_si256(words, mask));
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

static inline vi vi_zero(void) { return _mm256_setzero_si256(); }
static inline vf vi_to_vf(vi v) { return _mm256_cvtepi32_ps(v); }

static inline size_t compact(vf v, uint32_t first, uint32_t* index,
                             float* value) {
  return compact_avx2(v, first, index, value);
}

/* Without VNNI, products of bytes are summed in 16 bits, which have no room
 * for two of 8 bits: the lowest bit goes by itself then. */
typedef struct vq {
  vi all;  /* of 7 bits, or the upper 7 of 8 */
  vi last; /* the lowest of 8 */
} vq;

static inline vq vq_load(int bits, const uint8_t* four) {
  int32_t word;
  memcpy(&word, four, sizeof word);
  const vi all = _mm256_set1_epi32(word);
  const vi upper =
      _mm256_and_si256(_mm256_srli_epi32(all, 1), _mm256_set1_epi8(127));
  const vi last = _mm256_and_si256(all, _mm256_set1_epi8(1));
  return bits == 7 ? (vq){all, all} : (vq){upper, last};
}

static inline vi dot(int bits, vi sum, vi weights, vq q) {
  const vi one = _mm256_set1_epi16(1), two = _mm256_set1_epi16(2);
  const vi pairs = _mm256_maddubs_epi16(q.all, weights);
  if (bits == 7) return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, one));
  const vi lasts = _mm256_maddubs_epi16(q.last, weights);
  sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, two));
  return _mm256_add_epi32(sum, _mm256_madd_epi16(lasts, one));
}

static inline void dot_rows(int bits, vi sums[4], const int8_t* r0,
                            const int8_t* r1, const int8_t* r2,
                            const int8_t* r3, vq q) {
  const vi a = _mm256_loadu_si256((const void*)r0);
  const vi b = _mm256_loadu_si256((const void*)r1);
  const vi c = _mm256_loadu_si256((const void*)r2);
  const vi d = _mm256_loadu_si256((const void*)r3);
  const vi ab0 = _mm256_unpacklo_epi8(a, b), ab1 = _mm256_unpackhi_epi8(a, b);
  const vi cd0 = _mm256_unpacklo_epi8(c, d), cd1 = _mm256_unpackhi_epi8(c, d);
  sums[0] = dot(bits, sums[0], _mm256_unpacklo_epi16(ab0, cd0), q);
  sums[1] = dot(bits, sums[1], _mm256_unpackhi_epi16(ab0, cd0), q);
  sums[2] = dot(bits, sums[2], _mm256_unpacklo_epi16(ab1, cd1), q);
  sums[3] = dot(bits, sums[3], _mm256_unpackhi_epi16(ab1, cd1), q);
}

static inline void prefetch(const void* p) { _mm_prefetch(p, _MM_HINT_T0); }
