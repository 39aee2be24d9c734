import Foundation

#if canImport(CDuSpaR)
  import CDuSpaR
#endif

/// What a `.tflite` file of keras_duspar says of itself.
struct Description: Decodable {
  struct Output: Decodable {
    let name: String
  }

  struct Operand: Decodable {
    let name: String
    let size: Int
    let sparse: Bool
  }

  struct Layer: Decodable {
    let name: String
    let operands: [Operand]
  }

  /// What is kept for `Detector`.
  struct Detection: Decodable {
    let window: Double
    let smoothing: Double
    let refractory: Double
    let thresholds: [Double?]
  }

  let format: Int
  let task: String?
  let labels: [String]?
  let sampleRate: Int?
  let hop: Int?
  let delay: Int?
  let streaming: Bool?
  let ops: String?
  let weights: String?
  let outputs: [Output]
  let states: [String]?
  /// Pairs of layer and counter: the entries of the output `counts`.
  let counters: [[String]]?
  let layers: [Layer]?
  let detector: Detection?

  private static let newest = 1

  /// Reads the description in the bytes of a file.
  static func read(_ model: Data) throws -> Description {
    let content = try model.withUnsafeBytes { bytes -> Data? in
      var found: UnsafePointer<CChar>?
      var length = 0
      let status = duspar_file_metadata(
        bytes.baseAddress, bytes.count, DUSPAR_METADATA, &found, &length)
      guard status == DUSPAR_OK else { throw DuSpaRError.last }
      return found.map { Data(bytes: $0, count: length) }
    }
    guard let json = content else {
      throw DuSpaRError(
        message: "`model` must be a file that keras_duspar has written: this one has no metadata of it.")
    }
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let description: Description
    do {
      description = try decoder.decode(Description.self, from: json)
    } catch {
      throw DuSpaRError(message: "`model` must have metadata that can be read: \(error)")
    }
    guard description.format <= newest else {
      throw DuSpaRError(
        message:
          "`model` must have metadata of format \(newest) or older, not \(description.format): use a newer keras_duspar."
      )
    }
    return description
  }
}
