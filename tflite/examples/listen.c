/* A streaming .tflite file on sound that comes in, with TFLite's C interface:
 * words as they are heard, or enhanced sound.
 *
 *   cc listen.c $(pkg-config --cflags --libs duspar) -ltensorflowlite_c -lm
 *   ./a.out spotter.tflite < sound.wav              # 16-bit or float32
 *   arecord -t raw -f S16_LE -r 48000 | ./a.out spotter.tflite 48000
 *   ./a.out enhancer.tflite < noisy.wav > clean.f32 # at the model's rate
 *
 * One thread reads and pushes, as an audio callback would; a worker runs the
 * model.
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "duspar.h"
#include "tensorflow/lite/c/c_api.h"

enum { FRAMES = 1024, MOST_CHANNELS = 8, PCM = 1, IEEE_FLOAT = 3 };

/* A file, ready to run. */
typedef struct runner {
  duspar_file* file;
  duspar_detector* detector; /* NULL for sound */
  TfLiteInterpreter* interpreter;
  size_t samples; /* in a chunk */
  int32_t late;   /* samples at the beginning that are left out */
} runner;

/* What comes on the standard input. */
typedef struct sound {
  int rate, channels, bytes; /* of a sample: 2, or 4 for float */
} sound;

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, duspar_last_error());
  return 1;
}

static TfLiteTensor* input_of(const runner* r, int32_t place) {
  return TfLiteInterpreterGetInputTensor(r->interpreter, place);
}

static const TfLiteTensor* output_of(const runner* r, int32_t place) {
  return TfLiteInterpreterGetOutputTensor(r->interpreter, place);
}

/* Begins a stream: all states are zeros. */
static void reset(const runner* r) {
  for (size_t i = 0; i < r->file->state_count; ++i) {
    TfLiteTensor* state = input_of(r, r->file->states[i].input);
    memset(TfLiteTensorData(state), 0, TfLiteTensorByteSize(state));
  }
}

/* What the worker does with a chunk. */
static void run(void* user, const float* chunk) {
  runner* r = user;
  duspar_event event;
  TfLiteTensor* input = input_of(r, r->file->input);
  TfLiteTensorCopyFromBuffer(input, chunk, TfLiteTensorByteSize(input));
  if (TfLiteInterpreterInvoke(r->interpreter) != kTfLiteOk) return;
  for (size_t i = 0; i < r->file->state_count; ++i) {
    const duspar_file_state place = r->file->states[i];
    TfLiteTensor* state = input_of(r, place.input);
    memcpy(TfLiteTensorData(state),
           TfLiteTensorData(output_of(r, place.output)),
           TfLiteTensorByteSize(state));
  }
  const TfLiteTensor* output = output_of(r, r->file->output);
  const float* values = TfLiteTensorData(output);
  const size_t count = TfLiteTensorByteSize(output) / sizeof *values;
  for (size_t i = 0; i < count; ++i) {
    if (!isfinite(values[i])) {
      reset(r);
      return;
    }
  }
  if (r->detector == NULL) {
    const size_t late = (size_t)r->late < count ? (size_t)r->late : count;
    r->late -= (int32_t)late;
    fwrite(values + late, sizeof *values, count - late, stdout);
  } else if (duspar_detector_step(r->detector, values, &event)) {
    printf("%.3f %.3f %s %.6f\n", event.start, event.end, event.word,
           event.confidence);
    fflush(stdout);
  }
}

static unsigned number(const unsigned char* bytes, int width) {
  unsigned value = 0;
  while (width-- > 0) value = value << 8 | bytes[width];
  return value;
}

/* Reads the header of a WAV file up to its samples; false if it is none. */
static bool read_header(sound* s) {
  unsigned char bytes[64];
  if (fread(bytes, 1, 12, stdin) != 12 || memcmp(bytes, "RIFF", 4) != 0) {
    return false;
  }
  while (fread(bytes, 1, 8, stdin) == 8) {
    if (memcmp(bytes, "data", 4) == 0) return s->channels > 0;
    const bool format = memcmp(bytes, "fmt ", 4) == 0;
    unsigned left = number(bytes + 4, 4);
    left += left % 2;
    const unsigned size = left < sizeof bytes ? left : sizeof bytes;
    if (fread(bytes, 1, size, stdin) != size) return false;
    for (left -= size; left > 0; --left) getchar();
    if (!format || size < 16) continue;
    unsigned kind = number(bytes, 2);
    if (kind == 0xfffe && size >= 26) kind = number(bytes + 24, 2);
    s->channels = (int)number(bytes + 2, 2);
    s->rate = (int)number(bytes + 4, 4);
    s->bytes = (int)number(bytes + 14, 2) / 8;
    if (s->channels > MOST_CHANNELS || s->channels < 1 ||
        !((kind == PCM && s->bytes == 2) ||
          (kind == IEEE_FLOAT && s->bytes == 4))) {
      return false;
    }
  }
  return false;
}

