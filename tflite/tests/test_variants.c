/* Every variant that the processor can run, against sums in double precision
 * and in integers, over many shapes and kinds of numbers.
 *
 * A SpaR layer makes one step, so that the operand is known to the last bit.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "duspar.h"

/* A cell, and its weights in double precision. */
typedef struct cell {
  int inputs, outputs, type, bits;
  void *gate, *candidate; /* as stored */
  double *gate_meant, *candidate_meant;
  float *bias, *gate_scale, *candidate_scale;
  float operand_scale;
  float *a, *state;
} cell;

static void* allocate(size_t count, size_t size) {
  void* memory = calloc(count, size);
  if (memory == NULL) abort();
  return memory;
}

/* Weights: any bytes for int8, also -128. */
static void fill(const cell* c, void* stored, const float* scale,
                 double* meant) {
  const int count = c->inputs * c->outputs;
  for (int i = 0; i < count; ++i) {
    float value = (float)uniform();
    uint32_t word;
    if (c->type == DUSPAR_INT8) {
      const int8_t byte = (int8_t)(bits32() & 255);
      ((int8_t*)stored)[i] = byte;
      meant[i] = (double)byte * scale[i % c->outputs];
      continue;
    }
    memcpy(&word, &value, sizeof word);
    if (c->type == DUSPAR_BFLOAT16) {
      ((uint16_t*)stored)[i] = (uint16_t)(word >> 16);
      word &= 0xffff0000u;
      memcpy(&value, &word, sizeof value);
    } else {
      ((float*)stored)[i] = value;
    }
    meant[i] = value;
  }
}

/* `small`: scales so small that tanh is the identity, and a gate that is
 * open: the new state is the sum itself. */
static cell make_cell(int inputs, int outputs, int type, int bits, int small) {
  static const size_t items[] = {4, 2, 1};
  const size_t count = (size_t)inputs * (size_t)outputs;
  const size_t units = (size_t)outputs;
  cell c = {.inputs = inputs, .outputs = outputs, .type = type, .bits = bits};
  c.gate = allocate(count, items[type]);
  c.candidate = allocate(count, items[type]);
  c.gate_meant = allocate(count, sizeof(double));
  c.candidate_meant = allocate(count, sizeof(double));
  c.bias = allocate(units, sizeof(float));
  c.gate_scale = allocate(units, sizeof(float));
  c.candidate_scale = allocate(units, sizeof(float));
  c.a = allocate((size_t)inputs, sizeof(float));
  c.state = allocate(units, sizeof(float));
  for (int j = 0; j < outputs; ++j) {
    c.bias[j] = small ? 200.0f : (float)(2 * uniform());
    c.gate_scale[j] = small ? 0x1p-60f : (float)((uniform() + 1.5) / 127);
    c.candidate_scale[j] = small ? 0x1p-60f : (float)((uniform() + 1.5) / 127);
    c.state[j] = small ? 0.0f : (float)uniform();
  }
  c.operand_scale = small ? 0x1p-6f : (float)((uniform() + 1.2) / 64);
  fill(&c, c.gate, c.gate_scale, c.gate_meant);
  fill(&c, c.candidate, c.candidate_scale, c.candidate_meant);
  return c;
}

/* Zeros, of both signs, for all weights of some inputs. */
static void prune(cell* c) {
  for (int i = 0; i < c->inputs; ++i) {
    if (bits32() % 2) continue;
    for (int j = 0; j < c->outputs; ++j) {
      const int at = i * c->outputs + j;
      const float zero = j % 2 ? -0.0f : 0.0f;
      uint32_t word;
      memcpy(&word, &zero, sizeof word);
      c->gate_meant[at] = c->candidate_meant[at] = 0;
      if (c->type == DUSPAR_INT8) {
        ((int8_t*)c->gate)[at] = ((int8_t*)c->candidate)[at] = 0;
      } else if (c->type == DUSPAR_BFLOAT16) {
        ((uint16_t*)c->gate)[at] = (uint16_t)(word >> 16);
        ((uint16_t*)c->candidate)[at] = (uint16_t)(word >> 16);
      } else {
        ((float*)c->gate)[at] = ((float*)c->candidate)[at] = zero;
      }
    }
  }
}

