// SPDX-License-Identifier: Apache-2.0
#pragma once

// Sequences of labels: the loss of connectionist temporal classification (CTC), decoding, the
// edit distance. A header of its own, because few programs need it. It needs no other library
// than typeflow.hpp does.

#include "typeflow/sequences/ctc.hpp"
#include "typeflow/sequences/ctc_beam_search_decoder.hpp"
#include "typeflow/sequences/ctc_greedy_decoder.hpp"
#include "typeflow/sequences/edit_distance.hpp"
#include "typeflow/sequences/kernels.hpp"
