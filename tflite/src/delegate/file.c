/* What a program needs to know to run a streaming file: where its chunk, its
 * output and its states are among the tensors of the interpreter. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "delegate/flatbuffer.h"
#include "delegate/schema.h"
#include "duspar.h"

enum { MOST_STATES = 4096 };

/* One side of the signature: names of tensors, and the tensors in the order
 * in which the interpreter counts them. */
typedef struct side {
  file_vector names;
  file_vector tensors;
} side;

static bool find_sides(file_bytes file, side* inputs, side* outputs) {
  uint64_t model, graph, signature;
  file_vector graphs, signatures;
  return duspar_file_number(file, 0, 4, &model) &&
         duspar_file_vector(file, model, MODEL_SUBGRAPHS, 4, &graphs) &&
         duspar_file_vector(file, model, MODEL_SIGNATURES, 4, &signatures) &&
         graphs.count > 0 && signatures.count > 0 &&
         duspar_file_table(file, graphs, 0, &graph) &&
         duspar_file_table(file, signatures, 0, &signature) &&
         duspar_file_vector(file, graph, SUBGRAPH_INPUTS, 4,
                            &inputs->tensors) &&
         duspar_file_vector(file, graph, SUBGRAPH_OUTPUTS, 4,
                            &outputs->tensors) &&
         duspar_file_vector(file, signature, SIGNATURE_INPUTS, 4,
                            &inputs->names) &&
         duspar_file_vector(file, signature, SIGNATURE_OUTPUTS, 4,
                            &outputs->names);
}

/* Entry `index` of a side: its name, and its place among the tensors. Returns
 * false if the file is damaged. */
static bool read_entry(file_bytes file, const side* s, uint64_t index,
                       file_vector* name, int32_t* place) {
  uint64_t map, field, tensor = 0, other;
  if (!duspar_file_table(file, s->names, index, &map) ||
      !duspar_file_vector(file, map, MAP_NAME, 1, name) ||
      !duspar_file_field(file, map, MAP_TENSOR, &field) ||
      (field != 0 && !duspar_file_number(file, field, 4, &tensor))) {
    return false;
  }
  for (uint64_t i = 0; i < s->tensors.count; ++i) {
    if (!duspar_file_number(file, s->tensors.position + 4 * i, 4, &other)) {
      return false;
    }
    if (other == tensor) {
      *place = (int32_t)i;
      return true;
    }
  }
  return false;
}

/* Where a side has the tensor of a name, or -1. */
static int32_t find_place(file_bytes file, const side* s, json_value wanted) {
  char text[512];
  const long length = duspar_json_text(wanted, text, sizeof text);
  if (length < 0 || length >= (long)sizeof text) return -1;
  for (uint64_t i = 0; i < s->names.count; ++i) {
    file_vector name;
    int32_t place;
    if (!read_entry(file, s, i, &name, &place)) return -1;
    if (name.count == (uint64_t)length &&
        memcmp(file.bytes + name.position, text, (size_t)length) == 0) {
      return place;
    }
  }
  return -1;
}

/* The input that is no state, or -1. */
static int32_t find_chunk(const duspar_file* found, uint64_t inputs) {
  for (int32_t place = 0; place < (int32_t)inputs; ++place) {
    size_t i = 0;
    while (i < found->state_count && found->states[i].input != place) ++i;
    if (i == found->state_count) return place;
  }
  return -1;
}

static int32_t read_integer(json_value about, const char* name) {
  json_value value;
  double number = 0;
  if (duspar_json_member(about, name, &value)) {
    duspar_json_number(value, &number);
  }
  return number > 0 && number < 1e9 ? (int32_t)number : 0;
}

/* Fills in the states, the input and the output; false if one is missing. */
static bool find_tensors(file_bytes file, json_value about,
                         duspar_file* found) {
  side inputs, outputs;
  json_value list, item = {NULL, NULL}, value;
  if (!find_sides(file, &inputs, &outputs)) return false;
  if (duspar_json_member(about, "states", &list)) {
    while (found->state_count < MOST_STATES &&
           duspar_json_next(list, NULL, &item)) {
      duspar_file_state* state = &found->states[found->state_count++];
      state->input = find_place(file, &inputs, item);
      state->output = find_place(file, &outputs, item);
      if (state->input < 0 || state->output < 0) return false;
    }
  }
  found->input = find_chunk(found, inputs.tensors.count);
  item = (json_value){NULL, NULL};
  if (!duspar_json_member(about, "outputs", &list) ||
      !duspar_json_next(list, NULL, &item) ||
      !duspar_json_member(item, "name", &value)) {
    return false;
  }
  found->output = find_place(file, &outputs, value);
  if (duspar_json_member(item, "kind", &value)) {
    duspar_json_text(value, found->kind, sizeof found->kind);
  }
  return found->input >= 0 && found->output >= 0;
}

duspar_file* duspar_file_read(const void* bytes, size_t size) {
  const char* text;
  size_t length;
  json_value about, value;
  if (duspar_file_metadata(bytes, size, DUSPAR_METADATA, &text, &length) !=
      DUSPAR_OK) {
    return NULL;
  }
  if (text == NULL || !duspar_json_parse(text, length, &about) ||
      !duspar_json_member(about, "streaming", &value) || *value.start != 't') {
    duspar_fail(DUSPAR_INVALID,
                "`bytes` must be a file that keras_duspar has converted with "
                "`streaming=True`.");
    return NULL;
  }
  duspar_file* found = calloc(1, sizeof *found);
  if (found != NULL) found->states = calloc(MOST_STATES, sizeof *found->states);
  if (found == NULL || found->states == NULL) {
    free(found);
    duspar_fail_memory(MOST_STATES * sizeof *found->states);
    return NULL;
  }
  if (duspar_json_member(about, "task", &value)) {
    duspar_json_text(value, found->task, sizeof found->task);
  }
  found->sample_rate = read_integer(about, "sample_rate");
  found->delay = read_integer(about, "delay");
  if (!find_tensors((file_bytes){bytes, size}, about, found)) {
    duspar_file_free(found);
    duspar_fail(DUSPAR_INVALID,
                "`bytes` must be a whole .tflite file, whose signature has "
                "the states that its metadata names.");
    return NULL;
  }
  return found;
}

void duspar_file_free(duspar_file* file) {
  if (file == NULL) return;
  free(file->states);
  free(file);
}
