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
  number* v = m->sums;
  if (state == 0) {
    memcpy(v, x, (size_t)a[3] * sizeof *v);
  } else if (x == 0) {
    for (int32_t i = 0; i < a[3]; ++i) v[i].f = state[i] + offset[i];
  } else {
    for (int32_t i = 0; i < a[3]; ++i) v[i].f = x[i] - (state[i] + offset[i]);
  }
  if (a[9] >= 0) memcpy(m->memory + a[9], v, (size_t)a[3] * sizeof *v);
}

#if HELIUM

FUNCTION float32x4_t limited(float32x4_t x, float low, float high) {
  x = vmaxnmq_f32(x, vdupq_n_f32(low));
  return vminnmq_f32(x, vdupq_n_f32(high));
}

/* As `exponential()`, of four numbers. */
FUNCTION float32x4_t exponentials(float32x4_t x) {
  const int32x4_t n = vcvtnq_s32_f32(vmulq_n_f32(x, 1.44269504f));
  const float32x4_t k = vcvtq_f32_s32(n);
  float32x4_t r = vfmaq_n_f32(x, k, -0.693359375f), p;
  r = vfmaq_n_f32(r, k, 2.12194440e-4f);
  p = vfmasq_n_f32(vdupq_n_f32(0x1.6dbc66p-10f), r, 0x1.124148p-7f);
  p = vfmasq_n_f32(p, r, 0x1.555454p-5f);
  p = vfmasq_n_f32(p, r, 0x1.555486p-3f);
  p = vfmasq_n_f32(p, r, 0.5f);
  p = vfmasq_n_f32(p, r, 1.0f);
  p = vfmasq_n_f32(p, r, 1.0f);
  const int32x4_t scale = vshlq_n_s32(vaddq_n_s32(n, 127), 23);
  return vmulq_f32(p, vreinterpretq_f32_s32(scale));
}

FUNCTION void round_operand(number* v, int32_t size, float inverse,
                            float most) {
  for (int32_t i = 0; i < size; i += 4) {
    const mve_pred16_t some = vctp32q((uint32_t)(size - i));
    const float32x4_t x = vmulq_n_f32(vldrwq_z_f32(&v[i].f, some), inverse);
    const int32x4_t q = vcvtnq_s32_f32(limited(x, 0.0f, most));
    vstrwq_p_s32(&v[i].i, q, some);
  }
}

FUNCTION void fractions(number* sums, const float* scales, const float* bias,
                        const float* state, int32_t outputs, int integers) {
  number* candidate = sums + outputs;
  for (int32_t j = 0; j < outputs; j += 4) {
    const mve_pred16_t some = vctp32q((uint32_t)(outputs - j));
    float32x4_t g, c;
    if (integers) {
      g = vcvtq_f32_s32(vldrwq_z_s32(&sums[j].i, some));
      c = vcvtq_f32_s32(vldrwq_z_s32(&candidate[j].i, some));
    } else {
      g = vldrwq_z_f32(&sums[j].f, some);
      c = vldrwq_z_f32(&candidate[j].f, some);
    }
    if (scales != 0) {
      g = vmulq_f32(g, vldrwq_z_f32(scales + j, some));
      c = vmulq_f32(c, vldrwq_z_f32(scales + outputs + j, some));
    }
    g = vnegq_f32(vaddq_f32(g, vldrwq_z_f32(bias + j, some)));
    g = exponentials(limited(g, -40.0f, 40.0f));
    c = exponentials(limited(vaddq_f32(c, c), -40.0f, 40.0f));
    const float32x4_t above = vaddq_n_f32(c, 1.0f);
    const float32x4_t moved =
        vfmsq_f32(vaddq_n_f32(c, -1.0f), vldrwq_z_f32(state + j, some), above);
    vstrwq_p_f32(&sums[j].f, moved, some);
    vstrwq_p_f32(&candidate[j].f, vfmaq_f32(above, above, g), some);
  }
}

#else

FUNCTION void round_operand(number* v, int32_t size, float inverse,
                            float most) {
  for (int32_t i = 0; i < size; ++i) {
    v[i].i = nearest(at_least(at_most(v[i].f * inverse, most), 0.0f));
  }
}

/* With z = 1 / (1 + e^-g) and c = (e^2c - 1) / (e^2c + 1), s + z (c - s) is s
 * and one fraction; at 40, z and c are as near to 0 and 1 as matters. */
FUNCTION void fractions(number* sums, const float* scales, const float* bias,
                        const float* state, int32_t outputs, int integers) {
  for (int32_t j = 0; j < outputs; ++j) {
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
}

#endif

/* Collects the entries above zero; the bits of such a float are those of such
 * an integer. Returns their number. */
FUNCTION int32_t collect(const number* v, int32_t size, int32_t columns,
                         entry* entries) {
  entry* e = entries;
  for (int32_t i = 0, row = 0; i < size; ++i, row += columns) {
    e->row = row;
    e->value = v[i];
    e += v[i].i > 0;
  }
  return (int32_t)(e - entries);
}

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
  fractions(sums, scales, m->floats + a[10], state, outputs, integers);
  for (int32_t j = 0; j < outputs; ++j) {
    /* What is tiny is zero: silence must not lead to denormal numbers. */
    const float moved = state[j] + sums[j].f / sums[outputs + j].f;
    state[j] = moved <= 0x1p-100f && moved >= -0x1p-100f ? 0.0f : moved;
  }
}

/* Arguments: 0, 1 weights and columns; 2 product; 3 inputs; 4 outputs; 5 out;
 * 6 in; 7 bias; 8 scales of int8 weights. */
FUNCTION void dense(machine* m, const int32_t* a) {
  const float* x = m->memory + a[6];
  float* y = m->memory + a[5];
  int32_t count = 0;
  for (int32_t i = 0; i < a[3]; ++i) {
    m->entries[count].row = i * a[1];
    m->entries[count].value.f = x[i];
    count += x[i] != 0.0f;
  }
  m->products[a[2]](m, count, a);
  for (int32_t j = 0; j < a[4]; ++j) {
    const float scale = a[2] == PRODUCT_INT8 ? m->floats[a[8] + j] : 1.0f;
    y[j] = m->sums[j].f * scale + m->floats[a[7] + j];
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
