#include "sparse_operator.h"

#include <string.h>

#include "error.h"
#include "layer.h"
#include "memory.h"
#include "node.h"
#include "signature.h"
#include "tensors.h"

/* Tensors that a run reads or writes: x and two states, y and two states. */
enum { VIEWS = 3 + DUSPAR_MAX_OUTPUTS };

typedef struct operator_data {
  duspar_node base;
  duspar_record* record;
  duspar_kind kind;
  duspar_options options;
  duspar_tensors tensors;
  duspar_sizes sizes;
  duspar_view views[VIEWS];
  duspar_parameters source; /* where the weights of `layer` were */
  duspar_layer* layer;
  void* scratch; /* of as many threads */
  size_t threads;
} operator_data;

static duspar_status read_node(duspar_node* base, tfl_context* context,
                               const tfl_node* node,
                               const tfl_registration* registration,
                               int index) {
  operator_data* op = (operator_data*)base;
  if (!duspar_kind_named(registration->custom_name, &op->kind)) {
    return duspar_fail(DUSPAR_INVALID, "node %d cannot be read", index);
  }
  base->kind = op->kind == DUSPAR_KIND_DUSPAR ? "DuSpaR" : "SpaR";
  base->layer = op->options.layer;
  const int size = node->custom_initial_data_size;
  duspar_status status = duspar_options_parse(
      node->custom_initial_data, size > 0 ? (size_t)size : 0, &op->options);
  if (status != DUSPAR_OK) return status;
  status = duspar_signature_bind(op->kind, &op->options, node, &op->tensors);
  if (status != DUSPAR_OK) return status;
  op->record = duspar_records_open(&base->delegate->records, context, index,
                                   op->kind, op->options.layer);
  return op->record != NULL ? DUSPAR_OK
                            : duspar_fail_memory(sizeof *op->record);
}

static void release(duspar_node* base) {
  operator_data* op = (operator_data*)base;
  if (op->record != NULL) duspar_record_close(op->record);
  duspar_layer_destroy(op->layer);
  duspar_release(op->scratch);
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
  op->layer = duspar_layer_create(&source, op->base.delegate->kernel);
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

static duspar_status prepare(duspar_node* base, tfl_context* context,
                             const tfl_node* node) {
  operator_data* op = (operator_data*)base;
  duspar_status status = duspar_signature_check_inputs(
      op->kind, &op->options, context, &op->tensors, &op->sizes);
  if (status == DUSPAR_OK) status = make_layer(op, context);
  if (status == DUSPAR_OK) status = make_scratch(op, context);
  if (status != DUSPAR_OK) return status;
  view_inputs(op);
  for (int o = 0; o < op->tensors.output_count; ++o) {
    if (!duspar_tensor_wanted(node, op->tensors.outputs[o])) continue;
    status = resize_output(op, context, o);
    if (status != DUSPAR_OK) return status;
  }
  return DUSPAR_OK;
}

static duspar_status run(duspar_node* base, tfl_context* context) {
  operator_data* op = (operator_data*)base;
  float* data[VIEWS] = {NULL};
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

DUSPAR_NODE_REGISTRATION(duspar_sparse_registration, operator_data)
