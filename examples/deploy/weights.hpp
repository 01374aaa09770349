// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace deploy {

/// The safetensors file that deploy_train wrote, as a part of the program.
std::span<const std::byte> weights();

}  // namespace deploy
