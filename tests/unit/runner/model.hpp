// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <typeflow/runner.hpp>

namespace runner_test {

/// Runners of the model in model.cpp, with W(i,j) = i - j and b(j) = j: outputs "logits",
/// "probabilities", "class", "is_cat", "echo", "squares" and "total".
typeflow::Runner make();
/// The same with the weights in a store of the caller's, which must outlive it.
typeflow::Runner make_on_store();
/// Of a store that lacks b.
typeflow::Runner make_incomplete();
/// Of a store whose b has another shape.
typeflow::Runner make_misshapen();
/// Of "total" alone, of a constant store without variables.
typeflow::Runner make_of_total();
/// Sets the b of make_on_store()'s store to all `value`.
void set_b(float value);

}  // namespace runner_test
