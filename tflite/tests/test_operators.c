/* The operators through the delegate and directly, against a computation in
 * double precision that shares no code with the library. Runs on any
 * processor, also emulated.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "host.h"

/* One weight matrix, as stored and as it is meant. */
static void fill_kernel(tfl_tensor* tensor, duspar_weight_type type,
                        const float* scale, size_t outputs, double* meant) {
  const size_t item = type == DUSPAR_FLOAT32 ? 4 : type == DUSPAR_INT8 ? 1 : 2;
  for (size_t i = 0; i < tensor->bytes / item; ++i) {
    const float value = (float)uniform();
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (type == DUSPAR_FLOAT32) {
      ((float*)tensor->data)[i] = value;
      meant[i] = value;
    } else if (type == DUSPAR_BFLOAT16) {
      const uint32_t upper = bits & 0xffff0000u;
      float rounded;
      memcpy(&rounded, &upper, sizeof rounded);
      ((uint16_t*)tensor->data)[i] = (uint16_t)(bits >> 16);
      meant[i] = rounded;
    } else {
      const int quantized = (int)(value * 127);
      ((int8_t*)tensor->data)[i] = (int8_t)quantized;
      meant[i] = (double)quantized * scale[i % outputs];
    }
  }
}

static double* zeros(size_t count) {
  double* numbers = calloc(count + 1, sizeof *numbers);
  if (numbers == NULL) abort();
  return numbers;
}

/* s = S(a, s) in double precision; counts what is not zero. */
static uint64_t naive_step(size_t inputs, size_t outputs, const double* a,
                           double* s, const double* gate,
                           const double* candidate, const float* bias) {
  uint64_t nonzeros = 0;
  for (size_t i = 0; i < inputs; ++i) nonzeros += a[i] > 0;
  for (size_t j = 0; j < outputs; ++j) {
    double z = bias[j], c = 0;
    for (size_t i = 0; i < inputs; ++i) {
      const double positive = a[i] > 0 ? a[i] : 0;
      z += positive * gate[i * outputs + j];
      c += positive * candidate[i * outputs + j];
    }
    z = 1 / (1 + exp(-z));
    s[j] = (1 - z) * s[j] + z * tanh(c);
  }
  return nonzeros;
}

/* What a model must give. */
typedef struct expected {
  double *y, *f, *g;
  uint64_t nonzeros[2];
} expected;

static const float* floats(const host* h, int tensor) {
  return h->tensors[tensor].data;
}

static void naive_run(const host* h, const host_model* m,
                      double* const kernels[4], expected* e) {
  const size_t batch = (size_t)m->batch, steps = (size_t)m->steps;
  const size_t n = (size_t)m->features, units = (size_t)m->units;
  const int dual = m->kind == DUSPAR_KIND_DUSPAR;
  double* a = zeros(n);
  e->y = zeros(batch * steps * units);
  e->f = zeros(batch * units);
  e->g = zeros(batch * n);
  e->nonzeros[0] = e->nonzeros[1] = 0;
  for (size_t b = 0; b < batch; ++b) {
    double *f = e->f + b * units, *g = e->g + b * n;
    for (size_t j = 0; j < units; ++j) f[j] = floats(h, 1)[b * units + j];
    for (size_t i = 0; dual && i < n; ++i) g[i] = floats(h, 2)[b * n + i];
    for (size_t t = 0; t < steps; ++t) {
      const float* x = floats(h, 0) + (b * steps + t) * n;
      double* y = e->y + (b * steps + t) * units;
      for (size_t i = 0; i < n; ++i) {
        a[i] = dual ? x[i] - g[i] - floats(h, 10)[i] : x[i];
      }
      e->nonzeros[0] += naive_step(n, units, a, f, kernels[0], kernels[1],
                                   floats(h, dual ? 7 : 4));
      for (size_t j = 0; j < units; ++j) {
        y[j] = dual ? f[j] + floats(h, 9)[j] : f[j];
      }
      if (dual) {
        e->nonzeros[1] +=
            naive_step(units, n, y, g, kernels[2], kernels[3], floats(h, 8));
      }
    }
  }
  free(a);
}

