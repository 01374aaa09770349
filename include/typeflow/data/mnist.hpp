// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reads MNIST from its four original files, and splits it like TensorFlow's read_data_sets: of the
// 60,000 training images the first 5,000 are for validation and the other 55,000 for training. The
// 10,000 test images stay as they are. It also reads files in MNIST's format (Fashion-MNIST,
// KMNIST).

#include <cstdint>
#include <string>

#include "typeflow/data/labeled_images.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The folder of the data sets: `given` (a --data argument) unless empty, else the environment
/// variable TYPEFLOW_DATA; empty if neither is set.
std::string data_folder(const std::string& given = {});

/// Whether a folder, or its subfolder `mnist`, has files of MNIST.
bool has_mnist(const std::string& folder);

struct MnistOptions {
  std::int64_t validation = 5000;  ///< images for validation: the first of the training file
};

/// Reads MNIST from a folder, or from its subfolder `mnist`: {train,t10k}-images-idx3-ubyte and
/// {train,t10k}-labels-idx1-ubyte, gzip (.gz) or not, also spelt `train-images.idx3-ubyte`.
/// Pixels are divided by 255. Throws Error, with the file's name, if a file is missing or damaged,
/// or if the numbers of images and labels differ.
Datasets read_mnist(const std::string& folder, MnistOptions options = {});

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_DATA
#include "typeflow/data/mnist.ipp"
#endif
