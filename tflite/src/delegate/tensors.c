#include "delegate/tensors.h"

#include "base/error.h"
#include "base/memory.h"

const tfl_tensor* duspar_tensor_at(const tfl_context* context, int index) {
  if (index < 0 || (size_t)index >= context->tensors_size) return NULL;
  return &context->tensors[index];
}

/* Writes a shape as "2, 3" for a message. */
static void print_shape(const int* dims, int rank, char* text, size_t room) {
  size_t used = 0;
  text[0] = '\0';
  for (int i = 0; i < rank && used < room; ++i) {
    const char* comma = i ? ", " : "";
    used += dims[i] < 0 ? duspar_write(text + used, room - used, "%sany", comma)
                        : duspar_write(text + used, room - used, "%s%d", comma,
                                       dims[i]);
  }
}

void duspar_tensor_print(const tfl_tensor* tensor, char* text, size_t room) {
  const tfl_ints* dims = tensor->dims;
  print_shape(dims ? dims->data : NULL, dims ? dims->size : 0, text, room);
}

static bool has_shape(const tfl_tensor* tensor, int rank, const int* shape) {
  const tfl_ints* dims = tensor->dims;
  if (dims == NULL || dims->size != rank) return false;
  for (int i = 0; i < rank; ++i) {
    if (shape[i] < 0 ? dims->data[i] < 0 : dims->data[i] != shape[i]) {
      return false;
    }
  }
  return true;
}

duspar_status duspar_tensor_check(const tfl_tensor* tensor, const char* name,
                                  int type, int rank, const int* shape) {
  char expected[64], received[64];
  if (tensor == NULL) {
    return duspar_fail(DUSPAR_INVALID, "`%s` is missing", name);
  }
  if (tensor->type != type) {
    return duspar_fail(DUSPAR_INVALID,
                       "`%s` must have TFLite's type %d, not %d", name, type,
                       tensor->type);
  }
  if (has_shape(tensor, rank, shape)) return DUSPAR_OK;
  print_shape(shape, rank, expected, sizeof expected);
  duspar_tensor_print(tensor, received, sizeof received);
  return duspar_fail(DUSPAR_INVALID, "`%s` must have the shape (%s), not (%s)",
                     name, expected, received);
}

duspar_status duspar_tensor_check_constant(const tfl_tensor* tensor,
                                           const char* name, size_t item) {
  if (tensor->allocation_type != TFL_MEMORY_MAPPED || tensor->data == NULL ||
      tensor->sparsity != NULL) {
    return duspar_fail(DUSPAR_INVALID,
                       "`%s` must be a constant of the model, stored densely",
                       name);
  }
  size_t needed = item;
  for (int i = 0; i < tensor->dims->size; ++i) {
    if (!duspar_multiply(needed, (size_t)tensor->dims->data[i], &needed)) {
      return duspar_fail(DUSPAR_INVALID, "`%s` is too large", name);
    }
  }
  if (tensor->bytes >= needed) return DUSPAR_OK;
  return duspar_fail(DUSPAR_INVALID, "`%s` must have %zu bytes, not %zu", name,
                     needed, tensor->bytes);
}

void duspar_view_set(duspar_view* view, int tensor, int rank,
                     const int* shape) {
  *view = (duspar_view){.tensor = tensor, .rank = rank, .bytes = sizeof(float)};
  for (int i = 0; i < rank; ++i) {
    view->shape[i] = shape[i];
    view->bytes *= (size_t)shape[i];
  }
}

duspar_status duspar_vectors_check(const tfl_context* context, int index,
                                   int size, duspar_view* view) {
  const tfl_tensor* tensor = duspar_tensor_at(context, index);
  const int rank = tensor && tensor->dims ? tensor->dims->size : 0;
  const int expected[] = {-1, -1, -1, size};
  if (rank < 1 || rank > 3) {
    return duspar_fail(DUSPAR_INVALID, "`x` must have 1 to 3 axes, not %d",
                       rank);
  }
  const duspar_status status =
      duspar_tensor_check(tensor, "x", TFL_FLOAT32, rank, expected + 4 - rank);
  if (status != DUSPAR_OK) return status;
  size_t bytes = sizeof(float);
  for (int i = 0; i < rank; ++i) {
    if (!duspar_multiply(bytes, (size_t)tensor->dims->data[i], &bytes)) {
      return duspar_fail(DUSPAR_INVALID, "`x` is too large");
    }
  }
  duspar_view_set(view, index, rank, tensor->dims->data);
  return DUSPAR_OK;
}

duspar_status duspar_view_data(const duspar_view* view,
                               const tfl_context* context, float** data) {
  const tfl_tensor* tensor = duspar_tensor_at(context, view->tensor);
  if (tensor == NULL || !has_shape(tensor, view->rank, view->shape)) {
    return duspar_fail(DUSPAR_INVALID,
                       "tensor %d has changed since tensors were allocated: "
                       "allocate them again",
                       view->tensor);
  }
  *data = view->bytes > 0 ? tensor->data : NULL;
  if (view->bytes > 0 && (tensor->bytes < view->bytes || tensor->data == NULL ||
                          (uintptr_t)tensor->data % sizeof(float) != 0)) {
    return duspar_fail(DUSPAR_INVALID,
                       "`%s` has no data, too little, or at a bad address",
                       tensor->name ? tensor->name : "tensor");
  }
  return DUSPAR_OK;
}
