/* The operators, as TFLite Micro calls them. */
#include <string.h>

#include "base/error.h"
#include "delegate/log_mel_signature.h"
#include "delegate/signature.h"
#include "duspar/micro.h"
#include "layer/layer.h"
#include "micro/spectrum.h"
#include "micro/step.h"
#include "micro/tflm_abi.h"

#define LOG_MEL_NAME "DuSpaRLogMel"

enum { MOST = DUSPAR_MAX_INPUTS + DUSPAR_MAX_OUTPUTS };

/* What all operators begin with, in the arena. */
typedef struct common {
  const char* options; /* in the file */
  size_t size;
  int scratch; /* number of the buffer */
  int32_t batch, steps;
} common;

typedef struct sparse {
  common base;
  const duspar_op* op;
  duspar_parameters parameters;
  duspar_micro_operator record;
} sparse;

typedef struct front_end {
  common base;
  duspar_log_mel_parameters parameters;
  const float* turns;
} front_end;

static duspar_micro_functions host;
static duspar_micro_operator* all;

void duspar_micro_use(const duspar_micro_functions* functions) {
  host = *functions;
}

duspar_micro_operator* duspar_micro_operators(void) { return all; }

static tflm_status report(void* context, const char* kind, const char* layer) {
  host.report(context, "%s layer '%s': %s.", kind, layer, duspar_last_error());
  return TFLM_ERROR;
}

/* A view on a node with the structures of TFLite, in which tensors are numbered
 * as inputs, then outputs: the checks are those of the delegate. Memory that
 * the arena has not given yet is no constant. */
typedef struct view {
  tfl_context context;
  tfl_tensor tensors[MOST];
  struct {
    int size, data[MOST];
  } inputs, outputs;
  tfl_node node;
} view;

static duspar_status look(void* context, const tflm_node* node, view* v) {
  const tfl_ints* sides[] = {node->inputs, node->outputs};
  int next = 0;
  memset(v, 0, sizeof *v);
  if (sides[0] == NULL || sides[1] == NULL ||
      sides[0]->size + sides[1]->size > MOST) {
    return duspar_fail(DUSPAR_INVALID, "the operator has too many tensors");
  }
  for (int side = 0; side < 2; ++side) {
    int* numbers = side == 0 ? v->inputs.data : v->outputs.data;
    for (int i = 0; i < sides[side]->size; ++i) {
      const int index = sides[side]->data[i];
      const tflm_tensor* found = index < 0 ? NULL : host.tensor(context, index);
      numbers[i] = found == NULL ? -1 : next;
      if (found == NULL) continue;
      tfl_tensor* tensor = &v->tensors[next++];
      tensor->type = (int)found->type;
      tensor->dims = found->dims;
      tensor->data = found->data;
      tensor->allocation_type = found->data != NULL ? TFL_MEMORY_MAPPED : 2;
      tensor->bytes = found->type == TFLM_INT8    ? 1
                      : found->type == TFLM_INT16 ? 2
                                                  : 4;
      for (int d = 0; d < found->dims->size; ++d) {
        tensor->bytes *= (size_t)found->dims->data[d];
      }
    }
  }
  v->inputs.size = sides[0]->size;
  v->outputs.size = sides[1]->size;
  v->context.tensors = v->tensors;
  v->context.tensors_size = (size_t)next;
  v->node.inputs = (tfl_ints*)(void*)&v->inputs;
  v->node.outputs = (tfl_ints*)(void*)&v->outputs;
  return DUSPAR_OK;
}

static duspar_status check_output(const view* v, int index, const char* name,
                                  int rank, const int* shape) {
  return duspar_tensor_check(
      duspar_tensor_at(&v->context, v->outputs.data[index]), name, TFL_FLOAT32,
      rank, shape);
}

static void* make(void* context, const char* options, size_t size,
                  size_t bytes) {
  common* op = host.allocate(context, bytes);
  if (op == NULL) return NULL;
  memset(op, 0, bytes);
  op->options = options;
  op->size = size;
  return op;
}

/* The sparse operators */

static void* init_sparse(void* context, const char* options, size_t size,
                         const char* name) {
  sparse* made = make(context, options, size, sizeof *made);
  if (made != NULL) made->op = duspar_op_named(name);
  return made;
}

static void* init_duspar(void* context, const char* options, size_t size) {
  return init_sparse(context, options, size, "DuSpaR");
}

static void* init_spar(void* context, const char* options, size_t size) {
  return init_sparse(context, options, size, "SpaR");
}

