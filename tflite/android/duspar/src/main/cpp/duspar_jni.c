/* What Native.kt declares, over duspar.h.
 *
 * Texts go to Kotlin as bytes of UTF-8: JNI's own texts have another encoding.
 */
#include <jni.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "duspar.h"

#define COUNT(array) ((jsize)(sizeof(array) / sizeof *(array)))

/* Throws the library's last error. */
static void throw_error(JNIEnv* env) {
  char message[512];
  strncpy(message, duspar_last_error(), sizeof message - 1);
  message[sizeof message - 1] = '\0';
  for (char* c = message; *c != '\0'; ++c) {
    if ((unsigned char)*c >= 0x80) *c = '?';
  }
  jclass type = (*env)->FindClass(env, "java/lang/IllegalArgumentException");
  if (type != NULL) (*env)->ThrowNew(env, type, message);
}

static struct TfLiteDelegate* from_handle(jlong handle) {
  return (struct TfLiteDelegate*)(intptr_t)handle;
}

static jbyteArray to_bytes(JNIEnv* env, const char* text, size_t size) {
  jbyteArray bytes = (*env)->NewByteArray(env, (jsize)size);
  if (bytes != NULL) {
    (*env)->SetByteArrayRegion(env, bytes, 0, (jsize)size, (const jbyte*)text);
  }
  return bytes;
}

/* A copy of the bytes with a NUL at the end, or NULL. */
static char* from_bytes(JNIEnv* env, jbyteArray bytes) {
  const jsize size = (*env)->GetArrayLength(env, bytes);
  char* text = malloc((size_t)size + 1);
  if (text == NULL) return NULL;
  (*env)->GetByteArrayRegion(env, bytes, 0, size, (jbyte*)text);
  text[size] = '\0';
  return text;
}

static jlong create(JNIEnv* env, jclass type, jbyteArray kernel) {
  (void)type;
  const char* keys[] = {"kernel"};
  char* name = NULL;
  if (kernel != NULL) {
    name = from_bytes(env, kernel);
    if (name == NULL) return 0;
  }
  const char* values[] = {name};
  struct TfLiteDelegate* delegate =
      duspar_delegate_create(keys, values, name != NULL);
  free(name);
  if (delegate == NULL) throw_error(env);
  return (jlong)(intptr_t)delegate;
}

static void destroy(JNIEnv* env, jclass type, jlong handle) {
  (void)env, (void)type;
  duspar_delegate_destroy(from_handle(handle));
}

static jint count(JNIEnv* env, jclass type, jlong handle) {
  (void)env, (void)type;
  return (jint)duspar_delegate_operator_count(from_handle(handle));
}

/* Describes an operator, or throws and returns false. */
static bool describe(JNIEnv* env, jlong handle, jint index,
                     duspar_operator* op) {
  const bool found = duspar_delegate_operator(from_handle(handle),
                                              (size_t)index, op) == DUSPAR_OK;
  if (!found) throw_error(env);
  return found;
}

/* Layer, operator, kernel and the operands' names, a NUL between them. */
static jbyteArray texts(JNIEnv* env, jclass type, jlong handle, jint index) {
  (void)type;
  duspar_operator op;
  if (!describe(env, handle, index, &op)) return NULL;
  const char* all[] = {op.layer, op.op, op.kernel, NULL, NULL};
  char joined[512];
  size_t size = 0;
  for (int o = 0; o < op.operand_count; ++o) all[3 + o] = op.operands[o].name;
  for (int i = 0; i < 3 + op.operand_count; ++i) {
    const size_t length = strlen(all[i]);
    if (length >= sizeof joined - size) break;
    if (i > 0) joined[size++] = '\0';
    memcpy(joined + size, all[i], length);
    size += length;
  }
  return to_bytes(env, joined, size);
}

/* Features, units, invocations and steps; then size, fan, non-zeros and
 * entries of each operand. */
