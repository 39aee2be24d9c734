/* Vectors of sixteen floats: AVX-512, with VNNI if the compiler may use it.
 * See `kernel_body.h`. */
#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "simd/compaction.h"

enum { LANES = 16 };
#define MAX_TILE 4

typedef __m512 vf;
typedef __m512i vi;

static inline vf vf_load(const float* p) { return _mm512_loadu_ps(p); }
static inline void vf_store(float* p, vf v) { _mm512_storeu_ps(p, v); }
static inline __mmask16 first_lanes(size_t count) {
  return (__mmask16)((1u << count) - 1);
}

static inline vf vf_load_part(const float* p, size_t count) {
  return _mm512_maskz_loadu_ps(first_lanes(count), p);
}

static inline void vf_store_part(float* p, vf v, size_t count) {
  _mm512_mask_storeu_ps(p, first_lanes(count), v);
}

static inline vf vf_first(vf v, size_t count) {
  return _mm512_maskz_mov_ps(first_lanes(count), v);
}

static inline vf vf_set(float x) { return _mm512_set1_ps(x); }
static inline vf vf_add(vf a, vf b) { return _mm512_add_ps(a, b); }
static inline vf vf_sub(vf a, vf b) { return _mm512_sub_ps(a, b); }
static inline vf vf_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
static inline vf vf_div(vf a, vf b) { return _mm512_div_ps(a, b); }
static inline vf vf_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }

/* Of two numbers, one NaN, these instructions give the second. */
static inline vf vf_atleast(vf l, vf v) { return _mm512_max_ps(l, v); }
static inline vf vf_atmost(vf l, vf v) { return _mm512_min_ps(l, v); }

static inline vf vf_pow2(vf v) {
  const vi one = _mm512_set1_epi32(127 << 23);
  const vi exponent = _mm512_slli_epi32(_mm512_castps_si512(v), 23);
  return _mm512_castsi512_ps(_mm512_add_epi32(exponent, one));
}

static inline vf vf_split(vf v, vf* mantissa) {
  const vi least = _mm512_set1_epi32(0x3f2aaaab); /* 2/3 */
  const vi bits = _mm512_sub_epi32(_mm512_castps_si512(v), least);
  const vi rest = _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffff));
  *mantissa = _mm512_castsi512_ps(_mm512_add_epi32(rest, least));
  return _mm512_cvtepi32_ps(_mm512_srai_epi32(bits, 23));
}

static inline vf vf_magnitude(vf v) { return _mm512_abs_ps(v); }

static inline vf vf_sign(vf v, vf s) {
  return _mm512_or_ps(v, _mm512_and_ps(_mm512_set1_ps(-0.0f), s));
}

static inline vf vf_bfloat16_low(const char* p) {
  const vi words = _mm512_loadu_si512((const void*)p);
  return _mm512_castsi512_ps(_mm512_slli_epi32(words, 16));
}

static inline vf vf_bfloat16_high(const char* p) {
  const vi words = _mm512_loadu_si512((const void*)p);
  const vi mask = _mm512_set1_epi32((int)0xffff0000u);
  return _mm512_castsi512_ps(_mm512_and_si512(words, mask));
}

static inline vf vf_int8(const int8_t* p) {
  const __m128i bytes = _mm_loadu_si128((const void*)p);
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes));
}

static inline bool vf_any_nan(vf v) {
  return _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q) != 0;
}

static inline void vf_to_bytes(vf v, uint8_t* to) {
  _mm_storeu_si128((void*)to, _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(v)));
}

static inline vi vi_zero(void) { return _mm512_setzero_si512(); }
static inline vf vi_to_vf(vi v) { return _mm512_cvtepi32_ps(v); }

static inline size_t compact(vf v, uint32_t first, uint32_t* index,
                             float* value) {
  return compact_avx512(v, first, index, value);
}

#if defined(__AVX512VNNI__)
typedef vi vq;

static inline vq vq_load(int bits, const uint8_t* four) {
  int32_t word;
  (void)bits;
  memcpy(&word, four, sizeof word);
  return _mm512_set1_epi32(word);
}

static inline vi dot(int bits, vi sum, vi weights, vq q) {
  (void)bits;
  return _mm512_dpbusd_epi32(sum, q, weights);
}
#else
/* Without VNNI, products of bytes are summed in 16 bits, which have no room
 * for two of 8 bits: the lowest bit goes by itself then. */
typedef struct vq {
  vi all;  /* of 7 bits, or the upper 7 of 8 */
  vi last; /* the lowest of 8 */
} vq;

static inline vq vq_load(int bits, const uint8_t* four) {
  int32_t word;
  memcpy(&word, four, sizeof word);
  const vi all = _mm512_set1_epi32(word);
  const vi upper =
      _mm512_and_si512(_mm512_srli_epi32(all, 1), _mm512_set1_epi8(127));
  const vi last = _mm512_and_si512(all, _mm512_set1_epi8(1));
  return bits == 7 ? (vq){all, all} : (vq){upper, last};
}

static inline vi dot(int bits, vi sum, vi weights, vq q) {
  const vi one = _mm512_set1_epi16(1), two = _mm512_set1_epi16(2);
  const vi pairs = _mm512_maddubs_epi16(q.all, weights);
  if (bits == 7) return _mm512_add_epi32(sum, _mm512_madd_epi16(pairs, one));
  const vi lasts = _mm512_maddubs_epi16(q.last, weights);
  sum = _mm512_add_epi32(sum, _mm512_madd_epi16(pairs, two));
  return _mm512_add_epi32(sum, _mm512_madd_epi16(lasts, one));
}
#endif

static inline void dot_rows(int bits, vi sums[4], const int8_t* r0,
                            const int8_t* r1, const int8_t* r2,
                            const int8_t* r3, vq q) {
  const vi a = _mm512_loadu_si512((const void*)r0);
  const vi b = _mm512_loadu_si512((const void*)r1);
  const vi c = _mm512_loadu_si512((const void*)r2);
  const vi d = _mm512_loadu_si512((const void*)r3);
  const vi ab0 = _mm512_unpacklo_epi8(a, b), ab1 = _mm512_unpackhi_epi8(a, b);
  const vi cd0 = _mm512_unpacklo_epi8(c, d), cd1 = _mm512_unpackhi_epi8(c, d);
  sums[0] = dot(bits, sums[0], _mm512_unpacklo_epi16(ab0, cd0), q);
  sums[1] = dot(bits, sums[1], _mm512_unpackhi_epi16(ab0, cd0), q);
  sums[2] = dot(bits, sums[2], _mm512_unpacklo_epi16(ab1, cd1), q);
  sums[3] = dot(bits, sums[3], _mm512_unpackhi_epi16(ab1, cd1), q);
}

static inline void prefetch(const void* p) { _mm_prefetch(p, _MM_HINT_T0); }
