/* Layers that look back over some time steps. */
#include "functions.c"
#include "machine.h"

/* Puts a time step behind the others of a window, and lets a clock tick when
 * the window is complete. Arguments: 0 the window; 1 in; 2 size; 3 time steps
 * of the window; 4 those that wait; 5 zeros before the first; 6 steps from one
 * window to the next; 7 the clock. */
FUNCTION void window(machine* m, const int32_t* a) {
  float* steps = m->memory + a[0];
  float* waiting = m->memory + a[4];
  const int32_t kept = (a[3] - 1) * a[2];
  memmove(steps, steps + a[2], (size_t)kept * sizeof(float));
  memcpy(steps + kept, m->memory + a[1], (size_t)a[2] * sizeof(float));
  *waiting += 1.0f;
  if (*waiting + (float)a[5] < (float)a[3]) return;
  *waiting -= (float)a[6];
  m->clocks |= 1u << a[7];
}

/* Every channel of a window times weights of its own. Arguments: 0 out; 1 the
 * window; 2 channels; 3 taps; 4 floats from one tap to the next; 5 weights;
 * 6 outputs per channel; 7 bias. */
FUNCTION void depthwise(machine* m, const int32_t* a) {
  const int32_t outputs = a[2] * a[6];
  const float* weights = m->floats + a[5];
  float* y = m->memory + a[0];
  memcpy(y, m->floats + a[7], (size_t)outputs * sizeof(float));
  for (int32_t k = 0; k < a[3]; ++k, weights += outputs) {
    const float* x = m->memory + a[1] + k * a[4];
    for (int32_t j = 0; j < outputs; ++j) y[j] += x[j / a[6]] * weights[j];
  }
}

/* The largest of every channel. Arguments: 0 out; 1 the window; 2 channels;
 * 3 time steps. */
FUNCTION void largest(machine* m, const int32_t* a) {
  const float* x = m->memory + a[1];
  float* y = m->memory + a[0];
  memcpy(y, x, (size_t)a[2] * sizeof(float));
  for (int32_t k = 1; k < a[3]; ++k) {
    x += a[2];
    for (int32_t i = 0; i < a[2]; ++i) y[i] = at_least(x[i], y[i]);
  }
}

/* The largest of everything up to now. Arguments: 0 out; 1 in; 2 size; 3 steps
 * that were seen, or 1. */
FUNCTION void running_max(machine* m, const int32_t* a) {
  const float* x = m->memory + a[1];
  float* y = m->memory + a[0];
  const int first = m->memory[a[3]] == 0.0f;
  for (int32_t i = 0; i < a[2]; ++i) {
    y[i] = first ? x[i] : at_least(x[i], y[i]);
  }
  m->memory[a[3]] = 1.0f;
}
