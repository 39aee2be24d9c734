/* Sums of the rows of a matrix, each times an entry of the operand. Rows of
 * entries that are zero are not read. A kernel holds TILE sums in registers.
 *
 * Arguments: the first weight in its pool, and the columns, in whole tiles. */
#include "machine.h"

#if HELIUM

/* Four numbers from memory, widened; compilers would compute addresses. */
#define LOAD(instruction, row, place)                     \
  __extension__({                                         \
    int32x4_t loaded;                                     \
    __asm(instruction " %q0, [%1, %2]"                    \
          : "=w"(loaded)                                  \
          : "l"(row), "i"((place) * (int)sizeof *(row))); \
    loaded;                                               \
  })
/* The next entry in one instruction: where its weights begin, and its value. */
#define NEXT(e, place, x)                     \
  __asm("ldrd %0, %1, [%2], #8"               \
        : "=&r"(place), "=&r"((x).i), "+r"(e) \
        : "m"(*(e)))
#define PRODUCT(name, weight, pool, member, sum, vector, zero, add, store)     \
  FUNCTION void name(const machine* m, int32_t count, const int32_t* a) {      \
    const weight* weights = m->pool + a[0];                                    \
    int32_t j = 0;                                                             \
    for (; j + 24 <= a[1]; j += 24, weights += 24) {                           \
      vector s0 = zero, s1 = zero, s2 = zero, s3 = zero, s4 = zero, s5 = zero; \
      const entry* e = m->entries;                                             \
      for (int32_t k = 0; k < count; ++k) {                                    \
        int32_t place;                                                         \
        number n;                                                              \
        NEXT(e, place, n);                                                     \
        const weight* row = weights + place;                                   \
        const sum x = n.member;                                                \
        s0 = add(s0, row, 0, x);                                               \
        s1 = add(s1, row, 4, x);                                               \
        s2 = add(s2, row, 8, x);                                               \
        s3 = add(s3, row, 12, x);                                              \
        s4 = add(s4, row, 16, x);                                              \
        s5 = add(s5, row, 20, x);                                              \
      }                                                                        \
      store(&m->sums[j].member, s0);                                           \
      store(&m->sums[j + 4].member, s1);                                       \
      store(&m->sums[j + 8].member, s2);                                       \
      store(&m->sums[j + 12].member, s3);                                      \
      store(&m->sums[j + 16].member, s4);                                      \
      store(&m->sums[j + 20].member, s5);                                      \
    }                                                                          \
    for (; j < a[1]; j += 8, weights += 8) {                                   \
      vector s0 = zero, s1 = zero;                                             \
      const entry* e = m->entries;                                             \
      for (int32_t k = 0; k < count; ++k) {                                    \
        int32_t place;                                                         \
        number n;                                                              \
        NEXT(e, place, n);                                                     \
        const weight* row = weights + place;                                   \
        const sum x = n.member;                                                \
        s0 = add(s0, row, 0, x);                                               \
        s1 = add(s1, row, 4, x);                                               \
      }                                                                        \
      store(&m->sums[j].member, s0);                                           \
      store(&m->sums[j + 4].member, s1);                                       \
    }                                                                          \
  }
#define ADD_FLOAT32(s, row, i, x) \
  vfmaq_n_f32(s, vreinterpretq_f32_s32(LOAD("vldrw.32", row, i)), x)
#define ADD_BFLOAT16(s, row, i, x) \
  vfmaq_n_f32(                     \
      s, vreinterpretq_f32_s32(vshlq_n_s32(LOAD("vldrh.u32", row, i), 16)), x)
#define ADD_INT8(s, row, i, x) \
  vfmaq_n_f32(s, vcvtq_f32_s32(LOAD("vldrb.s32", row, i)), x)
#define ADD_INTEGER(s, row, i, x) vmlaq_n_s32(s, LOAD("vldrb.s32", row, i), x)
PRODUCT(product_float32, float, floats, f, float, float32x4_t,
        vdupq_n_f32(0.0f), ADD_FLOAT32, vstrwq_f32)
PRODUCT(product_bfloat16, uint16_t, halves, f, float, float32x4_t,
        vdupq_n_f32(0.0f), ADD_BFLOAT16, vstrwq_f32)
PRODUCT(product_int8, int8_t, bytes, f, float, float32x4_t, vdupq_n_f32(0.0f),
        ADD_INT8, vstrwq_f32)
PRODUCT(product_integer, int8_t, bytes, i, int32_t, int32x4_t, vdupq_n_s32(0),
        ADD_INTEGER, vstrwq_s32)
#undef LOAD
#undef NEXT

#else

#define PRODUCT(name, weight, pool, member, sum, convert)                  \
  FUNCTION void name(const machine* m, int32_t count, const int32_t* a) {  \
    const weight* weights = m->pool + a[0];                                \
    const entry* end = m->entries + count;                                 \
    for (int32_t j = 0; j < a[1]; j += TILE, weights += TILE) {            \
      sum sums[TILE] = {0};                                                \
      for (const entry* e = m->entries; e < end; ++e) {                    \
        const weight* row = weights + e->row;                              \
        const sum x = e->value.member;                                     \
        for (int32_t t = 0; t < TILE; ++t) sums[t] += x * convert(row[t]); \
      }                                                                    \
      for (int32_t t = 0; t < TILE; ++t) m->sums[j + t].member = sums[t];  \
    }                                                                      \
  }

