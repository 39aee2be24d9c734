/* Functions of numbers, so that no mathematical library is needed. Without
 * branches, so that compilers can compute several at once. */
#ifndef FUNCTIONS_C_
#define FUNCTIONS_C_

#include "machine.h"

FUNCTION float at_least(float x, float low) { return x > low ? x : low; }

FUNCTION float at_most(float x, float high) { return x < high ? x : high; }

/* The nearest integer, halfway cases to the even one; |x| below 2^22. */
FUNCTION int32_t nearest(float x) {
  number n;
  n.f = x + 12582912.0f; /* 1.5 * 2^23: the integer is in the low bits */
  return n.i - 0x4b400000;
}

/* e to the power of x, within 2e-7 of it, for x from -87 to 88. */
FUNCTION float exponential(float x) {
  const int32_t n = nearest(x * 1.44269504f);
  const float k = (float)n;
  const float r = (x - k * 0.693359375f) + k * 2.12194440e-4f;
  float p = 0x1.6dbc66p-10f;
  number scale;
  p = p * r + 0x1.124148p-7f;
  p = p * r + 0x1.555454p-5f;
  p = p * r + 0x1.555486p-3f;
  p = p * r + 0.5f;
  p = p * (r * r) + r + 1.0f;
  scale.i = (n + 127) * (1 << 23);
  return p * scale.f;
}

/* As `exponential()`, for any x. */
FUNCTION float any_exponential(float x) {
  return exponential(at_most(at_least(x, -87.0f), 88.0f));
}

FUNCTION float sigmoid_of(float x) {
  return 1.0f / (1.0f + any_exponential(-x));
}

FUNCTION float tanh_of(float x) {
  return 1.0f - 2.0f / (1.0f + any_exponential(2.0f * x));
}

/* The natural logarithm of a number that is not below the smallest normal
 * one: the mantissa less 1 is between -1/3 and 1/3. */
FUNCTION float logarithm(float x) {
  number n;
  n.f = x;
  const int32_t exponent = (n.i - 0x3f2aaaab) >> 23;
  n.i -= exponent * (1 << 23);
  const float f = n.f - 1.0f;
  float q = f * 0x1.1b0950p-3f - 0x1.35b3d4p-3f;
  q = q * f + 0x1.1f963ep-3f;
  q = q * f - 0x1.515a6cp-3f;
  q = q * f + 0x1.99c31ep-3f;
  q = q * f - 0x1.000b1cp-2f;
  q = q * f + 0x1.555528p-2f;
  q = q * f - 0.5f;
  return (float)exponent * 0.693147182f + (f * f * q + f);
}

/* One by the square root of a normal number, by Newton's method. */
FUNCTION float inverse_root(float x) {
  number n;
  n.f = x;
  n.i = 0x5f3759df - (n.i >> 1);
  float y = n.f;
  for (int i = 0; i < 4; ++i) y = y * (1.5f - 0.5f * x * y * y);
  return y;
}

#if HELIUM

FUNCTION float32x4_t limited(float32x4_t x, float low, float high) {
  return vminnmq(vmaxnmq(x, vdupq_n_f32(low)), vdupq_n_f32(high));
}

/* As `exponential()`, of four numbers. */
FUNCTION float32x4_t exponentials(float32x4_t x) {
  const int32x4_t n = vcvtnq_s32_f32(vmulq(x, 1.44269504f));
  const float32x4_t k = vcvtq_f32_s32(n);
  float32x4_t r = vfmaq(x, k, -0.693359375f), p;
  r = vfmaq(r, k, 2.12194440e-4f);
  p = vfmasq(vdupq_n_f32(0x1.6dbc66p-10f), r, 0x1.124148p-7f);
  p = vfmasq(p, r, 0x1.555454p-5f);
  p = vfmasq(p, r, 0x1.555486p-3f);
  p = vfmasq(p, r, 0.5f);
  p = vfmasq(p, r, 1.0f);
  p = vfmasq(p, r, 1.0f);
  /* Times 2^n: the exponent's bits. */
  const int32x4_t bits = vreinterpretq_s32_f32(p);
  return vreinterpretq_f32_s32(vaddq(bits, vshlq_n_s32(n, 23)));
}

/* One by positive numbers, by Newton's method; no instruction divides four. */
FUNCTION float32x4_t reciprocals(float32x4_t x) {
  const float32x4_t two = vdupq_n_f32(2.0f);
  const int32x4_t bits = vreinterpretq_s32_f32(x);
  float32x4_t y = vreinterpretq_f32_s32(vsubq(vdupq_n_s32(0x7ef311c7), bits));
  y = vmulq(y, vfmsq(two, x, y));
  y = vmulq(y, vfmsq(two, x, y));
  return vmulq(y, vfmsq(two, x, y));
}

#endif

#endif /* FUNCTIONS_C_ */
