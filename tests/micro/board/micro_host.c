/* Runs the custom operators of a .tflite file as TFLite Micro does: evaluation
 * tensors, an arena for what kernels keep, scratch memory that is there when
 * they run, and no memory of tensors while they are prepared. `graph.h` is
 * written by the test, with the file, its operators and the inputs. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "duspar/micro.h"
#include "micro/tflm_abi.h"

/* TfLiteEvalTensor, declared here again: an enumeration takes one byte, and
 * what lies behind it can be anything. */
typedef struct eval_tensor {
  void* data;
  const int* dims;
  enum { NO_TYPE, FLOAT32, INT32, INT16 = 7, INT8 = 9, VARIANT = 14 } type;
} eval_tensor;
_Static_assert(sizeof(((eval_tensor*)0)->type) == 1, "as bare metal has it");

typedef struct node_plan {
  const char* name;
  int options, size; /* where in the file */
  const int *inputs, *outputs;
} node_plan;

#include "graph.h"

enum { MOST_SCRATCH = 8 };
static eval_tensor tensors[TENSORS];
static _Alignas(16) uint8_t arena[65536];
static size_t used;
static size_t scratch_sizes[MOST_SCRATCH];
static void* scratch_places[MOST_SCRATCH];
static int scratch_count;
static int context; /* kernels pass it on, and never look into it */

static void* allocate(void* from, size_t bytes) {
  void* place = arena + used;
  used += (bytes + 15) / 16 * 16;
  return from == &context && used <= sizeof arena ? place : NULL;
}

static int request_scratch(void* from, size_t bytes, int* index) {
  if (from != &context || scratch_count == MOST_SCRATCH) return TFL_ERROR;
  *index = scratch_count;
  scratch_sizes[scratch_count++] = bytes;
  return TFL_OK;
}

static void* scratch(void* from, int index) {
  return from == &context ? scratch_places[index] : NULL;
}

static void* tensor(const void* from, int index) {
  return from == &context ? &tensors[index] : NULL;
}

static void report(void* from, const char* format, ...) {
  va_list arguments;
  (void)from;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  printf("\n");
}

static uint32_t timer(void) { return *(volatile uint32_t*)0xe000e018; }

static uint32_t ticks_of(uint32_t start) {
  return (start - timer()) & 0xffffff;
}

static void thousand_rounds(void) {
  __asm volatile("mov r0, #1000\n 1: subs r0, #1\n bne 1b" : : : "r0", "cc");
}

static void print_tensor(int index) {
  const uint32_t* bits = tensors[index].data;
  printf("tensor %d", index);
  for (int i = 0; i < sizes[index] / 4; ++i) printf(" %08lx", (long)bits[i]);
  printf("\n");
}

int main(void) {
  static tflm_node nodes[NODES];
  const tflm_registration* kernels[NODES];
  const duspar_micro_functions functions = {allocate, request_scratch, scratch,
                                            tensor, report};
  duspar_micro_use(&functions);
  memset(tensors, 0xff, sizeof tensors);
  for (int i = 0; i < TENSORS; ++i) {
    tensors[i].type = (uint8_t)types[i];
    tensors[i].dims = shapes[i];
    tensors[i].data = NULL;
    if (places[i] >= 0) tensors[i].data = (void*)(file + places[i]);
  }
  for (int i = 0; i < NODES; ++i) {
    const node_plan* plan = &plans[i];
    kernels[i] = duspar_micro_registration(plan->name);
    nodes[i].inputs = (tfl_ints*)(void*)plan->inputs;
    nodes[i].outputs = (tfl_ints*)(void*)plan->outputs;
    nodes[i].user_data = kernels[i]->init(
        &context, (const char*)file + plan->options, (size_t)plan->size);
  }
  for (int i = 0; i < NODES; ++i) {
    if (kernels[i]->prepare(&context, &nodes[i]) != TFLM_OK) return 1;
  }
  const size_t kept = used;
  for (int i = 0; i < scratch_count; ++i) {
    scratch_places[i] = allocate(&context, scratch_sizes[i]);
  }
  printf("arena %u %u\n", (unsigned)kept, (unsigned)(used - kept));
  for (int i = 0; i < TENSORS; ++i) {
    if (tensors[i].data != NULL || sizes[i] == 0) continue;
    tensors[i].data = allocate(&context, (size_t)sizes[i]);
    if (tensors[i].data == NULL) return 1;
    memset(tensors[i].data, 0, (size_t)sizes[i]);
  }
  *(volatile uint32_t*)0xe000e014 = 0xffffff; /* reload */
  *(volatile uint32_t*)0xe000e018 = 0;
  *(volatile uint32_t*)0xe000e010 = 5; /* on, with the processor's clock */
  uint32_t start = timer();
  for (int i = 0; i < 100; ++i) thousand_rounds();
  const double per_tick = 100 * 2001.0 / ticks_of(start);
  double total = 0;
  for (int frame = 0; frame < FRAMES; ++frame) {
    memcpy(tensors[GIVEN].data, given[frame], sizeof given[frame]);
    start = timer();
    for (int i = 0; i < NODES; ++i) {
      if (kernels[i]->invoke(&context, &nodes[i]) != TFLM_OK) return 1;
    }
    total += ticks_of(start) * per_tick;
    for (int i = 0; i < STATES; ++i) {
      print_tensor(states[i][1]);
      memcpy(tensors[states[i][0]].data, tensors[states[i][1]].data,
             (size_t)sizes[states[i][0]]);
    }
  }
  printf("instructions %.0f\n", total / FRAMES);
  for (const duspar_micro_operator* o = duspar_micro_operators(); o != NULL;
       o = o->next) {
    printf("operator %s %s %ld %ld %lu %lu %lu %lu\n", o->layer, o->op,
           (long)o->features, (long)o->units,
           (unsigned long)o->counts.invocations, (unsigned long)o->counts.steps,
           (unsigned long)o->counts.nonzeros[0],
           (unsigned long)o->counts.nonzeros[1]);
  }
  for (int i = 0; i < NODES; ++i) {
    if (kernels[i]->free) kernels[i]->free(&context, nodes[i].user_data);
  }
  return duspar_micro_operators() != NULL;
}
