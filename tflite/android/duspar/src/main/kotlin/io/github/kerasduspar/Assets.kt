package io.github.kerasduspar

import android.content.res.AssetManager
import java.nio.ByteBuffer
import java.nio.ByteOrder

/** Loads a streaming file that lies among the app's assets. */
fun StreamingRunner.Companion.load(assets: AssetManager, name: String, numThreads: Int = 1): StreamingRunner {
    val bytes = assets.open(name).use { it.readBytes() }
    val model = ByteBuffer.allocateDirect(bytes.size).order(ByteOrder.nativeOrder())
    model.put(bytes)
    model.rewind()
    return load(model, numThreads)
}
