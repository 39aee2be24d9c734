#include "host.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tfl_ints* make_ints(int size, const int* data) {
  tfl_ints* ints = malloc(sizeof *ints + (size_t)size * sizeof(int));
  ints->size = size;
  if (size > 0) memcpy(ints->data, data, (size_t)size * sizeof(int));
  return ints;
}

static size_t item_bytes(int type) {
  return type == TFL_INT8 ? 1 : type == TFL_INT16 ? 2 : 4;
}

/* Bytes of a shape, or more than the host gives. */
static size_t shape_bytes(int type, int rank, const int* dims) {
  size_t bytes = item_bytes(type);
  for (int i = 0; i < rank; ++i) {
    if (dims[i] < 0) return HOST_MAX_BYTES + 1;
    bytes *= (size_t)dims[i];
    if (bytes > HOST_MAX_BYTES) return HOST_MAX_BYTES + 1;
  }
  return bytes;
}

static tfl_status get_plan(tfl_context* context, tfl_ints** plan) {
  *plan = ((host*)context->impl)->plan;
  return TFL_OK;
}

static tfl_status get_node(tfl_context* context, int index, tfl_node** node,
                           tfl_registration** registration) {
  host* h = context->impl;
  if (index != 0) return TFL_ERROR;
  *node = &h->node;
  *registration = &h->original;
  return TFL_OK;
}

static tfl_status resize(tfl_context* context, tfl_tensor* tensor,
                         tfl_ints* dims) {
  host* h = context->impl;
  const size_t bytes = shape_bytes(tensor->type, dims->size, dims->data);
  if (bytes > HOST_MAX_BYTES || tensor->allocation_type == TFL_MEMORY_MAPPED) {
    free(dims);
    return TFL_ERROR;
  }
  free(tensor->dims);
  tensor->dims = dims;
  host_set_bytes(h, (int)(tensor - h->tensors), bytes);
  return TFL_OK;
}

static void report(tfl_context* context, const char* format, ...) {
  host* h = context->impl;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(h->error, sizeof h->error, format, arguments);
  va_end(arguments);
}

static tfl_status replace(tfl_context* context, tfl_registration kernel,
                          const tfl_ints* nodes, tfl_delegate* delegate) {
  host* h = context->impl;
  int outputs[HOST_TENSORS], count = 0;
  if (h->taken++ > 0) return TFL_ERROR;
  for (int i = 0; h->node.outputs && i < h->node.outputs->size; ++i) {
    if (h->wanted >> i & 1) outputs[count++] = h->node.outputs->data[i];
  }
  h->kernel = kernel;
  memset(&h->delegated, 0, sizeof h->delegated);
  h->delegated.outputs = make_ints(count, outputs);
  h->delegated.delegate = delegate;
  tfl_delegate_params params = {delegate, (tfl_ints*)nodes, h->node.inputs,
                                h->delegated.outputs};
  h->delegated.user_data =
      kernel.init(context, (const char*)(const void*)&params, 0);
  return TFL_OK;
}

void host_set_bytes(host* h, int tensor, size_t bytes) {
  tfl_tensor* t = &h->tensors[tensor];
  free(t->data);
  t->data = bytes ? calloc(1, bytes) : NULL;
  t->bytes = bytes;
}

void host_reshape(host* h, int tensor, int rank, const int* dims, int memory) {
  tfl_tensor* t = &h->tensors[tensor];
  free(t->dims);
  t->dims = make_ints(rank, dims);
  if (memory) {
    const size_t bytes = shape_bytes(t->type, rank, dims);
    host_set_bytes(h, tensor, bytes <= HOST_MAX_BYTES ? bytes : 0);
  }
}

void host_set_options(host* h, const void* bytes, size_t size) {
  free((void*)h->node.custom_initial_data);
  void* copy = size ? malloc(size) : NULL;
  if (size) memcpy(copy, bytes, size);
  h->node.custom_initial_data = copy;
  h->node.custom_initial_data_size = (int)size;
}

/* A text in FlexBuffers: its length, its bytes and a NUL. Returns where its
 * bytes begin. */
static size_t put_text(uint8_t* to, size_t* end, const char* text) {
  const size_t length = strlen(text);
  to[(*end)++] = (uint8_t)length;
  const size_t start = *end;
  memcpy(to + start, text, length + 1);
  *end += length + 1;
  return start;
}

