/* The thread that records never waits: pushing, and the detector's step,
 * neither allocate nor lock nor make a system call; and nothing is lost on the
 * way to the worker. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "check.h"
#include "duspar.h"

enum { CHUNK = 160, TOTAL = 1 << 18 };

static atomic_int calls; /* of functions that must not be called */

#if defined(WRAPPED)
/* The linker sends the objects' calls to __wrap_X, and __real_X is X. */
#define WRAP(result, name, parameters, arguments) \
  result __real_##name parameters;                \
  result __wrap_##name parameters;                \
  result __wrap_##name parameters {               \
    atomic_fetch_add(&calls, 1);                  \
    return __real_##name arguments;               \
  }
WRAP(void*, malloc, (size_t size), (size))
WRAP(void*, calloc, (size_t count, size_t size), (count, size))
WRAP(void*, aligned_alloc, (size_t line, size_t size), (line, size))
WRAP(int, posix_memalign, (void** memory, size_t line, size_t size),
     (memory, line, size))
WRAP(void, free, (void* memory), (memory))
WRAP(int, pthread_mutex_lock, (pthread_mutex_t * mutex), (mutex))
#endif

static duspar_input* make_input(int32_t rate, double seconds) {
  const duspar_input_settings settings = {rate, 16000, CHUNK, seconds};
  duspar_input* input = duspar_input_create(&settings);
  CHECK(input != NULL, "%s", duspar_last_error());
  return input;
}

static duspar_detector* make_detector(void) {
  static const double thresholds[] = {0.5, 0.5, 0.5};
  const duspar_detector_settings settings = {3,   NULL, thresholds, 0.01,
                                             1.0, 0.1,  0.5};
  duspar_detector* detector = duspar_detector_create(&settings);
  CHECK(detector != NULL, "%s", duspar_last_error());
  return detector;
}

/* Pushes and pulls seconds of sound, and takes steps. */
static void listen(duspar_input* input, duspar_detector* detector) {
  float samples[480], chunk[CHUNK];
  int16_t integers[480];
  duspar_event event;
  for (int i = 0; i < 480; ++i) {
    samples[i] = (float)uniform();
    integers[i] = (int16_t)(samples[i] * 32767);
  }
  for (int round = 0; round < 500; ++round) {
    duspar_input_push(input, samples, (size_t)round % 480);
    duspar_input_push_int16(input, integers, (size_t)(round * 7) % 480);
    while (duspar_input_pull(input, chunk)) {
      duspar_detector_step(detector, chunk, &event);
    }
  }
}

static void test_calls(void) {
  duspar_input* input = make_input(48000, 0.5);
  duspar_detector* detector = make_detector();
#if defined(WRAPPED)
  CHECK(atomic_load(&calls) > 0, "the functions are not seen");
#endif
  atomic_store(&calls, 0);
  listen(input, detector);
  CHECK(atomic_load(&calls) == 0, "%d calls", atomic_load(&calls));
  duspar_input_destroy(input);
  duspar_detector_destroy(detector);
}

/* In a process that the kernel ends at the first system call but for read,
 * write and exit. */
static void test_system_calls(void) {
#if defined(__linux__)
  duspar_input* input = make_input(44100, 0.5);
  duspar_detector* detector = make_detector();
  const pid_t child = fork();
  if (child == 0) {
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) _exit(2);
    listen(input, detector);
    syscall(SYS_exit, 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 2) {
    printf("no seccomp here: system calls are not tested\n");
  } else {
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0,
          "a system call, status %d", status);
  }
  duspar_input_destroy(input);
  duspar_detector_destroy(detector);
#endif
}

typedef struct received {
  uint32_t next; /* number of the next sample */
  uint32_t wrong;
} received;

/* Samples are their number within 2^15, as 16-bit integers. */
static void check_chunk(void* user, const float* chunk) {
  received* r = user;
  for (int i = 0; i < CHUNK; ++i, ++r->next) {
    r->wrong += chunk[i] != (float)(r->next & 0x7fff) / 32768.0f;
  }
}

/* One thread pushes while the worker pulls. */
static void test_worker(void) {
  duspar_input* input = make_input(16000, 0.1);
  received r = {0, 0};
  int16_t block[1000];
  uint32_t pushed = 0;
  CHECK(duspar_input_start(input, NULL, NULL) == DUSPAR_INVALID, "NULL");
  CHECK(duspar_input_start(input, check_chunk, &r) == DUSPAR_OK, "%s",
        duspar_last_error());
  CHECK(duspar_input_start(input, check_chunk, &r) == DUSPAR_INVALID, "twice");
  while (pushed < TOTAL) {
    const size_t count = bits32() % 1000;
    for (size_t i = 0; i < count; ++i) {
      block[i] = (int16_t)((pushed + i) & 0x7fff);
    }
    for (size_t done = 0; done < count;) { /* again what had no room */
      const size_t taken =
          duspar_input_push_int16(input, block + done, count - done);
      if (taken == 0) sched_yield();
      done += taken;
    }
    pushed += (uint32_t)count;
  }
  duspar_input_stop(input);
  duspar_input_stop(input);
  CHECK(r.wrong == 0, "%u samples", r.wrong);
  CHECK(r.next == pushed / CHUNK * CHUNK, "%u of %u", r.next, pushed);
  /* It may be started again, and goes on. */
  CHECK(duspar_input_start(input, check_chunk, &r) == DUSPAR_OK, "again");
  duspar_input_stop(input);
  duspar_input_destroy(input);
}

int main(void) {
  test_calls();
  test_system_calls();
  test_worker();
  if (failures == 0) printf("input: all passed\n");
  return failures != 0;
}
