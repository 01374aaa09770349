// SPDX-License-Identifier: Apache-2.0

// C++20 has no #embed, but assemblers have .incbin. DEPLOY_WEIGHTS is the file's path. (ccache sees
// the directive, and so does not take an old object file, only if a quote follows it at once.)

#include "weights.hpp"

asm(".pushsection .rodata\n"
    ".balign 64\n"
    "deploy_weights_begin:\n"
    ".incbin \"" DEPLOY_WEIGHTS
    "\"\n"
    "deploy_weights_end:\n"
    ".global deploy_weights_begin, deploy_weights_end\n"
    ".popsection\n");

extern "C" const std::byte deploy_weights_begin[];
extern "C" const std::byte deploy_weights_end[];

std::span<const std::byte> deploy::weights() { return {deploy_weights_begin, deploy_weights_end}; }
