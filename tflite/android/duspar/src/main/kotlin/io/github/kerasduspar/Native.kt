package io.github.kerasduspar

import java.nio.ByteBuffer

/** The functions of `duspar_jni.c`. Texts are bytes of UTF-8. */
internal object Native {
    // Not in `init`: what fails there is an Error, and hides the reason from the second time on.
    private val failure = runCatching { System.loadLibrary("duspar_jni") }.exceptionOrNull()

    /** This, or an exception if the app has no library for this device; every other function needs it. */
    fun loaded(): Native {
        if (failure != null) {
            throw IllegalStateException("The library of DuSpaR cannot be loaded here: ${failure.message}", failure)
        }
        return this
    }

    @JvmStatic external fun create(kernel: ByteArray?): Long

    @JvmStatic external fun destroy(delegate: Long)

    @JvmStatic external fun count(delegate: Long): Int

    @JvmStatic external fun texts(delegate: Long, index: Int): ByteArray

    @JvmStatic external fun numbers(delegate: Long, index: Int): LongArray

    @JvmStatic external fun reset(delegate: Long, index: Int)

    @JvmStatic external fun metadata(file: ByteBuffer, name: ByteArray): ByteArray?

    @JvmStatic external fun detectorCreate(
        thresholds: DoubleArray,
        seconds: Double,
        window: Double,
        smoothing: Double,
        refractory: Double,
    ): Long

    @JvmStatic external fun detectorStep(detector: Long, scores: FloatArray): DoubleArray?

    @JvmStatic external fun detectorReset(detector: Long)

    @JvmStatic external fun detectorDestroy(detector: Long)

    @JvmStatic external fun inputCreate(rate: Int, modelRate: Int, samples: Int): Long

    @JvmStatic external fun inputPush(input: Long, samples: FloatArray, start: Int): Int

    @JvmStatic external fun inputPushShorts(input: Long, samples: ShortArray, start: Int): Int

    @JvmStatic external fun inputPull(input: Long, chunk: FloatArray): Boolean

    @JvmStatic external fun inputReset(input: Long)

    @JvmStatic external fun inputDestroy(input: Long)

    @JvmStatic external fun version(): ByteArray

    @JvmStatic external fun features(): ByteArray
}
