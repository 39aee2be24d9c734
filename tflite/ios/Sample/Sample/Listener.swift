import AVFoundation
import DuSpaR

/// Reads the microphone and runs the keyword spotter on it.
final class Listener: ObservableObject {
  @Published private(set) var heard = "..."

  private static let frames = 62  // about a second

  private let engine = AVAudioEngine()
  private let queue = DispatchQueue(label: "listener")

  func start() {
    AVAudioSession.sharedInstance().requestRecordPermission { allowed in
      DispatchQueue.main.async {
        guard allowed else {
          self.heard = "This app needs the microphone."
          return
        }
        do {
          try self.listen()
        } catch {
          self.heard = error.localizedDescription
        }
      }
    }
  }

  func stop() {
    engine.inputNode.removeTap(onBus: 0)
    engine.stop()
  }

  private func listen() throws {
    guard !engine.isRunning else { return }
    guard let path = Bundle.main.path(forResource: "spotter", ofType: "tflite") else {
      throw DuSpaRError(message: "Add spotter.tflite to the app.")
    }
    let runner = try StreamingRunner.load(path: path)
    try AVAudioSession.sharedInstance().setCategory(.record, mode: .measurement)
    try AVAudioSession.sharedInstance().setActive(true)
    let source = engine.inputNode.outputFormat(forBus: 0)
    guard
      let target = AVAudioFormat(
        commonFormat: .pcmFormatFloat32, sampleRate: Double(runner.sampleRate ?? 16000),
        channels: 1, interleaved: false),
      let converter = AVAudioConverter(from: source, to: target)
    else {
      throw DuSpaRError(message: "The microphone's format cannot be converted.")
    }
    let spotter = Spotter(runner: runner, frames: Listener.frames) { text in
      DispatchQueue.main.async { self.heard = text }
    }
    engine.inputNode.installTap(onBus: 0, bufferSize: 1024, format: source) { buffer, _ in
      guard let samples = convert(buffer, with: converter, to: target) else { return }
      self.queue.async { spotter.take(samples) }
    }
    try engine.start()
  }
}

/// The samples of a buffer at the model's rate.
private func convert(
  _ buffer: AVAudioPCMBuffer, with converter: AVAudioConverter, to format: AVAudioFormat
) -> [Float]? {
  let ratio = format.sampleRate / buffer.format.sampleRate
  let room = AVAudioFrameCount(Double(buffer.frameLength) * ratio) + 16
  guard let output = AVAudioPCMBuffer(pcmFormat: format, frameCapacity: room) else { return nil }
  var given = false
  var error: NSError?
  converter.convert(to: output, error: &error) { _, status in
    status.pointee = given ? .noDataNow : .haveData
    defer { given = true }
    return given ? nil : buffer
  }
  guard error == nil, let channel = output.floatChannelData?[0] else { return nil }
  return Array(UnsafeBufferPointer(start: channel, count: Int(output.frameLength)))
}

/// Cuts samples into chunks and runs the model on them; used by one thread.
private final class Spotter {
  private let runner: StreamingRunner
  private let frames: Int
  private let show: (String) -> Void
  private var waiting: [Float] = []
  private var count = 0
  private var seconds = 0.0

  init(runner: StreamingRunner, frames: Int, show: @escaping (String) -> Void) {
    self.runner = runner
    self.frames = frames
    self.show = show
  }

  func take(_ samples: [Float]) {
    waiting += samples
    do {
      while waiting.count >= runner.samples {
        let chunk = Array(waiting.prefix(runner.samples))
        waiting.removeFirst(runner.samples)
        try run(chunk)
      }
    } catch {
      show(error.localizedDescription)
    }
  }

  private func run(_ chunk: [Float]) throws {
    let start = DispatchTime.now().uptimeNanoseconds
    let scores = try runner.step(chunk)
    seconds += Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
    count += 1
    guard count == frames else { return }
    show(describe(scores))
    // The scores are of all frames since the last reset.
    try runner.reset()
    runner.resetCounters()
    count = 0
    seconds = 0
  }

  private func describe(_ scores: [Float]) -> String {
    guard let best = scores.indices.max(by: { scores[$0] < scores[$1] }) else { return "" }
    let sum = scores.reduce(0.0) { $0 + exp(Double($1 - scores[best])) }
    let label = runner.labels.map { $0[best] } ?? "class \(best)"
    let shares = runner.occupancy().values.flatMap { $0.values }
    let occupancy = shares.reduce(0, +) / Double(max(shares.count, 1))
    return """
      \(label)  \(String(format: "%.0f %%", 100 / sum))
      occupancy \(String(format: "%.1f %%", 100 * occupancy))
      \(String(format: "%.3f ms a frame", 1000 * seconds / Double(count)))
      """
  }
}
