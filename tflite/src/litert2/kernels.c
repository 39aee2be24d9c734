/* The kernels that LiteRT 2 calls, and which operator of the file they run.
 *
 * A kernel is told its name, and in a run the addresses of its constants: by
 * them the operator is found. Several with the same constants, as of a layer
 * that is used twice, take turns.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "delegate/node.h"
#include "delegate/options.h"
#include "duspar/litert.h"
#include "litert2/operator.h"

/* What LiteRT gets as `user_data`. */
typedef struct named {
  duspar_litert* litert;
  const char* name;
} named;

struct duspar_litert {
  duspar_litert_functions functions;
  tfl_delegate* delegate;
  int threads;
  uint8_t* copy; /* of the file */
  file_bytes file;
  lrt_operator** items;
  size_t count, room;
  named* names;
  size_t name_count;
  bool failed;
  char problem[512], told[512];
};

static duspar_status append(void* to, const lrt_operator* op) {
  duspar_litert* l = to;
  if (l->count == l->room) {
    const size_t room = l->room ? 2 * l->room : 8;
    lrt_operator** items = realloc(l->items, room * sizeof *items);
    if (items == NULL) return duspar_fail_memory(room * sizeof *items);
    l->items = items;
    l->room = room;
  }
  lrt_operator* copy = malloc(sizeof *copy);
  if (copy == NULL) return duspar_fail_memory(sizeof *copy);
  *copy = *op;
  l->items[l->count++] = copy;
  return duspar_litert_open(copy, l->delegate, l->threads);
}

/* How two operators of one name can differ though their constants are of the
 * same shapes: in these options. */
static int64_t telling_option(const lrt_operator* op) {
  const void* bytes = op->node.custom_initial_data;
  const size_t size = (size_t)op->node.custom_initial_data_size;
  duspar_log_mel_options front_end;
  duspar_options options;
  if (strcmp(op->name, DUSPAR_LOG_MEL_NAME) == 0) {
    duspar_log_mel_options_parse(bytes, size, &front_end);
    return front_end.hop;
  }
  duspar_options_parse(bytes, size, &options);
  return options.operand_bits;
}

/* Whether constants are the same: by shape, or by address, too. */
static bool same_constants(lrt_operator* a, lrt_operator* b, bool address) {
  if (strcmp(a->name, b->name) != 0 || a->inputs.size != b->inputs.size) {
    return false;
  }
  for (int i = 0; i < a->inputs.size; ++i) {
    const tfl_tensor* p = duspar_litert_input(a, i);
    const tfl_tensor* q = duspar_litert_input(b, i);
    const bool constant = p->allocation_type == TFL_MEMORY_MAPPED;
    if (constant != (q->allocation_type == TFL_MEMORY_MAPPED)) return false;
    if (!constant) continue;
    if (p->type != q->type || p->dims->size != q->dims->size ||
        memcmp(p->dims->data, q->dims->data,
               (size_t)p->dims->size * sizeof(int)) != 0 ||
        (address && p->data != q->data)) {
      return false;
    }
  }
  return true;
}

/* LiteRT asks for shapes before it shows constants, and shows no options: two
 * operators that it could not tell apart must not differ. */
static duspar_status check_pairs(const duspar_litert* l) {
  for (size_t a = 0; a < l->count; ++a) {
    const bool front_end = strcmp(l->items[a]->name, DUSPAR_LOG_MEL_NAME) == 0;
    const int64_t option = telling_option(l->items[a]);
    for (size_t b = 0; b < a; ++b) {
      if (option != telling_option(l->items[b]) &&
          same_constants(l->items[a], l->items[b], !front_end)) {
        return duspar_fail(DUSPAR_INVALID,
                           "`bytes` must not have two operators '%s' that "
                           "differ in `%s` alone: LiteRT 2 does not tell them "
                           "apart.",
                           l->items[a]->name, front_end ? "hop" : "operands");
      }
    }
  }
  return DUSPAR_OK;
}

static duspar_status list_names(duspar_litert* l) {
  l->names = calloc(l->count, sizeof *l->names);
  if (l->names == NULL) return duspar_fail_memory(l->count * sizeof *l->names);
  for (size_t i = 0; i < l->count; ++i) {
    size_t n = 0;
    while (n < l->name_count && strcmp(l->names[n].name, l->items[i]->name)) {
      ++n;
    }
    l->names[n] = (named){l, l->items[i]->name};
    if (n == l->name_count) ++l->name_count;
  }
  return DUSPAR_OK;
}

