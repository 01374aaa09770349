// SPDX-License-Identifier: Apache-2.0

// The text in which a checkpoint has the state of a training.

#include "fuzz_input/input.hpp"
#include "typeflow/training/loop.hpp"

using namespace fuzz_input;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const tf::FitOptions options{.epochs = 3, .steps_per_epoch = 2, .progress = nullptr};
  attempt([&] {
    tf::TrainingLoop loop(options, {"loss"});
    loop.restore(text_of(data, size));
    const std::string state = loop.state();
    tf::TrainingLoop other(options, {"loss"});
    other.restore(state);
    require(other.state() == state, "a state survives saving");
    if (loop.goes_on()) loop.step(0.5);
    require(loop.steps() >= 0 && loop.epochs() >= 0, "steps and epochs are counted from 0");
  });
  return 0;
}
