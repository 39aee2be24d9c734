/* The training passes: outputs and gradients against a computation in double
 * precision that shares no code with the library, gradients by differences.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "duspar.h"
#include "training_problem.h"

/* Runs both passes; returns the worth of the outputs. */
static double run(problem* p, float** gradients) {
  duspar_meter meter = {1.0f / WIDTH_INVERSE, p->occupancies, p->prices};
  duspar_training metered = p->training;
  const duspar_training* t = &metered;
  if (p->prices[0] != 0) metered.meter = &meter;
  const size_t batch = (size_t)t->batch, steps = (size_t)t->steps;
  const size_t n = (size_t)t->features, m = (size_t)t->units;
  const int dual = p->states == 2;
  int64_t size = 0;
  CHECK(duspar_train_reserve(t, &size) == DUSPAR_OK, "%s", duspar_last_error());
  float* reserve = malloc((size_t)size * sizeof *reserve);
  float* outputs[3] = {floats(batch * steps * m, 1), floats(batch * m, 1),
                       floats(batch * n, 1)};
  if (reserve == NULL) abort();
  const float* const* weights =
      (const float* const*)(p->values + 1 + p->states);
  CHECK(duspar_train_forward(t, weights, p->values[0], p->values[1],
                             dual ? p->values[2] : NULL, outputs[0], outputs[1],
                             dual ? outputs[2] : NULL, reserve) == DUSPAR_OK,
        "%s", duspar_last_error());
  CHECK(duspar_train_backward(
            t, weights, p->values[0], reserve, p->worth[0], p->worth[1],
            dual ? p->worth[2] : NULL, gradients[0], gradients[1],
            dual ? gradients[2] : NULL, gradients + 1 + p->states) == DUSPAR_OK,
        "%s", duspar_last_error());
  double total = 0;
  const size_t sizes[3] = {batch * steps * m, batch * m, dual ? batch * n : 0};
  for (int i = 0; i < 3; ++i) {
    for (size_t k = 0; k < sizes[i]; ++k) {
      total += (double)outputs[i][k] * p->worth[i][k];
    }
    free(outputs[i]);
  }
  free(reserve);
  return total;
}

/* Gradients of a few entries of every array against differences. */
static void check_gradients(const problem* p, const char* kernel,
                            float** gradients) {
  for (int a = 0; a < p->arrays; ++a) {
    double largest = 0.1;
    for (size_t i = 0; i < p->sizes[a]; ++i) {
      if (fabs(gradients[a][i]) > largest) largest = fabs(gradients[a][i]);
    }
    for (size_t i = 0; i < p->sizes[a]; i += 1 + p->sizes[a] / 5) {
      const double step = 1e-6;
      const double expected =
          (worth(p, a, i, step) - worth(p, a, i, -step)) / (2 * step);
      CHECK(fabs(gradients[a][i] - expected) < 1e-5 * largest,
            "%s: array %d, entry %zu: %.9g, expected %.9g", kernel, a, i,
            gradients[a][i], expected);
    }
  }
}

/* With any number of threads and any chunk the results are the same. */
static void check_variants(problem* p, double total, float** gradients) {
  float* others[MAX_ARRAYS];
  for (int a = 0; a < p->arrays; ++a) others[a] = floats(p->sizes[a], 1);
  const struct {
    int threads, chunk;
  } variants[] = {{3, 0}, {1, 1}, {2, 3}, {1, 1000}};
  for (size_t v = 0; v < sizeof variants / sizeof variants[0]; ++v) {
    p->training.threads = variants[v].threads;
    p->training.chunk = variants[v].chunk;
    CHECK(fabs(run(p, others) - total) <= 1e-6 * fabs(total), "variant %zu", v);
    for (int a = 0; a < p->arrays; ++a) {
      float difference = 0, largest = 0.1f;
      for (size_t i = 0; i < p->sizes[a]; ++i) {
        difference = fmaxf(difference, fabsf(others[a][i] - gradients[a][i]));
        largest = fmaxf(largest, fabsf(gradients[a][i]));
      }
      /* Another chunk may add up in another order, threads may not. */
      CHECK(variants[v].chunk > 0 ? difference <= 1e-6f * largest
                                  : difference == 0,
            "variant %zu, array %d: %g", v, a, (double)difference);
    }
  }
  p->training.threads = 0;
  p->training.chunk = 0;
  for (int a = 0; a < p->arrays; ++a) free(others[a]);
}