static void unlink_record(duspar_micro_operator* record) {
  duspar_micro_operator** link = &all;
  while (*link != NULL && *link != record) link = &(*link)->next;
  if (*link == record) *link = record->next;
}

static void free_sparse(void* context, void* data) {
  (void)context;
  if (data != NULL) unlink_record(&((sparse*)data)->record);
}

static duspar_status bind_sparse(sparse* op, const view* v,
                                 duspar_signature* s) {
  s->op = op->op;
  duspar_status status =
      duspar_options_parse(op->base.options, op->base.size, &s->options);
  if (status == DUSPAR_OK) status = duspar_signature_bind(s, &v->node);
  if (status == DUSPAR_OK) {
    status = duspar_signature_check_inputs(s, &v->context);
  }
  if (status != DUSPAR_OK) return status;
  duspar_signature_parameters(s, &v->context, &op->parameters);
  status = duspar_parameters_check(&op->parameters);
  for (int o = 0; o < s->output_count && status == DUSPAR_OK; ++o) {
    char name[DUSPAR_NAME_ROOM];
    int shape[3];
    const int rank = duspar_signature_output(s, o, name, shape);
    status = check_output(v, o, name, rank, shape);
  }
  return status;
}

/* Memory of a run: the operand and the sums of a cell. */
static size_t scratch_floats(const duspar_parameters* p) {
  const size_t n = (size_t)p->features, m = (size_t)p->units;
  return (n > m ? n : m) * 3;
}

static tflm_status prepare_sparse(void* context, tflm_node* node) {
  sparse* op = node->user_data;
  duspar_signature s = {0};
  view v;
  if (op == NULL) return TFLM_ERROR;
  if (look(context, node, &v) != DUSPAR_OK ||
      bind_sparse(op, &v, &s) != DUSPAR_OK) {
    return report(context, op->op->name, s.options.layer);
  }
  op->base.batch = (int32_t)s.batch;
  op->base.steps = (int32_t)s.steps;
  const size_t length = strlen(s.options.layer) + 1;
  char* layer = host.allocate(context, length);
  if (layer == NULL ||
      host.request_scratch(context,
                           scratch_floats(&op->parameters) * sizeof(float),
                           &op->base.scratch) != TFL_OK) {
    duspar_fail_memory(length);
    return report(context, op->op->name, s.options.layer);
  }
  memcpy(layer, s.options.layer, length);
  unlink_record(&op->record);
  op->record = (duspar_micro_operator){.layer = layer,
                                       .op = op->op->name,
                                       .features = op->parameters.features,
                                       .units = op->parameters.units,
                                       .next = all};
  all = &op->record;
  return TFLM_OK;
}

static float* data_of(const void* context, const tfl_ints* list, int index) {
  const tflm_tensor* tensor = host.tensor(context, list->data[index]);
  return tensor->data;
}

/* Runs one sequence; the states are updated in place. */
static void run_sequence(sparse* op, const float* x, float* f, float* g,
                         float* y, float* scratch) {
  const duspar_parameters* p = &op->parameters;
  const int32_t n = p->features, m = p->units;
  const duspar_micro_cell forward = {&p->feedforward, n, m, p->weight_type,
                                     p->operand_bits};
  const duspar_micro_cell back = {&p->feedback, m, n, p->weight_type,
                                  p->operand_bits};
  float* operand = scratch;
  float* sums = scratch + (n > m ? n : m);
  for (int32_t t = 0; t < op->base.steps; ++t, x += n, y += m) {
    for (int32_t i = 0; i < n; ++i) {
      operand[i] = g == NULL ? x[i] : x[i] - (g[i] + p->feedback_bias[i]);
    }
    op->record.counts.nonzeros[0] +=
        duspar_micro_step(&forward, operand, f, sums);
    for (int32_t j = 0; j < m; ++j) {
      y[j] = g == NULL ? f[j] : f[j] + p->feedforward_bias[j];
    }
    if (g == NULL) continue;
    op->record.counts.nonzeros[1] += duspar_micro_step(&back, y, g, sums);
  }
  op->record.counts.steps += (uint64_t)op->base.steps;
}