static jlongArray numbers(JNIEnv* env, jclass type, jlong handle, jint index) {
  (void)type;
  duspar_operator op;
  if (!describe(env, handle, index, &op)) return NULL;
  jlong all[12] = {op.features, op.units, (jlong)op.invocations,
                   (jlong)op.steps};
  jsize size = 4;
  for (int o = 0; o < op.operand_count; ++o) {
    all[size++] = op.operands[o].size;
    all[size++] = op.operands[o].fan;
    all[size++] = (jlong)op.operands[o].nonzeros;
    all[size++] = (jlong)op.operands[o].entries;
  }
  jlongArray array = (*env)->NewLongArray(env, size);
  if (array != NULL) (*env)->SetLongArrayRegion(env, array, 0, size, all);
  return array;
}

static void reset(JNIEnv* env, jclass type, jlong handle, jint index) {
  (void)type;
  if (duspar_delegate_reset(from_handle(handle), (size_t)index) != DUSPAR_OK) {
    throw_error(env);
  }
}

static jbyteArray metadata(JNIEnv* env, jclass type, jobject file,
                           jbyteArray name) {
  (void)type;
  const void* bytes = (*env)->GetDirectBufferAddress(env, file);
  const jlong size = (*env)->GetDirectBufferCapacity(env, file);
  const char* content = NULL;
  size_t length = 0;
  char* key = from_bytes(env, name);
  const duspar_status status = duspar_file_metadata(
      bytes, size > 0 ? (size_t)size : 0, key, &content, &length);
  free(key);
  if (status != DUSPAR_OK) throw_error(env);
  return content != NULL ? to_bytes(env, content, length) : NULL;
}

static jlong detector_create(JNIEnv* env, jclass type, jdoubleArray thresholds,
                             jdouble seconds, jdouble window, jdouble smoothing,
                             jdouble refractory) {
  (void)type;
  const jsize count = (*env)->GetArrayLength(env, thresholds);
  jdouble* values = (*env)->GetDoubleArrayElements(env, thresholds, NULL);
  if (values == NULL) return 0;
  const duspar_detector_settings settings = {
      (size_t)count, NULL, values, seconds, window, smoothing, refractory};
  duspar_detector* detector = duspar_detector_create(&settings);
  (*env)->ReleaseDoubleArrayElements(env, thresholds, values, JNI_ABORT);
  if (detector == NULL) throw_error(env);
  return (jlong)(intptr_t)detector;
}

/* Class, start, end and confidence of an event, or NULL. */
static jdoubleArray detector_step(JNIEnv* env, jclass type, jlong handle,
                                  jfloatArray scores) {
  (void)type;
  duspar_event event;
  jfloat* values = (*env)->GetFloatArrayElements(env, scores, NULL);
  if (values == NULL) return NULL;
  const int32_t heard =
      duspar_detector_step((duspar_detector*)(intptr_t)handle, values, &event);
  (*env)->ReleaseFloatArrayElements(env, scores, values, JNI_ABORT);
  if (!heard) return NULL;
  const jdouble all[] = {(jdouble)event.index, event.start, event.end,
                         event.confidence};
  jdoubleArray found = (*env)->NewDoubleArray(env, COUNT(all));
  if (found != NULL) {
    (*env)->SetDoubleArrayRegion(env, found, 0, COUNT(all), all);
  }
  return found;
}

static void detector_reset(JNIEnv* env, jclass type, jlong handle) {
  (void)env, (void)type;
  duspar_detector_reset((duspar_detector*)(intptr_t)handle);
}

static void detector_destroy(JNIEnv* env, jclass type, jlong handle) {
  (void)env, (void)type;
  duspar_detector_destroy((duspar_detector*)(intptr_t)handle);
}

static duspar_input* input_of(jlong handle) {
  return (duspar_input*)(intptr_t)handle;
}

static jlong input_create(JNIEnv* env, jclass type, jint rate, jint model_rate,
                          jint samples) {
  (void)type;
  const duspar_input_settings settings = {rate, model_rate, (size_t)samples, 0};
  duspar_input* input = duspar_input_create(&settings);
  if (input == NULL) throw_error(env);
  return (jlong)(intptr_t)input;
}