/* Random values everywhere; `kernels` receives what the weights mean. */
static void fill_model(host* h, const host_model* m, double* kernels[4]) {
  const int dual = m->kind == DUSPAR_KIND_DUSPAR;
  const int first = dual ? 3 : 2, count = dual ? 4 : 2;
  const int inputs = h->node.inputs->size;
  for (int i = 0; i < inputs; ++i) {
    tfl_tensor* t = &h->tensors[i];
    if (i >= first && i < first + count) continue;
    const int scale = m->weight_type == DUSPAR_INT8 && i >= inputs - count;
    for (size_t k = 0; k < t->bytes / sizeof(float); ++k) {
      const double value = uniform();
      ((float*)t->data)[k] = (float)(scale ? (value + 1.5) / 127 : value);
    }
  }
  for (int k = 0; k < count; ++k) {
    tfl_tensor* t = &h->tensors[first + k];
    const float* scale = floats(h, inputs - count + k);
    kernels[k] = zeros((size_t)m->features * (size_t)m->units);
    fill_kernel(t, m->weight_type, scale, (size_t)t->dims->data[1], kernels[k]);
  }
}

static double worst(const float* found, const double* meant, size_t count) {
  double most = 0;
  for (size_t i = 0; i < count; ++i) {
    const double difference = fabs(found[i] - meant[i]);
    if (!(difference <= most)) most = difference;
  }
  return most;
}

/* One after the other of the kernels that run here. */
static const char* any_kernel(void) {
  static size_t turn;
  do {
    turn = (turn + 1) % duspar_kernel_count();
  } while (!duspar_kernel_usable(turn));
  return duspar_kernel_name(turn);
}

static void test_model(const host_model* m, unsigned wanted) {
  const int dual = m->kind == DUSPAR_KIND_DUSPAR;
  const size_t batch = (size_t)m->batch, steps = (size_t)m->steps;
  const char* keys[] = {"handle", "kernel"};
  const char* values[] = {"test", any_kernel()};
  /* Sums of 64 products in float, or in float16, 8 at a time. */
  const double tolerance =
      strcmp(values[1], "neon_fp16") == 0 && m->weight_type != DUSPAR_FLOAT32
          ? 2e-2
          : 5e-5;
  host h;
  double* kernels[4] = {NULL, NULL, NULL, NULL};
  expected e;
  duspar_operator d;
  struct TfLiteDelegate* delegate = duspar_delegate_create(keys, values, 2);
  CHECK(delegate != NULL && duspar_delegate_find("test") == delegate, "%s",
        duspar_last_error());
  host_init(&h, m);
  h.wanted = wanted;
  for (int o = 0; o < h.node.outputs->size; ++o) {
    /* As in TFLite: no memory before `prepare`, and none if not wanted. */
    host_set_bytes(&h, h.node.outputs->data[o], 0);
  }
  fill_model(&h, m, kernels);
  naive_run(&h, m, kernels, &e);
  CHECK(host_apply(&h, delegate) == TFL_OK, "%s", h.error);
  CHECK(host_prepare(&h) == TFL_OK, "%s", h.error);
  for (int run = 0; run < 2; ++run) {
    CHECK(host_invoke(&h) == TFL_OK, "%s", h.error);
  }
  const double* outputs[] = {e.y, e.f, e.g};
  const size_t sizes[] = {batch * steps * (size_t)m->units,
                          batch * (size_t)m->units,
                          batch * (size_t)m->features};
  for (int o = 0; o < h.node.outputs->size; ++o) {
    const float* found = floats(&h, h.node.outputs->data[o]);
    if (!(wanted >> o & 1)) {
      CHECK(found == NULL, "output %d", o);
      continue;
    }
    const double error = sizes[o] ? worst(found, outputs[o], sizes[o]) : 0;
    CHECK(error < tolerance, "output %d: %g (N %d, M %d, type %d)", o, error,
          m->features, m->units, (int)m->weight_type);
  }
  CHECK(duspar_delegate_operator(delegate, 0, &d) == DUSPAR_OK, "%s",
        duspar_last_error());
  CHECK(d.steps == 2 * batch * steps && d.invocations == 2, "steps");
  CHECK(strcmp(d.layer, "recurrent") == 0 && d.in_use == 1, "%s", d.layer);
  CHECK(strcmp(d.kernel, values[1]) == 0 && d.bytes > 0, "%s", d.kernel);
  for (int o = 0; o <= dual; ++o) {
    CHECK(d.operands[o].nonzeros == 2 * e.nonzeros[o], "operand %d: %llu, %llu",
          o, (unsigned long long)d.operands[o].nonzeros,
          (unsigned long long)(2 * e.nonzeros[o]));
    CHECK(d.operands[o].entries == d.steps * (uint64_t)d.operands[o].size,
          "entries");
  }
  if (seed & 256) { /* either may be destroyed first */
    duspar_delegate_destroy(delegate);
    CHECK(host_invoke(&h) == TFL_OK, "%s", h.error);
    host_free(&h);
  } else {
    host_free(&h);
    CHECK(duspar_delegate_operator(delegate, 0, &d) == DUSPAR_OK, "gone");
    CHECK(d.in_use == 0 && d.invocations == 2, "counts outlive");
    duspar_delegate_destroy(delegate);
  }
  CHECK(duspar_delegate_find("test") == NULL, "handle outlives");
  for (int k = 0; k < 4; ++k) free(kernels[k]);
  free(e.y);
  free(e.f);
  free(e.g);
}

