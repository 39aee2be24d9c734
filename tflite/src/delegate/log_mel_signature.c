#include "delegate/log_mel_signature.h"

#include <string.h>

#include "base/error.h"
#include "delegate/tensors.h"

/* The inputs: audio, then constants. */
enum { AUDIO, WINDOW, FILTERS, EDGES, MEAN, DEVIATION, OFFSET, INPUTS };
static_assert((int)INPUTS == (int)DUSPAR_LOG_MEL_INPUTS, "inputs");
enum { ANY = -1, BANDS = -2 };

static const struct input {
  const char* name;
  int type, rank, shape[2];
} slots[INPUTS] = {
    {"audio", TFL_FLOAT32, 2, {ANY, ANY}},
    {"window", TFL_FLOAT32, 1, {ANY}},
    {"filters", TFL_FLOAT32, 1, {ANY}},
    {"edges", TFL_INT32, 2, {ANY, 2}},
    {"mean", TFL_FLOAT32, 1, {BANDS}},
    {"deviation", TFL_FLOAT32, 1, {BANDS}},
    {"offset", TFL_FLOAT32, 1, {1}},
};

static duspar_status check_inputs(const tfl_context* context,
                                  const int* numbers) {
  int bands = 0;
  for (int i = 0; i < INPUTS; ++i) {
    const tfl_tensor* tensor = duspar_tensor_at(context, numbers[i]);
    const int first = slots[i].shape[0];
    const int shape[] = {first == BANDS ? bands : first, slots[i].shape[1]};
    duspar_status status = duspar_tensor_check(
        tensor, slots[i].name, slots[i].type, slots[i].rank, shape);
    if (status == DUSPAR_OK && i != AUDIO) {
      status = duspar_tensor_check_constant(tensor, slots[i].name, 4);
    }
    if (status != DUSPAR_OK) return status;
    if (i != AUDIO && (uintptr_t)tensor->data % 4 != 0) {
      return duspar_fail(DUSPAR_INVALID, "`%s` is at a bad address",
                         slots[i].name);
    }
    if (i == EDGES) bands = tensor->dims->data[0];
  }
  return DUSPAR_OK;
}

duspar_status duspar_log_mel_bind(const duspar_log_mel_options* options,
                                  const tfl_context* context, const int* inputs,
                                  duspar_log_mel_parameters* p) {
  const tfl_tensor* found[INPUTS];
  const duspar_status status = check_inputs(context, inputs);
  if (status != DUSPAR_OK) return status;
  for (int i = 0; i < INPUTS; ++i) {
    found[i] = duspar_tensor_at(context, inputs[i]);
  }
  memset(p, 0, sizeof *p); /* also between the fields: bytes are compared */
  p->length = (size_t)found[WINDOW]->dims->data[0];
  p->hop = (size_t)options->hop;
  p->bands = (size_t)found[EDGES]->dims->data[0];
  p->filter_size = (size_t)found[FILTERS]->dims->data[0];
  p->window = found[WINDOW]->data;
  p->filters = found[FILTERS]->data;
  p->edges = found[EDGES]->data;
  p->mean = found[MEAN]->data;
  p->deviation = found[DEVIATION]->data;
  p->offset = *(const float*)found[OFFSET]->data;
  return DUSPAR_OK;
}
