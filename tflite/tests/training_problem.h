/* Problems for the training passes, and what their outputs are worth: in double
 * precision, without any code of the library. */
#ifndef DUSPAR_TESTS_TRAINING_PROBLEM_H_
#define DUSPAR_TESTS_TRAINING_PROBLEM_H_

#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "duspar.h"

enum { MAX_ARRAYS = 11 }; /* x, f0, g0 and eight weights */

static float* floats(size_t count, float scale) {
  float* numbers = malloc((count + 1) * sizeof *numbers);
  if (numbers == NULL) abort();
  for (size_t i = 0; i < count; ++i) numbers[i] = scale * (float)uniform();
  return numbers;
}

/* A layer, its inputs and what its outputs are worth. */
typedef struct problem {
  duspar_training training;
  int arrays; /* x, states, weights */
  int states;
  size_t sizes[MAX_ARRAYS];
  float* values[MAX_ARRAYS];
  float* worth[3]; /* of y, f, g */
  float prices[2]; /* of the occupancies of e and y */
  float occupancies[2];
} problem;

enum { WIDTH_INVERSE = 4 }; /* of the sigmoid in their gradients */

/* Entries above zero of e and y, as `worth` saw them last. */
static double seen[2];

static problem make_problem(int kind, int batch, int steps, int n, int m) {
  problem p = {.training = {.kind = kind,
                            .batch = batch,
                            .steps = steps,
                            .features = n,
                            .units = m}};
  const int dual = kind == DUSPAR_KIND_DUSPAR;
  const int sizes[MAX_ARRAYS] = {batch * steps * n,
                                 batch * m,
                                 batch * n,
                                 n * m,
                                 n * m,
                                 m * n,
                                 m * n,
                                 m,
                                 n,
                                 m,
                                 n};
  const int of_spar[] = {0, 1, 3, 4, 7};
  p.arrays = dual ? MAX_ARRAYS : 5;
  p.states = dual ? 2 : 1;
  for (int i = 0; i < p.arrays; ++i) {
    p.sizes[i] = (size_t)sizes[dual ? i : of_spar[i]];
    p.values[i] = floats(p.sizes[i], i > p.states ? 0.7f : 1.5f);
  }
  p.worth[0] = floats((size_t)(batch * steps * m), 1);
  p.worth[1] = floats((size_t)(batch * m), 1);
  p.worth[2] = floats((size_t)(batch * n), 1);
  return p;
}

static void free_problem(problem* p) {
  for (int i = 0; i < p->arrays; ++i) free(p->values[i]);
  for (int i = 0; i < 3; ++i) free(p->worth[i]);
}

/* One number of the problem, moved by `step` if it is the chosen one. */
static double at(const problem* p, int array, size_t index, int chosen,
                 size_t place, double step) {
  const double value = p->values[array][index];
  return array == chosen && index == place ? value + step : value;
}

/* What the outputs are worth, in double precision. */
static double worth(const problem* p, int chosen, size_t place, double step) {
#define AT(array, index) at(p, array, index, chosen, place, step)
  const size_t batch = (size_t)p->training.batch, m = (size_t)p->training.units;
  const size_t steps = (size_t)p->training.steps;
  const size_t n = (size_t)p->training.features;
  const int dual = p->states == 2, w = 1 + p->states;
  const int gate_bias = dual ? w + 4 : w + 2;
  double* f = calloc(2 * (n + m), sizeof *f);
  if (f == NULL) abort();
  double *g = f + m, *e = g + n, *y = e + n, total = 0;
  const double prices[2] = {p->prices[0] / (double)(batch * steps * n),
                            p->prices[1] / (double)(batch * steps * m)};
  seen[0] = seen[1] = 0;
  for (size_t b = 0; b < batch; ++b) {
    for (size_t j = 0; j < m; ++j) f[j] = AT(1, b * m + j);
    for (size_t i = 0; dual && i < n; ++i) g[i] = AT(2, b * n + i);
    for (size_t t = 0; t < steps; ++t) {
      for (size_t i = 0; i < n; ++i) {
        e[i] = AT(0, (b * steps + t) * n + i);
        if (dual) e[i] -= g[i] + AT(w + 7, i);
        total += prices[0] / (1 + exp(-WIDTH_INVERSE * e[i]));
        seen[0] += e[i] > 0;
        if (e[i] < 0) e[i] = 0;
      }
      for (size_t j = 0; j < m; ++j) {
        double z = AT(gate_bias, j), c = 0;
        for (size_t i = 0; i < n; ++i) {
          z += e[i] * AT(w, i * m + j);
          c += e[i] * AT(w + 1, i * m + j);
        }
        z = 1 / (1 + exp(-z));
        f[j] = (1 - z) * f[j] + z * tanh(c);
        y[j] = dual ? f[j] + AT(w + 6, j) : f[j];
        if (dual) total += prices[1] / (1 + exp(-WIDTH_INVERSE * y[j]));
        seen[1] += dual && y[j] > 0;
        total += y[j] * p->worth[0][(b * steps + t) * m + j];
      }
      for (size_t i = 0; dual && i < n; ++i) {
        double u = AT(w + 5, i), d = 0;
        for (size_t j = 0; j < m; ++j) {
          const double positive = y[j] > 0 ? y[j] : 0;
          u += positive * AT(w + 2, j * n + i);
          d += positive * AT(w + 3, j * n + i);
        }
        u = 1 / (1 + exp(-u));
        g[i] = (1 - u) * g[i] + u * tanh(d);
      }
    }
    for (size_t j = 0; j < m; ++j) total += f[j] * p->worth[1][b * m + j];
    for (size_t i = 0; dual && i < n; ++i) {
      total += g[i] * p->worth[2][b * n + i];
    }
  }
  free(f);
  return total;
#undef AT
}

#endif /* DUSPAR_TESTS_TRAINING_PROBLEM_H_ */