static void test_passes(const char* kernel) {
  const int shapes[][4] = {
      {1, 1, 1, 1}, {3, 5, 4, 6}, {17, 4, 9, 20}, {2, 7, 33, 5}, {40, 3, 3, 17},
  };
  for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; ++s) {
    for (int kind = 0; kind < 2; ++kind) {
      const int* sizes = shapes[s];
      problem p = make_problem(kind, sizes[0], sizes[1], sizes[2], sizes[3]);
      p.training.kernel = kernel;
      for (size_t i = 0; s % 2 == 1 && i < p.sizes[0]; ++i) {
        p.values[0][i] = fabsf(p.values[0][i]); /* SpaR then has no zeros */
      }
      float* gradients[MAX_ARRAYS];
      for (int a = 0; a < p.arrays; ++a) gradients[a] = floats(p.sizes[a], 1);
      const double total = run(&p, gradients);
      const double expected = worth(&p, -1, 0, 0);
      CHECK(fabs(total - expected) < 1e-5 * (fabs(expected) + 1),
            "%s: %.9g, expected %.9g", kernel, total, expected);
      const double counts[2] = {seen[0], seen[1]};
      check_gradients(&p, kernel, gradients);
      check_variants(&p, total, gradients);
      p.prices[0] = 300;
      p.prices[1] = -200;
      CHECK(run(&p, gradients) == total, "%s: a meter changes outputs", kernel);
      for (int i = 0; i <= kind; ++i) {
        const int entries = sizes[0] * sizes[1] * sizes[2 + i];
        CHECK(fabs(p.occupancies[i] - counts[i] / entries) < 1e-6,
              "%s: occupancy %g, expected %g of %d", kernel,
              (double)p.occupancies[i], counts[i], entries);
      }
      check_gradients(&p, kernel, gradients);
      check_variants(&p, total, gradients);
      for (int a = 0; a < p.arrays; ++a) free(gradients[a]);
      free_problem(&p);
    }
  }
}

/* Gates over the whole range of floats: one input, kernels and bias of one. */
static void test_gates(const char* kernel) {
  const float big[] = {0,     1e-30f, 1e-6f, 1e-3f, 0.1f,  0.3f,     0.5f, 1,
                       1.7f,  3,      8,     12,    20.5f, 39.9f,    41,   100,
                       1e10f, 1e38f,  88.7f, 17.3f, 9.01f, INFINITY, NAN};
  for (size_t i = 0; i < sizeof big / sizeof big[0]; ++i) {
    for (int sign = -1; sign <= 1; sign += 2) {
      const float x = 1, gate = (float)sign * big[i];
      const float candidate = gate, bias = 0, zero = 0;
      const float* weights[] = {&gate, &candidate, &bias};
      float y = -7, f = -7;
      duspar_training t = {.kind = DUSPAR_KIND_SPAR,
                           .batch = 1,
                           .steps = 1,
                           .features = 1,
                           .units = 1,
                           .kernel = kernel};
      CHECK(duspar_train_forward(&t, weights, &x, &zero, NULL, &y, &f, NULL,
                                 NULL) == DUSPAR_OK,
            "%s", duspar_last_error());
      const double a = gate;
      const double expected = 1 / (1 + exp(-a)) * tanh(a);
      CHECK(isnan(a) ? isnan(y) : fabs(y - expected) <= 2e-7, "%s: %g: %.9g",
            kernel, a, (double)y);
    }
  }
}

/* What is kept between the passes changes no result: not with too little
 * memory, not if it is lost, not for a second backward pass. */
