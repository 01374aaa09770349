// SPDX-License-Identifier: Apache-2.0

#include "../model.hpp"

template void ptb::train<ptb::large>(const typeflow::Corpus&, const examples::Options&);