static void test_models(void) {
  static const int widths[] = {1, 2, 7, 16, 31, 64};
  static const int steps[] = {0, 1, 9};
  enum { WIDTHS = 6, STEPS = 3 };
  for (int kind = 0; kind < 2; ++kind) {
    for (int type = 0; type < 3; ++type) {
      for (int i = 0; i < WIDTHS * WIDTHS * STEPS; ++i) {
        const host_model m = {(duspar_kind)kind,
                              (duspar_weight_type)type,
                              1 + i % 2,
                              steps[i % STEPS],
                              widths[i / STEPS % WIDTHS],
                              widths[i / STEPS / WIDTHS]};
        seed = (uint32_t)(i * 6 + type * 2 + kind);
        test_model(&m, i % 4 ? 7u : (unsigned)(i / 4 % 8));
      }
    }
  }
}

/* Resized between runs, the operator gives what a new one gives. */
static void test_resize(void) {
  host_model m = {DUSPAR_KIND_DUSPAR, DUSPAR_FLOAT32, 1, 2, 5, 3};
  struct TfLiteDelegate* delegate = duspar_delegate_create(NULL, NULL, 0);
  host h;
  double* kernels[4];
  expected e;
  duspar_operator d;
  host_init(&h, &m);
  fill_model(&h, &m, kernels);
  CHECK(host_apply(&h, delegate) == TFL_OK && host_prepare(&h) == TFL_OK &&
            host_invoke(&h) == TFL_OK,
        "%s", h.error);
  m.batch = 3;
  m.steps = 7;
  host_reshape(&h, 0, 3, (int[]){3, 7, 5}, 1);
  CHECK(host_invoke(&h) == TFL_ERROR, "ran without allocation");
  host_reshape(&h, 1, 2, (int[]){3, 3}, 1);
  host_reshape(&h, 2, 2, (int[]){3, 5}, 1);
  for (int i = 0; i < 3 * 7 * 5; ++i) {
    ((float*)h.tensors[0].data)[i] = (float)uniform();
  }
  naive_run(&h, &m, kernels, &e);
  CHECK(host_prepare(&h) == TFL_OK && host_invoke(&h) == TFL_OK, "%s", h.error);
  CHECK(worst(floats(&h, 11), e.y, 3 * 7 * 3) < 1e-5, "after resize");
  duspar_delegate_operator(delegate, 0, &d);
  CHECK(d.steps == 2 + 21, "%llu steps", (unsigned long long)d.steps);
  host_undo(&h); /* TFLite may put operators away and make them anew */
  CHECK(host_apply(&h, delegate) == TFL_OK && host_prepare(&h) == TFL_OK &&
            host_invoke(&h) == TFL_OK,
        "%s", h.error);
  CHECK(worst(floats(&h, 11), e.y, 3 * 7 * 3) < 1e-5, "made anew");
  CHECK(duspar_delegate_operator_count(delegate) == 1, "a second record");
  duspar_delegate_operator(delegate, 0, &d);
  CHECK(d.steps == 2 + 2 * 21, "%llu steps", (unsigned long long)d.steps);
  CHECK(duspar_delegate_reset(delegate, 0) == DUSPAR_OK, "reset");
  duspar_delegate_operator(delegate, 0, &d);
  CHECK(d.steps == 0 && d.operands[0].nonzeros == 0, "after reset");
  host_free(&h);
  duspar_delegate_destroy(delegate);
  for (int k = 0; k < 4; ++k) free(kernels[k]);
  free(e.y);
  free(e.f);
  free(e.g);
}

