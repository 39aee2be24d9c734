#include "delegate/node.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"

static duspar_status read_node(duspar_node* op, tfl_context* context,
                               const tfl_delegate_params* params) {
  tfl_node* node = NULL;
  tfl_registration* registration = NULL;
  const tfl_ints* nodes = params->nodes_to_replace;
  if (nodes == NULL || nodes->size < 1 ||
      nodes->size > op->functions->most_nodes) {
    return duspar_fail(DUSPAR_INVALID, "operators must come one by one");
  }
  const int index = nodes->data[0];
  if (context->get_node_and_registration(context, index, &node,
                                         &registration) != TFL_OK ||
      node == NULL || registration == NULL) {
    return duspar_fail(DUSPAR_INVALID, "node %d cannot be read", index);
  }
  return op->functions->read(op, context, node, registration, nodes);
}

/* A failure is kept for `prepare`, which can tell it: `init` could only
 * return a value that old runtimes do not know. */
void* duspar_node_init(const duspar_node_functions* functions,
                       tfl_context* context, const char* buffer) {
  const tfl_delegate_params* params = (const void*)buffer;
  duspar_node* op = calloc(1, functions->bytes);
  if (op == NULL) return NULL;
  op->functions = functions;
  op->kind = "Unknown";
  op->layer = "";
  op->delegate = params->delegate->data;
  duspar_delegate_hold(op->delegate);
  if (read_node(op, context, params) != DUSPAR_OK) {
    snprintf(op->problem, sizeof op->problem, "%s", duspar_last_error());
  }
  return op;
}

static void free_operator(tfl_context* context, void* buffer) {
  (void)context;
  duspar_node* op = buffer;
  if (op == NULL) return;
  op->functions->release(op);
  duspar_delegate_release(op->delegate);
  free(op);
}

static tfl_status report(const duspar_node* op, tfl_context* context) {
  char reason[512];
  snprintf(reason, sizeof reason, "%s", duspar_last_error());
  duspar_fail(DUSPAR_INVALID, "%s layer '%s': %s.", op->kind, op->layer,
              reason);
  context->report_error(context, "%s", duspar_last_error());
  return TFL_ERROR;
}

static tfl_status prepare(tfl_context* context, tfl_node* node) {
  duspar_node* op = node->user_data;
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
  if (op->functions->prepare(op, context, node) != DUSPAR_OK) {
    return report(op, context);
  }
  op->ready = true;
  return TFL_OK;
}

static tfl_status invoke(tfl_context* context, tfl_node* node) {
  duspar_node* op = node->user_data;
  if (op == NULL) return TFL_ERROR;
  if (!op->ready) {
    duspar_fail(DUSPAR_INVALID, "tensors were not allocated");
    return report(op, context);
  }
  if (op->functions->run(op, context) == DUSPAR_OK) return TFL_OK;
  return report(op, context);
}

/* Profilers show the layer's name beside the time. */
static const char* profiling_string(const tfl_context* context,
                                    const tfl_node* node) {
  (void)context;
  const duspar_node* op = node->user_data;
  return op != NULL ? op->layer : "";
}

tfl_registration duspar_node_registration(void* (*init)(tfl_context*,
                                                        const char*, size_t)) {
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
