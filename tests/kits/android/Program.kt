import android.content.res.AssetManager
import io.github.kerasduspar.Detector
import io.github.kerasduspar.DuSpaRDelegate
import io.github.kerasduspar.Event
import io.github.kerasduspar.StreamingRunner
import io.github.kerasduspar.load
import java.io.File
import java.nio.ByteBuffer
import java.nio.ByteOrder
import org.tensorflow.lite.Interpreter

/** Prints `name: message` of what a block throws. */
fun refuses(name: String, block: () -> Unit) {
    try {
        block()
        println("$name: nothing")
    } catch (e: RuntimeException) {
        println("$name: ${e.javaClass.simpleName} ${e.message}")
    }
}

fun describe(runner: StreamingRunner) {
    println("task ${runner.task}")
    println("labels ${runner.labels}")
    println("rates ${runner.sampleRate} ${runner.hop} ${runner.samples} ${runner.delay}")
    println("kinds ${runner.ops} ${runner.weights}")
}

fun stream(name: String, runner: StreamingRunner, audio: FloatArray) {
    for (start in 0..audio.size - runner.samples step runner.samples) {
        val new = runner.step(audio.copyOfRange(start, start + runner.samples))
        println("$name ${new.joinToString(" ")}")
    }
}

fun report(name: String, events: List<Event>) {
    for (event in events) println("$name ${event.start} ${event.end} ${event.confidence} ${event.word}")
}

/** Sound at another rate, in pieces, as floats and in 16 bits; then scores of which the events are known. */
fun listen(model: String, audio: FloatArray, rate: Int, scores: List<FloatArray>, texts: List<String>) {
    StreamingRunner.load(File(model)).use { runner ->
        Detector(runner).use { detector ->
            report("floats", audio.toList().chunked(777).flatMap { detector.push(it.toFloatArray(), rate) })
            detector.reset()
            val shorts = ShortArray(audio.size) { Math.round(audio[it] * 32768).toShort() }
            report("shorts", detector.push(shorts, rate))
            detector.reset()
            report("spoiled", detector.push(FloatArray(rate) { Float.NaN }, rate))
            println("finite ${runner.push(FloatArray(16000) { Float.POSITIVE_INFINITY }).all { it.all(Float::isFinite) }}")
            refuses("rate") { detector.push(audio, 7000) }
            refuses("scores") { detector.step(FloatArray(1)) }
        }
    }
    val numbers = texts[1].split(" ").map { it.toDouble() }
    val thresholds = texts[2].split(" ").map { it.toDoubleOrNull() }
    val (seconds, window, smoothing, refractory) = numbers
    Detector(texts[0].split(" "), thresholds, seconds, window, smoothing, refractory).use { detector ->
        report("shared", scores.mapNotNull { detector.step(it) })
        refuses("source") { detector.push(audio) }
    }
    refuses("thresholds") { Detector(listOf("a"), listOf(0.0), 1.0, 1.0, 1.0, 1.0) }
}

fun main(arguments: Array<String>) {
    val (model, recording) = arguments
    val bytes = ByteBuffer.wrap(File(recording).readBytes()).order(ByteOrder.LITTLE_ENDIAN)
    val audio = FloatArray(bytes.capacity() / 4) { bytes.getFloat(4 * it) }
    if (arguments.size > 2) {
        val lines = File(arguments[3]).readLines()
        val scores = lines.drop(3).map { line -> line.split(" ").map { it.toFloat() }.toFloatArray() }
        return listen(model, audio, arguments[2].toInt(), scores, lines)
    }
    if (System.getProperty("duspar.absent") != null) {
        repeat(2) { refuses("library") { StreamingRunner.load(File(model)) } }
        return refuses("delegate") { DuSpaRDelegate() }
    }
    println("version ${DuSpaRDelegate.version}")
    println("features ${DuSpaRDelegate.cpuFeatures.joinToString(" ")}")

    StreamingRunner.load(File(model)).use { runner ->
        describe(runner)
        stream("first", runner, audio)
        for ((layer, operands) in runner.occupancy()) {
            for ((operand, share) in operands) println("occupancy $layer $operand $share")
        }
        runner.reset()
        runner.resetCounters()
        println("counted ${runner.occupancy()}")
        stream("again", runner, audio)
        refuses("chunk") { runner.step(FloatArray(3)) }
    }
    StreamingRunner.load(AssetManager(), model, 2).use { stream("asset", it, audio) }

    // Before a delegate is made, which nobody would close.
    refuses("threads") { StreamingRunner.load(File(model), numThreads = 0, kernel = "none") }
    val signature = System.setProperty("duspar.signature", arguments[1] + ".empty")
    refuses("signature") { StreamingRunner.load(File(model)) }
    println("living ${Interpreter.living}")
    System.setProperty("duspar.signature", signature)
    refuses("damaged") { StreamingRunner.load(ByteBuffer.allocateDirect(100)) }
    refuses("heap") { StreamingRunner.load(ByteBuffer.allocate(100)) }
    refuses("kernel") { DuSpaRDelegate(kernel = "grün") }
    val delegate = DuSpaRDelegate(kernel = "reference")
    println("handle ${delegate.nativeHandle != 0L} ${delegate.operators()}")
    delegate.close()
    delegate.close()
    refuses("closed") { delegate.nativeHandle }
}
