/* Interpreter.java over TFLite's C library. */
#include <jni.h>
#include <stdint.h>
#include <stdlib.h>

#include "tensorflow/lite/c/c_api.h"

#define NAME(function) Java_org_tensorflow_lite_Interpreter_##function

/* Of TFLite's experimental header, which is not at hand. */
int32_t TfLiteInterpreterGetInputTensorIndex(const TfLiteInterpreter*, int32_t);
int32_t TfLiteInterpreterGetOutputTensorIndex(const TfLiteInterpreter*,
                                              int32_t);

typedef struct running {
  TfLiteModel* model;
  TfLiteInterpreter* interpreter;
} running;

static running* from(jlong handle) { return (running*)(intptr_t)handle; }

static void fail(JNIEnv* env, const char* message) {
  (*env)->ThrowNew(env,
                   (*env)->FindClass(env, "java/lang/IllegalArgumentException"),
                   message);
}

JNIEXPORT jlong NAME(create)(JNIEnv* env, jclass type, jobject model,
                             jlongArray delegates, jint threads) {
  (void)type;
  running* r = calloc(1, sizeof *r);
  TfLiteInterpreterOptions* options = TfLiteInterpreterOptionsCreate();
  TfLiteInterpreterOptionsSetNumThreads(options, threads);
  jlong* handles = (*env)->GetLongArrayElements(env, delegates, NULL);
  for (jsize i = 0; i < (*env)->GetArrayLength(env, delegates); ++i) {
    TfLiteInterpreterOptionsAddDelegate(options,
                                        (TfLiteDelegate*)(intptr_t)handles[i]);
  }
  (*env)->ReleaseLongArrayElements(env, delegates, handles, JNI_ABORT);
  r->model =
      TfLiteModelCreate((*env)->GetDirectBufferAddress(env, model),
                        (size_t)(*env)->GetDirectBufferCapacity(env, model));
  if (r->model != NULL) {
    r->interpreter = TfLiteInterpreterCreate(r->model, options);
  }
  TfLiteInterpreterOptionsDelete(options);
  if (r->interpreter == NULL ||
      TfLiteInterpreterAllocateTensors(r->interpreter) != kTfLiteOk) {
    fail(env, "the file cannot be run");
  }
  return (jlong)(intptr_t)r;
}

JNIEXPORT void NAME(destroy)(JNIEnv* env, jclass type, jlong handle) {
  (void)env, (void)type;
  running* r = from(handle);
  TfLiteInterpreterDelete(r->interpreter);
  TfLiteModelDelete(r->model);
  free(r);
}

JNIEXPORT jintArray NAME(tensors)(JNIEnv* env, jclass type, jlong handle,
                                  jboolean output) {
  (void)type;
  const TfLiteInterpreter* i = from(handle)->interpreter;
  const jsize count = output ? TfLiteInterpreterGetOutputTensorCount(i)
                             : TfLiteInterpreterGetInputTensorCount(i);
  jintArray all = (*env)->NewIntArray(env, count);
  for (jint at = 0; at < count; ++at) {
    const jint index = output ? TfLiteInterpreterGetOutputTensorIndex(i, at)
                              : TfLiteInterpreterGetInputTensorIndex(i, at);
    (*env)->SetIntArrayRegion(env, all, at, 1, &index);
  }
  return all;
}

static const TfLiteTensor* tensor(jlong handle, jboolean output, jint place) {
  const TfLiteInterpreter* i = from(handle)->interpreter;
  return output ? TfLiteInterpreterGetOutputTensor(i, place)
                : TfLiteInterpreterGetInputTensor(i, place);
}

JNIEXPORT jint NAME(size)(JNIEnv* env, jclass type, jlong handle,
                          jboolean output, jint place) {
  (void)env, (void)type;
  return (jint)TfLiteTensorByteSize(tensor(handle, output, place));
}

JNIEXPORT jobject NAME(data)(JNIEnv* env, jclass type, jlong handle,
                             jboolean output, jint place) {
  (void)type;
  const TfLiteTensor* t = tensor(handle, output, place);
  return (*env)->NewDirectByteBuffer(env, TfLiteTensorData(t),
                                     (jlong)TfLiteTensorByteSize(t));
}

JNIEXPORT void NAME(invoke)(JNIEnv* env, jclass type, jlong handle) {
  (void)type;
  if (TfLiteInterpreterInvoke(from(handle)->interpreter) != kTfLiteOk) {
    fail(env, "the file failed to run");
  }
}
