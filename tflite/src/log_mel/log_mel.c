#include "log_mel/log_mel.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "variants/variants.h"

struct duspar_log_mel {
  const duspar_variant* variant;
  size_t length, hop, bands;
  void* packed;
  void* scratch; /* of one thread */
  size_t scratch_bytes;
};

/* Fewer are done before a thread has started: about 0.2 ms. */
enum { FRAMES_A_THREAD = 256 };

duspar_log_mel* duspar_log_mel_create(const duspar_log_mel_parameters* p,
                                      const char* variant) {
  const duspar_variant* found = duspar_variant_find(variant);
  size_t packed = 0, scratch = 0;
  if (found == NULL || duspar_log_mel_check(p) != DUSPAR_OK) return NULL;
  duspar_log_mel* made = calloc(1, sizeof *made);
  if (made == NULL || !found->log_mel.bytes(p, &packed, &scratch)) {
    duspar_fail_memory(sizeof *made);
    free(made);
    return NULL;
  }
  made->variant = found;
  made->length = p->length;
  made->hop = p->hop;
  made->bands = p->bands;
  made->scratch_bytes = scratch;
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

/* What the threads of a run share. */
typedef struct parallel_run {
  const duspar_log_mel* front_end;
  size_t frames, samples, all; /* frames of a recording, and of all */
  const float* audio;
  float* features;
  char* scratch;
  size_t threads;
} parallel_run;

static void run_part(void* context, size_t part) {
  const parallel_run* run = context;
  const duspar_log_mel* m = run->front_end;
  const size_t end = (part + 1) * run->all / run->threads;
  char* scratch = run->scratch + part * m->scratch_bytes;
  for (size_t n = part * run->all / run->threads; n < end; ++n) {
    const size_t recording = n / run->frames, frame = n % run->frames;
    m->variant->log_mel.run(
        m->packed, run->audio + recording * run->samples + frame * m->hop,
        run->features + n * m->bands, scratch);
  }
}

void duspar_log_mel_execute(const duspar_log_mel* m, size_t batch,
                            size_t samples, const float* audio, float* features,
                            size_t threads) {
  const size_t frames = duspar_log_mel_frames(m->length, m->hop, samples);
  const size_t useful = batch * frames / FRAMES_A_THREAD;
  parallel_run run = {m,     frames,   samples,    batch * frames,
                      audio, features, m->scratch, 1};
  if (threads > DUSPAR_MAX_THREADS) threads = DUSPAR_MAX_THREADS;
  if (threads > useful) threads = useful;
  void* more = NULL;
  if (threads > 1) more = duspar_allocate(threads * m->scratch_bytes);
  if (more != NULL) {
    run.scratch = more;
    run.threads = threads;
  }
  duspar_parallel(run.threads, run.threads, run_part, &run);
  duspar_release(more);
}
