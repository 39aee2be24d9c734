/* A streaming model in C99: no library but memory functions is needed, nothing
 * is allocated, and weights are constants. One stream at a time. */
#ifndef MODEL_H_
#define MODEL_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* constants */

/* Must be called first. */
void model_init(void);

/* Forgets what was pushed: the next samples begin a new recording. */
void model_reset(void);

/* Takes the next MODEL_SAMPLES samples of 16 bits, or as floats, from -1 to 1;
 * or the features of the next time step. Returns a bit for each output that is
 * new: bit i for output i, and MODEL_HEARD if a word was heard. */
#if MODEL_TAKES_AUDIO
uint32_t model_push(const int16_t* samples);
#endif
uint32_t model_push_float(const float* samples);

/* An output, which stays as it is until the next push. */
const float* model_output(int index);

#if MODEL_MAKES_AUDIO
/* Output 0 as MODEL_SAMPLES samples of 16 bits. */
void model_audio(int16_t* samples);
#endif

#if MODEL_DETECTS
#define MODEL_HEARD 0x80000000u

typedef struct model_event {
  int word;     /* its place among the classes, and model_labels */
  double start; /* seconds from the beginning of the stream: it lies behind */
  double end;   /* when it was heard */
  float confidence;
} model_event;

/* The word that was heard last, which stays as it is until there is another. */
const model_event* model_heard(void);
#endif

/* With MODEL_COUNTS defined when the source is compiled: entries of an operand
 * that were not zero since the last reset, and all. */
void model_count(int operand, uint32_t* nonzeros, uint32_t* entries);

#ifdef __cplusplus
}
#endif

#endif /* MODEL_H_ */