static void free_cell(cell* c) {
  void* all[] = {c->gate,  c->candidate,       c->gate_meant,
                 c->bias,  c->candidate_meant, c->gate_scale,
                 c->state, c->candidate_scale, c->a};
  for (int i = 0; i < 9; ++i) free(all[i]);
}

/* An operand of which a share is above zero; some entries odd ones. */
static void fill_operand(cell* c, double share, int odd) {
  static const float values[] = {1e-42f, 0x1p-149f, 1e-38f, -0.0f,
                                 0.0f,   -1e-42f,   3e5f,   -3e38f};
  const double size = 4 / sqrt(c->inputs);
  for (int i = 0; i < c->inputs; ++i) {
    const double value = size * (fabs(uniform()) + 1e-6);
    const double place = (uniform() + 1) / 2;
    c->a[i] = (float)(place < share ? value : -value);
    if (odd && bits32() % 4 == 0) c->a[i] = values[bits32() % 8];
  }
}

static uint64_t run(const cell* c, const char* kernel, float* state) {
  const duspar_parameters p = {
      .kind = DUSPAR_KIND_SPAR,
      .weight_type = c->type,
      .features = c->inputs,
      .units = c->outputs,
      .operand_bits = c->bits,
      .feedforward = {c->gate, c->candidate, c->bias, c->gate_scale,
                      c->candidate_scale, c->operand_scale}};
  duspar_counts counts = {0};
  duspar_layer* layer = duspar_layer_create(&p, kernel);
  CHECK(layer != NULL, "%s", duspar_last_error());
  if (layer == NULL) return 0;
  CHECK(strcmp(duspar_layer_kernel(layer), kernel) == 0, "%s", kernel);
  const duspar_status status = duspar_layer_run(
      layer, 1, 1, c->a, c->state, NULL, NULL, state, NULL, &counts);
  CHECK(status == DUSPAR_OK, "%s", duspar_last_error());
  duspar_layer_destroy(layer);
  return counts.nonzeros[0];
}

/* The integer of an operand. */
static int to_integer(const cell* c, float a) {
  const float inverse = 1.0f / c->operand_scale;
  const float most = c->bits == 7 ? 127.0f : 255.0f;
  if (!(a > 0.0f)) return 0;
  return (int)fminf(rintf(a * inverse), most);
}

/* One output in double precision, how large the error may be, and the count
 * of operands that are not zero. */
static double expect(const cell* c, const char* kernel, int j,
                     double* tolerance, uint64_t* count) {
  double z = c->bias[j], b = 0, size = fabs(z);
  *count = 0;
  for (int i = 0; i < c->inputs; ++i) {
    const double a = c->bits ? (double)to_integer(c, c->a[i]) * c->operand_scale
                     : c->a[i] > 0 ? c->a[i]
                                   : 0;
    const size_t at = (size_t)i * (size_t)c->outputs + (size_t)j;
    *count += a > 0;
    z += a * c->gate_meant[at];
    b += a * c->candidate_meant[at];
    size += fabs(a * c->gate_meant[at]) + fabs(a * c->candidate_meant[at]);
  }
  z = 1 / (1 + exp(-z));
  /* In float16 an operand and up to 8 sums are rounded, by 2^-11 each. */
  const int half = strcmp(kernel, "neon_fp16") == 0 &&
                   c->type != DUSPAR_FLOAT32 && c->bits == 0;
  *tolerance = 4e-7 + (half ? 9 * 0x1p-11 : 1e-6) * size;
  return (1 - z) * c->state[j] + z * tanh(b);
}

static void test_values(const cell* c, const char* kernel, double share) {
  float* state = allocate((size_t)c->outputs, sizeof(float));
  const uint64_t found_count = run(c, kernel, state);
  for (int j = 0; j < c->outputs; ++j) {
    double tolerance;
    uint64_t count;
    const double meant = expect(c, kernel, j, &tolerance, &count);
    CHECK(fabs(state[j] - meant) <= tolerance,
          "%s, %d to %d, type %d, %d bits, share %g: output %d is %.9g, not "
          "%.9g",
          kernel, c->inputs, c->outputs, c->type, c->bits, share, j,
          (double)state[j], meant);
    CHECK(found_count == count, "%s, %d to %d, type %d: %d non-zeros, not %d",
          kernel, c->inputs, c->outputs, c->type, (int)found_count, (int)count);
  }
  free(state);
}

