import AVFoundation
import DuSpaR

/// Reads the microphone and runs the keyword spotter on it.
final class Listener: ObservableObject {
  @Published private(set) var heard = "..."

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
    let format = engine.inputNode.outputFormat(forBus: 0)
    let spotter = Spotter(runner: runner, detector: try Detector(runner)) { text in
      DispatchQueue.main.async { self.heard = text }
    }
    engine.inputNode.installTap(onBus: 0, bufferSize: 1024, format: format) { buffer, _ in
      guard let channel = buffer.floatChannelData?[0] else { return }
      let samples = Array(UnsafeBufferPointer(start: channel, count: Int(buffer.frameLength)))
      self.queue.async { spotter.take(samples, rate: Int(buffer.format.sampleRate)) }
    }
    try engine.start()
  }
}

/// Runs the model on what is recorded; used by one thread.
private final class Spotter {
  private let runner: StreamingRunner
  private let detector: Detector
  private let show: (String) -> Void
  private var heard = "..."
  private var recorded = 0.0  // seconds since the last report
  private var seconds = 0.0

  init(runner: StreamingRunner, detector: Detector, show: @escaping (String) -> Void) {
    self.runner = runner
    self.detector = detector
    self.show = show
  }

  func take(_ samples: [Float], rate: Int) {
    do {
      let start = DispatchTime.now().uptimeNanoseconds
      let event = try detector.push(samples, rate: rate).last
      seconds += Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
      recorded += Double(samples.count) / Double(rate)
      if let event = event {
        heard = "\(event.word)  \(String(format: "%.0f %%", 100 * event.confidence))"
      }
      if event == nil && recorded < 1 { return }
      show(describe())
      runner.resetCounters()
      recorded = 0
      seconds = 0
    } catch {
      show(error.localizedDescription)
    }
  }

  private func describe() -> String {
    let shares = runner.occupancy().values.flatMap { $0.values }
    let occupancy = shares.reduce(0, +) / Double(max(shares.count, 1))
    return """
      \(heard)
      occupancy \(String(format: "%.1f %%", 100 * occupancy))
      \(String(format: "%.2f %%", 100 * seconds / recorded)) of the time
      """
  }
}
