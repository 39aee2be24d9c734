#include "log_mel.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "error.h"
#include "kernels.h"
#include "memory.h"

struct duspar_log_mel {
  const duspar_kernel* kernel;
  size_t length, hop, bands;
  void* packed;
  void* scratch;
};

static duspar_status check_filters(const duspar_log_mel_parameters* p) {
  const int32_t bins = (int32_t)(p->length / 2 + 1);
  size_t entries = 0;
  for (size_t b = 0; b < p->bands; ++b) {
    const int32_t first = p->edges[2 * b], end = p->edges[2 * b + 1];
    if (first < 0 || end < first || end > bins) {
      return duspar_fail(DUSPAR_INVALID,
                         "`edges` of filter %zu must rise from 0 to at most "
                         "%d, not %d to %d",
                         b, (int)bins, (int)first, (int)end);
    }
    entries += (size_t)(end - first);
  }
  if (entries == p->filter_size) return DUSPAR_OK;
  return duspar_fail(DUSPAR_INVALID,
                     "`filters` must have the %zu entries between their edges, "
                     "not %zu",
                     entries, p->filter_size);
}

static duspar_status check(const duspar_log_mel_parameters* p) {
  if (p->length < DUSPAR_MIN_FRAME || p->length > DUSPAR_MAX_FRAME ||
      (p->length & (p->length - 1)) != 0) {
    return duspar_fail(DUSPAR_INVALID,
                       "`window` must have a power of two from %d to %d "
                       "entries, not %zu",
                       DUSPAR_MIN_FRAME, DUSPAR_MAX_FRAME, p->length);
  }
  if (p->hop < 1 || p->bands < 1 || p->bands > INT32_MAX / 2) {
    return duspar_fail(DUSPAR_INVALID,
                       "`hop` and the number of bands must be at least 1, not "
                       "%zu and %zu",
                       p->hop, p->bands);
  }
  /* The logarithm of a smaller number would be wrong. */
  if (!(p->offset >= FLT_MIN && isfinite(p->offset))) {
    return duspar_fail(DUSPAR_INVALID,
                       "`offset` must be a finite number of at least %g, not "
                       "%g",
                       (double)FLT_MIN, (double)p->offset);
  }
  return check_filters(p);
}

duspar_log_mel* duspar_log_mel_create(const duspar_log_mel_parameters* p,
                                      const char* kernel) {
  const duspar_kernel* found = duspar_kernel_find(kernel);
  size_t packed = 0, scratch = 0;
  if (found == NULL || check(p) != DUSPAR_OK) return NULL;
  duspar_log_mel* made = calloc(1, sizeof *made);
  if (made == NULL || !found->log_mel.bytes(p, &packed, &scratch)) {
    duspar_fail_memory(sizeof *made);
    free(made);
    return NULL;
  }
  made->kernel = found;
  made->length = p->length;
  made->hop = p->hop;
  made->bands = p->bands;
  made->packed = duspar_allocate(packed);
  made->scratch = duspar_allocate(scratch);
  if (made->packed == NULL || made->scratch == NULL) {
    duspar_fail_memory(packed + scratch);
    duspar_log_mel_destroy(made);
    return NULL;
  }
  found->log_mel.pack(p, made->packed);
  return made;
}

void duspar_log_mel_destroy(duspar_log_mel* front_end) {
  if (front_end == NULL) return;
  duspar_release(front_end->packed);
  duspar_release(front_end->scratch);
  free(front_end);
}

size_t duspar_log_mel_frames(size_t length, size_t hop, size_t samples) {
  return samples < length ? 0 : (samples - length) / hop + 1;
}

void duspar_log_mel_execute(const duspar_log_mel* m, size_t batch,
                            size_t samples, const float* audio,
                            float* features) {
  const size_t frames = duspar_log_mel_frames(m->length, m->hop, samples);
  for (size_t b = 0; b < batch; ++b, audio += samples) {
    for (size_t t = 0; t < frames; ++t, features += m->bands) {
      m->kernel->log_mel.run(m->packed, audio + t * m->hop, features,
                             m->scratch);
    }
  }
}
