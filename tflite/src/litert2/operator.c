#include "litert2/operator.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

static lrt_operator* whole(const tfl_context* context) { return context->impl; }

static tfl_ints* ints(lrt_ints* list) { return (tfl_ints*)(void*)list; }

static tfl_status get_plan(tfl_context* context, tfl_ints** plan) {
  static lrt_ints only = {1, {0}};
  (void)context;
  *plan = ints(&only);
  return TFL_OK;
}

static tfl_status get_node(tfl_context* context, int index, tfl_node** node,
                           tfl_registration** registration) {
  (void)index;
  *node = &whole(context)->node;
  *registration = &whole(context)->original;
  return TFL_OK;
}

static tfl_status resize(tfl_context* context, tfl_tensor* tensor,
                         tfl_ints* dims) {
  lrt_ints* to = &whole(context)->dims[tensor - context->tensors];
  to->size = dims->size;
  memcpy(to->data, dims->data, (size_t)dims->size * sizeof(int));
  free(dims);
  return TFL_OK;
}

/* The error is that of the library, too: nobody else is told. */
static void report(tfl_context* context, const char* format, ...) {
  (void)context, (void)format;
}

static tfl_status replace(tfl_context* context, tfl_registration kernel,
                          const tfl_ints* nodes, tfl_delegate* delegate) {
  lrt_operator* op = whole(context);
  tfl_delegate_params params = {delegate, (tfl_ints*)nodes, ints(&op->inputs),
                                ints(&op->outputs)};
  op->kernel = kernel;
  op->delegated.outputs = ints(&op->outputs);
  op->delegated.delegate = delegate;
  op->delegated.user_data =
      kernel.init(context, (const char*)(const void*)&params, 0);
  return TFL_OK;
}

duspar_status duspar_litert_open(lrt_operator* op, tfl_delegate* delegate,
                                 int threads) {
  for (int i = 0; i < LRT_MAX_TENSORS; ++i) {
    op->tensors[i].dims = ints(&op->dims[i]);
  }
  op->node.inputs = ints(&op->inputs);
  op->node.outputs = ints(&op->outputs);
  op->original.builtin_code = TFL_OPERATOR_CUSTOM;
  op->original.custom_name = op->name;
  op->context.impl = op;
  op->context.tensors = op->tensors;
  op->context.recommended_num_threads = threads;
  op->context.get_execution_plan = get_plan;
  op->context.get_node_and_registration = get_node;
  op->context.resize_tensor = resize;
  op->context.report_error = report;
  op->context.replace_nodes = replace;
  op->changed = true;
  if (delegate->prepare(&op->context, delegate) != TFL_OK) {
    return DUSPAR_INVALID;
  }
  return duspar_litert_prepare(op);
}

void duspar_litert_close(lrt_operator* op) {
  if (op->kernel.free) op->kernel.free(&op->context, op->delegated.user_data);
  duspar_release(op->zeros);
}

static tfl_tensor* at(lrt_operator* op, const lrt_ints* list, int index) {
  const int tensor = list->data[index];
  return tensor < 0 ? NULL : &op->tensors[tensor];
}

tfl_tensor* duspar_litert_input(lrt_operator* op, int index) {
  return at(op, &op->inputs, index);
}

tfl_tensor* duspar_litert_output(lrt_operator* op, int index) {
  return at(op, &op->outputs, index);
}

static bool same_shape(const tfl_tensor* tensor, const lrt_layout* layout) {
  return tensor->dims->size == (int)layout->rank &&
         memcmp(tensor->dims->data, layout->dimensions,
                layout->rank * sizeof(int)) == 0;
}

static bool constant(const tfl_tensor* tensor) {
  return tensor->allocation_type == TFL_MEMORY_MAPPED;
}

/* Whether an input comes with every call. */
static bool comes(lrt_operator* op, const tfl_tensor* tensor) {
  return tensor != NULL && !constant(tensor) && !op->zero[tensor - op->tensors];
}

void duspar_litert_reshape(lrt_operator* op, int index, const lrt_layout* to) {
  tfl_tensor* tensor = duspar_litert_input(op, index);
  if (!comes(op, tensor) || same_shape(tensor, to)) return;
  tensor->dims->size = (int)to->rank;
  memcpy(tensor->dims->data, to->dimensions, to->rank * sizeof(int));
  op->changed = true;
}

bool duspar_litert_fits(const lrt_operator* op, int index,
                        const lrt_layout* layout) {
  const int tensor = op->inputs.data[index];
  return tensor < 0 || !constant(&op->tensors[tensor]) ||
         same_shape(&op->tensors[tensor], layout);
}

/* Gives the states that are zeros the batch of the first input. */
static duspar_status make_zeros(lrt_operator* op) {
  const tfl_tensor* x = op->inputs.size > 0 ? duspar_litert_input(op, 0) : NULL;
  size_t most = 0;
  for (size_t i = 0; i < op->context.tensors_size; ++i) {
    if (!op->zero[i]) continue;
    tfl_tensor* tensor = &op->tensors[i];
    size_t bytes = sizeof(float);
    tensor->dims->data[0] = x->dims->size > 0 ? x->dims->data[0] : 0;
    for (int d = 0; d < 2; ++d) {
      const int size = tensor->dims->data[d];
      if (size < 0 || !duspar_multiply(bytes, (size_t)size, &bytes)) {
        return duspar_fail_memory(0);
      }
    }
    tensor->bytes = bytes;
    if (bytes > most) most = bytes;
  }
  if (most > op->zero_bytes) {
    duspar_release(op->zeros);
    op->zeros = duspar_allocate(most);
    op->zero_bytes = op->zeros != NULL ? most : 0;
    if (op->zeros == NULL) return duspar_fail_memory(most);
    memset(op->zeros, 0, most);
  }
  for (size_t i = 0; i < op->context.tensors_size; ++i) {
    if (op->zero[i]) op->tensors[i].data = op->zeros;
  }
  return DUSPAR_OK;
}

duspar_status duspar_litert_prepare(lrt_operator* op) {
  if (!op->changed) return DUSPAR_OK;
  const duspar_status status = make_zeros(op);
  if (status != DUSPAR_OK) return status;
  if (op->kernel.prepare(&op->context, &op->delegated) != TFL_OK) {
    return DUSPAR_INVALID;
  }
  op->changed = false;
  return DUSPAR_OK;
}

duspar_status duspar_litert_invoke(lrt_operator* op, const lrt_value* inputs,
                                   const lrt_value* outputs) {
  for (int i = 0; i < op->inputs.size; ++i) {
    tfl_tensor* tensor = duspar_litert_input(op, i);
    if (!comes(op, tensor)) continue;
    duspar_litert_reshape(op, i, &inputs[i].type.layout);
    tensor->data = inputs[i].data;
    tensor->bytes = inputs[i].bytes;
  }
  if (duspar_litert_prepare(op) != DUSPAR_OK) return DUSPAR_INVALID;
  for (int o = 0; o < op->outputs.size; ++o) {
    tfl_tensor* tensor = duspar_litert_output(op, o);
    if (!same_shape(tensor, &outputs[o].type.layout) ||
        tensor->type != outputs[o].type.element_type) {
      return duspar_fail(DUSPAR_INVALID,
                         "Output %d of the operator '%s' has another shape or "
                         "type than the runtime was told.",
                         o, op->name);
    }
    tensor->data = outputs[o].data;
    tensor->bytes = outputs[o].bytes;
  }
  return op->kernel.invoke(&op->context, &op->delegated) == TFL_OK
             ? DUSPAR_OK
             : DUSPAR_INVALID;
}