/* The sums of integers, read off the new state. */
static void test_sums(const cell* c, const char* kernel) {
  float* state = allocate((size_t)c->outputs, sizeof(float));
  run(c, kernel, state);
  for (int j = 0; j < c->outputs; ++j) {
    int64_t sum = 0;
    for (int i = 0; i < c->inputs; ++i) {
      const int8_t weight = ((int8_t*)c->candidate)[i * c->outputs + j];
      sum += to_integer(c, c->a[i]) * weight;
    }
    /* The division at the end may be off by a bit, which shows only in sums
     * that fill a float. */
    const double found = (double)state[j] * 0x1p66;
    const double most = llabs(sum) < 1 << 21 ? 0.5 : 2e-7 * (double)llabs(sum);
    CHECK(fabs(found - (double)sum) < most,
          "%s, %d to %d, %d bits: sum %d is %g, not %lld", kernel, c->inputs,
          c->outputs, c->bits, j, found, (long long)sum);
  }
  free(state);
}

/* NaN reaches every output, infinity closes or opens gates. */
static void test_no_numbers(cell* c, const char* kernel) {
  float* state = allocate((size_t)c->outputs, sizeof(float));
  float* plain = allocate((size_t)c->outputs, sizeof(float));
  const int place = (int)(bits32() % (unsigned)c->inputs);
  const float before = c->a[place];
  c->a[place] = NAN;
  run(c, kernel, state);
  for (int j = 0; j < c->outputs; ++j) {
    CHECK(isnan(state[j]), "%s, %d to %d, type %d, %d bits: output %d is %g",
          kernel, c->inputs, c->outputs, c->type, c->bits, j, (double)state[j]);
  }
  for (int sign = -1; sign <= 1; sign += 2) {
    c->a[place] = sign * INFINITY;
    const uint64_t count = run(c, kernel, state);
    CHECK(count == run(c, "reference", plain), "%s", kernel);
    double tolerance = 1e-5;
    uint64_t finite;
    for (int j = 0; j < c->outputs; ++j) {
      if (sign < 0) expect(c, kernel, j, &tolerance, &finite);
      CHECK(isnan(state[j]) == isnan(plain[j]) &&
                !(fabs((double)state[j] - plain[j]) > fmax(tolerance, 1e-5)),
            "%s, type %d, %d bits: output %d is %g, not %g", kernel, c->type,
            c->bits, j, (double)state[j], (double)plain[j]);
    }
  }
  c->a[place] = before;
  free(state);
  free(plain);
}

static void test_shape(int inputs, int outputs, const char* kernel) {
  static const struct {
    int type, bits;
  } formats[] = {{DUSPAR_FLOAT32, 0},
                 {DUSPAR_BFLOAT16, 0},
                 {DUSPAR_INT8, 0},
                 {DUSPAR_INT8, 7},
                 {DUSPAR_INT8, 8}};
  static const double shares[] = {0, 0.1, 0.5, 1};
  for (int f = 0; f < 5; ++f) {
    const int type = formats[f].type, bits = formats[f].bits;
    cell c = make_cell(inputs, outputs, type, bits, 0);
    for (int s = 0; s < 4; ++s) {
      fill_operand(&c, shares[s], 0);
      test_values(&c, kernel, shares[s]);
    }
    fill_operand(&c, 0.5, 1);
    test_values(&c, kernel, -1);
    fill_operand(&c, 0.5, 0);
    test_no_numbers(&c, kernel);
    prune(&c);
    test_values(&c, kernel, 0.5);
    test_no_numbers(&c, kernel);
    free_cell(&c);
    if (bits == 0) continue;
    c = make_cell(inputs, outputs, type, bits, 1);
    fill_operand(&c, 1.0, 1);
    test_sums(&c, kernel);
    for (int i = 0; i < inputs; ++i) { /* the largest sums that there are */
      c.a[i] = 1e9f;
      for (int j = 0; j < outputs; ++j) {
        ((int8_t*)c.candidate)[i * outputs + j] = j % 2 ? 127 : -128;
      }
    }
    test_sums(&c, kernel);
    free_cell(&c);
  }
}

/* sigmoid and tanh at numbers of every size: the gate open or shut, and the
 * candidate, moved by one input. */
