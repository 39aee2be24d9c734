/* Vectors of four floats: NEON of 64-bit ARM, with the dot product if
 * NEON_DOTPROD is defined, and float16 if NEON_FP16 is. See
 * functions_template.h. */
#include <arm_neon.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "simd/compaction.h"

enum { VF_LANES = 4 };
#define VF_MAX_TILE 8
#define VF_MAX_ROWS 4
#define VF_TILE_ROWS 8
#define VF_WIDENS_INT8 true
#define VF_PREFETCH(p) __builtin_prefetch(p)

typedef float32x4_t vf;
typedef int32x4_t vi;

static inline vf vf_load(const float* p) { return vld1q_f32(p); }
static inline void vf_store(float* p, vf v) { vst1q_f32(p, v); }
#include "simd/fallback_template.h"

static inline vf vf_set(float x) { return vdupq_n_f32(x); }
static inline vf vf_add(vf a, vf b) { return vaddq_f32(a, b); }
static inline vf vf_sub(vf a, vf b) { return vsubq_f32(a, b); }
static inline vf vf_mul(vf a, vf b) { return vmulq_f32(a, b); }
static inline vf vf_div(vf a, vf b) { return vdivq_f32(a, b); }
static inline vf vf_fma(vf a, vf b, vf c) { return vfmaq_f32(c, a, b); }
static inline vf vf_fnma(vf a, vf b, vf c) { return vfmsq_f32(c, a, b); }

/* These instructions give NaN if one of the numbers is. */
static inline vf vf_atleast(vf l, vf v) { return vmaxq_f32(l, v); }
static inline vf vf_atmost(vf l, vf v) { return vminq_f32(l, v); }

static inline vf vf_pow2(vf v) {
  const uint32x4_t exponent = vshlq_n_u32(vreinterpretq_u32_f32(v), 23);
  return vreinterpretq_f32_u32(vaddq_u32(exponent, vdupq_n_u32(127u << 23)));
}

static inline vf vf_split(vf v, vf* mantissa) {
  const vi least = vdupq_n_s32(0x3f2aaaab); /* 2/3 */
  const vi bits = vsubq_s32(vreinterpretq_s32_f32(v), least);
  const vi rest = vandq_s32(bits, vdupq_n_s32(0x7fffff));
  *mantissa = vreinterpretq_f32_s32(vaddq_s32(rest, least));
  return vcvtq_f32_s32(vshrq_n_s32(bits, 23));
}

static inline vf vf_magnitude(vf v) { return vabsq_f32(v); }

static inline vf vf_sign(vf v, vf s) {
  return vbslq_f32(vdupq_n_u32(1u << 31), s, v);
}

static inline uint32x4_t vu_load(const char* p) {
  return vreinterpretq_u32_u8(vld1q_u8((const uint8_t*)p));
}

static inline vf vf_bfloat16_low(const char* p) {
  return vreinterpretq_f32_u32(vshlq_n_u32(vu_load(p), 16));
}

static inline vf vf_bfloat16_high(const char* p) {
  const uint32x4_t mask = vdupq_n_u32(0xffff0000u);
  return vreinterpretq_f32_u32(vandq_u32(vu_load(p), mask));
}

static inline vf vf_int8(const int8_t* p) {
  uint32_t four;
  memcpy(&four, p, sizeof four);
  const int16x8_t wide = vmovl_s8(vreinterpret_s8_u32(vdup_n_u32(four)));
  return vcvtq_f32_s32(vmovl_s16(vget_low_s16(wide)));
}

static inline bool vf_any_nan(vf v) { return vminvq_u32(vceqq_f32(v, v)) == 0; }

/* NaN is made 0. */
static inline void vq_store(int bits, vf v, void* list, size_t k) {
  (void)bits;
  const uint16x4_t halves = vmovn_u32(vcvtq_u32_f32(v));
  const uint8x8_t bytes = vmovn_u16(vcombine_u16(halves, halves));
  const uint32_t four = vget_lane_u32(vreinterpret_u32_u8(bytes), 0);
  memcpy((uint8_t*)list + k, &four, sizeof four);
}

static inline vi vi_set(int32_t x) { return vdupq_n_s32(x); }
static inline vf vi_to_vf(vi v) { return vcvtq_f32_s32(v); }

static inline vf vf_if_above(vf l, vf m, vf v) {
  const uint32x4_t below = vcleq_f32(m, l);
  return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(v), below));
}

static inline float vf_sum(vf v) { return vaddvq_f32(v); }

#define VF_GATHERS true
static inline size_t vf_gather(vf* v, uint32_t first, uint32_t* index) {
  static const uint32_t bits[] = {1, 2, 4, 8}, lanes[] = {0, 1, 2, 3};
  const uint32x4_t below = vcleq_f32(*v, vdupq_n_f32(0.0f));
  const uint32_t mask = vaddvq_u32(vbicq_u32(vld1q_u32(bits), below));
  const uint8x16_t order = vld1q_u8(duspar_compaction[mask].bytes);
  const uint32x4_t all = vaddq_u32(vdupq_n_u32(first), vld1q_u32(lanes));
  const uint8x16_t kept = vqtbl1q_u8(vreinterpretq_u8_f32(*v), order);
  const uint8x16_t numbers = vqtbl1q_u8(vreinterpretq_u8_u32(all), order);
  *v = vreinterpretq_f32_u8(kept);
  vst1q_u32(index, vreinterpretq_u32_u8(numbers));
  return duspar_compaction[mask].count;
}

