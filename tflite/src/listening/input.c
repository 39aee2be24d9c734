/* A ring between the thread that records and the one that runs the model. */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/memory.h"
#include "duspar.h"
#include "listening/rates.h"

#if defined(_WIN32)
#include <windows.h>
typedef HANDLE thread;
#else
#include <pthread.h>
#include <time.h>
typedef pthread_t thread;
#endif

enum { PIECE = 256 /* samples that are resampled at once */ };

struct duspar_input {
  /* Each index is written by one side, on cache lines of its own. */
  _Alignas(DUSPAR_ALIGNMENT) atomic_size_t pushed;
  atomic_uint_least64_t dropped;
  _Alignas(DUSPAR_ALIGNMENT) atomic_size_t pulled;
  _Alignas(DUSPAR_ALIGNMENT) size_t capacity; /* a power of two */
  float* ring;
  duspar_resampler* resampler; /* NULL if the rates are equal */
  float* waiting;              /* at the model's rate, not yet a chunk */
  size_t waiting_count, samples;
  double pause; /* seconds that the worker sleeps */
  duspar_chunk_function* function;
  void* user;
  float* chunk;
  atomic_bool stop;
  int32_t running;
  thread worker;
};

duspar_input* duspar_input_create(const duspar_input_settings* s) {
  if (s == NULL || s->rate < DUSPAR_LOWEST_RATE ||
      s->rate > DUSPAR_HIGHEST_RATE || s->model_rate < DUSPAR_LOWEST_RATE ||
      s->model_rate > DUSPAR_HIGHEST_RATE || s->samples < 1 ||
      s->samples > (size_t)1 << 24 || !(s->seconds >= 0) ||
      !(s->seconds <= 3600)) {
    duspar_fail(DUSPAR_INVALID,
                "`settings` must have rates from %d to %d, a chunk of at "
                "least one sample, and 0 to 3600 seconds.",
                DUSPAR_LOWEST_RATE, DUSPAR_HIGHEST_RATE);
    return NULL;
  }
  duspar_input* input = duspar_allocate(sizeof *input);
  if (input == NULL) goto no_memory;
  memset(input, 0, sizeof *input);
  const double seconds = s->seconds > 0 ? s->seconds : 1;
  /* More than a chunk, or none would ever be full. */
  const double needed =
      seconds * s->rate + 2.0 * (double)s->samples * s->rate / s->model_rate;
  for (input->capacity = PIECE; (double)input->capacity < needed;) {
    input->capacity *= 2;
  }
  size_t piece = PIECE;
  if (s->rate != s->model_rate) {
    input->resampler = duspar_resampler_create(s->rate, s->model_rate);
    if (input->resampler == NULL) goto failed;
    piece = duspar_resampler_room(input->resampler, PIECE);
  }
  input->samples = s->samples;
  input->pause = 0.5 * (double)s->samples / s->model_rate;
  input->ring = duspar_allocate(input->capacity * sizeof(float));
  input->waiting = duspar_allocate((s->samples + piece) * sizeof(float));
  input->chunk = duspar_allocate(s->samples * sizeof(float));
  if (input->ring == NULL || input->waiting == NULL || input->chunk == NULL) {
    goto no_memory;
  }
  return input;
no_memory:
  duspar_fail_memory(s->samples);
failed:
  duspar_input_destroy(input);
  return NULL;
}

void duspar_input_destroy(duspar_input* input) {
  if (input == NULL) return;
  duspar_resampler_destroy(input->resampler);
  duspar_release(input->ring);
  duspar_release(input->waiting);
  duspar_release(input->chunk);
  duspar_release(input);
}

/* How many of `count` samples there is room for; the others are dropped. */
static size_t reserve(duspar_input* input, size_t count, size_t* start) {
  const size_t pulled =
      atomic_load_explicit(&input->pulled, memory_order_acquire);
  *start = atomic_load_explicit(&input->pushed, memory_order_relaxed);
  const size_t room = input->capacity - (*start - pulled);
  if (count <= room) return count;
  atomic_fetch_add_explicit(&input->dropped, count - room,
                            memory_order_relaxed);
  return room;
}

static void publish(duspar_input* input, size_t end) {
  atomic_store_explicit(&input->pushed, end, memory_order_release);
}

