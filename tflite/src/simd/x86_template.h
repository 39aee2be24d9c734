/* Template: what AVX2 and AVX-512 have in common. Takes
 *   vf, vi, VF_LANES  the vectors
 *   X86(name)         an instruction, as in _mm256_##name
 *   X86_BITS(name)    one on the bits of a vector, as in _mm256_##name##_si256
 *   X86_FLOATS(v)     a vi as a vf
 */
static inline vf vf_load(const float* p) { return X86(loadu_ps)(p); }
static inline void vf_store(float* p, vf v) { X86(storeu_ps)(p, v); }
static inline vf vf_set(float x) { return X86(set1_ps)(x); }
static inline vf vf_add(vf a, vf b) { return X86(add_ps)(a, b); }
static inline vf vf_sub(vf a, vf b) { return X86(sub_ps)(a, b); }
static inline vf vf_mul(vf a, vf b) { return X86(mul_ps)(a, b); }
static inline vf vf_div(vf a, vf b) { return X86(div_ps)(a, b); }
static inline vf vf_fma(vf a, vf b, vf c) { return X86(fmadd_ps)(a, b, c); }
static inline vf vf_fnma(vf a, vf b, vf c) { return X86(fnmadd_ps)(a, b, c); }

/* Of two numbers, one NaN, these instructions give the second. */
static inline vf vf_atleast(vf l, vf v) { return X86(max_ps)(l, v); }
static inline vf vf_atmost(vf l, vf v) { return X86(min_ps)(l, v); }

static inline vf vf_pow2(vf v) {
  const vi one = X86(set1_epi32)(127 << 23);
  const vi exponent = X86(slli_epi32)(X86_BITS(castps)(v), 23);
  return X86_FLOATS(X86(add_epi32)(exponent, one));
}

static inline vf vf_split(vf v, vf* mantissa) {
  const vi least = X86(set1_epi32)(0x3f2aaaab); /* 2/3 */
  const vi bits = X86(sub_epi32)(X86_BITS(castps)(v), least);
  const vi rest = X86_BITS (and)(bits, X86(set1_epi32)(0x7fffff));
  *mantissa = X86_FLOATS(X86(add_epi32)(rest, least));
  return X86(cvtepi32_ps)(X86(srai_epi32)(bits, 23));
}

static inline vf vf_magnitude(vf v) {
  return X86(andnot_ps)(X86(set1_ps)(-0.0f), v);
}

static inline vf vf_sign(vf v, vf s) {
  return X86(or_ps)(v, X86(and_ps)(X86(set1_ps)(-0.0f), s));
}

static inline vf vf_bfloat16_low(const char* p) {
  const vi words = X86_BITS(loadu)((const void*)p);
  return X86_FLOATS(X86(slli_epi32)(words, 16));
}

static inline vf vf_bfloat16_high(const char* p) {
  const vi words = X86_BITS(loadu)((const void*)p);
  return X86_FLOATS(X86_BITS (and)(words, X86(set1_epi32)((int)0xffff0000u)));
}

static inline vi vi_set(int32_t x) { return X86(set1_epi32)(x); }
static inline vf vi_to_vf(vi v) { return X86(cvtepi32_ps)(v); }

/* The first half of a transpose, of VF_LANES rows: pairs of rows are
 * interleaved, by numbers, then by pairs of them. Fours are left to change
 * places. */
static inline void vf_transpose_fours(const float* from, size_t stride, vf* a) {
  vf b[VF_LANES];
  for (size_t i = 0; i < VF_LANES; ++i) a[i] = vf_load(from + i * stride);
  for (size_t i = 0; i < VF_LANES; i += 2) {
    b[i] = X86(unpacklo_ps)(a[i], a[i + 1]);
    b[i + 1] = X86(unpackhi_ps)(a[i], a[i + 1]);
  }
  for (size_t i = 0; i < VF_LANES; i += 4) {
    for (size_t k = 0; k < 2; ++k) {
      a[i + 2 * k] = X86(shuffle_ps)(b[i + k], b[i + k + 2], 0x44);
      a[i + 2 * k + 1] = X86(shuffle_ps)(b[i + k], b[i + k + 2], 0xee);
    }
  }
}

#include "simd/x86_integers_template.h"