static void test_activations(const char* kernel) {
  enum { UNITS = 37 };
  cell c = make_cell(1, UNITS, DUSPAR_FLOAT32, 0, 0);
  float state[UNITS];
  double worst = 0;
  c.a[0] = 1;
  for (int round = 0; round < 600; ++round) {
    for (int j = 0; j < UNITS; ++j) {
      uint32_t word = bits32();
      float number = (float)(uniform() * 20);
      if (round % 3 == 0) memcpy(&number, &word, sizeof number);
      if (!isfinite(number)) number = round % 2 ? INFINITY : -INFINITY;
      const int gate = round % 2;
      ((float*)c.gate)[j] = gate ? number : 0;
      ((float*)c.candidate)[j] = gate ? 0 : number;
      c.bias[j] = gate ? 0 : 200;
      c.state[j] = gate ? 1 : 0;
    }
    run(&c, kernel, state);
    for (int j = 0; j < UNITS; ++j) {
      const double b = ((float*)c.candidate)[j];
      const double meant =
          round % 2 ? 1 - 1 / (1 + exp(-(double)((float*)c.gate)[j])) : tanh(b);
      const double error = fabs(state[j] - meant);
      if (!(error <= worst)) worst = error;
      if (round % 2 == 0 &&
          fabs(b) < 1e-8) { /* to the last bit but one, near zero */
        const double kept = fabs(b) <= 0x1p-100 ? 0 : b;
        CHECK(fabs(state[j] - kept) <= 1.2e-7 * fabs(kept), "%s: tanh(%g) = %g",
              kernel, b, (double)state[j]);
      }
    }
  }
  CHECK(worst < 2e-7, "%s: sigmoid or tanh is off by %g", kernel, worst);
  printf("%s: activations within %.2g\n", kernel, worst);
  free_cell(&c);
}

/* A state that dies away becomes zero, before processors are slow with it. */
static void test_silence(const char* kernel) {
  enum { UNITS = 37, STEPS = 240 };
  static float x[STEPS], y[STEPS * UNITS];
  cell c = make_cell(1, UNITS, DUSPAR_FLOAT32, 0, 0);
  for (int j = 0; j < UNITS; ++j) c.bias[j] = 0;
  const duspar_parameters p = {
      .kind = DUSPAR_KIND_SPAR,
      .features = 1,
      .units = UNITS,
      .feedforward = {c.gate, c.candidate, c.bias, NULL, NULL, 0}};
  duspar_layer* layer = duspar_layer_create(&p, kernel);
  CHECK(duspar_layer_run(layer, 1, STEPS, x, c.state, NULL, y, NULL, NULL,
                         NULL) == DUSPAR_OK,
        "%s", duspar_last_error());
  for (int i = 0; i < STEPS * UNITS; ++i) {
    const double meant = c.state[i % UNITS] * pow(0.5, i / UNITS + 1);
    const double kept = fabs(meant) <= 0x1p-100 ? 0 : meant;
    CHECK(fabs(y[i] - kept) <= 1e-5 * fabs(kept), "%s: %g, not %g", kernel,
          (double)y[i], kept);
  }
  duspar_layer_destroy(layer);
  free_cell(&c);
}

int main(void) {
  static const int widths[] = {1,  2,  3,  4,   5,   7,   8,   9,   15, 16,
                               17, 31, 32, 33,  47,  63,  64,  65,  79, 80,
                               81, 96, 97, 113, 116, 127, 128, 129, 131};
  enum { WIDTHS = sizeof widths / sizeof widths[0] };
  for (size_t k = 0; k < duspar_kernel_count(); ++k) {
    const char* kernel = duspar_kernel_name(k);
    if (!duspar_kernel_usable(k)) {
      printf("%s: not on this processor\n", kernel);
      continue;
    }
    test_activations(kernel);
    test_silence(kernel);
    for (int i = 0; i < WIDTHS; ++i) {
      test_shape(widths[i], widths[bits32() % WIDTHS], kernel);
      test_shape(widths[bits32() % WIDTHS], widths[i], kernel);
    }
    test_shape(4096, 3, kernel);
    test_shape(3, 4096, kernel);
    test_shape(1021, 257, kernel);
  }
  printf("%s\n", failures ? "FAILED" : "passed");
  return failures != 0;
}
