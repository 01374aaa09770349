// SPDX-License-Identifier: Apache-2.0
#pragma once

// Recurrent nets: cells (long short-term memory, gated recurrent unit and the plain one), wrappers
// and stacks of cells, and functions that run them over sequences. Composed of other operations;
// needs no other library than typeflow.hpp does.

#include "typeflow/exec/all.hpp"
#include "typeflow/rnn/attention.hpp"
#include "typeflow/rnn/basic_rnn.hpp"
#include "typeflow/rnn/bidirectional.hpp"
#include "typeflow/rnn/cell.hpp"
#include "typeflow/rnn/dropout_cell.hpp"
#include "typeflow/rnn/gru.hpp"
#include "typeflow/rnn/lstm.hpp"
#include "typeflow/rnn/multi_rnn.hpp"
#include "typeflow/rnn/raw_rnn.hpp"
#include "typeflow/rnn/sequence.hpp"
#include "typeflow/rnn/state.hpp"
