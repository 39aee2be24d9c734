/* Compares an exported model with what Keras computes on the same noise. */
#include <stdio.h>
#include <string.h>

#include "model.h"

/* expected */

/* The largest difference from what is expected, with outputs of one after the
 * other. */
float model_difference(void) {
#if MODEL_TAKES_AUDIO
  int16_t samples[MODEL_SAMPLES];
#else
  float samples[MODEL_SAMPLES];
#endif
  uint32_t noise = 1;
  float largest = 0.0f;
  model_init();
  for (int hop = 0; hop < MODEL_TEST_HOPS; ++hop) {
    for (int i = 0; i < MODEL_SAMPLES; ++i) {
      noise = noise * 1664525u + 1013904223u;
      const int32_t value = (int32_t)(noise >> 18) - 8192;
#if MODEL_TAKES_AUDIO
      samples[i] = (int16_t)value;
    }
    const uint32_t fresh = model_push(samples);
#else
      samples[i] = (float)value / 8192.0f;
    }
    const uint32_t fresh = model_push_float(samples);
#endif
    float* latest = model_latest;
    for (int output = 0; output < MODEL_OUTPUTS; ++output) {
      const size_t size = (size_t)model_sizes[output];
      if (fresh >> output & 1u) {
        memcpy(latest, model_output(output), size * sizeof(float));
      }
      latest += size;
    }
  }
  for (size_t i = 0; i < sizeof model_latest / sizeof *model_latest; ++i) {
    const float difference = model_latest[i] - model_expected[i];
    const float size = difference < 0.0f ? -difference : difference;
    if (!(size <= largest)) largest = size;
  }
  return largest;
}

#ifndef MODEL_NO_MAIN
int main(void) {
  const float difference = model_difference();
  const int fine = difference <= MODEL_TOLERANCE;
  printf("%s: largest difference %g\n", fine ? "passed" : "FAILED",
         (double)difference);
  return fine ? 0 : 1;
}
#endif
