// SPDX-License-Identifier: Apache-2.0
#pragma once

// Modes, in which models are traced.

#include "typeflow/core/config.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// How a model is traced: for training (dropout drops, batch norm updates) or for inference. With
/// `debug`, a session keeps every node's value (see Session::value). `read_only` concerns sessions
/// only; no model sees it. Sessions add `gpu_first` where their target prefers GPUs
/// (passes/place.hpp).
enum class Mode : unsigned { training = 0, inference = 1, debug = 2, read_only = 4, gpu_first = 8 };
constexpr Mode operator|(Mode a, Mode b) {
  return static_cast<Mode>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool has(Mode mode, Mode flag) {
  return (static_cast<unsigned>(mode) & static_cast<unsigned>(flag)) != 0;
}
constexpr Mode without(Mode mode, Mode flag) {
  return static_cast<Mode>(static_cast<unsigned>(mode) & ~static_cast<unsigned>(flag));
}
inline constexpr Mode training = Mode::training;
inline constexpr Mode inference = Mode::inference;
inline constexpr Mode debug = Mode::debug;
/// For sessions: they never write to the store, which may be const.
inline constexpr Mode read_only = Mode::read_only;

}  // namespace typeflow::inline TYPEFLOW_ISA
