// SPDX-License-Identifier: Apache-2.0
#pragma once

// Losses over many classes that use a sample of them: candidate samplers, nce_loss and
// sampled_softmax_loss. A header of its own, because few programs have so many classes. It needs no
// other library than typeflow.hpp does.

#include "typeflow/candidate_sampling/kernels.hpp"
#include "typeflow/candidate_sampling/losses.hpp"
#include "typeflow/candidate_sampling/samplers.hpp"
#include "typeflow/candidate_sampling/unigram.hpp"
