# For CocoaPods, which also brings TensorFlow Lite:
#   pod 'DuSpaR', :path => '../keras_duspar'
Pod::Spec.new do |s|
  s.name = 'DuSpaR'
  s.version = '0.2.0'
  s.summary = 'Runs DuSpaR models in TensorFlow Lite: delegate and streaming runner.'
  project = File.read(File.join(__dir__, 'pyproject.toml'))
  s.homepage = project[/^Repository = "(.*)"/, 1]
  s.license = { :type => 'Apache-2.0', :file => 'LICENSE' }
  s.author = 'The keras_duspar authors'
  s.source = { :git => "#{s.homepage}.git", :tag => "v#{s.version}" }

  s.ios.deployment_target = '13.0'
  s.swift_versions = ['5.9', '6.0']
  s.static_framework = true
  s.source_files = 'tflite/src/**/*.c', 'tflite/include/**/*.h',
                   'tflite/ios/Sources/DuSpaR/*.swift'
  s.exclude_files = 'tflite/src/training/**/*'
  s.public_header_files = 'tflite/include/**/*.h'
  s.header_mappings_dir = 'tflite/include'
  # Sources include each other by folder.
  s.preserve_paths = 'tflite/src/**/*.h'
  s.pod_target_xcconfig = {
    'HEADER_SEARCH_PATHS' => '"${PODS_TARGET_SRCROOT}/tflite/src" ' \
                             '"${PODS_TARGET_SRCROOT}/tflite/include"'
  }
  s.compiler_flags = '-DDUSPAR_NO_TRAINING -DDUSPAR_STATIC'
  s.dependency 'TensorFlowLiteSwift', '~> 2.17'
end
