/* The operators DuSpaR and SpaR, as TFLite's interpreter calls them. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "delegate/node.h"
#include "delegate/outputs.h"
#include "layer/layer.h"

/* Tensors that a run reads or writes: x and states, then y and states. */
enum { VIEWS = 2 * DUSPAR_MAX_OUTPUTS };

typedef struct operator_data {
  duspar_node base;
  duspar_record* record;
  duspar_signature signature;
  duspar_view views[VIEWS];
  duspar_parameters source; /* where the weights of `layer` were */
  duspar_layer* layer;
  void* scratch; /* of as many threads */
  size_t scratch_bytes;
  size_t threads;
} operator_data;

static duspar_status read_node(duspar_node* base, tfl_context* context,
                               const tfl_node* node,
                               const tfl_registration* registration,
                               const tfl_ints* nodes) {
  operator_data* op = (operator_data*)base;
  const int index = nodes->data[0];
  duspar_signature* s = &op->signature;
  s->op = duspar_op_named(registration->custom_name);
  if (s->op == NULL) {
    return duspar_fail(DUSPAR_INVALID, "node %d cannot be read", index);
  }
  base->kind = s->op->name;
  base->layer = s->options.layer;
  const int size = node->custom_initial_data_size;
  duspar_status status = duspar_options_parse(
      node->custom_initial_data, size > 0 ? (size_t)size : 0, &s->options);
  if (status != DUSPAR_OK) return status;
  status = duspar_signature_bind(s, node);
  if (status != DUSPAR_OK) return status;
  op->record = duspar_records_open(&base->delegate->records, context, index,
                                   s->op, s->options.layer);
  return op->record != NULL ? DUSPAR_OK
                            : duspar_fail_memory(sizeof *op->record);
}

static void release(duspar_node* base) {
  operator_data* op = (operator_data*)base;
  if (op->record != NULL) duspar_record_close(op->record);
  duspar_layer_destroy(op->layer);
  duspar_release(op->scratch);
}

static size_t useful_threads(const operator_data* op,
                             const tfl_context* context) {
  const int threads = context->recommended_num_threads;
  return duspar_layer_threads(op->layer, op->signature.batch,
                              op->signature.steps,
                              threads > 1 ? (size_t)threads : 1);
}

/* Packs the weights, once: they are constants of the model. */
static duspar_status make_layer(operator_data* op, tfl_context* context) {
  duspar_parameters source;
  duspar_signature_parameters(&op->signature, context, &source);
  if (op->layer != NULL && memcmp(&source, &op->source, sizeof source) == 0) {
    return DUSPAR_OK;
  }
  duspar_layer_destroy(op->layer);
  op->layer = duspar_layer_create(&source, op->base.delegate->variant);
  if (op->layer == NULL) return DUSPAR_INVALID;
  op->source = source;
  duspar_record_describe(op->record, op->signature.features,
                         op->signature.units, duspar_layer_kernel(op->layer),
                         duspar_layer_bytes(op->layer));
  return DUSPAR_OK;
}

/* Memory for the threads that the interpreter may use now. What is large enough
 * is kept: some models are prepared in every call. */
static duspar_status make_scratch(operator_data* op,
                                  const tfl_context* context) {
  size_t bytes;
  op->threads = useful_threads(op, context);
  if (!duspar_multiply(duspar_layer_scratch(op->layer), op->threads, &bytes)) {
    return duspar_fail_memory(0);
  }
  if (bytes <= op->scratch_bytes) return DUSPAR_OK;
  duspar_release(op->scratch);
  op->scratch = duspar_allocate(bytes);
  op->scratch_bytes = op->scratch != NULL ? bytes : 0;
  return op->scratch != NULL ? DUSPAR_OK : duspar_fail_memory(bytes);
}

static duspar_status prepare(duspar_node* base, tfl_context* context,
                             const tfl_node* node) {
  operator_data* op = (operator_data*)base;
  duspar_signature* s = &op->signature;
  duspar_status status = duspar_signature_check_inputs(s, context);
  if (status == DUSPAR_OK) status = make_layer(op, context);
  if (status == DUSPAR_OK) status = make_scratch(op, context);
  if (status != DUSPAR_OK) return status;
  for (int v = 0; v < VIEWS; ++v) op->views[v].tensor = -1;
  for (int i = 0; i < 1 + s->op->state_count; ++i) {
    duspar_signature_view_input(s, i, &op->views[i]);
  }
  for (int o = 0; o < s->output_count; ++o) {
    if (!duspar_tensor_wanted(node, s->outputs[o])) continue;
    status = duspar_signature_resize_output(s, context, o,
                                            &op->views[VIEWS / 2 + o]);
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
  const duspar_sequence sequence = {op->signature.batch,
                                    op->signature.steps,
                                    data[0],
                                    data[1],
                                    data[2],
                                    data[3],
                                    data[4],
                                    data[5]};
  duspar_counts counts = {0};
  size_t threads = op->threads;
  if (threads > 1) { /* the app may have changed its mind */
    const size_t now = useful_threads(op, context);
    if (now < threads) threads = now;
  }
  duspar_layer_execute(op->layer, &sequence, op->scratch, threads, &counts);
  duspar_record_add(op->record, &counts);
  return DUSPAR_OK;
}

DUSPAR_NODE_REGISTRATION(duspar_sparse_registration, operator_data, 1)
