/* Log-mel features of audio: the front end of a model, in one operator.
 *
 * A frame is multiplied with a window; its power spectrum is summed to bands
 * under filters; the features are (log(sum + offset) - mean) / deviation.
 */
#ifndef DUSPAR_LOG_MEL_LOG_MEL_H_
#define DUSPAR_LOG_MEL_LOG_MEL_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "duspar.h"

/* Frames are powers of two of samples. */
enum { DUSPAR_MIN_FRAME = 32, DUSPAR_MAX_FRAME = 32768 };

typedef struct duspar_log_mel_parameters {
  size_t length; /* samples in a frame */
  size_t hop;    /* samples from one frame to the next */
  size_t bands;
  size_t filter_size;   /* entries of `filters` */
  const float* window;  /* (length) */
  const float* filters; /* the filters' entries, one filter after the other */
  const int32_t* edges; /* (bands, 2): its first bin, and one behind its last */
  const float* mean;    /* (bands) */
  const float* deviation; /* (bands) */
  float offset;
} duspar_log_mel_parameters;

typedef struct duspar_log_mel duspar_log_mel;

/* Checks what the parameters hold. */
duspar_status duspar_log_mel_check(const duspar_log_mel_parameters* p);

/* Checks the parameters and packs them for the variant of that name, or the
 * fastest one for NULL. Sets the error and returns NULL if they are wrong. */
duspar_log_mel* duspar_log_mel_create(const duspar_log_mel_parameters* p,
                                      const char* variant);
void duspar_log_mel_destroy(duspar_log_mel* front_end);

/* Returns how many frames lie within `samples` samples. */
size_t duspar_log_mel_frames(size_t length, size_t hop, size_t samples);

/* Computes the features (batch, frames, bands) of audio (batch, samples), on up
 * to `threads` threads, which share the frames. */
void duspar_log_mel_execute(const duspar_log_mel* front_end, size_t batch,
                            size_t samples, const float* audio, float* features,
                            size_t threads);

#endif /* DUSPAR_LOG_MEL_LOG_MEL_H_ */
