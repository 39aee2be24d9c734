#include "micro/spectrum.h"

#include <math.h>

#include "base/compiler.h"

void duspar_micro_turns(size_t length, float* turns) {
  for (size_t k = 0; k < length / 2; ++k) {
    const double angle = 6.283185307179586 * (double)k / (double)length;
    turns[2 * k] = (float)cos(angle);
    turns[2 * k + 1] = (float)sin(angle);
  }
}

static void swap(float* z, size_t a, size_t b) {
  for (int part = 0; part < 2; ++part) {
    const float kept = z[2 * a + part];
    z[2 * a + part] = z[2 * b + part];
    z[2 * b + part] = kept;
  }
}

/* The Fourier transform of `size` complex numbers, in place. `turns` are those
 * of twice the size. */
static void transform(float* z, size_t size, const float* turns) {
  for (size_t i = 1, j = 0; i < size; ++i) {
    size_t bit = size / 2;
    for (; j & bit; bit /= 2) j ^= bit;
    j ^= bit;
    if (i < j) swap(z, i, j);
  }
  for (size_t half = 1; half < size; half *= 2) {
    const size_t stride = size / half; /* between turns */
    for (size_t first = 0; first < size; first += 2 * half) {
      for (size_t k = 0; k < half; ++k) {
        float* a = z + 2 * (first + k);
        float* b = a + 2 * half;
        const float c = turns[2 * k * stride], s = turns[2 * k * stride + 1];
        const float re = b[0] * c + b[1] * s, im = b[1] * c - b[0] * s;
        b[0] = a[0] - re;
        b[1] = a[1] - im;
        a[0] += re;
        a[1] += im;
      }
    }
  }
}

/* Power of bins k and size - k of a real signal, of which even and odd samples
 * were real and imaginary parts. */
static void power_pair(float* z, size_t size, size_t k, const float* turns,
                       float* low, float* high) {
  const float* p = z + 2 * k;
  const float* q = z + 2 * (size - k);
  const float c = turns[2 * k], s = turns[2 * k + 1];
  const float er = p[0] + q[0], ei = p[1] - q[1];
  const float or_ = p[1] + q[1], oi = q[0] - p[0];
  const float tr = or_ * c + oi * s, ti = oi * c - or_ * s;
  *low = 0.25f * ((er + tr) * (er + tr) + (ei + ti) * (ei + ti));
  *high = 0.25f * ((er - tr) * (er - tr) + (ei - ti) * (ei - ti));
}

void duspar_micro_log_mel(const duspar_log_mel_parameters* p,
                          const float* turns, const float* frame,
                          float* features, float* scratch) {
  const size_t size = p->length / 2;
  for (size_t i = 0; i < p->length; ++i) scratch[i] = frame[i] * p->window[i];
  transform(scratch, size, turns);
  /* The power of bin k takes the place of a part of number k or size - k, whose
   * other part waits for nobody any more. */
  const float sum = scratch[0] + scratch[1], rest = scratch[0] - scratch[1];
  for (size_t k = 1; 2 * k <= size; ++k) {
    float low, high;
    power_pair(scratch, size, k, turns, &low, &high);
    scratch[2 * k] = low;
    scratch[2 * (size - k)] = high;
  }
  scratch[0] = sum * sum;
  scratch[2 * size] = rest * rest;
  const float* filter = p->filters;
  for (size_t b = 0; b < p->bands; ++b) {
    float energy = 0;
    for (int32_t k = p->edges[2 * b]; k < p->edges[2 * b + 1]; ++k) {
      energy += *filter++ * scratch[2 * k];
    }
    features[b] = (logf(energy + p->offset) - p->mean[b]) / p->deviation[b];
  }
}
