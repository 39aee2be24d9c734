/* The operator DuSpaRLogMel, as TFLite's interpreter calls it. */

#include <string.h>

#include "base/error.h"
#include "delegate/log_mel_signature.h"
#include "delegate/node.h"
#include "delegate/outputs.h"
#include "log_mel/log_mel.h"

typedef struct operator_data {
  duspar_node base;
  duspar_log_mel_options options;
  int inputs[DUSPAR_LOG_MEL_INPUTS];
  int output;
  duspar_view audio, features;
  duspar_log_mel_parameters source; /* what `front_end` was made of */
  duspar_log_mel* front_end;
} operator_data;

static duspar_status read_node(duspar_node* base, tfl_context* context,
                               const tfl_node* node,
                               const tfl_registration* registration,
                               const tfl_ints* nodes) {
  (void)context, (void)registration, (void)nodes;
  operator_data* op = (operator_data*)base;
  base->kind = "LogMel";
  base->layer = op->options.layer;
  const int size = node->custom_initial_data_size;
  const duspar_status status = duspar_log_mel_options_parse(
      node->custom_initial_data, size > 0 ? (size_t)size : 0, &op->options);
  if (status != DUSPAR_OK) return status;
  const int inputs = node->inputs ? node->inputs->size : 0;
  const int outputs = node->outputs ? node->outputs->size : 0;
  if (inputs != DUSPAR_LOG_MEL_INPUTS || outputs != 1) {
    return duspar_fail(DUSPAR_INVALID,
                       "the operator must have %d inputs and 1 output, not %d "
                       "and %d",
                       DUSPAR_LOG_MEL_INPUTS, inputs, outputs);
  }
  memcpy(op->inputs, node->inputs->data, sizeof op->inputs);
  op->output = node->outputs->data[0];
  return DUSPAR_OK;
}

static void release(duspar_node* base) {
  duspar_log_mel_destroy(((operator_data*)base)->front_end);
}

/* Packs the constants, once. */
static duspar_status make_front_end(operator_data* op,
                                    const tfl_context* context) {
  duspar_log_mel_parameters p;
  const duspar_status status =
      duspar_log_mel_bind(&op->options, context, op->inputs, &p);
  if (status != DUSPAR_OK) return status;
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
  const tfl_tensor* audio = duspar_tensor_at(context, op->inputs[0]);
  const int batch = audio->dims->data[0], samples = audio->dims->data[1];
  const int audio_shape[] = {batch, samples};
  const size_t frames =
      duspar_log_mel_frames(op->source.length, op->source.hop, (size_t)samples);
  const int shape[] = {batch, (int)frames, (int)op->source.bands};
  duspar_view_set(&op->audio, op->inputs[0], 2, audio_shape);
  op->features.tensor = -1;
  if (!duspar_tensor_wanted(node, op->output)) return DUSPAR_OK;
  duspar_status status = duspar_tensor_check_output(
      context, "features", DUSPAR_LOG_MEL_INPUTS, op->inputs, &op->output, 0);
  if (status != DUSPAR_OK) return status;
  status = duspar_tensor_resize(context, "features", op->output, 3, shape);
  if (status != DUSPAR_OK) return status;
  duspar_view_set(&op->features, op->output, 3, shape);
  return DUSPAR_OK;
}

static duspar_status prepare(duspar_node* base, tfl_context* context,
                             const tfl_node* node) {
  operator_data* op = (operator_data*)base;
  duspar_status status = make_front_end(op, context);
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

DUSPAR_NODE_REGISTRATION(duspar_log_mel_registration, operator_data, 1)
