#include "operator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "delegate.h"
#include "error.h"
#include "layer.h"
#include "memory.h"
#include "signature.h"
#include "tensors.h"

/* Tensors that a run reads or writes: x and two states, y and two states. */
enum { VIEWS = 3 + DUSPAR_MAX_OUTPUTS };

typedef struct operator_data {
  duspar_delegate* delegate;
  duspar_record* record;
  duspar_kind kind;
  duspar_options options;
  duspar_tensors tensors;
  duspar_sizes sizes;
  duspar_view views[VIEWS];
  bool ready;
  duspar_parameters source; /* where the weights of `layer` were */
  duspar_layer* layer;
  void* scratch; /* of as many threads */
  size_t threads;
  char problem[512]; /* why the operator cannot run, from `init` */
} operator_data;

/* Reads what does not depend on tensors. */
static duspar_status read_node(operator_data* op, tfl_context* context,
                               const tfl_delegate_params* params, int* index) {
  tfl_node* node = NULL;
  tfl_registration* registration = NULL;
  if (params->nodes_to_replace == NULL || params->nodes_to_replace->size != 1) {
    return duspar_fail(DUSPAR_INVALID, "operators must come one by one");
  }
  *index = params->nodes_to_replace->data[0];
  if (context->get_node_and_registration(context, *index, &node,
                                         &registration) != TFL_OK ||
      node == NULL || registration == NULL ||
      !duspar_kind_named(registration->custom_name, &op->kind)) {
    return duspar_fail(DUSPAR_INVALID, "node %d cannot be read", *index);
  }
  const int size = node->custom_initial_data_size;
  const duspar_status status = duspar_options_parse(
      node->custom_initial_data, size > 0 ? (size_t)size : 0, &op->options);
  if (status != DUSPAR_OK) return status;
  return duspar_signature_bind(op->kind, &op->options, node, &op->tensors);
}

/* A failure is kept for `prepare`, which can tell it: `init` could only
 * return a value that old runtimes do not know. */
static void* init(tfl_context* context, const char* buffer, size_t length) {
  (void)length;
  const tfl_delegate_params* params = (const void*)buffer;
  int node = -1;
  operator_data* op = calloc(1, sizeof *op);
  if (op == NULL) return NULL;
  op->delegate = params->delegate->data;
  duspar_delegate_hold(op->delegate);
  if (read_node(op, context, params, &node) != DUSPAR_OK) {
    snprintf(op->problem, sizeof op->problem, "%s", duspar_last_error());
    return op;
  }
  op->record = duspar_records_open(&op->delegate->records, context, node,
                                   op->kind, op->options.layer);
  if (op->record == NULL) {
    duspar_fail_memory(sizeof *op->record);
    snprintf(op->problem, sizeof op->problem, "%s", duspar_last_error());
  }
  return op;
}

static void free_operator(tfl_context* context, void* buffer) {
  (void)context;
  operator_data* op = buffer;
  if (op == NULL) return;
  if (op->record != NULL) duspar_record_close(op->record);
  duspar_layer_destroy(op->layer);
  duspar_release(op->scratch);
  duspar_delegate_release(op->delegate);
  free(op);
}

/* Notes what inputs a run reads. */
static void view_inputs(operator_data* op) {
  const int batch = (int)op->sizes.batch, steps = (int)op->sizes.steps;
  const int features = (int)op->sizes.features, units = (int)op->sizes.units;
  const int shapes[3][3] = {
      {batch, steps, features}, {batch, units}, {batch, features}};
  const int count = op->kind == DUSPAR_KIND_DUSPAR ? 3 : 2;
  for (int v = 0; v < VIEWS; ++v) op->views[v].tensor = -1;
  for (int v = 0; v < count; ++v) {
    duspar_view_set(&op->views[v], op->tensors.inputs[v], v == 0 ? 3 : 2,
                    shapes[v]);
  }
}

static duspar_status resize_output(operator_data* op, tfl_context* context,
                                   int o) {
  const char* name = duspar_signature_output_name(o);
  const duspar_tensors* tensors = &op->tensors;
  int shape[3];
  const int rank = duspar_signature_output_shape(o, &op->sizes, shape);
  duspar_status status =
      duspar_tensor_check_output(context, name, tensors->input_count,
                                 tensors->inputs, tensors->outputs, o);
  if (status != DUSPAR_OK) return status;
  status =
      duspar_tensor_resize(context, name, tensors->outputs[o], rank, shape);
  if (status != DUSPAR_OK) return status;
  duspar_view_set(&op->views[3 + o], tensors->outputs[o], rank, shape);
  return DUSPAR_OK;
}

