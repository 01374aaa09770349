// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sequences of labels: the CTC loss, greedy decoding, the edit distance. Its own include, since few
// programs need it; it links nothing more than typeflow.hpp does.

#include "typeflow/sequences/ctc.hpp"
#include "typeflow/sequences/ctc_greedy_decoder.hpp"
#include "typeflow/sequences/edit_distance.hpp"
#include "typeflow/sequences/kernels.hpp"
