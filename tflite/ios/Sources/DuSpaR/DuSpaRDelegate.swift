import Foundation

#if canImport(CDuSpaR)
  import CDuSpaR
#endif

/// What this package refuses, and why.
public struct DuSpaRError: Error, LocalizedError, Equatable {
  public let message: String

  public var errorDescription: String? { message }

  /// The last failure of the C library in this thread.
  static var last: DuSpaRError { DuSpaRError(message: String(cString: duspar_last_error())) }
}

/// A vector whose zeros an operator skips, and what was counted of it.
public struct Operand: Equatable, Sendable {
  public let name: String
  /// Entries of the vector in one step.
  public let size: Int64
  /// Products that one entry costs if it is not zero.
  public let fan: Int64
  public let nonzeros: UInt64
  /// Entries in all: size times steps.
  public let entries: UInt64
}

/// One DuSpaR or SpaR layer of a model, and what it has counted.
public struct Operator: Equatable, Sendable {
  public let layer: String
  public let op: String
  /// What runs it; empty before tensors are allocated.
  public let kernel: String
  public let features: Int64
  public let units: Int64
  public let invocations: UInt64
  public let steps: UInt64
  public let operands: [Operand]
}

/// The delegate that runs the sparse operators of a converted model.
///
///     let delegate = try DuSpaRDelegate()
///     let interpreter = try Interpreter(modelPath: path, delegates: [delegate])
///
/// It may be used from any thread.
public final class DuSpaRDelegate: @unchecked Sendable {
  /// A `TfLiteDelegate` of TensorFlow Lite's C interface.
  public let pointer: UnsafeMutableRawPointer

  /// - Parameter kernel: Name of the kernel to use; without it the fastest is taken.
  public init(kernel: String? = nil) throws {
    let created: UnsafeMutableRawPointer?
    if let kernel = kernel {
      created = "kernel".withCString { key -> UnsafeMutableRawPointer? in
        kernel.withCString { value -> UnsafeMutableRawPointer? in
          let keys: [UnsafePointer<CChar>?] = [key]
          let values: [UnsafePointer<CChar>?] = [value]
          return cast(duspar_delegate_create(keys, values, 1))
        }
      }
    } else {
      created = cast(duspar_delegate_create(nil, nil, 0))
    }
    guard let pointer = created else { throw DuSpaRError.last }
    self.pointer = pointer
  }

  deinit {
    duspar_delegate_destroy(cast(pointer))
  }

  /// The operators that the delegate has taken over, in the model's order.
  public func operators() -> [Operator] {
    let count = duspar_delegate_operator_count(cast(pointer))
    return (0..<count).compactMap { index in
      var found = duspar_operator()
      guard duspar_delegate_operator(cast(pointer), index, &found) == DUSPAR_OK else {
        return nil
      }
      let operands = [found.operands.0, found.operands.1].prefix(Int(found.operand_count))
      return Operator(
        layer: withUnsafeBytes(of: found.layer) { text in
          String(decoding: text.prefix { $0 != 0 }, as: UTF8.self)
        },
        op: String(cString: found.op),
        kernel: String(cString: found.kernel),
        features: found.features,
        units: found.units,
        invocations: found.invocations,
        steps: found.steps,
        operands: operands.map {
          Operand(
            name: String(cString: $0.name), size: $0.size, fan: $0.fan, nonzeros: $0.nonzeros,
            entries: $0.entries)
        }
      )
    }
  }

  /// Sets all counters to zero.
  public func resetCounters() {
    for index in 0..<duspar_delegate_operator_count(cast(pointer)) {
      _ = duspar_delegate_reset(cast(pointer), index)
    }
  }

  /// Version of the C library, such as "0.2.0".
  public static var version: String { String(cString: duspar_version()) }

  /// Features of the processor that kernels ask for.
  public static var cpuFeatures: [String] {
    String(cString: duspar_cpu_features()).split(separator: " ").map(String.init)
  }
}

/// The same pointer with another type: Swift sees `TfLiteDelegate *` as one of two types,
/// depending on whether TensorFlow Lite's header is there as well.
private func cast<From, To>(_ pointer: From?) -> To? {
  unsafeBitCast(pointer, to: To?.self)
}
