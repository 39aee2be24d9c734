/* The variants that multiply in float16: how near their sums are to those of
 * double precision, for numbers of every size, and a layer over many steps,
 * beside what the rounding of weights to bfloat16 changes anyway.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "duspar.h"

static const char kernel[] = "neon_fp16";

/* An operand is rounded, and each of up to 8 sums in float16: by 2^-11 of the
 * products' sizes at most. */
static const double most = 9 * 0x1p-11;

enum { MOST = 640 };

static uint16_t gate[MOST * MOST], candidate[MOST * MOST];

static float from_upper(uint16_t upper) {
  const uint32_t word = (uint32_t)upper << 16;
  float value;
  memcpy(&value, &word, sizeof value);
  return value;
}

static uint16_t round_upper(float value) {
  uint32_t word;
  memcpy(&word, &value, sizeof word);
  return (uint16_t)((word + 0x7fff + (word >> 16 & 1)) >> 16);
}

/* One step of a cell whose gates are open: the new state is tanh of the sum. */
static uint64_t run(int inputs, int outputs, const float* a, const char* name,
                    float* state) {
  static float bias[MOST], zero[MOST];
  for (int j = 0; j < outputs; ++j) bias[j] = 200;
  const duspar_parameters p = {.kind = DUSPAR_KIND_SPAR,
                               .weight_type = DUSPAR_BFLOAT16,
                               .features = inputs,
                               .units = outputs,
                               .feedforward = {gate, candidate, bias}};
  duspar_counts counts = {0};
  duspar_layer* layer = duspar_layer_create(&p, name);
  CHECK(layer != NULL, "%s", duspar_last_error());
  if (layer == NULL) exit(1);
  CHECK(duspar_layer_run(layer, 1, 1, a, zero, NULL, NULL, state, NULL,
                         &counts) == DUSPAR_OK,
        "%s", duspar_last_error());
  duspar_layer_destroy(layer);
  return counts.nonzeros[0];
}

/* Operands and weights of these sizes, the outputs' sizes far apart. Sums are
 * compared, which tanh does not change if they are small. */
static void test_sizes(int inputs, int outputs, double share, double operands,
                       double weights) {
  static float a[MOST], state[MOST];
  uint64_t count = 0;
  for (int i = 0; i < inputs; ++i) {
    const double value = operands * (fabs(uniform()) + 1e-3);
    a[i] = (float)((uniform() + 1) / 2 < share ? value : -value);
    count += a[i] > 0;
    for (int j = 0; j < outputs; ++j) {
      const double size = ldexp(weights, -(j % 20));
      candidate[i * outputs + j] = round_upper((float)(size * uniform()));
      gate[i * outputs + j] = 0;
    }
  }
  CHECK(run(inputs, outputs, a, kernel, state) == count, "not %d", (int)count);
  for (int j = 0; j < outputs; ++j) {
    double sum = 0, size = 0;
    for (int i = 0; i < inputs; ++i) {
      const double product =
          a[i] > 0 ? a[i] * (double)from_upper(candidate[i * outputs + j]) : 0;
      sum += product;
      size += fabs(product);
    }
    /* States of at most 2^-100 are zero; tanh is within 2e-7. */
    CHECK(fabs(state[j] - tanh(sum)) <= most * fmin(size, 1e3) + 0x1p-99,
          "%d to %d, share %g, operands of %g, weights of %g: output %d is %g, "
          "not %g",
          inputs, outputs, share, operands, weights, j, (double)state[j],
          tanh(sum));
  }
}

/* A weight that is not finite: the step is that of the variant without. */
static void test_no_numbers(void) {
  enum { N = 21, M = 13 };
  float a[N], found[M], plain[M];
  for (int i = 0; i < N; ++i) {
    a[i] = (float)uniform();
    for (int j = 0; j < M; ++j) {
      candidate[i * M + j] = round_upper((float)uniform());
    }
  }
  a[3] = 0.3f;
  candidate[3 * M + 5] = round_upper(INFINITY);
  run(N, M, a, kernel, found);
  run(N, M, a, "neon", plain);
  CHECK(memcmp(found, plain, sizeof found) == 0, "not as neon");
  CHECK(found[5] == 1.0f, "%g", (double)found[5]);
  candidate[3 * M + 5] = 0;
  a[3] = INFINITY; /* as an operand, too: weights are the same in float32 */
  run(N, M, a, kernel, found);
  run(N, M, a, "neon", plain);
  for (int j = 0; j < M; ++j) {
    CHECK(isnan(found[j]) == isnan(plain[j]) &&
              !(fabs((double)found[j] - plain[j]) > 1e-6),
          "output %d is %g, not %g", j, (double)found[j], (double)plain[j]);
  }
}

enum { UNITS = 128, STEPS = 100 };

