/* The operators of a .tflite file, and a place in it for their constants. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "delegate/node.h"
#include "delegate/schema.h"
#include "litert2/operator.h"

typedef struct reader {
  file_bytes file;
  uint8_t* copy; /* the file, if constants are to be moved */
  uint64_t room; /* of the copy */
  file_vector codes, buffers, tensors, operators;
  lrt_operator op;
} reader;

/* A field that is a number; 0 without it. */
static bool read_number(file_bytes file, uint64_t table, int number, int width,
                        uint64_t* found) {
  uint64_t field;
  *found = 0;
  return duspar_file_field(file, table, number, &field) &&
         (field == 0 || duspar_file_number(file, field, width, found));
}

static bool read_shape(file_bytes file, uint64_t table, lrt_ints* dims) {
  file_vector shape;
  if (!duspar_file_vector(file, table, TENSOR_SHAPE, 4, &shape) ||
      shape.count > LRT_MAX_RANK) {
    return false;
  }
  dims->size = (int)shape.count;
  for (uint64_t i = 0; i < shape.count; ++i) {
    uint64_t size;
    if (!duspar_file_number(file, shape.position + 4 * i, 4, &size)) {
      return false;
    }
    dims->data[i] = (int)size;
  }
  return true;
}

static void write_number(uint8_t* to, uint64_t number) {
  for (int i = 0; i < 4; ++i) to[i] = (uint8_t)(number >> 8 * i);
}

/* Moves what a buffer holds to the end of the copy, unless it lies well. A
 * field that refers to a vector has the distance to its length. */
static bool move(reader* r, uint64_t buffer, file_vector* data) {
  const uint64_t position = duspar_round_up(r->file.size + 4, DUSPAR_ALIGNMENT);
  uint64_t field;
  if (data->count == 0 || data->position % DUSPAR_ALIGNMENT == 0) return true;
  if (!duspar_file_field(r->file, buffer, BUFFER_DATA, &field) ||
      position > r->room || r->room - position < data->count) {
    return false;
  }
  write_number(r->copy + position - 4, data->count);
  memcpy(r->copy + position, r->copy + data->position, data->count);
  write_number(r->copy + field, position - 4 - field);
  data->position = position;
  r->file.size = position + data->count;
  return true;
}

/* Reads tensor `number` of the subgraph to `slot` of the operator. */
static bool read_tensor(reader* r, uint64_t number, int slot) {
  const file_bytes file = r->file; /* without what is moved now */
  tfl_tensor* tensor = &r->op.tensors[slot];
  uint64_t table, buffer, sparsity;
  uint64_t type, index;
  file_vector data;
  if (number >= r->tensors.count ||
      !duspar_file_table(file, r->tensors, number, &table) ||
      !read_shape(file, table, &r->op.dims[slot]) ||
      !read_number(file, table, TENSOR_TYPE, 1, &type) ||
      !read_number(file, table, TENSOR_BUFFER, 4, &index) ||
      !duspar_file_field(file, table, TENSOR_SPARSITY, &sparsity) ||
      index >= r->buffers.count ||
      !duspar_file_table(file, r->buffers, index, &buffer) ||
      !duspar_file_vector(file, buffer, BUFFER_DATA, 1, &data) ||
      (r->copy != NULL && !move(r, buffer, &data))) {
    return false;
  }
  *tensor = (tfl_tensor){0};
  tensor->type = type == SCHEMA_FLOAT32   ? TFL_FLOAT32
                 : type == SCHEMA_FLOAT16 ? 10
                                          : (int)type;
  if (data.count > 0) {
    tensor->allocation_type = TFL_MEMORY_MAPPED;
    tensor->data = (void*)(uintptr_t)(file.bytes + data.position);
    tensor->bytes = data.count;
  }
  /* Not read; that there is one is all that matters. */
  if (sparsity != 0) tensor->sparsity = tensor;
  return true;
}

static bool read_entry(file_bytes file, file_vector list, uint64_t index,
                       uint64_t* number) {
  return index < list.count &&
         duspar_file_number(file, list.position + 4 * (uint64_t)index, 4,
                            number);
}

/* The table of an operator's code. */
static bool read_code(const reader* r, uint64_t table, uint64_t* code) {
  uint64_t index;
  return read_number(r->file, table, OPERATOR_CODE, 4, &index) &&
         index < r->codes.count &&
         duspar_file_table(r->file, r->codes, index, code);
}

