// SPDX-License-Identifier: Apache-2.0

// Readers of data sets, and samplers.

#include "typeflow/core/compiled_once.hpp"

#include "typeflow/data/batches.ipp"
#include "typeflow/data/buckets.ipp"
#include "typeflow/data/cifar10.ipp"
#include "typeflow/data/csv.ipp"
#include "typeflow/data/digits.ipp"
#include "typeflow/data/idx.ipp"
#include "typeflow/data/labeled_images.ipp"
#include "typeflow/data/mnist.ipp"
#include "typeflow/data/npy.ipp"
#include "typeflow/data/npy_header.ipp"
#include "typeflow/data/penn_treebank.ipp"
#include "typeflow/data/sources.ipp"
#include "typeflow/data/text_streams.ipp"