static duspar_status read_file(duspar_litert* l, file_bytes file) {
  uint64_t room;
  const duspar_status status = duspar_litert_room(file, &room);
  if (status != DUSPAR_OK) return status;
  l->copy = duspar_allocate((size_t)room);
  if (l->copy == NULL) return duspar_fail_memory((size_t)room);
  memset(l->copy, 0, (size_t)room);
  memcpy(l->copy, file.bytes, (size_t)file.size);
  l->file = (file_bytes){l->copy, file.size};
  return duspar_litert_move(&l->file, l->copy, room, append, l);
}

duspar_litert* duspar_litert_create(struct TfLiteDelegate* delegate,
                                    const void* bytes, size_t size,
                                    const duspar_litert_functions* functions,
                                    int32_t threads) {
  if (delegate == NULL || bytes == NULL || functions == NULL ||
      functions->add_kernel == NULL || functions->tensor_type == NULL ||
      functions->tensor_size == NULL || functions->lock == NULL ||
      functions->unlock == NULL || threads < 1) {
    duspar_fail(DUSPAR_INVALID,
                "`delegate`, `bytes` and all `functions` must not be NULL, and "
                "`threads` at least 1.");
    return NULL;
  }
  duspar_litert* l = calloc(1, sizeof *l);
  if (l == NULL) {
    duspar_fail_memory(sizeof *l);
    return NULL;
  }
  l->functions = *functions;
  l->delegate = (tfl_delegate*)(void*)delegate;
  l->threads = threads;
  duspar_status status = read_file(l, (file_bytes){bytes, size});
  if (status == DUSPAR_OK && l->count == 0) {
    status = duspar_fail(DUSPAR_INVALID,
                         "`bytes` must be a file with operators of this "
                         "library: it runs without.");
  }
  if (status == DUSPAR_OK) status = check_pairs(l);
  if (status == DUSPAR_OK) status = list_names(l);
  if (status == DUSPAR_OK) return l;
  duspar_litert_destroy(l);
  return NULL;
}

void duspar_litert_destroy(duspar_litert* litert) {
  if (litert == NULL) return;
  for (size_t i = 0; i < litert->count; ++i) {
    duspar_litert_close(litert->items[i]);
    free(litert->items[i]);
  }
  free(litert->items);
  free(litert->names);
  duspar_release(litert->copy);
  free(litert);
}

const void* duspar_litert_file(const duspar_litert* litert, size_t* size) {
  *size = (size_t)litert->file.size;
  return litert->file.bytes;
}

const char* duspar_litert_error(duspar_litert* litert) {
  if (!litert->failed) return NULL;
  memcpy(litert->told, litert->problem, sizeof litert->told);
  litert->failed = false;
  return litert->told;
}

/* Keeps the first failure. */
static int fail(duspar_litert* l) {
  if (!l->failed) {
    snprintf(l->problem, sizeof l->problem, "%s", duspar_last_error());
  }
  l->failed = true;
  return LRT_FAILURE;
}

static int init(void* user_data, const void* options, size_t size) {
  (void)user_data, (void)options, (void)size;
  return LRT_OK;
}

static int destroy(void* user_data) {
  (void)user_data;
  return LRT_OK;
}

static int layouts(void* user_data, size_t input_count,
                   const lrt_layout* inputs, size_t output_count,
                   lrt_layout* outputs) {
  const named* kernel = user_data;
  duspar_litert* l = kernel->litert;
  lrt_operator* found = NULL;
  for (size_t i = 0; i < l->count && found == NULL; ++i) {
    lrt_operator* op = l->items[i];
    bool fits = strcmp(op->name, kernel->name) == 0 &&
                (size_t)op->inputs.size == input_count &&
                (size_t)op->outputs.size == output_count;
    for (int k = 0; fits && k < op->inputs.size; ++k) {
      fits = duspar_litert_fits(op, k, &inputs[k]);
    }
    if (fits) found = op;
  }
  duspar_status status = DUSPAR_INVALID;
  if (found == NULL) {
    duspar_fail(DUSPAR_INVALID, "The file has no operator '%s' of these sizes.",
                kernel->name);
  } else {
    for (int k = 0; k < found->inputs.size; ++k) {
      duspar_litert_reshape(found, k, &inputs[k]);
    }
    status = duspar_litert_prepare(found);
  }
  for (size_t o = 0; o < output_count; ++o) {
    outputs[o] = (lrt_layout){.rank = 1, .dimensions = {-1}};
    if (status != DUSPAR_OK) continue; /* no tensor can have this shape */
    const tfl_ints* dims = duspar_litert_output(found, (int)o)->dims;
    outputs[o].rank = (unsigned)dims->size & 127u;
    memcpy(outputs[o].dimensions, dims->data,
           (size_t)dims->size * sizeof(int32_t));
  }
  return status == DUSPAR_OK ? LRT_OK : fail(l);
}

