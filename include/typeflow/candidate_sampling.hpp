// SPDX-License-Identifier: Apache-2.0
#pragma once

// Losses over many classes that look at a few of them: samplers of candidates, nce_loss and
// sampled_softmax_loss. Their own include, since few programs have so many classes; it needs
// nothing more than typeflow.hpp does.

#include "typeflow/candidate_sampling/kernels.hpp"
#include "typeflow/candidate_sampling/losses.hpp"
#include "typeflow/candidate_sampling/samplers.hpp"