static tflm_status invoke_sparse(void* context, tflm_node* node) {
  sparse* op = node->user_data;
  const bool dual = op->op->state_count > 1;
  const size_t n = (size_t)op->parameters.features;
  const size_t m = (size_t)op->parameters.units;
  float* scratch = host.scratch(context, op->base.scratch);
  const float* x = data_of(context, node->inputs, 0);
  float* y = data_of(context, node->outputs, 0);
  float* states[2] = {NULL, NULL};
  const size_t widths[] = {m, n};
  for (int s = 0; s < 1 + dual; ++s) {
    states[s] = data_of(context, node->outputs, 1 + s);
    memmove(states[s], data_of(context, node->inputs, 1 + s),
            (size_t)op->base.batch * widths[s] * sizeof(float));
  }
  const size_t steps = (size_t)op->base.steps;
  for (size_t b = 0; b < (size_t)op->base.batch; ++b) {
    run_sequence(op, x + b * steps * n, states[0] + b * m,
                 dual ? states[1] + b * n : NULL, y + b * steps * m, scratch);
  }
  ++op->record.counts.invocations;
  return TFLM_OK;
}

/* The front end */

static void* init_log_mel(void* context, const char* options, size_t size) {
  return make(context, options, size, sizeof(front_end));
}

static duspar_status bind_log_mel(front_end* op, const view* v,
                                  duspar_log_mel_options* options) {
  duspar_status status =
      duspar_log_mel_options_parse(op->base.options, op->base.size, options);
  if (status != DUSPAR_OK) return status;
  if (v->inputs.size != DUSPAR_LOG_MEL_INPUTS || v->outputs.size != 1) {
    return duspar_fail(DUSPAR_INVALID,
                       "the operator must have %d inputs and 1 output, not %d "
                       "and %d",
                       DUSPAR_LOG_MEL_INPUTS, v->inputs.size, v->outputs.size);
  }
  status = duspar_log_mel_bind(options, &v->context, v->inputs.data,
                               &op->parameters);
  if (status == DUSPAR_OK) status = duspar_log_mel_check(&op->parameters);
  if (status != DUSPAR_OK) return status;
  const tfl_ints* audio = v->tensors[v->inputs.data[0]].dims;
  const duspar_log_mel_parameters* p = &op->parameters;
  const int shape[] = {
      audio->data[0],
      (int)duspar_log_mel_frames(p->length, p->hop, (size_t)audio->data[1]),
      (int)p->bands};
  op->base.batch = shape[0];
  op->base.steps = shape[1];
  return check_output(v, 0, "features", 3, shape);
}

static tflm_status prepare_log_mel(void* context, tflm_node* node) {
  front_end* op = node->user_data;
  duspar_log_mel_options options = {0};
  view v;
  if (op == NULL) return TFLM_ERROR;
  if (look(context, node, &v) != DUSPAR_OK ||
      bind_log_mel(op, &v, &options) != DUSPAR_OK) {
    return report(context, "LogMel", options.layer);
  }
  const size_t length = op->parameters.length;
  float* turns = host.allocate(context, length * sizeof *turns);
  if (turns == NULL ||
      host.request_scratch(context, (length + 2) * sizeof(float),
                           &op->base.scratch) != TFL_OK) {
    duspar_fail_memory(length * sizeof(float));
    return report(context, "LogMel", options.layer);
  }
  duspar_micro_turns(length, turns);
  op->turns = turns;
  return TFLM_OK;
}

static tflm_status invoke_log_mel(void* context, tflm_node* node) {
  const front_end* op = node->user_data;
  const duspar_log_mel_parameters* p = &op->parameters;
  float* scratch = host.scratch(context, op->base.scratch);
  const float* audio = data_of(context, node->inputs, 0);
  float* features = data_of(context, node->outputs, 0);
  const tflm_tensor* tensor = host.tensor(context, node->inputs->data[0]);
  const size_t samples = (size_t)tensor->dims->data[1];
  for (size_t b = 0; b < (size_t)op->base.batch; ++b) {
    for (size_t t = 0; t < (size_t)op->base.steps; ++t, features += p->bands) {
      duspar_micro_log_mel(p, op->turns, audio + b * samples + t * p->hop,
                           features, scratch);
    }
  }
  return TFLM_OK;
}

const void* duspar_micro_registration(const char* name) {
  static const tflm_registration registrations[] = {
      {init_duspar, free_sparse, prepare_sparse, invoke_sparse, NULL,
       TFL_OPERATOR_CUSTOM, "DuSpaR"},
      {init_spar, free_sparse, prepare_sparse, invoke_sparse, NULL,
       TFL_OPERATOR_CUSTOM, "SpaR"},
      {init_log_mel, NULL, prepare_log_mel, invoke_log_mel, NULL,
       TFL_OPERATOR_CUSTOM, LOG_MEL_NAME},
  };
  for (size_t i = 0; name != NULL && i < 3; ++i) {
    if (strcmp(registrations[i].custom_name, name) == 0) {
      return &registrations[i];
    }
  }
  return NULL;
}