#define VF_PIN(v) __asm__("" : "+w"(v))

#if defined(NEON_FP16)
#define VF_HALVES
typedef float16x8_t vh;

static inline vh vh_load(const void* p) { return vld1q_f16(p); }
static inline vh vh_zero(void) { return vreinterpretq_f16_u16(vdupq_n_u16(0)); }
static inline vf vh_low(vh v) { return vcvt_f32_f16(vget_low_f16(v)); }
static inline vf vh_high(vh v) { return vcvt_high_f32_f16(v); }

static inline void vh_round(vf v, void* to) { vst1_f16(to, vcvt_f16_f32(v)); }

static inline void vh_round_one(double value, void* to) {
  const float16_t half = (float16_t)value;
  memcpy(to, &half, sizeof half);
}

/* The lane of an instruction is a constant. Clang 21's own vfmaq_f16 does not
 * compile where float16 is asked for in a source. */
#define VH_LANES(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
DUSPAR_INLINE vh vh_mul_lane(vh a, vh b, int lane) {
  switch (lane) {
#define X(L) \
  case L:    \
    return vmulq_laneq_f16(a, b, L);
    VH_LANES(X)
#undef X
  }
  return a;
}

DUSPAR_INLINE vh vh_fma_lane(vh a, vh b, int lane, vh c) {
  switch (lane) {
#define X(L) \
  case L:    \
    return vfmaq_laneq_f16(c, a, b, L);
    VH_LANES(X)
#undef X
  }
  return c;
}

static inline float vf_most(vf v) { return vmaxvq_f32(v); }
#endif

#define VQ_WIDE(bits) ((bits) > 8)
#if defined(NEON_DOTPROD)
/* The instruction takes signed bytes, so 8 bits go as twice the upper 7 and
 * the lowest. */
typedef struct vq {
  int8x16_t all;
  int8x16_t last;
} vq;

static inline vq vq_load(int bits, const void* list, size_t k) {
  uint32_t word;
  memcpy(&word, (const uint8_t*)list + k, sizeof word);
  const uint8x16_t all = vreinterpretq_u8_u32(vdupq_n_u32(word));
  const uint8x16_t upper = vshrq_n_u8(all, 1);
  const uint8x16_t last = vandq_u8(all, vdupq_n_u8(1));
  return (vq){vreinterpretq_s8_u8(bits == 7 ? all : upper),
              vreinterpretq_s8_u8(last)};
}

static inline vi vi_dot(int bits, vi sum, int16x8_t rows, vq q) {
  const int8x16_t weights = vreinterpretq_s8_s16(rows);
  sum = vdotq_s32(sum, weights, q.all);
  if (bits == 7) return sum;
  sum = vdotq_s32(sum, weights, q.all);
  return vdotq_s32(sum, weights, q.last);
}

static inline void vi_dot_rows(int bits, vi sums[4], const int8_t* const r[4],
                               vq q) {
  const int8x16_t a = vld1q_s8(r[0]), b = vld1q_s8(r[1]);
  const int8x16_t c = vld1q_s8(r[2]), d = vld1q_s8(r[3]);
  const int16x8_t ab0 = vreinterpretq_s16_s8(vzip1q_s8(a, b));
  const int16x8_t ab1 = vreinterpretq_s16_s8(vzip2q_s8(a, b));
  const int16x8_t cd0 = vreinterpretq_s16_s8(vzip1q_s8(c, d));
  const int16x8_t cd1 = vreinterpretq_s16_s8(vzip2q_s8(c, d));
  sums[0] = vi_dot(bits, sums[0], vzip1q_s16(ab0, cd0), q);
  sums[1] = vi_dot(bits, sums[1], vzip2q_s16(ab0, cd0), q);
  sums[2] = vi_dot(bits, sums[2], vzip1q_s16(ab1, cd1), q);
  sums[3] = vi_dot(bits, sums[3], vzip2q_s16(ab1, cd1), q);
}
#else
typedef struct vq {
  int16_t each[4];
} vq;

static inline vq vq_load(int bits, const void* list, size_t k) {
  const uint8_t* four = (const uint8_t*)list + k;
  (void)bits;
  return (vq){{four[0], four[1], four[2], four[3]}};
}

static inline void vi_add_row(vi sums[4], const int8_t* row, int16_t q) {
  const int8x16_t bytes = vld1q_s8(row);
  const int16x8_t low = vmovl_s8(vget_low_s8(bytes));
  const int16x8_t high = vmovl_s8(vget_high_s8(bytes));
  sums[0] = vmlal_n_s16(sums[0], vget_low_s16(low), q);
  sums[1] = vmlal_n_s16(sums[1], vget_high_s16(low), q);
  sums[2] = vmlal_n_s16(sums[2], vget_low_s16(high), q);
  sums[3] = vmlal_n_s16(sums[3], vget_high_s16(high), q);
}

static inline void vi_dot_rows(int bits, vi sums[4], const int8_t* const r[4],
                               vq q) {
  (void)bits;
  for (int k = 0; k < 4; ++k) vi_add_row(sums, r[k], q.each[k]);
}
#endif
