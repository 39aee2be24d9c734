// swift-tools-version: 5.9
// The Swift package of tflite/ios; it is here because packages are fetched by
// the address of a whole repository.
import PackageDescription

// TensorFlow Lite is not published as a Swift package. The folder of one that
// has a product `TensorFlowLite`, if this variable names it.
let runtime = Context.environment["DUSPAR_TENSORFLOWLITE"].map { folder in
  (
    package: Package.Dependency.package(name: "Runtime", path: folder),
    product: Target.Dependency.product(name: "TensorFlowLite", package: "Runtime")
  )
}

let package = Package(
  name: "DuSpaR",
  platforms: [.iOS(.v13), .macOS(.v11)],
  products: [
    .library(name: "DuSpaR", targets: ["DuSpaR"])
  ],
  dependencies: runtime.map { [$0.package] } ?? [],
  targets: [
    .target(
      name: "CDuSpaR",
      path: "tflite",
      exclude: [
        "CMakeLists.txt", "README.md", "android", "benchmark.py", "benchmarks", "cmake", "convert.py", "examples",
        "fuzz", "ios", "src/training", "tests",
      ],
      sources: ["src"],
      publicHeadersPath: "include",
      cSettings: [.headerSearchPath("src"), .define("DUSPAR_NO_TRAINING"), .define("DUSPAR_STATIC")]
    ),
    .target(
      name: "DuSpaR",
      dependencies: ["CDuSpaR"] + (runtime.map { [$0.product] } ?? []),
      path: "tflite/ios/Sources/DuSpaR"
    ),
  ],
  cLanguageStandard: .c11
)
