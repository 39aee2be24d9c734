import Foundation

#if canImport(CDuSpaR)
  import CDuSpaR
#endif

/// A word that was heard.
public struct Event: Equatable, Sendable {
  /// Its label.
  public let word: String
  /// Seconds from the beginning of the stream: the word lies behind.
  public let start: Double
  /// When it was heard, in the same seconds.
  public let end: Double
  /// Its probability, smoothed.
  public let confidence: Double
}

/// Hears words in a stream that never ends, as `keras_duspar.streaming.Detector` does in Python.
///
///     let detector = try Detector(runner)  // of a file that was converted with `window`
///     for event in try detector.push(samples, rate: 48000) { print(event.word, event.end) }
///
/// After an event there is none for `refractory` seconds, and a word that goes on being the best is
/// not heard anew. One thread at a time may use it.
public final class Detector {
  public let labels: [String]
  /// From 0 to 1, nil for a class that is no word.
  public let thresholds: [Double?]
  /// From one step to the next.
  public let seconds: Double
  /// Seconds that the scores look back.
  public let window: Double
  public let smoothing: Double
  public let refractory: Double

  private let handle: OpaquePointer
  #if canImport(TensorFlowLite)
    fileprivate var runner: StreamingRunner?
  #endif

  /// Makes a detector for scores that come from elsewhere.
  ///
  /// - Parameters:
  ///   - labels: The classes.
  ///   - thresholds: From 0 to 1, nil for a class that is no word.
  ///   - seconds: From one step to the next.
  ///   - window: Seconds that the scores look back.
  ///   - smoothing: Seconds over which probabilities are averaged.
  ///   - refractory: Seconds without an event after an event.
  public init(
    labels: [String], thresholds: [Double?], seconds: Double, window: Double, smoothing: Double,
    refractory: Double
  ) throws {
    guard labels.count == thresholds.count else {
      throw DuSpaRError(
        message: "`thresholds` must be as many as `labels`, \(labels.count), not \(thresholds.count).")
    }
    let numbers = thresholds.map { $0 ?? Double.nan }
    let created: OpaquePointer? = numbers.withUnsafeBufferPointer { values in
      var settings = duspar_detector_settings()
      settings.classes = values.count
      settings.thresholds = values.baseAddress
      settings.seconds = seconds
      settings.window = window
      settings.smoothing = smoothing
      settings.refractory = refractory
      return duspar_detector_create(&settings)
    }
    guard let handle = created else { throw DuSpaRError.last }
    self.handle = handle
    self.labels = labels
    self.thresholds = thresholds
    self.seconds = seconds
    self.window = window
    self.smoothing = smoothing
    self.refractory = refractory
  }

  deinit {
    duspar_detector_destroy(handle)
  }

  /// Takes the scores of the next step; returns an event, or nil.
  public func step(_ scores: [Float]) throws -> Event? {
    guard scores.count == labels.count else {
      throw DuSpaRError(message: "`scores` must be \(labels.count), not \(scores.count).")
    }
    var event = duspar_event()
    guard duspar_detector_step(handle, scores, &event) != 0 else { return nil }
    return Event(
      word: labels[event.index], start: event.start, end: event.end, confidence: event.confidence)
  }

  fileprivate func resetScores() {
    duspar_detector_reset(handle)
  }
}

#if canImport(TensorFlowLite)
  extension Detector {
    /// Makes the detector that a file describes: one that was converted with `window`.
    public convenience init(_ runner: StreamingRunner) throws {
      guard let kept = runner.detector, let rate = runner.sampleRate else {
        throw DuSpaRError(
          message: "`runner` must have a file that was converted with `window`, such as `window=1.0`.")
      }
      try self.init(
        labels: runner.labels ?? kept.thresholds.indices.map { "\($0)" },
        thresholds: kept.thresholds, seconds: Double(runner.samples) / Double(rate),
        window: kept.window, smoothing: kept.smoothing, refractory: kept.refractory)
      self.runner = runner
    }

    /// Takes what was recorded.
    ///
    /// - Parameters:
    ///   - samples: Any number of them, from -1 to 1.
    ///   - rate: Samples a second, from 8000 to 48000; by default the model's.
    /// - Returns: The events that are new.
    public func push(_ samples: [Float], rate: Int? = nil) throws -> [Event] {
      try source().push(samples, rate: rate).compactMap { try step($0) }
    }

    /// Takes what was recorded, in 16 bits.
    public func push(_ samples: [Int16], rate: Int? = nil) throws -> [Event] {
      try source().push(samples, rate: rate).compactMap { try step($0) }
    }

    private func source() throws -> StreamingRunner {
      guard let runner = runner else {
        throw DuSpaRError(message: "`push` needs a detector that was made of a runner.")
      }
      return runner
    }

    /// Begins a new stream.
    public func reset() throws {
      try runner?.reset()
      resetScores()
    }
  }
#else
  extension Detector {
    /// Begins a new stream.
    public func reset() {
      resetScores()
    }
  }
#endif
