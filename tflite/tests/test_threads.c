/* Sequences of a batch on several threads: the same bits as on one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "host.h"
#include "layer/layer.h"

enum { BATCH = 7, STEPS = 20, FEATURES = 90, UNITS = 110 };

static void fill(tfl_tensor* tensor) {
  for (size_t i = 0; i < tensor->bytes / sizeof(float); ++i) {
    ((float*)tensor->data)[i] = (float)uniform() / 3;
  }
}

/* A model whose weights and inputs are the same every time. */
static void make_host(host* h, duspar_kind kind, int batch, int threads,
                      struct TfLiteDelegate* delegate) {
  const host_model model = {.kind = kind,
                            .weight_type = DUSPAR_FLOAT32,
                            .batch = batch,
                            .steps = STEPS,
                            .features = FEATURES,
                            .units = UNITS};
  seed = 1;
  host_init(h, &model);
  for (int i = 0; i < h->node.inputs->size; ++i) fill(&h->tensors[i]);
  h->context.recommended_num_threads = threads;
  CHECK(host_apply(h, delegate) == TFL_OK && host_prepare(h) == TFL_OK, "%s",
        h->error);
}

/* All outputs, and what was counted, against those of one thread. */
static void check_operator(duspar_kind kind, int batch, int threads,
                           int later) {
  host h[2];
  duspar_operator counted[2];
  for (int i = 0; i < 2; ++i) {
    struct TfLiteDelegate* delegate = duspar_delegate_create(NULL, NULL, 0);
    make_host(&h[i], kind, batch, i == 0 ? 1 : threads, delegate);
    if (i == 1) h[i].context.recommended_num_threads = later;
    CHECK(host_invoke(&h[i]) == TFL_OK, "%s", h[i].error);
    duspar_delegate_operator(delegate, 0, &counted[i]);
    duspar_delegate_destroy(delegate);
  }
  for (int o = 0; o < h[0].node.outputs->size; ++o) {
    const int place = h[0].node.outputs->data[o];
    const tfl_tensor *one = &h[0].tensors[place], *many = &h[1].tensors[place];
    CHECK(one->bytes == many->bytes &&
              memcmp(one->data, many->data, one->bytes) == 0,
          "%d threads, batch %d, output %d", threads, batch, o);
  }
  CHECK(counted[0].invocations == 1 && counted[1].invocations == 1,
        "invocations");
  CHECK(counted[0].steps == counted[1].steps, "steps");
  for (int o = 0; o < counted[0].operand_count; ++o) {
    CHECK(counted[0].operands[o].nonzeros == counted[1].operands[o].nonzeros,
          "operand %d", o);
  }
  for (int i = 0; i < 2; ++i) host_free(&h[i]);
}

/* No more threads than there are sequences, or than have enough to do. */
static void check_threads(void) {
  float* zeros = calloc(FEATURES * UNITS, sizeof(float));
  const duspar_cell cell = {
      .gate_kernel = zeros, .candidate_kernel = zeros, .gate_bias = zeros};
  const duspar_parameters p = {.kind = DUSPAR_KIND_SPAR,
                               .features = FEATURES,
                               .units = UNITS,
                               .feedforward = cell};
  duspar_layer* layer = duspar_layer_create(&p, NULL);
  if (layer == NULL) exit(1);
  CHECK(duspar_layer_threads(layer, 1, 1000, 4) == 1, "one sequence");
  CHECK(duspar_layer_threads(layer, 3, 1000, 8) == 3, "three sequences");
  CHECK(duspar_layer_threads(layer, 64, 1000, 8) == 8, "much to do");
  CHECK(duspar_layer_threads(layer, 4, 1, 8) == 1, "little to do");
  CHECK(duspar_layer_threads(layer, 64, 1000, 1) == 1, "one thread");
  duspar_layer_destroy(layer);
  free(zeros);
}

int main(void) {
  const duspar_kind kinds[] = {DUSPAR_KIND_SPAR, DUSPAR_KIND_DUSPAR};
  for (int k = 0; k < 2; ++k) {
    for (int threads = 2; threads < 5; ++threads) {
      check_operator(kinds[k], 5 * BATCH, threads, threads);
    }
    check_operator(kinds[k], 2, 8, 8);
    check_operator(kinds[k], 5 * BATCH, 3, 1); /* fewer, or more, later */
    check_operator(kinds[k], 5 * BATCH, 2, 9);
    check_operator(kinds[k], 5 * BATCH, -1, -1);
  }
  check_threads();
  printf(failures ? "%d failures\n" : "passed\n", failures);
  return failures != 0;
}
