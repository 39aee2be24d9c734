/* Dense layers, normalizations and sums of every kernel that the processor can
 * run, against sums in double precision, over many sizes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "variants/variants.h"

enum { MOST = 150 };

static float* numbers(size_t count, bool narrow) {
  /* Exactly as many as are asked for, so that sanitizers see what is beyond. */
  float* made = malloc(count * sizeof *made);
  if (made == NULL) abort();
  for (size_t i = 0; i < count; ++i) {
    made[i] = (float)uniform();
    uint32_t bits;
    memcpy(&bits, &made[i], sizeof bits);
    if (narrow) bits &= 0xffff0000u;
    memcpy(&made[i], &bits, sizeof bits);
  }
  return made;
}

static double activated(duspar_activation activation, double sum) {
  if (activation == DUSPAR_RELU) return sum > 0 ? sum : 0;
  return activation == DUSPAR_SIGMOID ? 1 / (1 + exp(-sum)) : sum;
}

static void test_dense(const duspar_variant* variant, size_t inputs,
                       size_t outputs, bool narrow, int choice) {
  float* kernel = numbers(inputs * outputs, narrow);
  float* bias = numbers(outputs, false);
  float* x = numbers(inputs, false);
  float* factor = numbers(outputs, false);
  float* out = numbers(outputs, false);
  const duspar_activation activation = (duspar_activation)(choice % 3);
  const duspar_dense_parameters p = {
      inputs, outputs, kernel, choice % 2 ? bias : NULL,
      duspar_dense_fits_bfloat16(kernel, inputs * outputs)};
  const float* times = choice % 5 < 3 ? factor : NULL;
  size_t bytes;
  CHECK(p.narrow == narrow, "%s", variant->name);
  CHECK(variant->dense.bytes(&p, &bytes), "%s", variant->name);
  void* packed = duspar_allocate(bytes);
  variant->dense.pack(&p, packed);
  variant->dense.run(packed, x, times, activation, out);
  for (size_t j = 0; j < outputs; ++j) {
    double sum = p.bias ? bias[j] : 0, sizes = 1;
    for (size_t k = 0; k < inputs; ++k) {
      const double product = (double)kernel[j * inputs + k] * x[k];
      sum += product;
      sizes += fabs(product);
    }
    double expected = activated(activation, sum);
    if (times) expected *= factor[j];
    CHECK(fabs(out[j] - expected) <= 1e-6 * sizes, "%s", variant->name);
  }
  duspar_release(packed);
  free(kernel), free(bias), free(x), free(factor), free(out);
}

static void test_norm(const duspar_variant* variant, size_t size) {
  float* gamma = numbers(size, false);
  float* beta = numbers(size, false);
  float* x = numbers(size, false);
  float* out = numbers(size, false);
  const duspar_norm norm = {size, gamma, beta, 1e-3f};
  double mean = 0, variance = 0;
  for (size_t i = 0; i < size; ++i) x[i] += 3;
  for (size_t i = 0; i < size; ++i) mean += (double)x[i] / (double)size;
  for (size_t i = 0; i < size; ++i) {
    variance += (x[i] - mean) * (x[i] - mean) / (double)size;
  }
  variant->dense.normalize(&norm, x, out);
  for (size_t i = 0; i < size; ++i) {
    const double expected =
        (x[i] - mean) / sqrt(variance + 1e-3) * gamma[i] + beta[i];
    CHECK(fabs(out[i] - expected) <= 2e-5, "%s", variant->name);
  }
  free(gamma), free(beta), free(x), free(out);
}

static void test_sums(const duspar_variant* variant, size_t rows,
                      size_t width) {
  float* x = numbers(rows * width, false);
  float* out = numbers(width, false);
  variant->dense.add_rows(rows, width, x, out);
  for (size_t i = 0; i < width; ++i) {
    double sum = 0;
    for (size_t row = 0; row < rows; ++row) sum += x[row * width + i];
    CHECK(fabs(out[i] - sum) <= 1e-6 * (double)(rows + 1), "%s", variant->name);
  }
  free(x), free(out);
}

/* Limits of the sigmoid, and what is no number. */
static void test_limits(const duspar_variant* variant) {
  const float kernel[] = {1, 1, 1}, huge[] = {1000, -1000, NAN};
  const duspar_dense_parameters p = {1, 3, kernel, NULL, true};
  float out[3];
  size_t bytes;
  CHECK(variant->dense.bytes(&p, &bytes), "%s", variant->name);
  void* packed = duspar_allocate(bytes);
  variant->dense.pack(&p, packed);
  variant->dense.run(packed, &huge[0], NULL, DUSPAR_SIGMOID, out);
  CHECK(out[0] == 1 && out[2] == 1, "%s", variant->name);
  variant->dense.run(packed, &huge[1], NULL, DUSPAR_SIGMOID, out);
  CHECK(out[0] >= 0 && out[0] < 1e-18f, "%s", variant->name);
  variant->dense.run(packed, &huge[2], NULL, DUSPAR_SIGMOID, out);
  CHECK(isnan(out[0]) && isnan(out[2]), "%s", variant->name);
  duspar_release(packed);
  const duspar_dense_parameters large = {SIZE_MAX / 2, 9, kernel, NULL, false};
  CHECK(!variant->dense.bytes(&large, &bytes), "%s", variant->name);
}

int main(void) {
  const duspar_variant* variant;
  for (size_t i = 0; (variant = duspar_variant_at(i)) != NULL; ++i) {
    if (!variant->usable()) continue;
    for (size_t outputs = 1; outputs < MOST; outputs += 1 + outputs / 9) {
      for (int choice = 0; choice < 30; ++choice) {
        const size_t inputs = 1 + (size_t)((uniform() + 1) / 2 * (MOST - 2));
        test_dense(variant, inputs, outputs, choice % 4 > 1, choice);
      }
      test_norm(variant, outputs);
      for (size_t rows = 0; rows < 70; rows += 23) {
        test_sums(variant, rows, outputs);
      }
    }
    test_limits(variant);
    printf("%s\n", variant->name);
  }
  return failures != 0;
}
