/* Vectors of LANES floats, and the gates computed with them.
 *
 * The file that includes this one sets LANES; with 1 a vector is a float and
 * any C compiler can make it. It may also set MAX(a, b) and MIN(a, b), which
 * return b if one of the two is NaN.
 */
#ifndef DUSPAR_TRAINING_VECTORS_H_
#define DUSPAR_TRAINING_VECTORS_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"

#if LANES > 1
typedef float vector __attribute__((vector_size(4 * LANES)));
typedef uint32_t words __attribute__((vector_size(4 * LANES)));
#define SPLAT(x) ((x) - (vector){0})
#define IS_POSITIVE_OR_NAN(x) (~(words)((x) <= SPLAT(0.0f)))
#else
typedef float vector;
typedef uint32_t words;
#define SPLAT(x) (x)
#define IS_POSITIVE_OR_NAN(x) ((x) <= 0 ? 0u : 0xffffffffu)
#endif

INLINE words to_words(vector x) {
  words bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

INLINE vector from_words(words bits) {
  vector x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

INLINE vector load(const float* from) {
  vector x;
  memcpy(&x, from, sizeof x);
  return x;
}

INLINE void store(float* to, vector x) { memcpy(to, &x, sizeof x); }

/* The first `count` numbers, then zeros. */
INLINE vector load_part(const float* from, size_t count) {
  if (count >= LANES) return load(from);
  float part[LANES] = {0};
  for (size_t i = 0; i < count; ++i) part[i] = from[i];
  return load(part);
}

INLINE void store_part(float* to, vector x, size_t count) {
  if (count >= LANES) {
    store(to, x);
    return;
  }
  float part[LANES];
  store(part, x);
  for (size_t i = 0; i < count; ++i) to[i] = part[i];
}

/* x where the mask is all ones, else 0. */
INLINE vector where(words mask, vector x) {
  return from_words(mask & to_words(x));
}

#if !defined(MAX)
INLINE vector choose(words mask, vector a, vector b) {
  return from_words((mask & to_words(a)) | (~mask & to_words(b)));
}
#if LANES > 1
#define MAX(a, b) choose((words)((a) > (b)), a, b)
#define MIN(a, b) choose((words)((a) < (b)), a, b)
#else
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#endif
#endif

INLINE vector rectified(vector x) { return MAX(SPLAT(0.0f), x); }

/* Beyond this the gates are 0 or 1 (-1) to float's precision, and below it
 * the product of two exponentials has room. */
INLINE vector clamped(vector x) {
  return MIN(SPLAT(40.0f), MAX(SPLAT(-40.0f), x));
}

/* What the exponential is written in. */
typedef vector vf;
INLINE vf vf_set(float x) { return SPLAT(x); }
INLINE vf vf_sub(vf a, vf b) { return a - b; }
INLINE vf vf_mul(vf a, vf b) { return a * b; }
INLINE vf vf_fma(vf a, vf b, vf c) { return a * b + c; }
INLINE vf vf_pow2(vf v) {
  return from_words((to_words(v) << 23) + to_words(SPLAT(1.0f)));
}
#include "simd/exponential.h"

/* Sets *z = sigmoid(a) and *c = tanh(b), with one division for both. tanh
 * comes from e^2b - 1, which keeps the digits of a small b. */
INLINE void gates(vector a, vector b, vector* z, vector* c) {
  vector rest_a, rest_b, scale_a, scale_b;
  split_exp(clamped(-a), &rest_a, &scale_a);
  split_exp(clamped(b + b), &rest_b, &scale_b);
  const vector p = scale_a * rest_a + scale_a + SPLAT(1.0f);
  const vector minus_one = scale_b * rest_b + (scale_b - SPLAT(1.0f));
  const vector q = minus_one + SPLAT(2.0f);
  const vector inverse = SPLAT(1.0f) / (p * q);
  *z = inverse * q;
  *c = minus_one * (inverse * p);
}

#endif /* DUSPAR_TRAINING_VECTORS_H_ */
