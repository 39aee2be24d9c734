package io.github.kerasduspar.sample

import android.annotation.SuppressLint
import android.content.res.AssetManager
import android.media.AudioFormat
import android.media.AudioRecord
import android.media.MediaRecorder
import io.github.kerasduspar.StreamingRunner
import io.github.kerasduspar.load
import kotlin.math.exp

/** Reads the microphone and runs the keyword spotter on it, in a thread of its own. */
class Listener(
    private val assets: AssetManager,
    private val show: (String) -> Unit,
) : Thread("listener") {
    @Volatile private var finished = false

    override fun run() {
        try {
            StreamingRunner.load(assets, "spotter.tflite").use { listen(it) }
        } catch (e: Exception) {
            show(e.message ?: e.toString())
        }
    }

    /** Stops listening, and waits until it has. */
    fun finish() {
        finished = true
        join()
    }

    private fun listen(runner: StreamingRunner) {
        val recorder = open(runner)
        val samples = ShortArray(runner.samples)
        val chunk = FloatArray(runner.samples)
        var frames = 0
        var nanoseconds = 0L
        try {
            recorder.startRecording()
            while (!finished) {
                if (!fill(recorder, samples)) break
                for (i in chunk.indices) chunk[i] = samples[i] / 32768f
                val start = System.nanoTime()
                val scores = runner.step(chunk)
                nanoseconds += System.nanoTime() - start
                if (++frames < FRAMES) continue
                show(describe(runner, scores, nanoseconds / 1e6 / frames))
                // The scores are of all frames since the last reset.
                runner.reset()
                runner.resetCounters()
                frames = 0
                nanoseconds = 0
            }
        } finally {
            recorder.release()
        }
    }

    @SuppressLint("MissingPermission") // the activity has asked
    private fun open(runner: StreamingRunner): AudioRecord {
        val rate = runner.sampleRate ?: 16000
        val least = AudioRecord.getMinBufferSize(rate, AudioFormat.CHANNEL_IN_MONO, AudioFormat.ENCODING_PCM_16BIT)
        val recorder =
            AudioRecord(
                MediaRecorder.AudioSource.VOICE_RECOGNITION,
                rate,
                AudioFormat.CHANNEL_IN_MONO,
                AudioFormat.ENCODING_PCM_16BIT,
                maxOf(least, 2 * rate),
            )
        check(recorder.state == AudioRecord.STATE_INITIALIZED) { "The microphone cannot be opened." }
        return recorder
    }

    /** Waits for as many samples as fit; false if the microphone has failed. */
    private fun fill(recorder: AudioRecord, samples: ShortArray): Boolean {
        var filled = 0
        while (filled < samples.size) {
            val count = recorder.read(samples, filled, samples.size - filled)
            if (count <= 0) return false
            filled += count
        }
        return true
    }

    private fun describe(runner: StreamingRunner, scores: FloatArray, milliseconds: Double): String {
        val best = scores.indices.maxByOrNull { scores[it] } ?: return ""
        val sum = scores.sumOf { exp((it - scores[best]).toDouble()) }
        val shares = runner.occupancy().values.flatMap { it.values }
        val lines =
            listOf(
                "%s  %.0f %%".format(runner.labels?.getOrNull(best) ?: "class $best", 100 / sum),
                "occupancy %.1f %%".format(100 * shares.average()),
                "%.3f ms a frame".format(milliseconds),
            )
        return lines.joinToString("\n")
    }

    private companion object {
        const val FRAMES = 62 // about a second
    }
}
