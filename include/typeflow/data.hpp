// SPDX-License-Identifier: Apache-2.0
#pragma once

// Data sets: readers, splits, batches. Not part of typeflow.hpp, because it needs zlib (CMake:
// typeflow::data).

#include "typeflow/data/batches.hpp"
#include "typeflow/data/buckets.hpp"
#include "typeflow/data/cifar10.hpp"
#include "typeflow/data/csv.hpp"
#include "typeflow/data/dataset.hpp"
#include "typeflow/data/digits.hpp"
#include "typeflow/data/idx.hpp"
#include "typeflow/data/labeled_images.hpp"
#include "typeflow/data/mnist.hpp"
#include "typeflow/data/npy.hpp"
#include "typeflow/data/penn_treebank.hpp"
#include "typeflow/data/sources.hpp"
#include "typeflow/data/text_streams.hpp"
