/* Operations on every entry of a vector, and on time. */
#include "functions.c"
#include "machine.h"

/* Arguments: 0 out; 1 in; 2 size; 3 scale; 4 offset. */
FUNCTION void affine(machine* m, const int32_t* a) {
  const float* x = m->memory + a[1];
  for (int32_t i = 0; i < a[2]; ++i) {
    m->memory[a[0] + i] = x[i] * m->floats[a[3] + i] + m->floats[a[4] + i];
  }
}

FUNCTION float unary_of(int32_t function, float x, const float* p) {
  switch (function) {
    case CLIP:
      return at_most(at_least(x, p[0]), p[1]);
    case LEAKY_RELU:
      return x > 0.0f ? x : p[0] * x;
    case ELU:
      return p[1] * (x > 0.0f ? x : p[0] * (any_exponential(x) - 1.0f));
    case SIGMOID:
      return sigmoid_of(x);
    case TANH:
      return tanh_of(x);
    case SILU:
      return x * sigmoid_of(x);
    case SOFTPLUS:
      return at_least(x, 0.0f) +
             logarithm(1.0f + any_exponential(x > 0.0f ? -x : x));
    case SOFTSIGN:
      return x / (1.0f + (x > 0.0f ? x : -x));
    case EXP:
      return any_exponential(x);
    case LOG:
      return logarithm(x);
    case SQRT:
      return x > 0.0f ? x * inverse_root(x) : 0.0f;
    case ABSOLUTE:
      return x > 0.0f ? x : -x;
    default: /* RECIPROCAL */
      return 1.0f / x;
  }
}

/* Arguments: 0 out; 1 in; 2 size; 3 function; 4 its two parameters. */
FUNCTION void unary(machine* m, const int32_t* a) {
  int32_t i = 0;
#if HELIUM
  const float sign = a[3] == SIGMOID ? -1.0f : 2.0f;
  if (a[3] == SIGMOID || a[3] == TANH) {
    for (; i + 4 <= a[2]; i += 4) {
      float32x4_t x = vmulq(vld1q(m->memory + a[1] + i), sign);
      x = reciprocals(vaddq(exponentials(limited(x, -87.0f, 87.0f)), 1.0f));
      if (a[3] == TANH) x = vfmaq(vdupq_n_f32(1.0f), x, -2.0f);
      vst1q(m->memory + a[0] + i, x);
    }
  }
#endif
  for (; i < a[2]; ++i) {
    const float x = m->memory[a[1] + i];
    m->memory[a[0] + i] = unary_of(a[3], x, m->floats + a[4]);
  }
}

FUNCTION float binary_of(int32_t function, float x, float y) {
  switch (function) {
    case ADD:
      return x + y;
    case SUBTRACT:
      return x - y;
    case MULTIPLY:
      return x * y;
    case DIVIDE:
      return x / y;
    case MAXIMUM:
      return at_least(x, y);
    default: /* MINIMUM */
      return at_most(x, y);
  }
}

/* Arguments: 0 out; 1, 2 in; 3 size; 4 function. */
FUNCTION void binary(machine* m, const int32_t* a) {
  for (int32_t i = 0; i < a[3]; ++i) {
    m->memory[a[0] + i] =
        binary_of(a[4], m->memory[a[1] + i], m->memory[a[2] + i]);
  }
}

/* Arguments: 0 out; 1 in; 2 size. */
FUNCTION void copy(machine* m, const int32_t* a) {
  memmove(m->memory + a[0], m->memory + a[1], (size_t)a[2] * sizeof(float));
}

/* Arguments: 0 out; 1 in; 2 size; 3 sums; 4 count; 5 steps in a group; 6 the
 * clock of whole groups. */
FUNCTION void pool(machine* m, const int32_t* a) {
  float* sums = m->memory + a[3];
  float* count = m->memory + a[4];
  for (int32_t i = 0; i < a[2]; ++i) sums[i] += m->memory[a[1] + i];
  *count += 1.0f;
  if (*count < (float)a[5]) return;
  for (int32_t i = 0; i < a[2]; ++i) {
    m->memory[a[0] + i] = sums[i] / (float)a[5];
    sums[i] = 0.0f;
  }
  *count = 0.0f;
  m->clocks |= 1u << a[6];
}

/* Arguments: 0 out; 1 in; 2 size; 3 sums; 4 count. */
FUNCTION void running_mean(machine* m, const int32_t* a) {
  float* sums = m->memory + a[3];
  m->memory[a[4]] += 1.0f;
  for (int32_t i = 0; i < a[2]; ++i) {
    sums[i] += m->memory[a[1] + i];
    m->memory[a[0] + i] = sums[i] / m->memory[a[4]];
  }
}

/* The mean of the last steps, at first of as many as there are. Arguments: 0
 * out; 1 in; 2 size; 3 sums, and sums since the window was begun anew; 4 steps
 * that were seen; 5 the window; 6 its steps. */
FUNCTION void sliding_mean(machine* m, const int32_t* a) {
  const int32_t size = a[2], steps = a[6];
  float* sums = m->memory + a[3];
  float* seen = m->memory + a[4];
  const int32_t step = (int32_t)*seen % steps;
  float* old = m->memory + a[5] + step * size;
  *seen = *seen < (float)(2 * steps - 1) ? *seen + 1.0f : (float)steps;
  const float count = *seen < (float)steps ? *seen : (float)steps;
  for (int32_t i = 0; i < size; ++i) {
    const float x = m->memory[a[1] + i];
    sums[i] += x - old[i];
    sums[size + i] += x;
    old[i] = x;
    if (step == steps - 1) { /* without the errors of many sums */
      sums[i] = sums[size + i];
      sums[size + i] = 0.0f;
    }
    m->memory[a[0] + i] = sums[i] / count;
  }
}
