package io.github.kerasduspar

import java.io.Closeable

/**
 * A word that was heard.
 *
 * @property word its label
 * @property start seconds from the beginning of the stream: the word lies behind
 * @property end when it was heard, in the same seconds
 * @property confidence its probability, smoothed
 */
data class Event(val word: String, val start: Double, val end: Double, val confidence: Double)

/**
 * Hears words in a stream that never ends, as `keras_duspar.streaming.Detector` does in Python.
 *
 * ```
 * val detector = Detector(runner) // of a file that was converted with `window`
 * for (event in detector.push(samples, 48000)) println("${event.word} at ${event.end} s")
 * ```
 *
 * After an event there is none for [refractory] seconds, and a word that goes on being the best is not heard anew.
 * One thread at a time may use it. It does not close the runner.
 */
class Detector private constructor(
    private val runner: StreamingRunner?,
    val labels: List<String>,
    val thresholds: List<Double?>,
    val seconds: Double,
    val window: Double,
    val smoothing: Double,
    val refractory: Double,
) : Closeable {
    private var handle: Long

    init {
        require(labels.size == thresholds.size) {
            "`thresholds` must be as many as `labels`, ${labels.size}, not ${thresholds.size}."
        }
        val numbers = DoubleArray(thresholds.size) { thresholds[it] ?: Double.NaN }
        handle = Native.loaded().detectorCreate(numbers, seconds, window, smoothing, refractory)
    }

    /**
     * Makes a detector for scores that come from elsewhere.
     *
     * @param labels the classes
     * @param thresholds from 0 to 1, null for a class that is no word
     * @param seconds from one step to the next
     * @param window seconds that the scores look back
     * @param smoothing seconds over which probabilities are averaged
     * @param refractory seconds without an event after an event
     */
    constructor(
        labels: List<String>,
        thresholds: List<Double?>,
        seconds: Double,
        window: Double,
        smoothing: Double,
        refractory: Double,
    ) : this(null, labels, thresholds, seconds, window, smoothing, refractory)

    private constructor(runner: StreamingRunner, kept: DetectorSettings) : this(
        runner,
        runner.labels ?: kept.thresholds.indices.map { it.toString() },
        kept.thresholds,
        runner.samples.toDouble() / requireNotNull(runner.sampleRate) { "`runner` must know its sample rate." },
        kept.window,
        kept.smoothing,
        kept.refractory,
    )

    /** Makes the detector that a file describes: one that was converted with `window`. */
    constructor(runner: StreamingRunner) : this(
        runner,
        requireNotNull(runner.detector) {
            "`runner` must have a file that was converted with `window`, such as `window=1.0`."
        },
    )

    /**
     * Takes what was recorded.
     *
     * @param samples any number of them, from -1 to 1
     * @param rate samples per second, from 8000 to 48000; by default the model's
     * @return the events that are new
     */
    @JvmOverloads
    fun push(samples: FloatArray, rate: Int = ownRate()): List<Event> = events(source().push(samples, rate))

    /** Takes what was recorded, in 16 bits. */
    @JvmOverloads
    fun push(samples: ShortArray, rate: Int = ownRate()): List<Event> = events(source().push(samples, rate))

    private fun source() = checkNotNull(runner) { "`push` needs a detector that was made of a runner." }

    private fun ownRate() = source().sampleRate!!

    private fun events(steps: List<FloatArray>) = steps.mapNotNull { step(it) }

    /** Takes the scores of the next step; returns an event, or null. */
    fun step(scores: FloatArray): Event? {
        check(handle != 0L) { "The detector is closed." }
        require(scores.size == labels.size) { "`scores` must be ${labels.size}, not ${scores.size}." }
        val (index, start, end, confidence) = Native.detectorStep(handle, scores) ?: return null
        return Event(labels[index.toInt()], start, end, confidence)
    }

    /** Begins a new stream. */
    fun reset() {
        check(handle != 0L) { "The detector is closed." }
        runner?.reset()
        Native.detectorReset(handle)
    }

    override fun close() {
        Native.detectorDestroy(handle)
        handle = 0
    }
}
