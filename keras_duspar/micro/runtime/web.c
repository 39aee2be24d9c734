/* The machine for WebAssembly: runs a model that is read from a file.
 *
 * The file has a header of words, then the program with its tables, and the
 * three pools; keras_duspar/micro/web_page.py writes it. Whoever loads it puts
 * it anywhere and leaves as much room behind it as web_room() says. */
#include "audio.c"
#include "layers.c"
#include "machine.h"
#include "products.c"
#include "run.c"
#include "vectors.c"
#include "windows.c"

#define EXPORT(name) __attribute__((export_name(#name)))

enum {
  MAGIC,
  WORDS,
  PROGRAM,
  FLOATS,
  HALVES,
  BYTES,
  MEMORY,
  ENTRIES,
  SUMS,
  OPERANDS,
  INPUT,
  OUTPUT,
  HEADER
};

static operation* const web_operations[OPERATIONS] = {
    [LOG_MEL] = log_mel,
    [FRAMES_WAIT] = frames_wait,
    [FRAMES_SHIFT] = frames_shift,
    [OVERLAP_ADD] = overlap_add,
    [SPARSE_CELL] = sparse_cell,
    [DENSE] = dense,
    [AFFINE] = affine,
    [UNARY] = unary,
    [BINARY] = binary,
    [LAYER_NORM] = layer_norm,
    [UNIT_NORM] = unit_norm,
    [RMS_NORM] = rms_norm,
    [SOFTMAX] = softmax,
    [COPY] = copy,
    [POOL] = pool,
    [RUNNING_MEAN] = running_mean,
    [SLIDING_MEAN] = sliding_mean,
    [WINDOW] = window,
    [DEPTHWISE] = depthwise,
    [LARGEST] = largest,
    [RUNNING_MAX] = running_max,
};
static product* const web_products[PRODUCTS] = {
    [PRODUCT_FLOAT32] = product_float32,
    [PRODUCT_BFLOAT16] = product_bfloat16,
    [PRODUCT_INT8] = product_int8,
    [PRODUCT_INTEGER] = product_integer,
};
static machine web;
static const int32_t* header;

/* A number made of the sources, by which a test knows whether they changed. */
EXPORT(sources) int32_t web_sources(void) { return SOURCES; }

EXPORT(room) int32_t web_room(const int32_t* file) {
  return (int32_t)(sizeof(float) * (size_t)file[MEMORY] +
                   sizeof(entry) * (size_t)file[ENTRIES] +
                   sizeof(number) * (size_t)file[SUMS] +
                   sizeof(uint32_t) * 2 * (size_t)file[OPERANDS]);
}

EXPORT(reset) void web_reset(void) {
  memset(web.memory, 0, (size_t)header[MEMORY] * sizeof(float));
}

/* Forgets what was counted. */
EXPORT(restart) void web_restart(void) {
  memset(web.counts, 0, 2 * (size_t)header[OPERANDS] * sizeof(uint32_t));
}

EXPORT(load) void web_load(const int32_t* file, char* room) {
  header = file;
  web.operations = web_operations;
  web.products = web_products;
  web.program = file + HEADER;
  web.words = file[WORDS];
  web.floats = (const float*)(const void*)(web.program + file[PROGRAM]);
  web.halves = (const uint16_t*)(const void*)(web.floats + file[FLOATS]);
  web.bytes = (const int8_t*)(const void*)(web.halves + file[HALVES]);
  web.memory = (float*)(void*)room;
  web.entries = (entry*)(void*)(web.memory + file[MEMORY]);
  web.sums = (number*)(void*)(web.entries + file[ENTRIES]);
  web.counts = (uint32_t*)(void*)(web.sums + file[SUMS]);
  web_reset();
  web_restart();
}

/* Where new samples go, and where output 0 is. */
EXPORT(input) float* web_input(void) { return web.memory + header[INPUT]; }
EXPORT(output) float* web_output(void) { return web.memory + header[OUTPUT]; }
EXPORT(counts) uint32_t* web_counts(void) { return web.counts; }

/* Returns the clocks that ticked. */
EXPORT(push) uint32_t web_push(void) { return run(&web); }