/* Whether the constants of a call are those of the operator. */
static bool holds(lrt_operator* op, const lrt_value* inputs) {
  for (int i = 0; i < op->inputs.size; ++i) {
    const tfl_tensor* tensor = duspar_litert_input(op, i);
    if (tensor->allocation_type == TFL_MEMORY_MAPPED &&
        tensor->data != inputs[i].data) {
      return false;
    }
  }
  return true;
}

/* The operator of a call: of those in the first subgraph that has one, the one
 * that has had the fewest runs. */
static lrt_operator* find_operator(const named* kernel, size_t input_count,
                                   const lrt_value* inputs,
                                   size_t output_count) {
  lrt_operator* found = NULL;
  for (size_t i = 0; i < kernel->litert->count; ++i) {
    lrt_operator* op = kernel->litert->items[i];
    if (strcmp(op->name, kernel->name) == 0 &&
        (size_t)op->inputs.size == input_count &&
        (size_t)op->outputs.size == output_count &&
        (found == NULL ||
         (op->graph == found->graph && op->runs < found->runs)) &&
        holds(op, inputs)) {
      found = op;
    }
  }
  if (found == NULL) {
    duspar_fail(DUSPAR_INVALID,
                "The weights of an operator '%s' are not where they must be: "
                "make the model of `duspar_litert_file`.",
                kernel->name);
  }
  return found;
}

/* Locks buffers, of which one may come twice. */
static duspar_status lock(const duspar_litert_functions* runtime,
                          void* const* buffers, size_t count, int mode,
                          lrt_value* values, size_t* locked) {
  for (size_t i = 0; i < count; ++i, ++*locked) {
    size_t before = 0;
    while (buffers[before] != buffers[i]) ++before;
    values[i].data = NULL;
    if (runtime->tensor_type(buffers[i], &values[i].type) != LRT_OK ||
        runtime->tensor_size(buffers[i], &values[i].bytes) != LRT_OK ||
        (before == i &&
         runtime->lock(buffers[i], &values[i].data, mode) != LRT_OK)) {
      return duspar_fail(DUSPAR_INVALID, "A tensor of LiteRT cannot be read.");
    }
    if (before < i) values[i].data = values[before].data;
  }
  return DUSPAR_OK;
}

static void unlock(const duspar_litert_functions* runtime, void* const* buffers,
                   size_t locked) {
  for (size_t i = 0; i < locked; ++i) {
    size_t before = 0;
    while (buffers[before] != buffers[i]) ++before;
    if (before == i) runtime->unlock(buffers[i]);
  }
}

static int run(void* user_data, size_t input_count, void* const* inputs,
               size_t output_count, void** outputs) {
  const named* kernel = user_data;
  const duspar_litert_functions* runtime = &kernel->litert->functions;
  lrt_value in[LRT_MAX_TENSORS], out[LRT_MAX_TENSORS];
  size_t inputs_locked = 0, outputs_locked = 0;
  duspar_status status = DUSPAR_INVALID;
  lrt_operator* op = NULL;
  if (input_count > LRT_MAX_TENSORS || output_count > LRT_MAX_TENSORS) {
    duspar_fail(DUSPAR_INVALID, "The operator '%s' has too many tensors.",
                kernel->name);
    return fail(kernel->litert);
  }
  if (lock(runtime, outputs, output_count, LRT_LOCK_WRITE, out,
           &outputs_locked) == DUSPAR_OK &&
      lock(runtime, inputs, input_count, LRT_LOCK_READ, in, &inputs_locked) ==
          DUSPAR_OK) {
    op = find_operator(kernel, input_count, in, output_count);
  }
  if (op != NULL) {
    status = duspar_litert_invoke(op, in, out);
    ++op->runs;
  }
  for (size_t o = 0; status != DUSPAR_OK && o < outputs_locked; ++o) {
    float* values = out[o].data;
    for (size_t i = 0; i < out[o].bytes / sizeof *values; ++i) values[i] = NAN;
  }
  unlock(runtime, inputs, inputs_locked);
  unlock(runtime, outputs, outputs_locked);
  return status == DUSPAR_OK ? LRT_OK : fail(kernel->litert);
}

duspar_status duspar_litert_register(duspar_litert* litert, void* options) {
  static const lrt_kernel kernel = {init, layouts, run, destroy};
  if (litert == NULL || options == NULL) {
    return duspar_fail(DUSPAR_INVALID,
                       "`litert` and `options` must not be NULL.");
  }
  for (size_t n = 0; n < litert->name_count; ++n) {
    if (litert->functions.add_kernel(options, litert->names[n].name, 1, &kernel,
                                     &litert->names[n]) != LRT_OK) {
      return duspar_fail(DUSPAR_INVALID, "LiteRT refused the kernel '%s'.",
                         litert->names[n].name);
    }
  }
  return DUSPAR_OK;
}
