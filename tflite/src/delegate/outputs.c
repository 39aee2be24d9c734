#include "delegate/outputs.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

duspar_status duspar_tensor_check_output(const tfl_context* context,
                                         const char* name, int input_count,
                                         const int* inputs, const int* outputs,
                                         int index) {
  const int place = outputs[index];
  const tfl_tensor* tensor = duspar_tensor_at(context, place);
  if (tensor == NULL) {
    return duspar_fail(DUSPAR_INVALID, "`%s` is missing", name);
  }
  if (tensor->type != TFL_FLOAT32) {
    return duspar_fail(DUSPAR_INVALID,
                       "`%s` must have TFLite's type %d, not %d", name,
                       TFL_FLOAT32, tensor->type);
  }
  bool shared = tensor->allocation_type == TFL_MEMORY_MAPPED ||
                tensor->allocation_type == TFL_MEMORY_PERSISTENT_READ_ONLY;
  for (int i = 0; i < input_count; ++i) {
    shared = shared || inputs[i] == place;
  }
  for (int i = 0; i < index; ++i) {
    shared = shared || outputs[i] == place;
  }
  if (shared) {
    return duspar_fail(DUSPAR_INVALID,
                       "`%s` must be a tensor of its own that can be written",
                       name);
  }
  return DUSPAR_OK;
}

duspar_status duspar_tensor_resize(tfl_context* context, const char* name,
                                   int index, int rank, const int* shape) {
  size_t bytes = sizeof(float);
  for (int i = 0; i < rank; ++i) {
    if (!duspar_multiply(bytes, (size_t)shape[i], &bytes) ||
        bytes > PTRDIFF_MAX) {
      return duspar_fail(DUSPAR_INVALID, "`%s` would be too large", name);
    }
  }
  tfl_ints* dims = malloc(sizeof *dims + (size_t)rank * sizeof(int));
  if (dims == NULL) return duspar_fail_memory(sizeof *dims);
  dims->size = rank;
  memcpy(dims->data, shape, (size_t)rank * sizeof(int));
  if (context->resize_tensor(context, &context->tensors[index], dims) !=
      TFL_OK) {
    return duspar_fail(DUSPAR_INVALID, "`%s` cannot be resized", name);
  }
  return DUSPAR_OK;
}

bool duspar_tensor_wanted(const tfl_node* node, int index) {
  for (int i = 0; node->outputs != NULL && i < node->outputs->size; ++i) {
    if (node->outputs->data[i] == index) return true;
  }
  return false;
}

duspar_status duspar_signature_resize_output(const duspar_signature* s,
                                             tfl_context* context, int index,
                                             duspar_view* view) {
  char name[DUSPAR_NAME_ROOM];
  int shape[3];
  const int rank = duspar_signature_output(s, index, name, shape);
  duspar_status status = duspar_tensor_check_output(
      context, name, s->input_count, s->inputs, s->outputs, index);
  if (status != DUSPAR_OK) return status;
  status = duspar_tensor_resize(context, name, s->outputs[index], rank, shape);
  if (status != DUSPAR_OK) return status;
  duspar_view_set(view, s->outputs[index], rank, shape);
  return DUSPAR_OK;
}
