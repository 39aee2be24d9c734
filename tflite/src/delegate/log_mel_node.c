/* The operator DuSpaRLogMel, as TFLite's interpreter calls it. */

#include <string.h>

#include "base/error.h"
#include "delegate/node.h"
#include "delegate/options.h"
#include "delegate/tensors.h"
#include "log_mel/log_mel.h"

/* The inputs: audio, then constants. */
enum { AUDIO, WINDOW, FILTERS, EDGES, MEAN, DEVIATION, OFFSET, INPUTS };
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

typedef struct operator_data {
  duspar_node base;
  duspar_log_mel_options options;
  int inputs[INPUTS];
  int output;
  duspar_view audio, features;
  duspar_log_mel_parameters source; /* what `front_end` was made of */
  duspar_log_mel* front_end;
} operator_data;

static duspar_status read_node(duspar_node* base, tfl_context* context,
                               const tfl_node* node,
                               const tfl_registration* registration,
                               int index) {
  (void)context, (void)registration, (void)index;
  operator_data* op = (operator_data*)base;
  base->kind = "LogMel";
  base->layer = op->options.layer;
  const int size = node->custom_initial_data_size;
  const duspar_status status = duspar_log_mel_options_parse(
      node->custom_initial_data, size > 0 ? (size_t)size : 0, &op->options);
  if (status != DUSPAR_OK) return status;
  const int inputs = node->inputs ? node->inputs->size : 0;
  const int outputs = node->outputs ? node->outputs->size : 0;
  if (inputs != INPUTS || outputs != 1) {
    return duspar_fail(DUSPAR_INVALID,
                       "the operator must have %d inputs and 1 output, not %d "
                       "and %d",
                       INPUTS, inputs, outputs);
  }
  memcpy(op->inputs, node->inputs->data, sizeof op->inputs);
  op->output = node->outputs->data[0];
  return DUSPAR_OK;
}

static void release(duspar_node* base) {
  duspar_log_mel_destroy(((operator_data*)base)->front_end);
}

static duspar_status check_inputs(operator_data* op,
                                  const tfl_context* context) {
  int bands = 0;
  for (int i = 0; i < INPUTS; ++i) {
    const tfl_tensor* tensor = duspar_tensor_at(context, op->inputs[i]);
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

/* Packs the constants, once. */
static duspar_status make_front_end(operator_data* op,
                                    const tfl_context* context) {
  const tfl_tensor* found[INPUTS];
  for (int i = 0; i < INPUTS; ++i) {
    found[i] = duspar_tensor_at(context, op->inputs[i]);
  }
  duspar_log_mel_parameters p;
  memset(&p, 0, sizeof p); /* also between the fields: bytes are compared */
  p.length = (size_t)found[WINDOW]->dims->data[0];
  p.hop = (size_t)op->options.hop;
  p.bands = (size_t)found[EDGES]->dims->data[0];
  p.filter_size = (size_t)found[FILTERS]->dims->data[0];
  p.window = found[WINDOW]->data;
  p.filters = found[FILTERS]->data;
  p.edges = found[EDGES]->data;
  p.mean = found[MEAN]->data;
  p.deviation = found[DEVIATION]->data;
  p.offset = *(const float*)found[OFFSET]->data;
  if (op->front_end != NULL && memcmp(&p, &op->source, sizeof p) == 0) {
    return DUSPAR_OK;
  }
  duspar_log_mel_destroy(op->front_end);
  op->front_end = duspar_log_mel_create(&p, op->base.delegate->variant);
  op->source = p;
  return op->front_end != NULL ? DUSPAR_OK : DUSPAR_INVALID;
}

static duspar_status plan_output(operator_data* op, tfl_context* context,
                                 const tfl_node* node) {
  const tfl_tensor* audio = duspar_tensor_at(context, op->inputs[AUDIO]);
  const int batch = audio->dims->data[0], samples = audio->dims->data[1];
  const int audio_shape[] = {batch, samples};
  const size_t frames =
      duspar_log_mel_frames(op->source.length, op->source.hop, (size_t)samples);
  const int shape[] = {batch, (int)frames, (int)op->source.bands};
  duspar_view_set(&op->audio, op->inputs[AUDIO], 2, audio_shape);
  op->features.tensor = -1;
  if (!duspar_tensor_wanted(node, op->output)) return DUSPAR_OK;
  duspar_status status = duspar_tensor_check_output(context, "features", INPUTS,
                                                    op->inputs, &op->output, 0);
  if (status != DUSPAR_OK) return status;
  status = duspar_tensor_resize(context, "features", op->output, 3, shape);
  if (status != DUSPAR_OK) return status;
  duspar_view_set(&op->features, op->output, 3, shape);
  return DUSPAR_OK;
}

static duspar_status prepare(duspar_node* base, tfl_context* context,
                             const tfl_node* node) {
  operator_data* op = (operator_data*)base;
  duspar_status status = check_inputs(op, context);
  if (status == DUSPAR_OK) status = make_front_end(op, context);
  if (status == DUSPAR_OK) status = plan_output(op, context, node);
  return status;
}

static duspar_status run(duspar_node* base, tfl_context* context) {
  const operator_data* op = (const operator_data*)base;
  float *audio, *features;
  if (op->features.tensor < 0) return DUSPAR_OK;
  duspar_status status = duspar_view_data(&op->audio, context, &audio);
  if (status != DUSPAR_OK) return status;
  status = duspar_view_data(&op->features, context, &features);
  if (status != DUSPAR_OK || features == NULL) return status;
  const int threads = context->recommended_num_threads;
  duspar_log_mel_execute(op->front_end, (size_t)op->audio.shape[0],
                         (size_t)op->audio.shape[1], audio, features,
                         threads > 1 ? (size_t)threads : 1);
  return DUSPAR_OK;
}

DUSPAR_NODE_REGISTRATION(duspar_log_mel_registration, operator_data)
