/* Layers with kernels. */
#include "functions.c"
#include "machine.h"

/* A sparsifying cell. Its operand is the input, or the input less the sum of
 * another state and an offset, or that sum alone.
 *
 * Arguments: 0, 1 weights and columns of the product; 2 product; 3 inputs;
 * 4 outputs; 5 the cell's state; 6 input, or -1; 7 the other state, or -1;
 * 8 the offset; 9 where the operand goes, or -1; 10 the gate's bias; 11 scales
 * of int8 weights, or -1; 12 the largest integer of an operand, or 0; 13 the
 * inverse of its scale; 14 the counter. */
FUNCTION void sparse_operand(const machine* m, const int32_t* a) {
  const float* x = a[6] < 0 ? 0 : m->memory + a[6];
  const float* state = a[7] < 0 ? 0 : m->memory + a[7];
  const float* offset = m->floats + a[8];
  const int32_t size = a[3];
  number* v = m->sums;
  int32_t i = 0;
  if (state == 0) {
    memcpy(v, x, (size_t)size * sizeof *v);
  } else if (x == 0) {
#if HELIUM
    for (; i + 4 <= size; i += 4) {
      vst1q(&v[i].f, vaddq(vld1q(state + i), vld1q(offset + i)));
    }
#endif
    for (; i < size; ++i) v[i].f = state[i] + offset[i];
  } else {
#if HELIUM
    for (; i + 4 <= size; i += 4) {
      const float32x4_t sum = vaddq(vld1q(state + i), vld1q(offset + i));
      vst1q(&v[i].f, vsubq(vld1q(x + i), sum));
    }
#endif
    for (; i < size; ++i) v[i].f = x[i] - (state[i] + offset[i]);
  }
  if (a[9] >= 0) memcpy(m->memory + a[9], v, (size_t)size * sizeof *v);
}

FUNCTION void round_operand(number* v, int32_t size, float inverse,
                            float most) {
  int32_t i = 0;
#if HELIUM
  for (; i + 4 <= size; i += 4) {
    const float32x4_t x = vmulq(vld1q(&v[i].f), inverse);
    vst1q(&v[i].i, vcvtnq_s32_f32(limited(x, 0.0f, most)));
  }
#endif
  for (; i < size; ++i) {
    v[i].i = nearest(at_least(at_most(v[i].f * inverse, most), 0.0f));
  }
}

/* Collects the entries above zero; the bits of such a float are those of such
 * an integer. Returns their number. */
FUNCTION int32_t collect(const number* v, int32_t size, int32_t columns,
                         entry* entries) {
  entry* e = entries;
  for (int32_t i = 0, row = 0; i < size; ++i, row += columns) {
    const number value = v[i];
    e->row = row;
    e->value = value;
    if (value.i > 0) ++e;
  }
  return (int32_t)(e - entries);
}

/* With z = 1 / (1 + e^-g) and c = (e^2c - 1) / (e^2c + 1), s + z (c - s) is s
 * and one fraction; at 40, z and c are as near to 0 and 1 as matters. Changes
 * the states from `first` on. */
FUNCTION void move_states(number* sums, const float* scales, const float* bias,
                          float* state, int32_t first, int32_t outputs,
                          int integers) {
  for (int32_t j = first; j < outputs; ++j) {
    float g = integers ? (float)sums[j].i : sums[j].f;
    float c = integers ? (float)sums[outputs + j].i : sums[outputs + j].f;
    if (scales != 0) {
      g *= scales[j];
      c *= scales[outputs + j];
    }
    g = at_most(at_least(-g - bias[j], -40.0f), 40.0f);
    const float e = exponential(at_most(at_least(c + c, -40.0f), 40.0f));
    sums[j].f = (e - 1.0f) - state[j] * (e + 1.0f);
    sums[outputs + j].f = (1.0f + exponential(g)) * (1.0f + e);
  }
  for (int32_t j = first; j < outputs; ++j) {
    /* What is tiny is zero: silence must not lead to denormal numbers. */
    const float moved = state[j] + sums[j].f / sums[outputs + j].f;
    state[j] = moved <= 0x1p-100f && moved >= -0x1p-100f ? 0.0f : moved;
  }
}

#if HELIUM

/* As `move_states()`, four at once; returns how many states it changed. */
FUNCTION int32_t move_vectors(const number* sums, const float* scales,
                              const float* bias, float* state, int32_t outputs,
                              int integers) {
  const number* candidate = sums + outputs;
  int32_t j = 0;
  for (; j + 4 <= outputs; j += 4) {
    float32x4_t g, c;
    if (integers) {
      g = vcvtq_f32_s32(vld1q(&sums[j].i));
      c = vcvtq_f32_s32(vld1q(&candidate[j].i));
    } else {
      g = vld1q(&sums[j].f);
      c = vld1q(&candidate[j].f);
    }
    if (scales != 0) {
      g = vmulq(g, vld1q(scales + j));
      c = vmulq(c, vld1q(scales + outputs + j));
    }
    g = vnegq(vaddq(g, vld1q(bias + j)));
    g = exponentials(limited(g, -40.0f, 40.0f));
    c = exponentials(limited(vaddq(c, c), -40.0f, 40.0f));
    const float32x4_t s = vld1q(state + j), above = vaddq(c, 1.0f);
    const float32x4_t moved = vfmsq(vaddq(c, -1.0f), s, above);
    const float32x4_t below = vfmaq(above, above, g);
    const float32x4_t next = vfmaq(s, moved, reciprocals(below));
    const mve_pred16_t tiny = vcmpleq(vabsq(next), 0x1p-100f);
    vst1q(state + j, vpselq(vdupq_n_f32(0.0f), next, tiny));
  }
  return j;
}

