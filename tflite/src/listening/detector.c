/* Events from scores: detectors and what makes them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/json.h"
#include "duspar.h"

#define REAL double
#define REAL_EXP(x) exp(x)
#include "listening/decisions_template.h"

enum { MOST_CLASSES = 65536, MOST_STEPS = 65536 };

struct duspar_detector {
  decisions decisions;
  size_t classes;
  double seconds, window;
  double* thresholds;
  char** labels;
};

void duspar_detector_destroy(duspar_detector* detector) {
  if (detector == NULL) return;
  if (detector->labels != NULL) {
    for (size_t i = 0; i < detector->classes; ++i) free(detector->labels[i]);
  }
  free(detector->labels);
  free(detector->thresholds);
  free(detector->decisions.ring);
  free(detector);
}

void duspar_detector_reset(duspar_detector* detector) {
  decisions_reset(&detector->decisions);
}

static bool check(const duspar_detector_settings* s) {
  if (s == NULL || s->thresholds == NULL || s->classes < 1 ||
      s->classes > MOST_CLASSES) {
    duspar_fail(DUSPAR_INVALID,
                "`settings` must have 1 to %d `classes` and their "
                "`thresholds`.",
                MOST_CLASSES);
    return false;
  }
  for (size_t i = 0; i < s->classes; ++i) {
    const double t = s->thresholds[i];
    if (isnan(t) || (t > 0 && t <= 1)) continue;
    duspar_fail(DUSPAR_INVALID,
                "`thresholds` must be above 0 and at most 1, or NaN. "
                "Received: %g.",
                t);
    return false;
  }
  /* Negated, so that NaN fails. */
  if (!(s->seconds > 0) || !(s->window > 0) || !(s->smoothing >= 0) ||
      !(s->refractory >= 0) || !(s->smoothing / s->seconds < MOST_STEPS) ||
      !(s->window < 1e9) || !(s->refractory < 1e9) || !(s->seconds < 1e9) ||
      !(s->seconds > 1e-9)) {
    duspar_fail(DUSPAR_INVALID,
                "`seconds` and `window` must be positive, `smoothing` and "
                "`refractory` not negative. Received: %g, %g, %g, %g.",
                s->seconds, s->window, s->smoothing, s->refractory);
    return false;
  }
  return true;
}

/* A copy of a text, or the number of a class if there is none. */
static char* copy_label(const char* label, size_t index) {
  char number[24];
  snprintf(number, sizeof number, "%zu", index);
  if (label == NULL) label = number;
  const size_t size = strlen(label) + 1;
  char* copy = malloc(size);
  return copy == NULL ? NULL : memcpy(copy, label, size);
}

duspar_detector* duspar_detector_create(const duspar_detector_settings* s) {
  if (!check(s)) return NULL;
  duspar_detector* detector = calloc(1, sizeof *detector);
  if (detector == NULL) goto no_memory;
  const double steps = rint(s->smoothing / s->seconds);
  decisions* d = &detector->decisions;
  detector->classes = s->classes;
  d->classes = (int32_t)s->classes;
  d->steps = steps < 1 ? 1 : (int32_t)steps;
  d->quiet = (int64_t)rint(s->refractory / s->seconds);
  detector->seconds = s->seconds;
  detector->window = s->window;
  d->thresholds = detector->thresholds = malloc(s->classes * sizeof(double));
  d->ring = malloc((size_t)d->steps * s->classes * sizeof(double));
  detector->labels = calloc(s->classes, sizeof(char*));
  if (detector->thresholds == NULL || d->ring == NULL ||
      detector->labels == NULL) {
    goto no_memory;
  }
  memcpy(detector->thresholds, s->thresholds, s->classes * sizeof(double));
  for (size_t i = 0; i < s->classes; ++i) {
    detector->labels[i] =
        copy_label(s->labels == NULL ? NULL : s->labels[i], i);
    if (detector->labels[i] == NULL) goto no_memory;
  }
  duspar_detector_reset(detector);
  return detector;
no_memory:
  duspar_detector_destroy(detector);
  duspar_fail_memory(s->classes);
  return NULL;
}

