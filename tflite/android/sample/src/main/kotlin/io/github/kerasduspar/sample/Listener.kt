package io.github.kerasduspar.sample

import android.annotation.SuppressLint
import android.content.res.AssetManager
import android.media.AudioFormat
import android.media.AudioRecord
import android.media.MediaRecorder
import io.github.kerasduspar.Detector
import io.github.kerasduspar.StreamingRunner
import io.github.kerasduspar.load

/** Reads the microphone and runs the keyword spotter on it, in a thread of its own. */
class Listener(
    private val assets: AssetManager,
    private val show: (String) -> Unit,
) : Thread("listener") {
    @Volatile private var finished = false

    override fun run() {
        try {
            StreamingRunner.load(assets, "spotter.tflite").use { runner ->
                Detector(runner).use { listen(runner, it) }
            }
        } catch (e: Exception) {
            show(e.message ?: e.toString())
        }
    }

    /** Stops listening, and waits until it has. */
    fun finish() {
        finished = true
        join()
    }

    private fun listen(runner: StreamingRunner, detector: Detector) {
        val recorder = open(runner)
        val samples = ShortArray(BLOCK)
        var heard = "..."
        var taken = 0L
        var nanoseconds = 0L
        try {
            recorder.startRecording()
            while (!finished) {
                val count = recorder.read(samples, 0, samples.size)
                if (count <= 0) break
                val start = System.nanoTime()
                val events = detector.push(samples.copyOf(count), recorder.sampleRate)
                nanoseconds += System.nanoTime() - start
                taken += count
                val event = events.lastOrNull()
                if (event != null) heard = "%s  %.0f %%".format(event.word, 100 * event.confidence)
                if (event == null && taken < recorder.sampleRate) continue
                val share = nanoseconds / 1e9 / (taken.toDouble() / recorder.sampleRate)
                show(describe(heard, runner, share))
                runner.resetCounters()
                taken = 0
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

    private fun describe(heard: String, runner: StreamingRunner, share: Double): String {
        val shares = runner.occupancy().values.flatMap { it.values }
        val lines =
            listOf(
                heard,
                "occupancy %.1f %%".format(100 * shares.average()),
                "%.2f %% of the time".format(100 * share),
            )
        return lines.joinToString("\n")
    }

    private companion object {
        const val BLOCK = 800 // 50 ms
    }
}