static size_t useful_threads(const operator_data* op,
                             const tfl_context* context) {
  const int threads = context->recommended_num_threads;
  return duspar_layer_threads(op->layer, op->sizes.batch, op->sizes.steps,
                              threads > 1 ? (size_t)threads : 1);
}

/* Packs the weights, once: they are constants of the model. */
static duspar_status make_layer(operator_data* op, tfl_context* context) {
  duspar_parameters source;
  duspar_signature_parameters(op->kind, &op->options, context, &op->tensors,
                              &op->sizes, &source);
  if (op->layer != NULL && memcmp(&source, &op->source, sizeof source) == 0) {
    return DUSPAR_OK;
  }
  duspar_layer_destroy(op->layer);
  op->layer = duspar_layer_create(&source, op->delegate->kernel);
  if (op->layer == NULL) return DUSPAR_INVALID;
  op->source = source;
  duspar_record_describe(op->record, op->sizes.features, op->sizes.units,
                         duspar_layer_kernel(op->layer),
                         duspar_layer_bytes(op->layer));
  return DUSPAR_OK;
}

/* Memory for the threads that the interpreter may use now. */
static duspar_status make_scratch(operator_data* op,
                                  const tfl_context* context) {
  size_t bytes;
  duspar_release(op->scratch);
  op->threads = useful_threads(op, context);
  op->scratch = NULL;
  if (duspar_multiply(duspar_layer_scratch(op->layer), op->threads, &bytes)) {
    op->scratch = duspar_allocate(bytes);
  }
  return op->scratch != NULL ? DUSPAR_OK : duspar_fail_memory(0);
}

static tfl_status report(operator_data* op, tfl_context* context) {
  char reason[512];
  snprintf(reason, sizeof reason, "%s", duspar_last_error());
  duspar_fail(DUSPAR_INVALID, "%s layer '%s': %s.",
              op->kind == DUSPAR_KIND_DUSPAR ? "DuSpaR" : "SpaR",
              op->options.layer, reason);
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
  if (duspar_signature_check_inputs(op->kind, &op->options, context,
                                    &op->tensors, &op->sizes) != DUSPAR_OK ||
      make_layer(op, context) != DUSPAR_OK ||
      make_scratch(op, context) != DUSPAR_OK) {
    return report(op, context);
  }
  view_inputs(op);
  for (int o = 0; o < op->tensors.output_count; ++o) {
    if (duspar_tensor_wanted(node, op->tensors.outputs[o]) &&
        resize_output(op, context, o) != DUSPAR_OK) {
      return report(op, context);
    }
  }
  op->ready = true;
  return TFL_OK;
}

static duspar_status run(operator_data* op, tfl_context* context) {
  float* data[VIEWS] = {NULL};
  if (!op->ready) {
    return duspar_fail(DUSPAR_INVALID, "tensors were not allocated");
  }
  for (int v = 0; v < VIEWS; ++v) {
    if (op->views[v].tensor < 0) continue;
    const duspar_status status =
        duspar_view_data(&op->views[v], context, &data[v]);
    if (status != DUSPAR_OK) return status;
  }
  const duspar_sequence sequence = {op->sizes.batch, op->sizes.steps, data[0],
                                    data[1],         data[2],         data[3],
                                    data[4],         data[5]};
  duspar_counts counts = {0};
  size_t threads = op->threads;
  if (threads > 1) { /* the app may have changed its mind */
    const size_t now = useful_threads(op, context);
    if (now < threads) threads = now;
  }
  duspar_layer_execute(op->layer, &sequence, op->scratch, threads, &counts);
  duspar_counters_add(&op->record->counters, &counts);
  return DUSPAR_OK;
}

static tfl_status invoke(tfl_context* context, tfl_node* node) {
  operator_data* op = node->user_data;
  if (op == NULL) return TFL_ERROR;
  return run(op, context) == DUSPAR_OK ? TFL_OK : report(op, context);
}

/* Profilers show the layer's name beside the time. */
static const char* profiling_string(const tfl_context* context,
                                    const tfl_node* node) {
  (void)context;
  const operator_data* op = node->user_data;
  return op != NULL ? op->options.layer : "";
}

tfl_registration duspar_operator_registration(void) {
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