static void test_memory(void) {
  enum { LAYERS = 3 };
  problem p = make_problem(DUSPAR_KIND_DUSPAR, 20, 50, 30, 40);
  const float* const* weights = (const float* const*)(p.values + 3);
  float *expected[MAX_ARRAYS], *found[MAX_ARRAYS], *reserves[LAYERS];
  int64_t size = 0;
  CHECK(duspar_train_reserve(&p.training, &size) == DUSPAR_OK, "%s",
        duspar_last_error());
  for (int a = 0; a < p.arrays; ++a) {
    expected[a] = floats(p.sizes[a], 1);
    found[a] = floats(p.sizes[a], 1);
  }
  for (int i = 0; i < LAYERS; ++i) reserves[i] = floats((size_t)size, 1);
  /* All states and gates, two thirds of them for the gates. */
  const int64_t gates = 20 * 50 * (30 + 40) * 2 * (int64_t)sizeof(float);
  const int64_t limits[] = {1 << 30, 3 * gates, gates / 2, 0};
  for (int l = 0; l < 4; ++l) {
    duspar_train_memory(limits[l]);
    for (int i = 0; i < LAYERS; ++i) { /* as in a stack of layers */
      CHECK(duspar_train_forward(&p.training, weights, p.values[0], NULL, NULL,
                                 NULL, NULL, NULL, reserves[i]) == DUSPAR_OK,
            "%s", duspar_last_error());
      CHECK(duspar_train_memory(-1) <= limits[l], "limit %d", l);
    }
    CHECK(l > 0 || duspar_train_memory(-1) > LAYERS * gates, "nothing kept");
    for (int i = LAYERS; i-- >= 0;) { /* the last one twice */
      float** to = l == 0 && i == LAYERS - 1 ? expected : found;
      CHECK(
          duspar_train_backward(&p.training, weights, p.values[0],
                                reserves[i < 0 ? 0 : i], p.worth[0], NULL, NULL,
                                to[0], to[1], to[2], to + 3) == DUSPAR_OK,
          "%s", duspar_last_error());
      for (int a = 0; a < p.arrays && to == found; ++a) {
        CHECK(memcmp(found[a], expected[a], p.sizes[a] * sizeof *found[a]) == 0,
              "limit %d, layer %d, array %d", l, i, a);
      }
    }
  }
  CHECK(duspar_train_memory(0) == 0, "not freed");
  duspar_train_memory(1 << 30);
  for (int a = 0; a < p.arrays; ++a) {
    free(expected[a]);
    free(found[a]);
  }
  for (int i = 0; i < LAYERS; ++i) free(reserves[i]);
  free_problem(&p);
}

static void test_errors(void) {
  problem p = make_problem(DUSPAR_KIND_DUSPAR, 2, 3, 4, 5);
  const float* const* weights = (const float* const*)(p.values + 3);
  float* y = floats(30, 1);
  int64_t size;
  const duspar_training good = p.training;
  struct {
    duspar_training training;
    const char* words;
  } cases[9];
  const duspar_meter meter = {.width = 0};
  for (int i = 0; i < 9; ++i) cases[i].training = good;
  cases[8].training.meter = &meter;
  cases[8].words = "`width`";
  cases[0].training.batch = 0;
  cases[0].words = "`batch`";
  cases[1].training.steps = -1;
  cases[1].words = "`steps`";
  cases[2].training.features = INT64_MAX;
  cases[2].words = "`features`";
  cases[3].training.units = 0;
  cases[3].words = "`units`";
  cases[4].training.kind = 9;
  cases[4].words = "`kind`";
  cases[5].training.kernel = "quantum";
  cases[5].words = "`kernel`";
  cases[6].training.chunk = -3;
  cases[6].words = "`chunk`";
  cases[7].training.batch = cases[7].training.steps = 1 << 30;
  cases[7].training.units = 1 << 20;
  cases[7].words = "`batch`";
  for (int i = 0; i < 9; ++i) {
    CHECK(duspar_train_reserve(&cases[i].training, &size) == DUSPAR_INVALID &&
              strstr(duspar_last_error(), cases[i].words) != NULL,
          "case %d: %s", i, duspar_last_error());
    CHECK(duspar_train_forward(&cases[i].training, weights, p.values[0], NULL,
                               NULL, y, NULL, NULL, NULL) == DUSPAR_INVALID,
          "case %d", i);
  }
  CHECK(duspar_train_reserve(NULL, &size) == DUSPAR_INVALID, "no training");
  CHECK(duspar_train_reserve(&good, NULL) == DUSPAR_INVALID, "no size");
  CHECK(duspar_train_forward(&good, NULL, p.values[0], NULL, NULL, y, NULL,
                             NULL, NULL) == DUSPAR_INVALID,
        "no weights");
  CHECK(duspar_train_forward(&good, weights, NULL, NULL, NULL, y, NULL, NULL,
                             NULL) == DUSPAR_INVALID,
        "no input");
  CHECK(
      duspar_train_backward(&good, weights, p.values[0], NULL, NULL, NULL, NULL,
                            NULL, NULL, NULL, p.values + 3) == DUSPAR_INVALID,
      "no reserve");
  /* States, outputs and the reserve may be left out. */
  CHECK(duspar_train_forward(&good, weights, p.values[0], NULL, NULL, y, NULL,
                             NULL, NULL) == DUSPAR_OK,
        "%s", duspar_last_error());
  free(y);
  free_problem(&p);
}

int main(void) {
  const char* kernel;
  for (size_t i = 0; (kernel = duspar_train_kernel(i)) != NULL; ++i) {
    printf("%s\n", kernel);
    test_passes(kernel);
    test_gates(kernel);
  }
  test_memory();
  test_errors();
  duspar_train_memory(0);
  printf("%d failures\n", failures);
  return failures > 0;
}
