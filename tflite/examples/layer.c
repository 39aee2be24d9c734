/* A SpaR layer without TFLite.
 *
 *   cc layer.c $(pkg-config --cflags --libs duspar) -o layer && ./layer
 */
#include <stdio.h>

#include "duspar.h"

enum { FEATURES = 4, UNITS = 2, STEPS = 3 };

int main(void) {
  const float kernel[FEATURES][UNITS] = {
      {0.5f, -1.0f}, {1.0f, 0.5f}, {-0.5f, 1.0f}, {1.5f, 0.0f}};
  const float gate_bias[UNITS] = {1.0f, -1.0f};
  const duspar_parameters parameters = {
      .kind = DUSPAR_KIND_SPAR,
      .weight_type = DUSPAR_FLOAT32,
      .features = FEATURES,
      .units = UNITS,
      .feedforward = {.gate_kernel = kernel,
                      .candidate_kernel = kernel,
                      .gate_bias = gate_bias},
  };
  printf("duspar %s, interface %d, processor: %s\n", duspar_version(),
         duspar_interface(), duspar_cpu_features());

  duspar_layer* layer = duspar_layer_create(&parameters, NULL);
  if (layer == NULL) {
    fprintf(stderr, "%s\n", duspar_last_error());
    return 1;
  }
  const float x[STEPS][FEATURES] = {
      {1.0f, -2.0f, 0.0f, 0.5f}, {-1.0f, -1.0f, -1.0f, 2.0f}, {0.0f}};
  float state[UNITS] = {0}; /* zeros begin a stream */
  float y[STEPS][UNITS];
  duspar_counts counts = {0};
  if (duspar_layer_run(layer, 1, STEPS, x[0], state, NULL, y[0], state, NULL,
                       &counts) != DUSPAR_OK) {
    fprintf(stderr, "%s\n", duspar_last_error());
    return 1;
  }
  for (int t = 0; t < STEPS; ++t) {
    printf("step %d: %+.6f %+.6f\n", t, y[t][0], y[t][1]);
  }
  printf("kernel %s: %d of %d entries were not zero\n",
         duspar_layer_kernel(layer), (int)counts.nonzeros[0], STEPS * FEATURES);
  duspar_layer_destroy(layer);
  return 0;
}