size_t duspar_detector_classes(const duspar_detector* detector) {
  return detector->classes;
}

int32_t duspar_detector_step(duspar_detector* detector, const float* scores,
                             duspar_event* event) {
  double confidence;
  const int32_t word =
      decisions_step(&detector->decisions, scores, &confidence);
  if (word == DECISIONS_NOTHING) return 0;
  event->index = (size_t)word;
  event->word = detector->labels[word];
  event->end = (double)detector->decisions.step * detector->seconds;
  event->start = fmax(0, event->end - detector->window);
  event->confidence = confidence;
  return 1;
}

/* Sets `*number` to a member of an object, if it is a number. */
static bool read_number(json_value object, const char* name, double* number) {
  json_value value;
  return duspar_json_member(object, name, &value) &&
         duspar_json_number(value, number);
}

/* Reads thresholds, or counts them if `thresholds` is NULL. */
static size_t read_thresholds(json_value list, double* thresholds) {
  json_value item = {NULL, NULL};
  size_t count = 0;
  while (duspar_json_next(list, NULL, &item)) {
    double number = NAN;
    duspar_json_number(item, &number);
    if (thresholds != NULL) thresholds[count] = number;
    ++count;
  }
  return count;
}

/* Texts of labels that belong to the caller; those left out are NULL. */
static bool read_labels(json_value list, char** labels, size_t count) {
  json_value item = {NULL, NULL};
  for (size_t i = 0; i < count && duspar_json_next(list, NULL, &item); ++i) {
    const long length = duspar_json_text(item, NULL, 0);
    if (length < 0) continue;
    labels[i] = malloc((size_t)length + 1);
    if (labels[i] == NULL) return false;
    duspar_json_text(item, labels[i], (size_t)length + 1);
  }
  return true;
}

duspar_detector* duspar_detector_from_file(const void* bytes, size_t size) {
  const char* text;
  size_t length;
  json_value about, settings, list;
  double rate, hop, frames;
  duspar_detector_settings s = {0};
  if (duspar_file_metadata(bytes, size, DUSPAR_METADATA, &text, &length) !=
      DUSPAR_OK) {
    return NULL;
  }
  if (text == NULL || !duspar_json_parse(text, length, &about) ||
      !duspar_json_member(about, "detector", &settings) ||
      !duspar_json_member(settings, "thresholds", &list) ||
      !read_number(settings, "window", &s.window) ||
      !read_number(settings, "smoothing", &s.smoothing) ||
      !read_number(settings, "refractory", &s.refractory) ||
      !read_number(about, "sample_rate", &rate) ||
      !read_number(about, "hop", &hop) ||
      !read_number(about, "frames", &frames)) {
    duspar_fail(DUSPAR_INVALID,
                "`bytes` must be a streaming file that keras_duspar has "
                "converted with `window`.");
    return NULL;
  }
  s.seconds = frames * hop / rate;
  s.classes = read_thresholds(list, NULL);
  duspar_detector* detector = NULL;
  double* thresholds = malloc((s.classes + 1) * sizeof *thresholds);
  char** labels = calloc(s.classes + 1, sizeof *labels);
  if (thresholds == NULL || labels == NULL) {
    duspar_fail_memory(s.classes);
    goto done;
  }
  read_thresholds(list, thresholds);
  s.thresholds = thresholds;
  s.labels = (const char* const*)labels;
  if (duspar_json_member(about, "labels", &list) &&
      !read_labels(list, labels, s.classes)) {
    duspar_fail_memory(s.classes);
    goto done;
  }
  detector = duspar_detector_create(&s);
done:
  for (size_t i = 0; labels != NULL && i < s.classes; ++i) free(labels[i]);
  free(labels);
  free(thresholds);
  return detector;
}