size_t duspar_input_push(duspar_input* input, const float* samples,
                         size_t count) {
  size_t start;
  count = reserve(input, count, &start);
  for (size_t i = 0; i < count; ++i) {
    const float x = samples[i];
    /* NaN is neither above nor below. */
    const float taken = x >= 1 ? 1 : x <= -1 ? -1 : x == x ? x : 0;
    input->ring[(start + i) & (input->capacity - 1)] = taken;
  }
  publish(input, start + count);
  return count;
}

size_t duspar_input_push_int16(duspar_input* input, const int16_t* samples,
                               size_t count) {
  size_t start;
  count = reserve(input, count, &start);
  for (size_t i = 0; i < count; ++i) {
    input->ring[(start + i) & (input->capacity - 1)] =
        (float)samples[i] / 32768.0f;
  }
  publish(input, start + count);
  return count;
}

uint64_t duspar_input_dropped(const duspar_input* input) {
  return atomic_load_explicit(&input->dropped, memory_order_relaxed);
}

int32_t duspar_input_pull(duspar_input* input, float* chunk) {
  const size_t pushed =
      atomic_load_explicit(&input->pushed, memory_order_acquire);
  size_t pulled = atomic_load_explicit(&input->pulled, memory_order_relaxed);
  while (input->waiting_count < input->samples && pulled != pushed) {
    float piece[PIECE];
    const size_t count = pushed - pulled < PIECE ? pushed - pulled : PIECE;
    for (size_t i = 0; i < count; ++i) {
      piece[i] = input->ring[(pulled + i) & (input->capacity - 1)];
    }
    float* end = input->waiting + input->waiting_count;
    if (input->resampler == NULL) {
      memcpy(end, piece, count * sizeof *piece);
      input->waiting_count += count;
    } else {
      input->waiting_count +=
          duspar_resampler_run(input->resampler, piece, count, end);
    }
    pulled += count;
    atomic_store_explicit(&input->pulled, pulled, memory_order_release);
  }
  if (input->waiting_count < input->samples) return 0;
  memcpy(chunk, input->waiting, input->samples * sizeof *chunk);
  input->waiting_count -= input->samples;
  memmove(input->waiting, input->waiting + input->samples,
          input->waiting_count * sizeof *chunk);
  return 1;
}

void duspar_input_reset(duspar_input* input) {
  atomic_store(&input->pulled, atomic_load(&input->pushed));
  input->waiting_count = 0;
  if (input->resampler != NULL) duspar_resampler_reset(input->resampler);
}

static void sleep_for(double seconds) {
#if defined(_WIN32)
  Sleep((DWORD)(seconds * 1000));
#else
  const struct timespec time = {(time_t)seconds,
                                (long)((seconds - (time_t)seconds) * 1e9)};
  nanosleep(&time, NULL);
#endif
}

#if defined(_WIN32)
static DWORD WINAPI work(LPVOID argument) {
#else
static void* work(void* argument) {
#endif
  duspar_input* input = argument;
  for (;;) {
    /* Read first: what was pushed before the end is still heard. */
    const bool last = atomic_load(&input->stop);
    while (duspar_input_pull(input, input->chunk)) {
      input->function(input->user, input->chunk);
    }
    if (last) return 0;
    sleep_for(input->pause);
  }
}

duspar_status duspar_input_start(duspar_input* input,
                                 duspar_chunk_function* function, void* user) {
  if (function == NULL || input->running) {
    return duspar_fail(DUSPAR_INVALID,
                       "`function` must not be NULL, and the worker must not "
                       "run already.");
  }
  input->function = function;
  input->user = user;
  atomic_store(&input->stop, false);
#if defined(_WIN32)
  input->worker = CreateThread(NULL, 0, work, input, 0, NULL);
  input->running = input->worker != NULL;
#else
  input->running = pthread_create(&input->worker, NULL, work, input) == 0;
#endif
  if (input->running) return DUSPAR_OK;
  return duspar_fail(DUSPAR_NO_MEMORY, "A thread could not be made.");
}

void duspar_input_stop(duspar_input* input) {
  if (!input->running) return;
  atomic_store(&input->stop, true);
#if defined(_WIN32)
  WaitForSingleObject(input->worker, INFINITE);
  CloseHandle(input->worker);
#else
  pthread_join(input->worker, NULL);
#endif
  input->running = 0;
}
