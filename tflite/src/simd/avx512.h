/* Vectors of sixteen floats: AVX-512, with VNNI if the compiler may use it.
 * See functions_template.h. */
#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"

enum { VF_LANES = 16 };
#define VF_MAX_TILE 8
#define VF_MAX_ROWS 4
#define VF_TILE_ROWS 8
#define VF_WIDENS_INT8 false

typedef __m512 vf;
typedef __m512i vi, vx;

#define X86(name) _mm512_##name
#define X86_BITS(name) _mm512_##name##_si512
#define X86_FLOATS(v) _mm512_castsi512_ps(v)
#define X86_PAIRS(q, weights) _mm512_maddubs_epi16(q, weights)
#if defined(__AVX512VNNI__)
#define X86_DOT(sum, q, weights) _mm512_dpbusd_epi32(sum, q, weights)
#endif
#include "simd/x86_template.h"

static inline __mmask16 vf_first_mask(size_t count) {
  return (__mmask16)((1u << count) - 1);
}

static inline vf vf_load_part(const float* p, size_t count) {
  return _mm512_maskz_loadu_ps(vf_first_mask(count), p);
}

static inline void vf_store_part(float* p, vf v, size_t count) {
  _mm512_mask_storeu_ps(p, vf_first_mask(count), v);
}

static inline vf vf_first(vf v, size_t count) {
  return _mm512_maskz_mov_ps(vf_first_mask(count), v);
}

static inline vf vf_int8(const int8_t* p) {
  const __m128i bytes = _mm_loadu_si128((const void*)p);
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes));
}

static inline bool vf_any_nan(vf v) {
  return _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q) != 0;
}

static inline void vq_store(int bits, vf v, void* list, size_t k) {
  const vi words = _mm512_cvtps_epi32(v);
  if (VQ_WIDE(bits)) {
    _mm256_storeu_si256((void*)((uint16_t*)list + k),
                        _mm512_cvtepi32_epi16(words));
  } else {
    _mm_storeu_si128((void*)((uint8_t*)list + k), _mm512_cvtepi32_epi8(words));
  }
}

static inline __mmask16 vf_above_zero(vf v) {
  return _mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_NLE_UQ);
}

static inline vf vf_if_above(vf l, vf m, vf v) {
  return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(m, l, _CMP_NLE_UQ), v);
}

static inline float vf_sum(vf v) { return _mm512_reduce_add_ps(v); }

/* In registers, then stored whole: compressing to memory is slow. */
#define VF_GATHERS true
static inline size_t vf_gather(vf* v, uint32_t first, uint32_t* index) {
  const vi lanes =
      _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  const vi all = _mm512_add_epi32(_mm512_set1_epi32((int)first), lanes);
  const __mmask16 mask = vf_above_zero(*v);
  *v = _mm512_maskz_compress_ps(mask, *v);
  _mm512_storeu_si512(index, _mm512_maskz_compress_epi32(mask, all));
  return (size_t)_mm_popcnt_u32(mask);
}

static inline void vf_transpose(const float* from, size_t stride, float* to) {
  vf a[16], b[16];
  vf_transpose_fours(from, stride, a);
  for (size_t i = 0; i < 4; ++i) {
    b[i] = _mm512_shuffle_f32x4(a[i], a[i + 4], 0x88);
    b[i + 4] = _mm512_shuffle_f32x4(a[i], a[i + 4], 0xdd);
    b[i + 8] = _mm512_shuffle_f32x4(a[i + 8], a[i + 12], 0x88);
    b[i + 12] = _mm512_shuffle_f32x4(a[i + 8], a[i + 12], 0xdd);
  }
  for (size_t i = 0; i < 8; ++i) {
    const vf even = _mm512_shuffle_f32x4(b[i], b[i + 8], 0x88);
    const vf odd = _mm512_shuffle_f32x4(b[i], b[i + 8], 0xdd);
    _mm512_storeu_ps(to + i * 16, even);
    _mm512_storeu_ps(to + (i + 8) * 16, odd);
  }
}

#define VF_PIN(v) __asm__("" : "+v"(v))
