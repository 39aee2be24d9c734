/* Vectors of four floats in the words of GCC and Clang, which make of them
 * what the processor has. See functions_template.h. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"

enum { VF_LANES = 4 };
#define VF_MAX_TILE 4
#define VF_MAX_ROWS 4
#define VF_TILE_ROWS 4
#define VF_WIDENS_INT8 true
#if !defined(__SSE2__)
#define VF_PREFETCH(p) __builtin_prefetch(p)
#endif

typedef float vf __attribute__((vector_size(16)));
typedef int32_t vi __attribute__((vector_size(16)));
typedef uint32_t vu __attribute__((vector_size(16)));

static inline vf vf_load(const float* p) {
  vf v;
  memcpy(&v, p, sizeof v);
  return v;
}

static inline void vf_store(float* p, vf v) { memcpy(p, &v, sizeof v); }
#include "simd/fallback_template.h"

static inline vf vf_set(float x) { return (vf){x, x, x, x}; }
static inline vf vf_add(vf a, vf b) { return a + b; }
static inline vf vf_sub(vf a, vf b) { return a - b; }
static inline vf vf_mul(vf a, vf b) { return a * b; }
static inline vf vf_div(vf a, vf b) { return a / b; }
static inline vf vf_fma(vf a, vf b, vf c) { return a * b + c; }
static inline vf vf_fnma(vf a, vf b, vf c) { return c - a * b; }

static inline vf vf_choose(vi which, vf yes, vf no) {
  return (vf)((which & (vi)yes) | (~which & (vi)no));
}

static inline vf vf_atleast(vf l, vf v) { return vf_choose(v < l, l, v); }
static inline vf vf_atmost(vf l, vf v) { return vf_choose(v > l, l, v); }

static inline vf vf_pow2(vf v) { return (vf)(((vu)v << 23) + (127u << 23)); }
static inline vf vf_split(vf v, vf* mantissa) {
  const int32_t least = 0x3f2aaaab; /* 2/3 */
  const vi bits = (vi)((vu)v - (uint32_t)least);
  *mantissa = (vf)((bits & 0x7fffff) + least);
  return __builtin_convertvector(bits >> 23, vf);
}

static inline vf vf_magnitude(vf v) { return (vf)((vu)v & 0x7fffffffu); }

static inline vf vf_sign(vf v, vf s) {
  return (vf)((vu)v | ((vu)s & 0x80000000u));
}

static inline vf vf_bfloat16_low(const char* p) {
  vu words;
  memcpy(&words, p, sizeof words);
  return (vf)(words << 16);
}

static inline vf vf_bfloat16_high(const char* p) {
  vu words;
  memcpy(&words, p, sizeof words);
  return (vf)(words & 0xffff0000u);
}

/* Without shuffles of bytes, which not every processor has: each lane takes
 * its byte where it stands in the word. The three low ones are made positive
 * for that, and the highest has its sign in the right place. */
static inline vf vf_int8(const int8_t* p) {
  const vu places = {0xffu, 0xff00u, 0xff0000u, 0xff000000u};
  const vf scale = {1.0f, 0x1p-8f, 0x1p-16f, 0x1p-24f};
  const vf middle = {128.0f, 128.0f, 128.0f, 0.0f};
  uint32_t word = 0;
  for (int i = 3; i >= 0; --i) word = word << 8 | (uint8_t)p[i];
  word ^= 0x00808080u;
  const vu each = (vu){word, word, word, word} & places;
  return __builtin_convertvector((vi)each, vf) * scale - middle;
}

static inline bool vf_any_nan(vf v) {
  return v[0] != v[0] || v[1] != v[1] || v[2] != v[2] || v[3] != v[3];
}

static inline vf vf_if_above(vf l, vf m, vf v) {
  return (vf)(~(m <= l) & (vi)v);
}

static inline float vf_sum(vf v) { return (v[0] + v[2]) + (v[1] + v[3]); }

static inline vi vi_set(int32_t x) { return (vi){x, x, x, x}; }
static inline vf vi_to_vf(vi v) { return __builtin_convertvector(v, vf); }

#define VF_GATHERS false
static inline size_t vf_compact(vf v, uint32_t first, uint32_t* index,
                                float* value) {
  size_t count = 0;
  for (uint32_t lane = 0; lane < VF_LANES; ++lane) {
    index[count] = first + lane;
    value[count] = v[lane];
    count += !(v[lane] <= 0.0f);
  }
  return count;
}

#if defined(__SSE2__)
#include <emmintrin.h>
typedef __m128i vx;
#define X86(name) _mm_##name
#define X86_BITS(name) _mm_##name##_si128
#include "simd/x86_integers_template.h"
#else
#define VQ_WIDE(bits) ((bits) > 0)
typedef struct vq {
  int32_t each[4];
} vq;

static inline vq vq_load(int bits, const void* list, size_t k) {
  const uint16_t* four = (const uint16_t*)list + k;
  (void)bits;
  return (vq){{four[0], four[1], four[2], four[3]}};
}

static inline void vi_dot_rows(int bits, vi sums[4], const int8_t* const r[4],
                               vq q) {
  int32_t found[16];
  (void)bits;
  memcpy(found, sums, sizeof found);
  for (int j = 0; j < 16; ++j) {
    found[j] += (uint8_t)r[0][j] * q.each[0] + (uint8_t)r[1][j] * q.each[1] +
                (uint8_t)r[2][j] * q.each[2] + (uint8_t)r[3][j] * q.each[3];
  }
  memcpy(sums, found, sizeof found);
}
#endif

typedef uint16_t vq_four __attribute__((vector_size(8)));
static inline void vq_store(int bits, vf v, void* list, size_t k) {
  (void)bits;
  const vi whole = __builtin_convertvector(vf_choose(v == v, v, v - v), vi);
  const vq_four four = __builtin_convertvector(whole, vq_four);
  memcpy((uint16_t*)list + k, &four, sizeof four);
}