/* Pushes everything, the channels averaged; waits while there is no room, which
 * an audio callback does not do. */
static void push_all(duspar_input* input, const sound* s) {
  static union {
    int16_t integers[FRAMES * MOST_CHANNELS];
    float floats[FRAMES * MOST_CHANNELS];
  } block;
  float mono[FRAMES];
  const size_t size = (size_t)(s->bytes * s->channels);
  const struct timespec pause = {0, 1000000};
  size_t count;
  while ((count = fread(&block, size, FRAMES, stdin)) > 0) {
    for (size_t i = 0; i < count; ++i) {
      mono[i] = 0;
      for (int c = 0; c < s->channels; ++c) {
        const size_t at = i * (size_t)s->channels + (size_t)c;
        mono[i] += s->bytes == 2 ? (float)block.integers[at] / 32768.0f
                                 : block.floats[at];
      }
      mono[i] /= (float)s->channels;
    }
    for (size_t done = 0; done < count;) {
      const size_t taken = duspar_input_push(input, mono + done, count - done);
      done += taken;
      if (taken == 0) nanosleep(&pause, NULL);
    }
  }
}

static void* read_file(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) return NULL;
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  void* bytes = malloc(*size + 1);
  if (bytes != NULL && fread(bytes, 1, *size, file) != *size) {
    free(bytes);
    bytes = NULL;
  }
  fclose(file);
  return bytes;
}

int main(int count, char** arguments) {
  size_t size;
  sound s = {0, 0, 2};
  if (count != 2 && count != 3) {
    fprintf(stderr, "listen MODEL [RATE] < SOUND\n");
    return 2;
  }
  if (count == 3) {
    s.rate = atoi(arguments[2]);
    s.channels = 1;
  } else if (!read_header(&s)) {
    fprintf(stderr, "not a WAV file of 16 bits or floats\n");
    return 1;
  }
  void* bytes = read_file(arguments[1], &size);
  if (bytes == NULL) return fail("no file");
  runner r = {.file = duspar_file_read(bytes, size)};
  if (r.file == NULL) return fail(arguments[1]);
  r.late = r.file->delay;
  if (strcmp(r.file->kind, "audio") != 0) {
    r.detector = duspar_detector_from_file(bytes, size);
    if (r.detector == NULL) return fail(arguments[1]);
  }

  TfLiteModel* model = TfLiteModelCreate(bytes, size);
  if (model == NULL) return fail("no model");
  TfLiteDelegate* delegate = duspar_delegate_create(NULL, NULL, 0);
  if (delegate == NULL) return fail("no delegate");
  TfLiteInterpreterOptions* options = TfLiteInterpreterOptionsCreate();
  TfLiteInterpreterOptionsAddDelegate(options, delegate);
  r.interpreter = TfLiteInterpreterCreate(model, options);
  if (r.interpreter == NULL ||
      TfLiteInterpreterAllocateTensors(r.interpreter) != kTfLiteOk) {
    return fail("the file does not run");
  }
  r.samples = TfLiteTensorByteSize(input_of(&r, r.file->input)) / sizeof(float);
  reset(&r);

  const duspar_input_settings settings = {s.rate, r.file->sample_rate,
                                          r.samples, 1.0};
  duspar_input* input = duspar_input_create(&settings);
  if (input == NULL) return fail("no input");
  if (duspar_input_start(input, run, &r) != DUSPAR_OK) return fail("no worker");
  push_all(input, &s);
  duspar_input_stop(input);

  duspar_input_destroy(input);
  TfLiteInterpreterDelete(r.interpreter);
  TfLiteInterpreterOptionsDelete(options);
  duspar_delegate_destroy(delegate); /* after its interpreters */
  TfLiteModelDelete(model);
  duspar_detector_destroy(r.detector);
  duspar_file_free(r.file);
  free(bytes);
  return 0;
}
