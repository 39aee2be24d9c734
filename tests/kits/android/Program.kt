import android.content.res.AssetManager
import io.github.kerasduspar.DuSpaRDelegate
import io.github.kerasduspar.StreamingRunner
import io.github.kerasduspar.load
import java.io.File
import java.nio.ByteBuffer
import java.nio.ByteOrder

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

fun main(arguments: Array<String>) {
    val (model, recording) = arguments
    val bytes = ByteBuffer.wrap(File(recording).readBytes()).order(ByteOrder.LITTLE_ENDIAN)
    val audio = FloatArray(bytes.capacity() / 4) { bytes.getFloat(4 * it) }
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

    refuses("threads") { StreamingRunner.load(File(model), numThreads = 0) }
    refuses("damaged") { StreamingRunner.load(ByteBuffer.allocateDirect(100)) }
    refuses("heap") { StreamingRunner.load(ByteBuffer.allocate(100)) }
    refuses("kernel") { DuSpaRDelegate(kernel = "grün") }
    val delegate = DuSpaRDelegate(kernel = "reference")
    println("handle ${delegate.nativeHandle != 0L} ${delegate.operators()}")
    delegate.close()
    delegate.close()
    refuses("closed") { delegate.nativeHandle }
}
