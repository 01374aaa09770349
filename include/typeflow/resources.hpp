// SPDX-License-Identifier: Apache-2.0
#pragma once

// Objects that runs share: counters and mutexes, and resources of your own. A header of its own,
// because few programs need it. See docs/resources.md.

#include "typeflow/resources/counter.hpp"
#include "typeflow/resources/kernels.hpp"
#include "typeflow/resources/mutex.hpp"
#include "typeflow/resources/resource.hpp"