FUNCTION float from_bfloat16(uint16_t upper) {
  number n;
  n.i = (int32_t)((uint32_t)upper << 16);
  return n.f;
}

PRODUCT(product_float32, float, floats, f, float, )
PRODUCT(product_bfloat16, uint16_t, halves, f, float, from_bfloat16)
PRODUCT(product_int8, int8_t, bytes, f, float, (float))

#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__)

/* Two bytes of a word with their signs, as the halves of another. */
FUNCTION int32_t bytes_0_2(int32_t word) {
  int32_t halves;
  __asm("sxtb16 %0, %1" : "=r"(halves) : "r"(word));
  return halves;
}

FUNCTION int32_t bytes_1_3(int32_t word) {
  int32_t halves;
  __asm("sxtb16 %0, %1, ror #8" : "=r"(halves) : "r"(word));
  return halves;
}

FUNCTION int32_t add_low(int32_t sum, int32_t halves, int32_t x) {
  __asm("smlabb %0, %1, %2, %0" : "+r"(sum) : "r"(halves), "r"(x));
  return sum;
}

FUNCTION int32_t add_high(int32_t sum, int32_t halves, int32_t x) {
  __asm("smlatb %0, %1, %2, %0" : "+r"(sum) : "r"(halves), "r"(x));
  return sum;
}

/* A word of four bytes, wherever it lies. */
FUNCTION int32_t word_at(const int8_t* bytes) {
  int32_t word;
  memcpy(&word, bytes, sizeof word);
  return word;
}

/* Eight sums, as there are registers. */
FUNCTION void product_integer(const machine* m, int32_t count,
                              const int32_t* a) {
  const int8_t* weights = m->bytes + a[0];
  const entry* end = m->entries + count;
  for (int32_t j = 0; j < a[1]; j += 8, weights += 8) {
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0;
    for (const entry* e = m->entries; e != end; ++e) {
      const int8_t* row = weights + e->row;
      const int32_t x = e->value.i;
      const int32_t low = word_at(row), high = word_at(row + 4);
      int32_t halves = bytes_0_2(low);
      s0 = add_low(s0, halves, x);
      s2 = add_high(s2, halves, x);
      halves = bytes_1_3(low);
      s1 = add_low(s1, halves, x);
      s3 = add_high(s3, halves, x);
      halves = bytes_0_2(high);
      s4 = add_low(s4, halves, x);
      s6 = add_high(s6, halves, x);
      halves = bytes_1_3(high);
      s5 = add_low(s5, halves, x);
      s7 = add_high(s7, halves, x);
    }
    number* sums = m->sums + j;
    sums[0].i = s0;
    sums[1].i = s1;
    sums[2].i = s2;
    sums[3].i = s3;
    sums[4].i = s4;
    sums[5].i = s5;
    sums[6].i = s6;
    sums[7].i = s7;
  }
}

#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>

/* Two rows at once: pairs of weights times pairs of operands. */
FUNCTION void add_rows(v128_t sums[4], const int8_t* row, const int8_t* other,
                       int32_t pair) {
  const v128_t a = wasm_v128_load(row), b = wasm_v128_load(other);
  const v128_t x = wasm_i32x4_splat(pair);
  const v128_t low = wasm_i8x16_shuffle(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20,
                                        5, 21, 6, 22, 7, 23);
  const v128_t high = wasm_i8x16_shuffle(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12,
                                         28, 13, 29, 14, 30, 15, 31);
  const v128_t weights[4] = {
      wasm_i16x8_extend_low_i8x16(low), wasm_i16x8_extend_high_i8x16(low),
      wasm_i16x8_extend_low_i8x16(high), wasm_i16x8_extend_high_i8x16(high)};
  for (int t = 0; t < 4; ++t) {
    sums[t] = wasm_i32x4_add(sums[t], wasm_i32x4_dot_i16x8(weights[t], x));
  }
}

FUNCTION void product_integer(const machine* m, int32_t count,
                              const int32_t* a) {
  const int8_t* weights = m->bytes + a[0];
  for (int32_t j = 0; j < a[1]; j += TILE, weights += TILE) {
    const entry* e = m->entries;
    const entry* end = e + count;
    v128_t sums[4] = {wasm_i32x4_splat(0), wasm_i32x4_splat(0),
                      wasm_i32x4_splat(0), wasm_i32x4_splat(0)};
    for (; e + 1 < end; e += 2) {
      add_rows(sums, weights + e[0].row, weights + e[1].row,
               e[0].value.i | e[1].value.i << 16);
    }
    if (e < end) {
      add_rows(sums, weights + e->row, weights + e->row, e->value.i);
    }
    for (int t = 0; t < 4; ++t) wasm_v128_store(m->sums + j + 4 * t, sums[t]);
  }
}

#else

PRODUCT(product_integer, int8_t, bytes, i, int32_t, )

#endif
#endif
#undef PRODUCT
