/* The functions of an exported model. */
#include "model.h"

#include "run.c"

#if MODEL_DETECTS
#define REAL float
#define REAL_EXP(x) any_exponential(x)
#include "decisions_template.h"
#endif

static struct {
  float memory[MODEL_MEMORY];
  entry entries[MODEL_ENTRIES];
  number sums[MODEL_SUMS];
#ifdef MODEL_COUNTS
  uint32_t counts[2 * MODEL_OPERANDS + 1];
#endif
#if MODEL_DETECTS
  float ring[MODEL_SMOOTHING * MODEL_CLASSES];
  decisions decisions;
  model_event heard;
#endif
  machine machine;
} model_static;

void model_init(void) {
  machine* m = &model_static.machine;
  m->operations = model_operations;
  m->products = model_products;
  m->program = model_program;
  m->words = MODEL_WORDS;
  m->floats = model_floats;
  m->halves = model_halves;
  m->bytes = model_bytes.bytes;
  m->memory = model_static.memory;
  m->entries = model_static.entries;
  m->sums = model_static.sums;
#ifdef MODEL_COUNTS
  m->counts = model_static.counts;
#endif
#if MODEL_DETECTS
  decisions* d = &model_static.decisions;
  d->classes = MODEL_CLASSES;
  d->steps = MODEL_SMOOTHING;
  d->quiet = MODEL_QUIET;
  d->thresholds = model_thresholds;
  d->ring = model_static.ring;
#endif
  model_reset();
}

void model_reset(void) {
  memset(model_static.memory, 0, sizeof model_static.memory);
#ifdef MODEL_COUNTS
  memset(model_static.counts, 0, sizeof model_static.counts);
#endif
#if MODEL_DETECTS
  decisions_reset(&model_static.decisions);
#endif
}

#if MODEL_DETECTS
static uint32_t model_listen(const float* scores) {
  decisions* d = &model_static.decisions;
  model_event* heard = &model_static.heard;
  float confidence;
  const int32_t word = decisions_step(d, scores, &confidence);
  if (word == DECISIONS_NOTHING) return 0;
  heard->word = (int)word;
  heard->end = (double)d->step * MODEL_SECONDS;
  heard->start = heard->end > MODEL_WINDOW ? heard->end - MODEL_WINDOW : 0.0;
  heard->confidence = confidence;
  return MODEL_HEARD;
}

const model_event* model_heard(void) { return &model_static.heard; }
#endif

static uint32_t model_run(void) {
  const uint32_t clocks = run(&model_static.machine);
  uint32_t new_outputs = 0;
  for (int i = 0; i < MODEL_OUTPUTS; ++i) {
    new_outputs |= (clocks >> model_outputs[i][1] & 1u) << i;
  }
#if MODEL_DETECTS
  new_outputs |= model_listen(model_output(0));
#endif
  return new_outputs;
}

#if MODEL_TAKES_AUDIO
uint32_t model_push(const int16_t* samples) {
  read_int16(model_static.memory + MODEL_INPUT, samples, MODEL_SAMPLES);
  return model_run();
}
#endif

uint32_t model_push_float(const float* samples) {
  memcpy(model_static.memory + MODEL_INPUT, samples,
         MODEL_SAMPLES * sizeof(float));
  return model_run();
}

const float* model_output(int index) {
  return model_static.memory + model_outputs[index][0];
}

#if MODEL_MAKES_AUDIO
void model_audio(int16_t* samples) {
  write_int16(samples, model_output(0), MODEL_SAMPLES);
}
#endif

#ifdef MODEL_COUNTS
void model_count(int operand, uint32_t* nonzeros, uint32_t* entries) {
  *nonzeros = model_static.counts[2 * operand];
  *entries = model_static.counts[2 * operand + 1];
}
#endif
