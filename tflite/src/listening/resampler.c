/* A polyphase filter: the rates are in the ratio of `up` to `down`, and each of
 * `up` phases has its own row of a windowed sinc. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/memory.h"
#include "duspar.h"
#include "listening/rates.h"

/* Kaiser's window for an attenuation of 75 dB, and the width of the transition
 * as a share of half of the lower rate. */
static const double kAttenuation = 75, kTransition = 0.125;
static const double kPi = 3.14159265358979323846;

struct duspar_resampler {
  int32_t up, down, taps;
  int32_t phase;  /* of the next output behind the newest sample */
  int32_t newest; /* where the next sample goes in the history */
  float* history; /* twice, so that its last `taps` are always in a row */
  float* weights; /* one row per phase, the oldest sample first */
};

static int32_t common_divisor(int32_t a, int32_t b) {
  while (b != 0) {
    const int32_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* The modified Bessel function of order zero. */
static double bessel(double x) {
  double sum = 1, term = 1;
  for (int i = 1; term > 1e-12 * sum; ++i) {
    term *= x * x / (4.0 * i * i);
    sum += term;
  }
  return sum;
}

/* Fills the rows; every row sums to 1, so that a constant stays what it is. */
static void design(duspar_resampler* r, double cutoff) {
  const double beta = 0.1102 * (kAttenuation - 8.7), half = r->taps / 2.0;
  for (int32_t phase = 0; phase < r->up; ++phase) {
    float* row = r->weights + (size_t)phase * (size_t)r->taps;
    double sum = 0;
    for (int pass = 0; pass < 2; ++pass) {
      for (int32_t k = 0; k < r->taps; ++k) {
        /* Samples between this one and the middle of the filter. */
        const double t = k + (double)phase / r->up - half;
        const double edge = 1 - t * t / (half * half);
        const double x = kPi * cutoff * t;
        const double value =
            edge <= 0 ? 0
                      : (x == 0 ? 1 : sin(x) / x) * bessel(beta * sqrt(edge));
        if (pass == 0) sum += value;
        if (pass == 1) row[r->taps - 1 - k] = (float)(value / sum);
      }
    }
  }
}

duspar_resampler* duspar_resampler_create(int32_t rate, int32_t new_rate) {
  if (rate < DUSPAR_LOWEST_RATE || rate > DUSPAR_HIGHEST_RATE ||
      new_rate < DUSPAR_LOWEST_RATE || new_rate > DUSPAR_HIGHEST_RATE) {
    duspar_fail(DUSPAR_INVALID,
                "`rate` and `new_rate` must be from %d to %d. Received: %d "
                "and %d.",
                DUSPAR_LOWEST_RATE, DUSPAR_HIGHEST_RATE, (int)rate,
                (int)new_rate);
    return NULL;
  }
  duspar_resampler* r = calloc(1, sizeof *r);
  if (r == NULL) goto no_memory;
  const int32_t divisor = common_divisor(rate, new_rate);
  r->up = new_rate / divisor;
  r->down = rate / divisor;
  /* Of half of the input's rate: where the output's ends, or the input's. */
  const double end = new_rate < rate ? (double)new_rate / rate : 1;
  const double width = kTransition * end * kPi;
  r->taps = 2 * (int32_t)ceil((kAttenuation - 8) / (2.285 * width) / 2);
  r->history = duspar_allocate(2 * (size_t)r->taps * sizeof(float));
  r->weights = duspar_allocate((size_t)r->up * (size_t)r->taps * sizeof(float));
  if (r->history == NULL || r->weights == NULL) goto no_memory;
  design(r, end * (1 - kTransition / 2));
  duspar_resampler_reset(r);
  return r;
no_memory:
  duspar_resampler_destroy(r);
  duspar_fail_memory(sizeof *r);
  return NULL;
}

void duspar_resampler_destroy(duspar_resampler* r) {
  if (r == NULL) return;
  duspar_release(r->history);
  duspar_release(r->weights);
  free(r);
}

void duspar_resampler_reset(duspar_resampler* r) {
  r->phase = r->newest = 0;
  memset(r->history, 0, 2 * (size_t)r->taps * sizeof(float));
}

int32_t duspar_resampler_delay(const duspar_resampler* r) {
  return r->taps / 2;
}

size_t duspar_resampler_room(const duspar_resampler* r, size_t count) {
  return count * (size_t)r->up / (size_t)r->down + 1;
}

static float dot(const float* a, const float* b, int32_t count) {
  float sums[4] = {0};
  int32_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (int j = 0; j < 4; ++j) sums[j] += a[i + j] * b[i + j];
  }
  for (; i < count; ++i) sums[0] += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

size_t duspar_resampler_run(duspar_resampler* r, const float* samples,
                            size_t count, float* output) {
  size_t written = 0;
  for (size_t i = 0; i < count; ++i) {
    r->history[r->newest] = r->history[r->newest + r->taps] = samples[i];
    r->newest = r->newest + 1 == r->taps ? 0 : r->newest + 1;
    for (; r->phase < r->up; r->phase += r->down) {
      const float* row = r->weights + (size_t)r->phase * (size_t)r->taps;
      output[written++] = dot(r->history + r->newest, row, r->taps);
    }
    r->phase -= r->up;
  }
  return written;
}
