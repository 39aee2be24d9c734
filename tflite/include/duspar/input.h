/* Sound as it comes in: any number of samples, 16-bit or float, at any rate,
 * to chunks for a model.
 *
 * The thread that records pushes; another one pulls chunks and runs the model:
 * one that the app has, or a worker that `duspar_input_start` makes. Between
 * them is a ring that neither of them locks. `duspar_input_push` allocates
 * nothing, waits for nobody and makes no system call.
 */
#ifndef DUSPAR_INPUT_H_
#define DUSPAR_INPUT_H_

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Converts sound from one rate to another. */
typedef struct duspar_resampler duspar_resampler;

/* Makes a resampler from `rate` to `new_rate`, both from 8000 to 48000. What
 * lies below 7/8 of half of the lower rate passes within 0.01 dB, and what the
 * lower rate cannot hold comes out at -70 dB. Returns NULL on failure. */
DUSPAR_API duspar_resampler* duspar_resampler_create(int32_t rate,
                                                     int32_t new_rate);

/* Destroys a resampler. NULL is allowed. */
DUSPAR_API void duspar_resampler_destroy(duspar_resampler* resampler);

/* Begins a new stream. */
DUSPAR_API void duspar_resampler_reset(duspar_resampler* resampler);

/* Returns by how many samples of the input the output is late. */
DUSPAR_API int32_t duspar_resampler_delay(const duspar_resampler* resampler);

/* Returns how many samples `count` ones can become at most. */
DUSPAR_API size_t duspar_resampler_room(const duspar_resampler* resampler,
                                        size_t count);

/* Converts `count` samples; `output` has room for as many as
 * `duspar_resampler_room` says. Returns how many it has written. */
DUSPAR_API size_t duspar_resampler_run(duspar_resampler* resampler,
                                       const float* samples, size_t count,
                                       float* output);

typedef struct duspar_input duspar_input;

typedef struct duspar_input_settings {
  int32_t rate;       /* of what is pushed, from 8000 to 48000 */
  int32_t model_rate; /* of the chunks */
  size_t samples;     /* in a chunk */
  double seconds;     /* that may wait until they are pulled; 0 for 1 */
} duspar_input_settings;

/* Makes an input. Returns NULL on failure. */
DUSPAR_API duspar_input* duspar_input_create(
    const duspar_input_settings* settings);

/* Destroys an input, after its worker has stopped. NULL is allowed. */
DUSPAR_API void duspar_input_destroy(duspar_input* input);

/* Takes samples, from one thread at a time. NaN becomes silence, and what is
 * beyond full scale is cut off there. Returns how many samples were taken:
 * those for which there is no room are dropped, and counted. */
DUSPAR_API size_t duspar_input_push(duspar_input* input, const float* samples,
                                    size_t count);
DUSPAR_API size_t duspar_input_push_int16(duspar_input* input,
                                          const int16_t* samples, size_t count);

/* Returns how many samples were dropped so far. */
DUSPAR_API uint64_t duspar_input_dropped(const duspar_input* input);

/* Fills `chunk` and returns 1, or returns 0 if too few samples wait. From one
 * thread at a time, and not while a worker runs. */
DUSPAR_API int32_t duspar_input_pull(duspar_input* input, float* chunk);

/* Forgets what waits. Not while another thread uses the input. */
DUSPAR_API void duspar_input_reset(duspar_input* input);

/* What a worker does with a chunk. */
typedef void duspar_chunk_function(void* user, const float* chunk);

/* Starts a thread that calls `function` with each chunk. It sleeps half a
 * chunk when none is full: nobody needs to wake it. */
DUSPAR_API duspar_status duspar_input_start(duspar_input* input,
                                            duspar_chunk_function* function,
                                            void* user);

/* Ends the worker after the last full chunk, and waits for that. */
DUSPAR_API void duspar_input_stop(duspar_input* input);

#ifdef __cplusplus
}
#endif

#endif /* DUSPAR_INPUT_H_ */
