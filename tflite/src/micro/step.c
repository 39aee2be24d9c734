#include "micro/step.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/compiler.h"

/* Smaller states become zero, as everywhere in the library. */
static const float tiny = 0x1p-100f;

/* Adds operand times row `i` of both kernels to the sums. */
static void add_row(const duspar_micro_cell* c, size_t i, float a, float* gate,
                    float* candidate) {
  const size_t first = i * (size_t)c->outputs;
  if (c->weight_type == DUSPAR_FLOAT32) {
    const float* g = (const float*)c->weights->gate_kernel + first;
    const float* k = (const float*)c->weights->candidate_kernel + first;
    for (int32_t j = 0; j < c->outputs; ++j) {
      gate[j] += a * g[j];
      candidate[j] += a * k[j];
    }
  } else if (c->weight_type == DUSPAR_BFLOAT16) {
    const uint16_t* g = (const uint16_t*)c->weights->gate_kernel + first;
    const uint16_t* k = (const uint16_t*)c->weights->candidate_kernel + first;
    for (int32_t j = 0; j < c->outputs; ++j) {
      const uint32_t bits[2] = {(uint32_t)g[j] << 16, (uint32_t)k[j] << 16};
      float weights[2];
      memcpy(weights, bits, sizeof weights);
      gate[j] += a * weights[0];
      candidate[j] += a * weights[1];
    }
  } else {
    const int8_t* g = (const int8_t*)c->weights->gate_kernel + first;
    const int8_t* k = (const int8_t*)c->weights->candidate_kernel + first;
    for (int32_t j = 0; j < c->outputs; ++j) {
      gate[j] += a * (float)g[j];
      candidate[j] += a * (float)k[j];
    }
  }
}

static size_t add_floats(const duspar_micro_cell* c, const float* a,
                         float* gate, float* candidate) {
  size_t nonzeros = 0;
  memset(gate, 0, (size_t)c->outputs * sizeof *gate);
  memset(candidate, 0, (size_t)c->outputs * sizeof *candidate);
  for (int32_t i = 0; i < c->inputs; ++i) {
    if (a[i] <= 0) continue; /* not NaN, which spreads */
    ++nonzeros;
    add_row(c, (size_t)i, a[i], gate, candidate);
  }
  if (c->weight_type != DUSPAR_INT8) return nonzeros;
  for (int32_t j = 0; j < c->outputs; ++j) {
    gate[j] *= c->weights->gate_scale[j];
    candidate[j] *= c->weights->candidate_scale[j];
  }
  return nonzeros;
}

/* The same with operands that are rounded to integers: sums are exact. */
static size_t add_integers(const duspar_micro_cell* c, const float* a,
                           float* gate, float* candidate) {
  const float inverse = 1.0f / c->weights->operand_scale;
  const float most = c->operand_bits == 8 ? 255.0f : 127.0f;
  int32_t* sums[2] = {(int32_t*)(void*)gate, (int32_t*)(void*)candidate};
  bool broken = false;
  size_t nonzeros = 0;
  memset(gate, 0, (size_t)c->outputs * sizeof *gate);
  memset(candidate, 0, (size_t)c->outputs * sizeof *candidate);
  for (int32_t i = 0; i < c->inputs; ++i) {
    if (a[i] <= 0) continue;
    if (isnan(a[i])) {
      broken = true;
      ++nonzeros;
      continue;
    }
    const float scaled = rintf(a[i] * inverse);
    const int32_t q = (int32_t)(scaled < most ? scaled : most);
    if (q == 0) continue;
    ++nonzeros;
    const size_t first = (size_t)i * (size_t)c->outputs;
    const int8_t* g = (const int8_t*)c->weights->gate_kernel + first;
    const int8_t* k = (const int8_t*)c->weights->candidate_kernel + first;
    for (int32_t j = 0; j < c->outputs; ++j) {
      sums[0][j] += q * g[j];
      sums[1][j] += q * k[j];
    }
  }
  const float scale = c->weights->operand_scale;
  for (int32_t j = 0; j < c->outputs; ++j) {
    const int32_t both[2] = {sums[0][j], sums[1][j]};
    gate[j] =
        broken ? NAN : (float)both[0] * (scale * c->weights->gate_scale[j]);
    candidate[j] =
        broken ? NAN
               : (float)both[1] * (scale * c->weights->candidate_scale[j]);
  }
  return nonzeros;
}

size_t duspar_micro_step(const duspar_micro_cell* c, const float* a, float* f,
                         void* sums) {
  float* gate = sums;
  float* candidate = gate + c->outputs;
  const size_t nonzeros = c->operand_bits != 0
                              ? add_integers(c, a, gate, candidate)
                              : add_floats(c, a, gate, candidate);
  for (int32_t j = 0; j < c->outputs; ++j) {
    const float z = 1.0f / (1.0f + expf(-(gate[j] + c->weights->gate_bias[j])));
    const float next = f[j] + z * (tanhf(candidate[j]) - f[j]);
    f[j] = fabsf(next) <= tiny ? 0.0f : next;
  }
  return nonzeros;
}
