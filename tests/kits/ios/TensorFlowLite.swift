// The names of TensorFlowLiteSwift that the kit uses, over TFLite's C library. What is public has the
// shape of TensorFlow's tensorflow/lite/swift/Sources: Delegate.swift of commit f841af26,
// Interpreter.swift of 18be7438, SignatureRunner.swift of c7ffe901, SignatureRunnerError.swift of
// de11fbc5 and Tensor.swift of 7a625349: the pod is made of these files.
import Foundation
import TensorFlowLiteC

public protocol Delegate: AnyObject {
  typealias CDelegate = UnsafeMutablePointer<TfLiteDelegate>
  var cDelegate: CDelegate { get }
}

public enum SignatureRunnerError: Error, Equatable, Hashable {
  case invalidTensorDataCount(provided: Int, required: Int)
  case invalidTensorDataType
  case failedToCreateSignatureRunner(signatureKey: String)
  case failedToGetTensor(tensorType: String, nameInSignature: String)
  case failedToResizeInputTensor(inputName: String)
  case failedToCopyDataToInputTensor
  case failedToAllocateTensors
  case failedToInvokeSignature(signatureKey: String)
  case allocateTensorsRequired
}

public enum InterpreterError: Error {
  case failedToLoadModel
  case failedToCreateInterpreter
}

public struct Tensor: Equatable, Hashable {
  public let name: String
  public let data: Data
}

public final class Interpreter {
  public struct Options: Equatable, Hashable {
    public var threadCount: Int? = nil
    public var isXNNPackEnabled: Bool = false
    public init() {}
  }

  public let options: Options?
  public let delegates: [Delegate]?
  public let signatureKeys: [String]
  let pointer: OpaquePointer
  // This library knows nothing of signatures: the test tells.
  let tensors: [String: [String: Int32]]
  private let model: OpaquePointer

  public init(modelPath: String, options: Options? = nil, delegates: [Delegate]? = nil) throws {
    let settings = TfLiteInterpreterOptionsCreate()
    defer { TfLiteInterpreterOptionsDelete(settings) }
    TfLiteInterpreterOptionsSetNumThreads(settings, Int32(options?.threadCount ?? -1))
    for delegate in delegates ?? [] {
      TfLiteInterpreterOptionsAddDelegate(settings, delegate.cDelegate)
    }
    guard let model = TfLiteModelCreateFromFile(modelPath) else {
      throw InterpreterError.failedToLoadModel
    }
    guard let pointer = TfLiteInterpreterCreate(model, settings) else {
      throw InterpreterError.failedToCreateInterpreter
    }
    self.options = options
    self.delegates = delegates
    self.model = model
    self.pointer = pointer
    let text = try String(
      contentsOfFile: ProcessInfo.processInfo.environment["DUSPAR_SIGNATURE"]!, encoding: .utf8)
    var keys: [String] = []
    var tensors: [String: [String: Int32]] = ["in": [:], "out": [:]]
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ").map(String.init)
      if words[0] == "key" { keys.append(words[1]) } else { tensors[words[0]]![words[1]] = Int32(words[2])! }
    }
    signatureKeys = keys
    self.tensors = tensors
  }

  deinit {
    TfLiteInterpreterDelete(pointer)
    TfLiteModelDelete(model)
  }

  public func signatureRunner(with key: String) throws -> SignatureRunner {
    guard signatureKeys.contains(key) else {
      throw SignatureRunnerError.failedToCreateSignatureRunner(signatureKey: key)
    }
    return try SignatureRunner(self, key)
  }
}

public final class SignatureRunner {
  public let signatureKey: String
  public var inputs: [String] { interpreter.tensors["in"]!.keys.sorted() }
  public var outputs: [String] { interpreter.tensors["out"]!.keys.sorted() }
  private let interpreter: Interpreter

  init(_ interpreter: Interpreter, _ key: String) throws {
    guard TfLiteInterpreterAllocateTensors(interpreter.pointer) == kTfLiteOk else {
      throw SignatureRunnerError.failedToAllocateTensors
    }
    self.interpreter = interpreter
    signatureKey = key
  }

  public func invoke(with inputs: [String: Data]) throws {
    for (name, data) in inputs {
      let tensor = UnsafeMutablePointer(mutating: try find("in", name))
      let required = TfLiteTensorByteSize(tensor)
      guard data.count == required else {
        throw SignatureRunnerError.invalidTensorDataCount(provided: data.count, required: required)
      }
      _ = data.withUnsafeBytes { TfLiteTensorCopyFromBuffer(tensor, $0.baseAddress, data.count) }
    }
    guard TfLiteInterpreterInvoke(interpreter.pointer) == kTfLiteOk else {
      throw SignatureRunnerError.failedToInvokeSignature(signatureKey: signatureKey)
    }
  }

  public func input(named name: String) throws -> Tensor { try read(find("in", name)) }

  public func output(named name: String) throws -> Tensor { try read(find("out", name)) }

  private func find(_ side: String, _ name: String) throws -> UnsafePointer<TfLiteTensor> {
    let pointer = interpreter.pointer
    if let index = interpreter.tensors[side]![name] {
      if side == "in" {
        for at in 0..<TfLiteInterpreterGetInputTensorCount(pointer)
        where TfLiteInterpreterGetInputTensorIndex(pointer, at) == index {
          return UnsafePointer(TfLiteInterpreterGetInputTensor(pointer, at))
        }
      } else {
        for at in 0..<TfLiteInterpreterGetOutputTensorCount(pointer)
        where TfLiteInterpreterGetOutputTensorIndex(pointer, at) == index {
          return TfLiteInterpreterGetOutputTensor(pointer, at)
        }
      }
    }
    throw SignatureRunnerError.failedToGetTensor(tensorType: side, nameInSignature: name)
  }

  private func read(_ tensor: UnsafePointer<TfLiteTensor>) throws -> Tensor {
    guard let bytes = TfLiteTensorData(tensor) else {
      throw SignatureRunnerError.allocateTensorsRequired
    }
    let data = Data(bytes: bytes, count: TfLiteTensorByteSize(tensor))
    return Tensor(name: String(cString: TfLiteTensorName(tensor)), data: data)
  }
}