static void put_number(uint8_t* to, size_t* end, uint64_t number) {
  for (int i = 0; i < 4; ++i) to[(*end)++] = (uint8_t)(number >> 8 * i);
}

static void put_offset(uint8_t* to, size_t* end, size_t target) {
  put_number(to, end, *end - target);
}

/* An option: a text, or else a number. */
typedef struct option {
  const char* key;
  const char* text;
  uint64_t number;
} option;

/* A map, by rising keys. All its numbers are four bytes wide. */
static size_t put_map(uint8_t* to, const option* options, int count) {
  enum { KEY = 4, STRING = 5, INT = 1, MAP = 9, FOUR_BYTES = 2, MOST = 8 };
  size_t end = 0, key_at[MOST], text_at[MOST];
  for (int i = 0; i < count; ++i) {
    key_at[i] = put_text(to, &end, options[i].key);
  }
  for (int i = 0; i < count; ++i) {
    if (options[i].text) text_at[i] = put_text(to, &end, options[i].text);
  }
  put_number(to, &end, (uint64_t)count);
  const size_t key_vector = end;
  for (int i = 0; i < count; ++i) put_offset(to, &end, key_at[i]);
  put_offset(to, &end, key_vector);
  put_number(to, &end, 4); /* width of the keys' offsets */
  put_number(to, &end, (uint64_t)count);
  const size_t map = end;
  for (int i = 0; i < count; ++i) {
    if (options[i].text) {
      put_offset(to, &end, text_at[i]);
    } else {
      put_number(to, &end, options[i].number);
    }
  }
  for (int i = 0; i < count; ++i) {
    to[end++] = (options[i].text ? STRING : INT) << 2;
  }
  to[end] = (uint8_t)(end - map); /* the root: an offset of one byte */
  ++end;
  to[end++] = MAP << 2 | FOUR_BYTES;
  to[end++] = 1;
  return end;
}

size_t host_write_options(const host_model* model, uint8_t* to) {
  static const char* const types[] = {"float32", "bfloat16", "int8"};
  static const char* const operand_types[] = {"float32", "uint7", "uint8"};
  const int operands = model->operand_bits ? model->operand_bits - 6 : 0;
  const option options[] = {
      {"layer", "recurrent", 0},
      {"operands", operand_types[operands], 0},
      {"units", NULL, (uint64_t)model->units},
      {"version", NULL, 1},
      {"weights", types[model->weight_type], 0},
  };
  return put_map(to, options, 5);
}

/* Adds a tensor of the next number. */
static void add(host* h, int type, int constant, const char* shape,
                const host_model* m) {
  const int tensor = (int)h->context.tensors_size++;
  int dims[3], rank = 0;
  for (; shape[rank] != '\0'; ++rank) {
    dims[rank] = shape[rank] == 'B'   ? m->batch
                 : shape[rank] == 'T' ? m->steps
                 : shape[rank] == 'N' ? m->features
                 : shape[rank] == 'M' ? m->units
                                      : shape[rank] - '0';
  }
  h->tensors[tensor].type = type;
  h->tensors[tensor].allocation_type = constant ? TFL_MEMORY_MAPPED : 2;
  host_reshape(h, tensor, rank, dims, 1);
}

static void begin(host* h, const char* name) {
  memset(h, 0, sizeof *h);
  h->context.impl = h;
  h->context.tensors = h->tensors;
  h->context.get_execution_plan = get_plan;
  h->context.get_node_and_registration = get_node;
  h->context.resize_tensor = resize;
  h->context.report_error = report;
  h->context.replace_nodes = replace;
  h->original.builtin_code = TFL_OPERATOR_CUSTOM;
  h->original.custom_name = name;
  h->plan = make_ints(1, (int[]){0});
  h->wanted = 7;
}

/* The last tensors are the outputs. */
static void end_model(host* h, int outputs) {
  int numbers[HOST_TENSORS];
  const int inputs = (int)h->context.tensors_size - outputs;
  for (int i = 0; i < HOST_TENSORS; ++i) numbers[i] = i;
  h->node.inputs = make_ints(inputs, numbers);
  h->node.outputs = make_ints(outputs, numbers + inputs);
}

