/* Constants of built-in operators, in any type that our converter writes. */
#include <stdint.h>
#include <string.h>

#include "delegate/patterns.h"

/* A number of float16, which float32 has, too. */
static float half_value(uint16_t half) {
  const uint32_t sign = (uint32_t)(half & 0x8000) << 16;
  const uint32_t exponent = half >> 10 & 31, fraction = half & 1023;
  uint32_t bits = sign | (exponent + 112) << 23 | fraction << 13;
  float value;
  if (exponent == 0) {
    value = (float)fraction * 0x1p-24f;
    return sign ? -value : value;
  }
  if (exponent == 31) bits |= 0x7f800000u;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Integers with one scale, or one for each row of a matrix. LiteRT 1.4 keeps
 * one zero point where all are the same. */
static bool is_scaled(const tfl_tensor* t) {
  const tfl_affine* known = t->quantization.params;
  if (t->quantization.type != TFL_AFFINE || known == NULL ||
      known->scale == NULL || known->zero_point == NULL ||
      known->quantized_dimension != 0) {
    return false;
  }
  const int scales = known->scale->size, zeros = known->zero_point->size;
  return (scales == 1 || (scales > 1 && scales == t->dims->data[0])) &&
         (zeros == 1 || zeros == scales);
}

static void read_int8(const tfl_tensor* t, float* to, size_t count) {
  const tfl_affine* known = t->quantization.params;
  const int8_t* integers = t->data;
  const size_t row = count / (size_t)known->scale->size;
  for (size_t i = 0; i < count; ++i) {
    const size_t at = known->zero_point->size == 1 ? 0 : i / row;
    const int zero = known->zero_point->data[at];
    to[i] = known->scale->data[i / row] * (float)(integers[i] - zero);
  }
}

bool duspar_constant_is_readable(const tfl_tensor* t, size_t count) {
  const size_t item = t->type == TFL_FLOAT32 ? 4 : t->type == TFL_INT8 ? 1 : 2;
  if (t->data == NULL || t->bytes / item < count) return false;
  return t->type == TFL_FLOAT32 || t->type == TFL_FLOAT16 ||
         (t->type == TFL_INT8 && is_scaled(t));
}

bool duspar_constant_read(const tfl_tensor* t, float* to, size_t count) {
  if (!duspar_constant_is_readable(t, count)) return false;
  if (t->type == TFL_FLOAT32) {
    memcpy(to, t->data, count * sizeof(float));
    return true;
  }
  if (t->type == TFL_INT8) {
    read_int8(t, to, count);
    return true;
  }
  for (size_t i = 0; i < count; ++i) {
    uint16_t half;
    memcpy(&half, (const char*)t->data + 2 * i, sizeof half);
    to[i] = half_value(half);
  }
  return true;
}
