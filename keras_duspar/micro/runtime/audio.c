/* From samples to features, and from frames to samples. */
#include "functions.c"
#include "machine.h"

/* The Fourier transform of `size` complex numbers, in place; the result is in
 * the order of indices whose bits are turned round. `turns` has the cosines
 * and the sines of every round, one after the other. */
FUNCTION void fourier(float* re, float* im, int32_t size,
                      const float* restrict turns) {
  int32_t half = size / 2;
  for (; half > 2; turns += 2 * half, half /= 2) {
    for (int32_t first = 0; first < size; first += 2 * half) {
      float* restrict ar = re + first;
      float* restrict ai = im + first;
      float* restrict br = ar + half;
      float* restrict bi = ai + half;
      for (int32_t k = 0; k < half; ++k) {
        const float dr = ar[k] - br[k], di = ai[k] - bi[k];
        const float c = turns[k], s = turns[half + k];
        ar[k] += br[k];
        ai[k] += bi[k];
        br[k] = dr * c + di * s;
        bi[k] = di * c - dr * s;
      }
    }
  }
  /* The last two rounds at once: turns are 1 and -i. */
  for (float* end = re + size; re < end; re += 4, im += 4) {
    const float pr = re[0] + re[2], pi = im[0] + im[2];
    const float qr = re[0] - re[2], qi = im[0] - im[2];
    const float rr = re[1] + re[3], ri = im[1] + im[3];
    const float sr = re[1] - re[3], si = im[1] - im[3];
    re[0] = pr + rr;
    im[0] = pi + ri;
    re[1] = pr - rr;
    im[1] = pi - ri;
    re[2] = qr + si;
    im[2] = qi - sr;
    re[3] = qr - si;
    im[3] = qi + sr;
  }
}

/* Two real transforms of half the length are in one complex one: the power of
 * bins k and size - k, in their places. */
FUNCTION void power_of_pair(float* re, float* im, int32_t p, int32_t q, float c,
                            float s) {
  const float er = re[p] + re[q], ei = im[p] - im[q];
  const float dr = im[p] + im[q], di = re[q] - re[p];
  const float tr = dr * c + di * s, ti = di * c - dr * s;
  re[p] = 0.25f * ((er + tr) * (er + tr) + (ei + ti) * (ei + ti));
  re[q] = 0.25f * ((er - tr) * (er - tr) + (ei - ti) * (ei - ti));
}

/* Arguments: 0 out; 1 the frame; 2 its length; 3 bands; 4 scratch, as long as
 * the frame; 5 window; 6 turns of the rounds, then of the pairs; 7 the place
 * of every bin; 8 filters; 9 their edges in the program; 10 mean; 11 inverse
 * deviation; 12 offset. */
FUNCTION void log_mel(machine* m, const int32_t* a) {
  const int32_t size = a[2] / 2;
  const float* frame = m->memory + a[1];
  const float* window = m->floats + a[5];
  const float* turns = m->floats + a[6];
  const float* filter = m->floats + a[8];
  const uint16_t* places = m->halves + a[7];
  const int32_t* edges = m->program + a[9];
  float* re = m->memory + a[4];
  float* im = re + size;
  for (int32_t k = 0; k < size; ++k) {
    re[k] = frame[2 * k] * window[2 * k];
    im[k] = frame[2 * k + 1] * window[2 * k + 1];
  }
  fourier(re, im, size, turns);
  turns += 2 * (size - 4);
  const float sum = re[0] + im[0], difference = re[0] - im[0];
  for (int32_t k = 1; k <= size / 2; ++k) {
    power_of_pair(re, im, places[k], places[size - k], turns[k],
                  turns[size / 2 + 1 + k]);
  }
  re[0] = sum * sum;
  im[0] = difference * difference; /* whose place is `size` */
  for (int32_t b = 0; b < a[3]; ++b) {
    float power = m->floats[a[12]];
    for (int32_t k = edges[2 * b]; k < edges[2 * b + 1]; ++k) {
      power += re[places[k]] * *filter++;
    }
    m->memory[a[0] + b] =
        (logarithm(power) - m->floats[a[10] + b]) * m->floats[a[11] + b];
  }
}

/* Lets a clock tick once that many hops were seen. Arguments: 0 hops seen;
 * 1 how many; 2 the clock. */
FUNCTION void frames_wait(machine* m, const int32_t* a) {
  if (m->memory[a[0]] < (float)a[1]) {
    m->memory[a[0]] += 1.0f;
  } else {
    m->clocks |= 1u << a[2];
  }
}

/* Makes room for the next hop. Arguments: 0 the frame; 1 hop; 2 overlap. */
FUNCTION void frames_shift(machine* m, const int32_t* a) {
  float* frame = m->memory + a[0];
  memmove(frame, frame + a[1], (size_t)a[2] * sizeof(float));
}

/* Arguments: 0 out; 1 the frame; 2 its length; 3 hop; 4 sums, as long as the
 * frame; 5 window. */
FUNCTION void overlap_add(machine* m, const int32_t* a) {
  const float* frame = m->memory + a[1];
  const int32_t overlap = a[2] - a[3];
  float* sums = m->memory + a[4];
  for (int32_t i = 0; i < a[2]; ++i) sums[i] += frame[i] * m->floats[a[5] + i];
  memcpy(m->memory + a[0], sums, (size_t)a[3] * sizeof(float));
  memmove(sums, sums + a[3], (size_t)overlap * sizeof(float));
  memset(sums + overlap, 0, (size_t)a[3] * sizeof(float));
}