void host_init_log_mel(host* h, int batch, int samples, int length, int hop,
                       int bands) {
  const option map[] = {
      {"hop", NULL, (uint64_t)hop}, {"layer", "mel", 0}, {"version", NULL, 1}};
  const host_model sizes = {
      .batch = batch, .steps = samples, .features = length, .units = bands};
  const char* const shapes[] = {"N", "M", "M2", "M", "M", "1"};
  uint8_t options[512];
  begin(h, "DuSpaRLogMel");
  add(h, TFL_FLOAT32, 0, "BT", &sizes);
  for (int i = 0; i < 6; ++i) {
    add(h, i == 2 ? TFL_INT32 : TFL_FLOAT32, 1, shapes[i], &sizes);
  }
  add(h, TFL_FLOAT32, 0, "BTM", &sizes);
  end_model(h, 1);
  host_set_options(h, options, put_map(options, map, 3));
  for (int b = 0; b < bands; ++b) { /* of one bin */
    ((int32_t*)h->tensors[3].data)[2 * b] = b % (length / 2);
    ((int32_t*)h->tensors[3].data)[2 * b + 1] = b % (length / 2) + 1;
    ((float*)h->tensors[2].data)[b] = 1;
    ((float*)h->tensors[5].data)[b] = 1;
  }
  for (int i = 0; i < length; ++i) ((float*)h->tensors[1].data)[i] = 1;
  ((float*)h->tensors[6].data)[0] = 1;
}

void host_init(host* h, const host_model* m) {
  static const int kernel_types[] = {TFL_FLOAT32, TFL_INT16, TFL_INT8};
  const int dual = m->kind == DUSPAR_KIND_DUSPAR;
  const int scaled = m->weight_type == DUSPAR_INT8;
  const char* const* shape;
  static const char* const dual_shapes[] = {"NM", "NM", "MN", "MN", "M", "N",
                                            "M",  "N",  "M",  "M",  "N", "N"};
  static const char* const plain_shapes[] = {"NM", "NM", "M", "M", "M"};
  const int kernels = dual ? 4 : 2, biases = dual ? 4 : 1;
  begin(h, dual ? "DuSpaR" : "SpaR");
  add(h, TFL_FLOAT32, 0, "BTN", m);
  add(h, TFL_FLOAT32, 0, "BM", m);
  if (dual) add(h, TFL_FLOAT32, 0, "BN", m);
  shape = dual ? dual_shapes : plain_shapes;
  for (int i = 0; i < kernels; ++i) {
    add(h, kernel_types[m->weight_type], 1, *shape++, m);
  }
  for (int i = 0; i < biases + (scaled ? kernels : 0); ++i) {
    add(h, TFL_FLOAT32, 1, *shape++, m);
  }
  if (m->operand_bits) add(h, TFL_FLOAT32, 1, dual ? "2" : "1", m);
  add(h, TFL_FLOAT32, 0, "BTM", m);
  add(h, TFL_FLOAT32, 0, "BM", m);
  if (dual) add(h, TFL_FLOAT32, 0, "BN", m);
  end_model(h, dual ? 3 : 2);
  uint8_t options[512];
  host_set_options(h, options, host_write_options(m, options));
}

tfl_status host_apply(host* h, struct TfLiteDelegate* delegate) {
  tfl_delegate* base = (tfl_delegate*)(void*)delegate;
  return base->prepare(&h->context, base);
}

tfl_status host_prepare(host* h) {
  return h->taken ? h->kernel.prepare(&h->context, &h->delegated) : TFL_ERROR;
}

tfl_status host_invoke(host* h) {
  return h->taken ? h->kernel.invoke(&h->context, &h->delegated) : TFL_ERROR;
}

void host_undo(host* h) {
  if (h->taken) h->kernel.free(&h->context, h->delegated.user_data);
  free(h->delegated.outputs);
  h->delegated.outputs = NULL;
  h->taken = 0;
}

void host_free(host* h) {
  host_undo(h);
  for (int i = 0; i < HOST_TENSORS; ++i) {
    free(h->tensors[i].data);
    free(h->tensors[i].dims);
  }
  free(h->node.inputs);
  free(h->node.outputs);
  free((void*)h->node.custom_initial_data);
  free(h->plan);
}
