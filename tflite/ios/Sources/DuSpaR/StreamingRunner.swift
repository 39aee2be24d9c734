#if canImport(TensorFlowLite)
  import Foundation
  #if canImport(CDuSpaR)
    import CDuSpaR
  #endif
  import TensorFlowLite

  extension DuSpaRDelegate: Delegate {
    public var cDelegate: CDelegate { pointer.assumingMemoryBound(to: CDelegate.Pointee.self) }
  }

  /// Runs a streaming `.tflite` file, chunk by chunk, as `keras_duspar.tflite.load` does in Python.
  ///
  ///     let runner = try StreamingRunner.load(path: path)
  ///     for new in try runner.push(samples, rate: 48000) { play(new) }  // any number, any rate
  ///     let scores = try runner.step(chunk)  // or runner.samples new samples, from -1 to 1
  ///     try runner.reset()  // the next recording
  ///
  /// `Detector` tells the words that a keyword spotter hears.
  ///
  /// The states stay in the runner. One thread at a time may use it. Files with `ops="sparse"` run
  /// with a `DuSpaRDelegate` of the runner's own, files with `ops="builtin"` without.
  public final class StreamingRunner {
    private static let counts = "counts"
    private static let steps = "steps"

    /// What the model does.
    public var task: String? { about.task }
    /// The classes.
    public var labels: [String]? { about.labels }
    /// Samples a second.
    public var sampleRate: Int? { about.sampleRate }
    /// Samples from one frame to the next.
    public var hop: Int? { about.hop }
    /// Samples by which audio comes out late.
    public var delay: Int { about.delay ?? 0 }
    /// "sparse" or "builtin".
    public var ops: String? { about.ops }
    /// How sparse operators store their kernels.
    public var weights: String? { about.weights }
    /// Names of the outputs.
    public var outputs: [String] { about.outputs.map(\.name) }
    /// Names of the states.
    public let states: [String]
    /// Samples in a chunk, or time steps times features.
    public let samples: Int

    private let about: Description
    private let delegate: DuSpaRDelegate?
    private let runner: SignatureRunner
    private let input: String
    private var values: [String: Data] = [:]
    private var totals: [UInt64]
    private var incoming: OpaquePointer?  // for `incomingRate`
    private var incomingRate = 0

    var detector: Description.Detection? { about.detector }

    /// Loads a streaming file.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - threadCount: Threads for built-in operators.
    ///   - kernel: Name of the delegate's kernel; without it the fastest is taken.
    public static func load(
      path: String, threadCount: Int = 1, kernel: String? = nil
    ) throws -> StreamingRunner {
      try StreamingRunner(path: path, threadCount: threadCount, kernel: kernel)
    }

    private init(path: String, threadCount: Int, kernel: String?) throws {
      about = try Description.read(
        Data(contentsOf: URL(fileURLWithPath: path), options: .mappedIfSafe))
      guard about.streaming == true else {
        throw DuSpaRError(
          message: "`path` must be a streaming file: convert with `streaming=True`. This one takes "
            + "whole inputs: give it to an Interpreter with a DuSpaRDelegate.")
      }
      guard threadCount > 0 else {
        throw DuSpaRError(message: "`threadCount` must be positive, not \(threadCount).")
      }
      delegate = try about.ops == "sparse" ? DuSpaRDelegate(kernel: kernel) : nil
      var options = Interpreter.Options()
      options.threadCount = threadCount
      let interpreter = try Interpreter(
        modelPath: path, options: options, delegates: delegate.map { [$0] })
      guard let key = interpreter.signatureKeys.first else {
        throw DuSpaRError(message: "`path` must be a file with a signature.")
      }
      // It keeps the interpreter, which keeps the delegate.
      runner = try interpreter.signatureRunner(with: key)
      let names = about.states ?? []
      guard let input = runner.inputs.first(where: { !names.contains($0) }) else {
        throw DuSpaRError(message: "`path` must be a file with an input beside its states.")
      }
      self.input = input
      states = names
      samples = try runner.input(named: input).data.count / MemoryLayout<Float>.size
      totals = Array(repeating: 0, count: about.counters?.count ?? 0)
      try reset()
    }

    /// Runs the next chunk of a stream.
    ///
    /// - Parameter chunk: `samples` new samples.
    /// - Returns: What is new of the first output; empty if nothing is.
    public func step(_ chunk: [Float]) throws -> [Float] {
      try run(chunk)
      return try read(about.outputs[0].name)
    }

    /// Runs the next chunk of a stream and returns what is new of all outputs, by name.
    public func stepAll(_ chunk: [Float]) throws -> [String: [Float]] {
      try run(chunk)
      return try Dictionary(uniqueKeysWithValues: outputs.map { ($0, try read($0)) })
    }

    /// Takes what was recorded, as it comes: any number of samples, at any rate.
    ///
    /// NaN is silence, and what is beyond full scale is cut off there. Samples that fill no chunk wait
    /// for the next call.
    ///
    /// - Parameters:
    ///   - samples: From -1 to 1.
    ///   - rate: Samples a second, from 8000 to 48000; by default the model's.
    /// - Returns: What `step` returns, for each chunk that is full.
    public func push(_ samples: [Float], rate: Int? = nil) throws -> [[Float]] {
      try samples.withUnsafeBufferPointer { all in
        try pushAll(all.count, rate) { input, start in
          duspar_input_push(input, all.baseAddress! + start, all.count - start)
        }
      }
    }

    /// Takes what was recorded, in 16 bits.
    public func push(_ samples: [Int16], rate: Int? = nil) throws -> [[Float]] {
      try samples.withUnsafeBufferPointer { all in
        try pushAll(all.count, rate) { input, start in
          duspar_input_push_int16(input, all.baseAddress! + start, all.count - start)
        }
      }
    }

    private func pushAll(
      _ count: Int, _ rate: Int?, _ push: (OpaquePointer, Int) -> Int
    ) throws -> [[Float]] {
      guard let own = sampleRate else {
        throw DuSpaRError(message: "`push` needs a file that takes audio.")
      }
      if incoming == nil || incomingRate != rate ?? own {
        var settings = duspar_input_settings()
        settings.rate = Int32(clamping: rate ?? own)
        settings.model_rate = Int32(clamping: own)
        settings.samples = samples
        guard let made = duspar_input_create(&settings) else { throw DuSpaRError.last }
        duspar_input_destroy(incoming)
        incoming = made
        incomingRate = rate ?? own
      }
      var found: [[Float]] = []
      var new = [Float](repeating: 0, count: samples)
      var start = 0
      while let input = incoming, start < count {
        start += push(input, start)
        while duspar_input_pull(input, &new) != 0 {
          let output = try step(new)
          let spoiled = !output.allSatisfy { $0.isFinite }
          if spoiled { try zeroStates() }
          found.append(spoiled ? output.map { _ in 0 } : output)
        }
      }
      return found
    }

    deinit {
      duspar_input_destroy(incoming)
    }

    private func run(_ chunk: [Float]) throws {
      guard chunk.count == samples else {
        throw DuSpaRError(message: "`chunk` must have \(samples) samples, not \(chunk.count).")
      }
      values[input] = chunk.withUnsafeBytes { Data($0) }
      try runner.invoke(with: values)
      for state in states { values[state] = try runner.output(named: state).data }
      if !totals.isEmpty {
        let new = try runner.output(named: StreamingRunner.counts).data
        for (i, count) in new.numbers(Int32.self).enumerated() { totals[i] += UInt64(count) }
      }
    }

    private func read(_ name: String) throws -> [Float] {
      do {
        return try runner.output(named: name).data.numbers(Float.self)
      } catch SignatureRunnerError.allocateTensorsRequired {
        return []  // an output of size 0 has no memory
      }
    }

    /// Begins a new stream: sets all states to zero.
    public func reset() throws {
      if let input = incoming { duspar_input_reset(input) }
      try zeroStates()
    }

    private func zeroStates() throws {
      for state in states {
        values[state] = Data(count: try runner.input(named: state).data.count)
      }
    }

    /// Share of the entries that were not zero, since the counters were last reset, by layer and
    /// operand. Empty for a file with `ops="builtin"` that was converted without `count=True`.
    public func occupancy() -> [String: [String: Double]] {
      let counted = counters()
      var found: [String: [String: Double]] = [:]
      for layer in about.layers ?? [] {
        guard let counts = counted[layer.name], let steps = counts[StreamingRunner.steps], steps > 0
        else { continue }
        for operand in layer.operands {
          let entries = Double(steps) * Double(operand.size)
          let share = operand.sparse ? Double(counts[operand.name] ?? 0) / entries : 1
          found[layer.name, default: [:]][operand.name] = share
        }
      }
      return found
    }

    /// Sets all counters to zero.
    public func resetCounters() {
      totals = totals.map { _ in 0 }
      delegate?.resetCounters()
    }

    private func counters() -> [String: [String: UInt64]] {
      var found: [String: [String: UInt64]] = [:]
      for (pair, total) in zip(about.counters ?? [], totals) where pair.count == 2 {
        found[pair[0], default: [:]][pair[1], default: 0] += total
      }
      // A layer that is called twice has two operators.
      for op in delegate?.operators() ?? [] {
        found[op.layer, default: [:]][StreamingRunner.steps, default: 0] += op.steps
        for operand in op.operands {
          found[op.layer, default: [:]][operand.name, default: 0] += operand.nonzeros
        }
      }
      return found
    }
  }

  extension Data {
    /// The bytes as numbers.
    fileprivate func numbers<Number: Numeric>(_ type: Number.Type) -> [Number] {
      var numbers = [Number](repeating: 0, count: count / MemoryLayout<Number>.size)
      _ = numbers.withUnsafeMutableBytes { copyBytes(to: $0) }
      return numbers
    }
  }
#endif
