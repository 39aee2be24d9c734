/* Vectors of four floats in the words of GCC and Clang, which make of them
 * what the processor has. See `kernel_body.h`. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { LANES = 4 };
#define MAX_TILE 4

typedef float vf __attribute__((vector_size(16)));
typedef int32_t vi __attribute__((vector_size(16)));
typedef uint32_t vu __attribute__((vector_size(16)));

static inline vf vf_load(const float* p) {
  vf v;
  memcpy(&v, p, sizeof v);
  return v;
}

static inline void vf_store(float* p, vf v) { memcpy(p, &v, sizeof v); }
static inline vf vf_set(float x) { return (vf){x, x, x, x}; }
static inline vf vf_add(vf a, vf b) { return a + b; }
static inline vf vf_sub(vf a, vf b) { return a - b; }
static inline vf vf_mul(vf a, vf b) { return a * b; }
static inline vf vf_div(vf a, vf b) { return a / b; }
static inline vf vf_fma(vf a, vf b, vf c) { return a * b + c; }

static inline vf choose(vi which, vf yes, vf no) {
  return (vf)((which & (vi)yes) | (~which & (vi)no));
}

static inline vf vf_atleast(vf l, vf v) { return choose(v < l, l, v); }
static inline vf vf_atmost(vf l, vf v) { return choose(v > l, l, v); }

static inline vf vf_pow2(vf v) { return (vf)(((vu)v << 23) + (127u << 23)); }
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

static inline vf vf_int8(const int8_t* p) {
  return (vf){(float)p[0], (float)p[1], (float)p[2], (float)p[3]};
}

static inline vi vi_zero(void) { return (vi){0, 0, 0, 0}; }
static inline vf vi_to_vf(vi v) { return __builtin_convertvector(v, vf); }

static inline size_t compact(vf v, uint32_t first, uint32_t* index,
                             float* value) {
  size_t count = 0;
  for (uint32_t lane = 0; lane < LANES; ++lane) {
    index[count] = first + lane;
    value[count] = v[lane];
    count += !(v[lane] <= 0.0f);
  }
  return count;
}

typedef struct vq {
  int32_t each[4];
} vq;

static inline vq vq_load(int bits, const uint8_t* four) {
  (void)bits;
  return (vq){{four[0], four[1], four[2], four[3]}};
}

static inline void dot_rows(int bits, vi sums[4], const int8_t* r0,
                            const int8_t* r1, const int8_t* r2,
                            const int8_t* r3, vq q) {
  (void)bits;
  for (int t = 0; t < 4; ++t) {
    for (int lane = 0; lane < 4; ++lane) {
      const int j = 4 * t + lane;
      sums[t][lane] += q.each[0] * r0[j] + q.each[1] * r1[j] +
                       q.each[2] * r2[j] + q.each[3] * r3[j];
    }
  }
}

static inline void prefetch(const void* p) { __builtin_prefetch(p); }
