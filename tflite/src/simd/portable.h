/* Vectors of four floats in the words of GCC and Clang, which make of them
 * what the processor has. See functions_template.h. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { VF_LANES = 4 };
#define VF_MAX_TILE 4
#define VF_TILE_ROWS 4

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

static inline void vf_to_bytes(vf v, uint8_t* to) {
  for (int lane = 0; lane < VF_LANES; ++lane) {
    to[lane] = v[lane] > 0.0f ? (uint8_t)v[lane] : 0;
  }
}

static inline vf vf_if_positive(vf m, vf v) {
  return (vf)(~(m <= vf_set(0.0f)) & (vi)v);
}

static inline float vf_sum(vf v) { return (v[0] + v[2]) + (v[1] + v[3]); }

static inline vi vi_zero(void) { return (vi){0, 0, 0, 0}; }
static inline vf vi_to_vf(vi v) { return __builtin_convertvector(v, vf); }

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

typedef struct vq {
  vf each[4];
} vq;

static inline vq vq_load(int bits, const uint8_t* four) {
  (void)bits;
  return (vq){
      {vf_set(four[0]), vf_set(four[1]), vf_set(four[2]), vf_set(four[3])}};
}

/* Floats have room for four products. */
static inline void vi_dot_rows(int bits, vi sums[4], const int8_t* const r[4],
                               vq q) {
  (void)bits;
  for (int t = 0; t < 4; ++t) {
    const vf four =
        (vf_int8(r[0] + 4 * t) * q.each[0] +
         vf_int8(r[1] + 4 * t) * q.each[1]) +
        (vf_int8(r[2] + 4 * t) * q.each[2] + vf_int8(r[3] + 4 * t) * q.each[3]);
    sums[t] += __builtin_convertvector(four, vi);
  }
}

static inline void simd_prefetch(const void* p) { __builtin_prefetch(p); }