/* Whether an operator is FILL with zeros and makes tensor `number`. */
static bool makes_zeros(const reader* r, uint64_t table, uint64_t number) {
  uint64_t code, tensor, buffer;
  uint64_t builtin, made, value, index, bits;
  file_vector inputs, outputs, data;
  return read_code(r, table, &code) &&
         read_number(r->file, code, CODE_OLD_BUILTIN, 1, &builtin) &&
         builtin == BUILTIN_FILL &&
         duspar_file_vector(r->file, table, OPERATOR_OUTPUTS, 4, &outputs) &&
         read_entry(r->file, outputs, 0, &made) && made == number &&
         duspar_file_vector(r->file, table, OPERATOR_INPUTS, 4, &inputs) &&
         read_entry(r->file, inputs, 1, &value) && value < r->tensors.count &&
         duspar_file_table(r->file, r->tensors, value, &tensor) &&
         read_number(r->file, tensor, TENSOR_BUFFER, 4, &index) &&
         index < r->buffers.count &&
         duspar_file_table(r->file, r->buffers, index, &buffer) &&
         duspar_file_vector(r->file, buffer, BUFFER_DATA, 1, &data) &&
         data.count == 4 &&
         duspar_file_number(r->file, data.position, 4, &bits) && bits == 0;
}

static bool is_zero(const reader* r, uint64_t number) {
  for (uint64_t i = 0; i < r->operators.count; ++i) {
    uint64_t table;
    if (duspar_file_table(r->file, r->operators, i, &table) &&
        makes_zeros(r, table, number)) {
      return true;
    }
  }
  return false;
}

/* Reads the tensors of one side of the operator that are not there yet. */
static bool read_side(reader* r, uint64_t table, int field, lrt_ints* side) {
  file_vector list;
  uint64_t number;
  if (!duspar_file_vector(r->file, table, field, 4, &list)) return false;
  if (list.count > LRT_MAX_TENSORS - r->op.context.tensors_size) {
    side->size = -1; /* too many for any operator of ours */
    return true;
  }
  side->size = (int)list.count;
  for (uint64_t i = 0; i < list.count; ++i) {
    if (!read_entry(r->file, list, i, &number)) return false;
    size_t slot = 0;
    const size_t count = r->op.context.tensors_size;
    while (slot < count && r->op.numbers[slot] != (int)number) ++slot;
    side->data[i] = number == UINT32_MAX ? -1 : (int)slot;
    if (number == UINT32_MAX || slot < count) continue;
    if (!read_tensor(r, number, (int)slot)) return false;
    r->op.numbers[slot] = (int)number;
    ++r->op.context.tensors_size;
    r->op.zero[slot] = field == OPERATOR_INPUTS && i > 0 &&
                       r->op.dims[slot].size == 2 && is_zero(r, number);
  }
  return true;
}

/* Lets LiteRT bring the first input in the place of states that are zeros. */
static bool drop_zeros(reader* r, uint64_t table) {
  file_vector list;
  uint64_t first;
  if (!duspar_file_vector(r->file, table, OPERATOR_INPUTS, 4, &list) ||
      (list.count > 0 && !read_entry(r->file, list, 0, &first))) {
    return false;
  }
  for (int i = 0; i < r->op.inputs.size; ++i) {
    const int slot = r->op.inputs.data[i];
    if (slot < 0 || !r->op.zero[slot]) continue;
    write_number(r->copy + list.position + 4 * (uint64_t)i, first);
  }
  return true;
}

static bool contains(file_bytes file, uint64_t table, int field,
                     uint64_t number) {
  file_vector list;
  uint64_t entry;
  if (!duspar_file_vector(file, table, field, 4, &list)) return true;
  for (uint64_t i = 0; read_entry(file, list, i, &entry); ++i) {
    if (entry == number) return true;
  }
  return false;
}

static bool is_used(const reader* r, uint64_t graph, uint64_t number) {
  uint64_t table;
  for (uint64_t i = 0; i < r->operators.count; ++i) {
    if (!duspar_file_table(r->file, r->operators, i, &table) ||
        contains(r->file, table, OPERATOR_INPUTS, number)) {
      return true;
    }
  }
  return contains(r->file, graph, SUBGRAPH_OUTPUTS, number);
}

/* Takes an operator out of the graph: those behind it move up. An entry is the
 * distance from itself to the table. */
static void remove_operator(reader* r, uint64_t index) {
  uint8_t* entries = r->copy + r->operators.position;
  uint64_t distance;
  for (uint64_t i = index + 1; i < r->operators.count; ++i) {
    if (!read_entry(r->file, r->operators, i, &distance)) return;
    write_number(entries + 4 * (uint64_t)(i - 1), distance + 4);
  }
  write_number(entries - 4, --r->operators.count);
}

/* Removes FILLs of zeros that nobody needs any more: TFLite could not know the
 * shape of anything behind them. */
static void remove_zeros(reader* r, uint64_t graph) {
  for (uint64_t i = r->operators.count; i-- > 0;) {
    uint64_t table;
    file_vector outputs;
    uint64_t made;
    if (duspar_file_table(r->file, r->operators, i, &table) &&
        duspar_file_vector(r->file, table, OPERATOR_OUTPUTS, 4, &outputs) &&
        read_entry(r->file, outputs, 0, &made) && makes_zeros(r, table, made) &&
        !is_used(r, graph, made)) {
      remove_operator(r, i);
    }
  }
}