/* Faults that LiteRT does not let through, but another host may. */
static void test_bad_outputs(void) {
  const host_model m = {DUSPAR_KIND_SPAR, DUSPAR_FLOAT32, 1, 2, 5, 3};
  struct TfLiteDelegate* delegate = duspar_delegate_create(NULL, NULL, 0);
  for (int fault = 0; fault < 5; ++fault) {
    host h;
    host_init(&h, &m);
    const int y = h.node.outputs->data[0];
    if (fault == 0) h.node.outputs->data[1] = y;
    if (fault == 1) h.node.outputs->data[1] = h.node.inputs->data[1];
    if (fault == 2) h.tensors[y].allocation_type = TFL_MEMORY_MAPPED;
    if (fault == 3) h.tensors[y].type = TFL_INT8;
    if (fault == 4) h.node.outputs->data[0] = HOST_TENSORS;
    CHECK(host_apply(&h, delegate) == TFL_OK, "fault %d", fault);
    CHECK(host_prepare(&h) == TFL_ERROR, "fault %d", fault);
    CHECK(strstr(h.error, "layer 'recurrent': `output ") != NULL, "%s",
          h.error);
    CHECK(host_invoke(&h) == TFL_ERROR, "fault %d", fault);
    host_free(&h);
  }
  duspar_delegate_destroy(delegate);
}

/* After a refused resize an operator does not run with what it had. */
static void test_refused_resize(void) {
  const host_model m = {DUSPAR_KIND_SPAR, DUSPAR_FLOAT32, 1, 2, 5, 3};
  struct TfLiteDelegate* delegate = duspar_delegate_create(NULL, NULL, 0);
  host h;
  host_init(&h, &m);
  CHECK(host_apply(&h, delegate) == TFL_OK && host_prepare(&h) == TFL_OK &&
            host_invoke(&h) == TFL_OK,
        "%s", h.error);
  host_reshape(&h, 0, 3, (int[]){1, 2, 4}, 1);
  CHECK(host_prepare(&h) == TFL_ERROR, "4 features with 5 rows of weights");
  CHECK(host_invoke(&h) == TFL_ERROR, "ran");
  host_reshape(&h, 0, 3, (int[]){1, 2, 5}, 1);
  CHECK(host_prepare(&h) == TFL_OK && host_invoke(&h) == TFL_OK, "%s", h.error);
  host_free(&h);
  duspar_delegate_destroy(delegate);
}

/* A delegate that was destroyed while an operator holds it takes no more. */
static void test_destroyed_delegate(void) {
  const host_model m = {DUSPAR_KIND_SPAR, DUSPAR_FLOAT32, 1, 2, 5, 3};
  struct TfLiteDelegate* delegate = duspar_delegate_create(NULL, NULL, 0);
  host first, second;
  host_init(&first, &m);
  host_init(&second, &m);
  CHECK(host_apply(&first, delegate) == TFL_OK, "%s", first.error);
  duspar_delegate_destroy(delegate);
  CHECK(host_apply(&second, delegate) == TFL_ERROR, "taken");
  CHECK(strstr(second.error, "was destroyed") != NULL, "%s", second.error);
  host_free(&first);
  host_free(&second);
}

/* Options of the delegate that it must refuse. */
static void test_delegate_options(void) {
  static const char* const pairs[][2] = {{"handle", ""},
                                         {"handle", "taken"},
                                         {"kernel", "none such"},
                                         {"color", "red"}};
  const char* key = "handle";
  const char* value = "taken";
  struct TfLiteDelegate* delegate = duspar_delegate_create(&key, &value, 1);
  for (int i = 0; i < 4; ++i) {
    CHECK(duspar_delegate_create(&pairs[i][0], &pairs[i][1], 1) == NULL,
          "%s=%s", pairs[i][0], pairs[i][1]);
    CHECK(duspar_last_error()[0] != '\0', "no text");
  }
  duspar_delegate_destroy(delegate);
  duspar_delegate_destroy(NULL);
}

int main(void) {
  test_models();
  test_resize();
  test_bad_outputs();
  test_refused_resize();
  test_destroyed_delegate();
  test_delegate_options();
  printf("%s, kernel %s: %s\n", duspar_version(), duspar_kernel_name(0),
         failures ? "FAILED" : "passed");
  return failures != 0;
}
