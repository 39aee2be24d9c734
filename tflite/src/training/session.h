/* One call of a training pass: what is computed where. */
#ifndef DUSPAR_TRAINING_SESSION_H_
#define DUSPAR_TRAINING_SESSION_H_

#include "layer/operators.h"
#include "training/pass.h"

enum { DUSPAR_MAX_SLICES = 16 };

typedef struct duspar_session {
  const duspar_op* op;
  const duspar_trainer* trainer;
  duspar_pass pass;
  size_t threads;
  size_t slice_count;
  duspar_slice slices[DUSPAR_MAX_SLICES];
  uint64_t nonzeros[DUSPAR_MAX_SLICES][2]; /* for the meter */
  size_t reserve_size;                     /* floats */
  size_t gates_size;      /* floats; 0 if they are not to be kept */
  uint64_t ticket;        /* of the workspace that holds the gates, or 0 */
  float* memory;          /* all that the pass alone needs */
  uint64_t memory_ticket; /* of the workspace that it is, or 0 */
} duspar_session;

/* Sets everything that depends on sizes alone. */
duspar_status duspar_session_plan(const duspar_training* training,
                                  duspar_session* s);

/* Allocates memory and fills it with the weights. `reserve` may be NULL. */
duspar_status duspar_session_start(duspar_session* s, bool backward,
                                   const float* const* weights,
                                   const float* reserve);

/* Frees what `duspar_session_start` allocated. */
void duspar_session_end(duspar_session* s);

#endif /* DUSPAR_TRAINING_SESSION_H_ */