/* Runs a layer of 128 to 128; `type` is that of its weights. */
static void run_layer(const duspar_cell* forward, const duspar_cell* back,
                      int type, const float* vectors, const float* x,
                      const char* name, float* y) {
  static const float zero[UNITS];
  const duspar_parameters p = {.kind = DUSPAR_KIND_DUSPAR,
                               .weight_type = type,
                               .features = UNITS,
                               .units = UNITS,
                               .feedforward = *forward,
                               .feedback = *back,
                               .feedforward_bias = vectors,
                               .feedback_bias = vectors + UNITS};
  duspar_layer* layer = duspar_layer_create(&p, name);
  CHECK(layer != NULL && duspar_layer_run(layer, 1, STEPS, x, zero, zero, y,
                                          NULL, NULL, NULL) == DUSPAR_OK,
        "%s", duspar_last_error());
  duspar_layer_destroy(layer);
}

/* The root of the mean of squares of differences. */
static double apart(const float* a, const float* b) {
  double sum = 0;
  for (int i = 0; i < STEPS * UNITS; ++i) sum += pow((double)a[i] - b[i], 2);
  return sqrt(sum / (STEPS * UNITS));
}

/* Of sizes like those of trained layers: sums of about 1, half of the operands
 * zero. */
static void test_steps(void) {
  enum { COUNT = UNITS * UNITS };
  static float whole[4 * COUNT], vectors[4 * UNITS], x[STEPS * UNITS];
  static uint16_t upper[4 * COUNT];
  static float exact[STEPS * UNITS], rounded[STEPS * UNITS];
  static float found[STEPS * UNITS];
  for (int i = 0; i < 4 * COUNT; ++i) {
    whole[i] = (float)(0.125 * (uniform() + uniform() + uniform()));
    upper[i] = round_upper(whole[i]);
  }
  for (int i = 0; i < 2 * UNITS; ++i) vectors[i] = (float)(0.1 * uniform());
  for (int i = 2 * UNITS; i < 4 * UNITS; ++i) {
    vectors[i] = (float)(-1 + uniform());
  }
  for (int i = 0; i < STEPS * UNITS; ++i) {
    x[i] = (float)(uniform() + uniform() + uniform());
  }
  const float *open = vectors + 2 * UNITS, *open_back = vectors + 3 * UNITS;
  const duspar_cell forward = {whole, whole + COUNT, open};
  const duspar_cell back = {whole + 2 * COUNT, whole + 3 * COUNT, open_back};
  const duspar_cell forward16 = {upper, upper + COUNT, open};
  const duspar_cell back16 = {upper + 2 * COUNT, upper + 3 * COUNT, open_back};
  run_layer(&forward, &back, DUSPAR_FLOAT32, vectors, x, "reference", exact);
  run_layer(&forward16, &back16, DUSPAR_BFLOAT16, vectors, x, "reference",
            rounded);
  run_layer(&forward16, &back16, DUSPAR_BFLOAT16, vectors, x, kernel, found);
  const double weights = apart(rounded, exact), sums = apart(found, rounded);
  printf(
      "bfloat16 weights: %.3g from float32; with float16 sums: %.3g; the "
      "sums alone: %.3g\n",
      weights, apart(found, exact), sums);
  CHECK(sums > 0 && sums < weights / 3, "%g and %g", sums, weights);
}

int main(void) {
  static const int widths[] = {1, 3, 4, 7, 8, 9, 31, 33, 64, 116, 131};
  static const double shares[] = {0, 0.05, 0.5, 1};
  static const double sizes[] = {1e-44, 1e-30, 1e-3, 1, 1e4, 1e6, 1e30, 2e38};
  enum { WIDTHS = sizeof widths / sizeof widths[0], SIZES = 8 };
  size_t k = 0;
  while (k < duspar_kernel_count() &&
         strcmp(duspar_kernel_name(k), kernel) != 0) {
    ++k;
  }
  if (!duspar_kernel_usable(k)) {
    printf("%s: not on this processor\n", kernel);
    return 0;
  }
  if (getenv("DUSPAR_KERNEL") == NULL) {
    int before = 0; /* it has to be asked for */
    for (size_t i = 0; i < k; ++i) before |= duspar_kernel_usable(i);
    CHECK(before, "%s is the first", kernel);
  }
  for (int i = 0; i < WIDTHS; ++i) {
    for (int s = 0; s < 4; ++s) {
      test_sizes(widths[i], widths[WIDTHS - 1 - i], shares[s], 1, 1);
      test_sizes(widths[i], widths[(i + 3) % WIDTHS], shares[s], 1, 1e-6);
    }
  }
  for (int i = 0; i < SIZES; ++i) {
    for (int w = 0; w < SIZES; ++w) {
      if (sizes[i] * sizes[w] > 1e36) continue; /* float32 is infinite, too */
      test_sizes(53, 37, 0.5, sizes[i], sizes[w]);
      test_sizes(53, 37, 0.5, sizes[i], fmin(1e-3 / sizes[i], 1e38));
    }
  }
  for (int s = 0; s < 4; ++s) test_sizes(601, 599, shares[s], 1, 1e-3);
  test_no_numbers();
  test_steps();
  printf("%s\n", failures ? "FAILED" : "passed");
  return failures != 0;
}
