/* Words in a stream: events from the scores of a keyword spotter, and what a
 * streaming .tflite file says of itself.
 *
 * As `keras_duspar.streaming.Detector` in Python, with the same events. The
 * file averages its scores over a sliding window; the detector makes
 * probabilities of them, averages these over a short time, and reports the
 * best class when it is a word and reaches its threshold. After an event
 * there is none for a while, and a word that goes on being the best is not
 * heard anew.
 *
 * One thread at a time may use a detector. `duspar_detector_step` neither
 * allocates nor locks.
 */
#ifndef DUSPAR_DETECTOR_H_
#define DUSPAR_DETECTOR_H_

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct duspar_detector duspar_detector;

typedef struct duspar_detector_settings {
  size_t classes;
  const char* const* labels; /* of the classes, copied; NULL for numbers */
  const double* thresholds;  /* from 0 to 1; NaN for a class that is no word */
  double seconds;            /* from one step to the next */
  double window;             /* seconds that the scores look back */
  double smoothing;          /* seconds; 0 for none */
  double refractory;         /* seconds without an event after an event */
} duspar_detector_settings;

/* A word that was heard. */
typedef struct duspar_event {
  size_t index;      /* of the class */
  const char* word;  /* its label, as long as the detector lives */
  double start;      /* seconds from the first step: the word lies behind */
  double end;        /* when it was heard */
  double confidence; /* its probability, smoothed */
} duspar_event;

/* Makes a detector. Returns NULL on failure. */
DUSPAR_API duspar_detector* duspar_detector_create(
    const duspar_detector_settings* settings);

/* Makes the detector that a .tflite file describes: `bytes` are the `size`
 * bytes of one that was converted with `streaming=True` and `window`. Returns
 * NULL on failure. */
DUSPAR_API duspar_detector* duspar_detector_from_file(const void* bytes,
                                                      size_t size);

/* Destroys a detector. NULL is allowed. */
DUSPAR_API void duspar_detector_destroy(duspar_detector* detector);

/* Begins a new stream. */
DUSPAR_API void duspar_detector_reset(duspar_detector* detector);

/* Takes the scores of the next step, one per class. Returns 1 and describes
 * the event if there is one, else 0. Scores that are not finite count as
 * nothing. */
DUSPAR_API int32_t duspar_detector_step(duspar_detector* detector,
                                        const float* scores,
                                        duspar_event* event);

/* Returns the number of classes. */
DUSPAR_API size_t duspar_detector_classes(const duspar_detector* detector);

/* Where a streaming file has its state: among the inputs and among the outputs
 * of its interpreter. What a step puts out is what the next one gets. */
typedef struct duspar_file_state {
  int32_t input;
  int32_t output;
} duspar_file_state;

/* What a streaming .tflite file says of itself, for a program that runs it. */
typedef struct duspar_file {
  char task[64];
  char kind[16];       /* of its output: "audio", "frames" or "summary" */
  int32_t sample_rate; /* 0 if it is not known */
  int32_t delay;       /* samples by which audio comes late */
  int32_t input;       /* where the chunk is among the inputs */
  int32_t output;      /* where the first output is among the outputs */
  size_t state_count;
  duspar_file_state* states;
} duspar_file;

/* Reads the `size` bytes of a file, which may be anything. Returns NULL on
 * failure, also if the file takes whole recordings. */
DUSPAR_API duspar_file* duspar_file_read(const void* bytes, size_t size);

/* Frees what `duspar_file_read` returned. NULL is allowed. */
DUSPAR_API void duspar_file_free(duspar_file* file);

#ifdef __cplusplus
}
#endif

#endif /* DUSPAR_DETECTOR_H_ */
