// SPDX-License-Identifier: Apache-2.0

#include "../time_net.hpp"

static_assert(resnet::tf::parameters<resnet::ResNet200::forward>() == 64'726'120);
template void resnet::time_net<resnet::ResNet200>(const examples::Options&);