#endif

FUNCTION void sparse_cell(machine* m, const int32_t* a) {
  const int integers = a[12] != 0;
  const float* scales = a[11] < 0 ? 0 : m->floats + a[11];
  const int32_t outputs = a[4];
  number* sums = m->sums;
  float* state = m->memory + a[5];
  sparse_operand(m, a);
  if (integers) round_operand(sums, a[3], m->floats[a[13]], (float)a[12]);
  const int32_t count = collect(sums, a[3], a[1], m->entries);
  if (m->counts != 0) {
    m->counts[2 * a[14]] += (uint32_t)count;
    m->counts[2 * a[14] + 1] += (uint32_t)a[3];
  }
  m->products[a[2]](m, count, a);
  const float* bias = m->floats + a[10];
  int32_t moved = 0;
#if HELIUM
  moved = integers && scales != 0
              ? move_vectors(sums, scales, bias, state, outputs, 1)
              : move_vectors(sums, scales, bias, state, outputs, integers);
#endif
  move_states(sums, scales, bias, state, moved, outputs, integers);
}

/* Arguments: 0, 1 weights and columns; 2 product; 3 inputs; 4 outputs; 5 out;
 * 6 in; 7 bias; 8 scales of int8 weights. */
FUNCTION void dense(machine* m, const int32_t* a) {
  const number* x = (const number*)(const void*)(m->memory + a[6]);
  const float* bias = m->floats + a[7];
  const float* scales = m->floats + a[8];
  const number* sums = m->sums;
  const int32_t inputs = a[3], outputs = a[4], columns = a[1];
  float* y = m->memory + a[5];
  entry* e = m->entries;
  for (int32_t i = 0, row = 0; i < inputs; ++i, row += columns) {
    const number value = x[i];
    e->row = row;
    e->value = value;
    if ((value.i & 0x7fffffff) != 0) ++e;
  }
  m->products[a[2]](m, (int32_t)(e - m->entries), a);
  int32_t j = 0;
  if (a[2] == PRODUCT_INT8) {
#if HELIUM
    for (; j + 4 <= outputs; j += 4) {
      const float32x4_t scale = vld1q(scales + j);
      vst1q(y + j, vfmaq(vld1q(bias + j), vld1q(&sums[j].f), scale));
    }
#endif
    for (; j < outputs; ++j) y[j] = sums[j].f * scales[j] + bias[j];
  } else {
    for (; j < outputs; ++j) y[j] = sums[j].f + bias[j];
  }
}

/* Arguments: 0 out; 1 in; 2 size; 3 epsilon; 4 scale; 5 offset. */
FUNCTION void layer_norm(machine* m, const int32_t* a) {
  const float* x = m->memory + a[1];
  const float size = (float)a[2];
  float mean = 0.0f, variance = 0.0f;
  for (int32_t i = 0; i < a[2]; ++i) mean += x[i];
  mean /= size;
  for (int32_t i = 0; i < a[2]; ++i) {
    variance += (x[i] - mean) * (x[i] - mean);
  }
  const float scale = inverse_root(variance / size + m->floats[a[3]]);
  for (int32_t i = 0; i < a[2]; ++i) {
    m->memory[a[0] + i] =
        (x[i] - mean) * scale * m->floats[a[4] + i] + m->floats[a[5] + i];
  }
}

/* Arguments: 0 out; 1 in; 2 size; 3 epsilon; 4 scale. */
FUNCTION void rms_norm(machine* m, const int32_t* a) {
  const float* x = m->memory + a[1];
  float sum = 0.0f;
  for (int32_t i = 0; i < a[2]; ++i) sum += x[i] * x[i];
  const float scale = inverse_root(sum / (float)a[2] + m->floats[a[3]]);
  for (int32_t i = 0; i < a[2]; ++i) {
    m->memory[a[0] + i] = x[i] * scale * m->floats[a[4] + i];
  }
}

/* Arguments of this and of the next: 0 out; 1 in; 2 size. */
FUNCTION void unit_norm(machine* m, const int32_t* a) {
  const float* x = m->memory + a[1];
  float sum = 0.0f;
  for (int32_t i = 0; i < a[2]; ++i) sum += x[i] * x[i];
  const float scale = inverse_root(at_least(sum, 1e-12f));
  for (int32_t i = 0; i < a[2]; ++i) m->memory[a[0] + i] = x[i] * scale;
}

FUNCTION void softmax(machine* m, const int32_t* a) {
  const float* x = m->memory + a[1];
  float* y = m->memory + a[0];
  float largest = x[0], sum = 0.0f;
  for (int32_t i = 1; i < a[2]; ++i) largest = at_least(x[i], largest);
  for (int32_t i = 0; i < a[2]; ++i) {
    y[i] = any_exponential(x[i] - largest);
    sum += y[i];
  }
  for (int32_t i = 0; i < a[2]; ++i) y[i] /= sum;
}
