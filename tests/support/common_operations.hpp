// SPDX-License-Identifier: Apache-2.0
#pragma once

// The records of the operations that twenty or more files of tests use. They are compiled once, in
// common_operations.cpp.
//
// A record points to the operation's rules. So a file that traces a graph at run time would compile
// the rules of each operation in it, and of those in their gradients. Constant evaluation needs
// definitions alone, which it has here, too.

#include <typeflow/operations.hpp>

#ifndef TYPEFLOW_TEST_EXTERN
#define TYPEFLOW_TEST_EXTERN extern
#endif

namespace typeflow::inline TYPEFLOW_ISA {

TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Abs>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Add>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::After>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Assign>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::BroadcastTo>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Cast>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Concat>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Constant>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::ConstantArray>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Cos>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Div>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Equal>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Exp>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Fma>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Fms>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Fnma>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Gather>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Greater>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::GreaterEqual>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Group>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::IfGreater>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::IfGreaterEqual>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::IndexAlong>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::IndexedSlices>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Less>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::LessEqual>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Log>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::LogSoftmax>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::LogicalAnd>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::MatMul>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Max>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Maximum>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Mean>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Minimum>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Mul>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Neg>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::NotEqual>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Pad>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Placeholder>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::RandomUniform>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Read>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Relu>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::ReluGradient>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Reshape>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Reverse>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::ScatterHalves>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::ScatterSub>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::ScatterSum>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Select>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Sigmoid>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Sin>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Slice>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Softmax>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Sqrt>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Square>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Sub>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Sum>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Tanh>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Transpose>;
TYPEFLOW_TEST_EXTERN template const ir::Op record<ops::Variable>;

}  // namespace typeflow::inline TYPEFLOW_ISA
