/* The log-mel front end with constants where the file has them. */
#ifndef DUSPAR_MICRO_SPECTRUM_H_
#define DUSPAR_MICRO_SPECTRUM_H_

#include "log_mel/log_mel.h"

/* Fills in cosines and sines of a turn's parts: as many floats as a frame. */
void duspar_micro_turns(size_t length, float* turns);

/* Computes the features of a frame; `scratch` is as long as the frame and two
 * floats. */
void duspar_micro_log_mel(const duspar_log_mel_parameters* p,
                          const float* turns, const float* frame,
                          float* features, float* scratch);

#endif /* DUSPAR_MICRO_SPECTRUM_H_ */
