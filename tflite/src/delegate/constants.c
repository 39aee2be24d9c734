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

/* Integers with one scale, or one for each row of a matrix. */
static bool read_int8(const tfl_tensor* t, float* to, size_t count) {
  const tfl_affine* known = t->quantization.params;
  if (t->quantization.type != TFL_AFFINE || known == NULL ||
      known->scale == NULL || known->zero_point == NULL ||
      known->scale->size < 1 || known->quantized_dimension != 0 ||
      known->zero_point->size != known->scale->size) {
    return false;
  }
  const size_t rows = (size_t)known->scale->size;
  const int8_t* integers = t->data;
  if (rows != 1 && (size_t)t->dims->data[0] != rows) return false;
  const size_t row = count / rows;
  for (size_t i = 0; i < count; ++i) {
    const int zero = known->zero_point->data[i / row];
    to[i] = known->scale->data[i / row] * (float)(integers[i] - zero);
  }
  return true;
}

bool duspar_constant_read(const tfl_tensor* t, float* to, size_t count) {
  const size_t item = t->type == TFL_FLOAT32 ? 4 : t->type == TFL_INT8 ? 1 : 2;
  if (t->data == NULL || t->bytes / item < count) return false;
  if (t->type == TFL_FLOAT32) {
    memcpy(to, t->data, count * sizeof(float));
    return true;
  }
  if (t->type == TFL_INT8) return read_int8(t, to, count);
  if (t->type != TFL_FLOAT16) return false;
  for (size_t i = 0; i < count; ++i) {
    uint16_t half;
    memcpy(&half, (const char*)t->data + 2 * i, sizeof half);
    to[i] = half_value(half);
  }
  return true;
}