static jint input_push(JNIEnv* env, jclass type, jlong handle,
                       jfloatArray samples, jint start) {
  (void)type;
  const jsize count = (*env)->GetArrayLength(env, samples) - start;
  jfloat* values = (*env)->GetFloatArrayElements(env, samples, NULL);
  if (values == NULL) return 0;
  const size_t taken =
      duspar_input_push(input_of(handle), values + start, (size_t)count);
  (*env)->ReleaseFloatArrayElements(env, samples, values, JNI_ABORT);
  return (jint)taken;
}

static jint input_push_shorts(JNIEnv* env, jclass type, jlong handle,
                              jshortArray samples, jint start) {
  (void)type;
  const jsize count = (*env)->GetArrayLength(env, samples) - start;
  jshort* values = (*env)->GetShortArrayElements(env, samples, NULL);
  if (values == NULL) return 0;
  const size_t taken =
      duspar_input_push_int16(input_of(handle), values + start, (size_t)count);
  (*env)->ReleaseShortArrayElements(env, samples, values, JNI_ABORT);
  return (jint)taken;
}

static jboolean input_pull(JNIEnv* env, jclass type, jlong handle,
                           jfloatArray chunk) {
  (void)type;
  jfloat* values = (*env)->GetFloatArrayElements(env, chunk, NULL);
  if (values == NULL) return JNI_FALSE;
  const int32_t full = duspar_input_pull(input_of(handle), values);
  (*env)->ReleaseFloatArrayElements(env, chunk, values, full ? 0 : JNI_ABORT);
  return full ? JNI_TRUE : JNI_FALSE;
}

static void input_reset(JNIEnv* env, jclass type, jlong handle) {
  (void)env, (void)type;
  duspar_input_reset(input_of(handle));
}

static void input_destroy(JNIEnv* env, jclass type, jlong handle) {
  (void)env, (void)type;
  duspar_input_destroy(input_of(handle));
}

static jbyteArray version(JNIEnv* env, jclass type) {
  (void)type;
  return to_bytes(env, duspar_version(), strlen(duspar_version()));
}

static jbyteArray features(JNIEnv* env, jclass type) {
  (void)type;
  const char* text = duspar_cpu_features();
  return to_bytes(env, text, strlen(text));
}

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* machine, void* reserved) {
  (void)reserved;
  static const JNINativeMethod methods[] = {
      {"create", "([B)J", (void*)create},
      {"destroy", "(J)V", (void*)destroy},
      {"count", "(J)I", (void*)count},
      {"texts", "(JI)[B", (void*)texts},
      {"numbers", "(JI)[J", (void*)numbers},
      {"reset", "(JI)V", (void*)reset},
      {"metadata", "(Ljava/nio/ByteBuffer;[B)[B", (void*)metadata},
      {"detectorCreate", "([DDDDD)J", (void*)detector_create},
      {"detectorStep", "(J[F)[D", (void*)detector_step},
      {"detectorReset", "(J)V", (void*)detector_reset},
      {"detectorDestroy", "(J)V", (void*)detector_destroy},
      {"inputCreate", "(III)J", (void*)input_create},
      {"inputPush", "(J[FI)I", (void*)input_push},
      {"inputPushShorts", "(J[SI)I", (void*)input_push_shorts},
      {"inputPull", "(J[F)Z", (void*)input_pull},
      {"inputReset", "(J)V", (void*)input_reset},
      {"inputDestroy", "(J)V", (void*)input_destroy},
      {"version", "()[B", (void*)version},
      {"features", "()[B", (void*)features},
  };
  JNIEnv* env = NULL;
  if ((*machine)->GetEnv(machine, (void**)&env, JNI_VERSION_1_6) != JNI_OK) {
    return JNI_ERR;
  }
  jclass type = (*env)->FindClass(env, "io/github/kerasduspar/Native");
  if (type == NULL ||
      (*env)->RegisterNatives(env, type, methods, COUNT(methods)) != 0) {
    return JNI_ERR;
  }
  return JNI_VERSION_1_6;
}