/* Whether the operator is ours; its name is then set. */
static bool read_name(reader* r, uint64_t table, bool* ours) {
  uint64_t code;
  file_vector text;
  *ours = false;
  if (!read_code(r, table, &code) ||
      !duspar_file_vector(r->file, code, CODE_CUSTOM, 1, &text)) {
    return false;
  }
  if (text.count >= sizeof r->op.name) return true;
  memcpy(r->op.name, r->file.bytes + text.position, text.count);
  r->op.name[text.count] = '\0';
  *ours = strcmp(r->op.name, DUSPAR_LOG_MEL_NAME) == 0 ||
          duspar_op_named(r->op.name) != NULL;
  return true;
}

static bool read_operator(reader* r, uint64_t table) {
  file_vector options;
  if (!duspar_file_vector(r->file, table, OPERATOR_OPTIONS, 1, &options) ||
      !read_side(r, table, OPERATOR_INPUTS, &r->op.inputs) ||
      !read_side(r, table, OPERATOR_OUTPUTS, &r->op.outputs) ||
      (r->copy != NULL && !drop_zeros(r, table))) {
    return false;
  }
  r->op.node.custom_initial_data = r->file.bytes + options.position;
  r->op.node.custom_initial_data_size = (int)options.count;
  return true;
}

static duspar_status damaged(void) {
  return duspar_fail(DUSPAR_INVALID,
                     "`bytes` must be a whole .tflite file: these are cut off "
                     "or damaged.");
}

static duspar_status each_of_graph(reader* r, uint64_t graph, int number,
                                   lrt_take take, void* to) {
  if (!duspar_file_vector(r->file, graph, SUBGRAPH_TENSORS, 4, &r->tensors) ||
      !duspar_file_vector(r->file, graph, SUBGRAPH_OPERATORS, 4,
                          &r->operators)) {
    return damaged();
  }
  for (uint64_t i = 0; i < r->operators.count; ++i) {
    uint64_t table;
    bool ours;
    memset(&r->op, 0, sizeof r->op);
    r->op.graph = number;
    if (!duspar_file_table(r->file, r->operators, i, &table) ||
        !read_name(r, table, &ours) || (ours && !read_operator(r, table))) {
      return damaged();
    }
    if (!ours) continue;
    if (r->op.inputs.size < 0 || r->op.outputs.size < 0) {
      return duspar_fail(DUSPAR_INVALID,
                         "The operator '%s' has more tensors than it can have.",
                         r->op.name);
    }
    const duspar_status status = take(to, &r->op);
    if (status != DUSPAR_OK) return status;
  }
  if (r->copy != NULL) remove_zeros(r, graph);
  return DUSPAR_OK;
}

static duspar_status each(reader* r, lrt_take take, void* to) {
  const file_bytes file = r->file;
  uint64_t model;
  file_vector graphs;
  if (file.size < 8 || memcmp(file.bytes + 4, "TFL3", 4) != 0) {
    return duspar_fail(DUSPAR_INVALID,
                       "`bytes` must be a .tflite file: these are not.");
  }
  if (!duspar_file_number(file, 0, 4, &model) ||
      !duspar_file_vector(file, model, MODEL_CODES, 4, &r->codes) ||
      !duspar_file_vector(file, model, MODEL_BUFFERS, 4, &r->buffers) ||
      !duspar_file_vector(file, model, MODEL_SUBGRAPHS, 4, &graphs)) {
    return damaged();
  }
  for (uint64_t g = 0; g < graphs.count; ++g) {
    uint64_t graph;
    if (!duspar_file_table(r->file, graphs, g, &graph)) return damaged();
    const duspar_status status = each_of_graph(r, graph, (int)g, take, to);
    if (status != DUSPAR_OK) return status;
  }
  return DUSPAR_OK;
}

static duspar_status measure(void* to, const lrt_operator* op) {
  uint64_t* room = to;
  for (size_t i = 0; i < op->context.tensors_size; ++i) {
    *room += op->tensors[i].bytes + 2 * DUSPAR_ALIGNMENT;
  }
  if (*room <= INT32_MAX) return DUSPAR_OK;
  return duspar_fail(DUSPAR_INVALID, "`bytes` must be less than 2 GB.");
}

duspar_status duspar_litert_room(file_bytes file, uint64_t* room) {
  reader r = {.file = file};
  *room = file.size;
  return each(&r, measure, room);
}

duspar_status duspar_litert_move(file_bytes* file, uint8_t* copy, uint64_t room,
                                 lrt_take take, void* to) {
  reader r = {.file = *file, .copy = copy, .room = room};
  const duspar_status status = each(&r, take, to);
  file->size = r.file.size;
  return status;
}
