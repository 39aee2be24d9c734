#include "log_mel_operator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "delegate.h"
#include "error.h"
#include "log_mel.h"
#include "options.h"
#include "tensors.h"

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
  duspar_delegate* delegate;
  duspar_log_mel_options options;
  int inputs[INPUTS];
  int output;
  duspar_view audio, features;
  duspar_log_mel_parameters source; /* what `front_end` was made of */
  duspar_log_mel* front_end;
  bool ready;
  char problem[512]; /* why the operator cannot run, from `init` */
} operator_data;

static duspar_status read_node(operator_data* op, tfl_context* context,
                               const tfl_delegate_params* params) {
  tfl_node* node = NULL;
  tfl_registration* registration = NULL;
  if (params->nodes_to_replace == NULL || params->nodes_to_replace->size != 1 ||
      context->get_node_and_registration(context,
                                         params->nodes_to_replace->data[0],
                                         &node, &registration) != TFL_OK ||
      node == NULL) {
    return duspar_fail(DUSPAR_INVALID, "its node cannot be read");
  }
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

/* A failure is kept for `prepare`, as in `operator.c`. */
static void* init(tfl_context* context, const char* buffer, size_t length) {
  (void)length;
  const tfl_delegate_params* params = (const void*)buffer;
  operator_data* op = calloc(1, sizeof *op);
  if (op == NULL) return NULL;
  op->delegate = params->delegate->data;
  duspar_delegate_hold(op->delegate);
  if (read_node(op, context, params) != DUSPAR_OK) {
    snprintf(op->problem, sizeof op->problem, "%s", duspar_last_error());
  }
  return op;
}

static void free_operator(tfl_context* context, void* buffer) {
  (void)context;
  operator_data* op = buffer;
  if (op == NULL) return;
  duspar_log_mel_destroy(op->front_end);
  duspar_delegate_release(op->delegate);
  free(op);
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
  op->front_end = duspar_log_mel_create(&p, op->delegate->kernel);
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

static tfl_status report(const operator_data* op, tfl_context* context) {
  char reason[512];
  snprintf(reason, sizeof reason, "%s", duspar_last_error());
  duspar_fail(DUSPAR_INVALID, "LogMel layer '%s': %s.", op->options.layer,
              reason);
  context->report_error(context, "%s", duspar_last_error());
  return TFL_ERROR;
}

static tfl_status prepare(tfl_context* context, tfl_node* node) {
  operator_data* op = node->user_data;
  if (op == NULL) {
    duspar_fail_memory(sizeof *op);
    context->report_error(context, "%s", duspar_last_error());
    return TFL_ERROR;
  }
  op->ready = false;
  if (op->problem[0] != '\0') {
    duspar_fail(DUSPAR_INVALID, "%s", op->problem);
    return report(op, context);
  }
  if (check_inputs(op, context) != DUSPAR_OK ||
      make_front_end(op, context) != DUSPAR_OK ||
      plan_output(op, context, node) != DUSPAR_OK) {
    return report(op, context);
  }
  op->ready = true;
  return TFL_OK;
}

static duspar_status run(const operator_data* op, const tfl_context* context) {
  float *audio, *features;
  if (!op->ready) {
    return duspar_fail(DUSPAR_INVALID, "tensors were not allocated");
  }
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

static tfl_status invoke(tfl_context* context, tfl_node* node) {
  const operator_data* op = node->user_data;
  if (op == NULL) return TFL_ERROR;
  return run(op, context) == DUSPAR_OK ? TFL_OK : report(op, context);
}

static const char* profiling_string(const tfl_context* context,
                                    const tfl_node* node) {
  (void)context;
  const operator_data* op = node->user_data;
  return op != NULL ? op->options.layer : "";
}

tfl_registration duspar_log_mel_registration(void) {
  return (tfl_registration){
      .init = init,
      .free = free_operator,
      .prepare = prepare,
      .invoke = invoke,
      .profiling_string = profiling_string,
      .custom_name = "DuSpaRDelegate",
      .version = 1,
  };
}
