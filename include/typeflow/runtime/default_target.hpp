// SPDX-License-Identifier: Apache-2.0
#pragma once

// The target of sessions that name none. It is the processor, unless TYPEFLOW_DEFAULT_TARGET names
// another class of the library: with -DTYPEFLOW_DEFAULT_TARGET=CudaTarget and <typeflow/cuda.hpp>
// a program for processors runs on GPUs as it is.

#include "typeflow/runtime/cpu_target.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

#if defined(TYPEFLOW_DEFAULT_TARGET)
class TYPEFLOW_DEFAULT_TARGET;
using DefaultTarget = TYPEFLOW_DEFAULT_TARGET;
#else
using DefaultTarget = CpuTarget<>;
#endif

}  // namespace typeflow::inline TYPEFLOW_ISA
