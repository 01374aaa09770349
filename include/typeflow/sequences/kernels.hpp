// SPDX-License-Identifier: Apache-2.0
#pragma once

// The CPU kernels of sequences. They call the functions of the operations' headers, with different
// sequences on different threads. The recursions are serial, and short compared with the net that
// makes the logits.

#include <algorithm>
#include <cstdint>
#include <limits>

#include "typeflow/cpu/call.hpp"
#include "typeflow/sequences/ctc.hpp"
#include "typeflow/sequences/ctc_beam_search_decoder.hpp"
#include "typeflow/sequences/ctc_greedy_decoder.hpp"
#include "typeflow/sequences/edit_distance.hpp"

namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels {

namespace sequences {

inline const std::int64_t* integers(const Tensor& x) {
  return static_cast<const std::int64_t*>(x.data);
}
inline ctc::Batch batch_of(const Tensor* in) {
  return {in[0].extents[0], in[0].extents[1], in[0].extents[2], in[1].extents[1],
          integers(in[1]),  integers(in[2]),  integers(in[3])};
}
/// Sequences are shared out to so many parts, each with memory of its own.
inline std::int64_t parts_of(std::int64_t size) { return std::min<std::int64_t>(size, 16); }
/// The bytes of workspace for parts that need so many numbers of 8 bytes each.
inline std::int64_t workspace_of(std::int64_t size, std::int64_t numbers) {
  return checked_product(8 * parts_of(size), numbers);
}
/// Calls f(b, memory of b's part) for all sequences, each of which has this cost (cost_of_part).
template <class F>
void each_part(const KernelCall& call, std::int64_t size, std::int64_t numbers, std::int64_t cost,
               const F& f) {
  const std::int64_t parts = parts_of(size);
  if (parts == 0) return;
  const std::int64_t grain = grain_of_cost(cost * ((size + parts - 1) / parts));
  parallel(call, parts, grain, [&](std::int64_t begin, std::int64_t end) {
    void* const memory = static_cast<double*>(call.workspace) + begin * numbers;
    for (std::int64_t b = size * begin / parts; b < size * end / parts; ++b) f(b, memory);
  });
}
/// Calls f(b, logits of b, memory) for all sequences. If one has a mistake, reports it instead.
template <class T, class F>
void each_sequence(const ctc::Batch& batch, const ctc::Rules& rules, bool gradient,
                   const Tensor& logits, const KernelCall& call, const F& f) {
  const Failure wrong = batch.check(rules);
  if (wrong.what != 0) return call.fail(wrong);
  const auto* const data = static_cast<const T*>(logits.data);
  // At each step an exponential of each class, and some of each label: about 10 ns each.
  const std::int64_t cost = batch.time * (batch.classes + 4 * batch.most_labels) * 1000;
  each_part(call, batch.size, batch.memory(gradient), cost, [&](std::int64_t b, void* memory) {
    const auto logit = [&, b](std::size_t t, std::int64_t k) {
      const std::int64_t row = static_cast<std::int64_t>(t) * batch.size + b;
      return static_cast<double>(data[row * batch.classes + k]);
    };
    f(b, logit, memory);
  });
}

}  // namespace sequences

template <>
struct kernel_of<ops::CtcLoss> {
  static std::int64_t workspace(const Tensor* in, const Tensor*) {
    const ctc::Batch batch = sequences::batch_of(in);
    return sequences::workspace_of(batch.size, batch.memory(false));
  }

  template <class A, class T>
  static void run(const ops::CtcLoss& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const ctc::Batch batch = sequences::batch_of(in);
    auto* const losses = static_cast<T*>(out->data);
    sequences::each_sequence<T>(
        batch, op.rules(), false, *in, call, [&](std::int64_t b, const auto& logit, void* memory) {
          losses[b] = static_cast<T>(
              batch.template loss<false>(op.rules(), b, logit, memory, [](auto...) {}));
        });
  }
};

template <>
struct kernel_of<ops::CtcLossGradient> {
  static std::int64_t workspace(const Tensor* in, const Tensor*) {
    const ctc::Batch batch = sequences::batch_of(in);
    return sequences::workspace_of(batch.size, batch.memory(true));
  }

  template <class A, class T>
  static void run(const ops::CtcLossGradient& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const ctc::Batch batch = sequences::batch_of(in);
    auto* const dx = static_cast<T*>(out->data);
    std::fill_n(dx, out->size(), T(0));
    sequences::each_sequence<T>(
        batch, op.rules(), true, *in, call, [&](std::int64_t b, const auto& logit, void* memory) {
          batch.template loss<true>(
              op.rules(), b, logit, memory, [&](std::size_t t, std::int64_t k, double d) {
                const std::int64_t row = static_cast<std::int64_t>(t) * batch.size + b;
                dx[row * batch.classes + k] = static_cast<T>(d);
              });
        });
  }
};

template <>
struct kernel_of<ops::CtcCollapse> {
  template <class A>
  static void run(const ops::CtcCollapse& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const std::int64_t time = in[0].extents[0];
    const std::int64_t size = in[0].extents[1];
    const auto* const classes = static_cast<const std::int32_t*>(in[0].data);
    const std::int64_t* const lengths = sequences::integers(in[1]);
    auto* const labels = static_cast<std::int32_t*>(out[0].data);
    auto* const counts = static_cast<std::int32_t*>(out[1].data);
    for (std::int64_t b = 0; b < size; ++b) {
      if (lengths[b] < 0 || lengths[b] > time) return call.fail({1, {lengths[b], b, time}});
    }
    std::fill_n(labels, size * time, -1);
    for (std::int64_t b = 0; b < size; ++b) {
      counts[b] = static_cast<std::int32_t>(op.collapse(
          lengths[b], [&](std::int64_t t) { return classes[t * size + b]; },
          [&](std::int64_t i, std::int64_t k) {
            labels[b * time + i] = static_cast<std::int32_t>(k);
          }));
    }
  }
};

template <>
struct kernel_of<ops::CtcBeamSearch> {
  static std::int64_t workspace(const Tensor* in, const Tensor*) {
    const std::int64_t nodes = checked_product(in[0].extents[0], in[2].extents[0]);
    const std::int64_t largest = checked_sum(checked_product(nodes, 16), in[0].extents[2]);
    checked_product(largest, 16);  // of more than this there is no memory
    return sequences::workspace_of(in[0].extents[1], numbers(in));
  }

  template <class A>
  static void run(const ops::CtcBeamSearch& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const std::int64_t time = in[0].extents[0];
    const std::int64_t size = in[0].extents[1];
    const std::int64_t classes = in[0].extents[2];
    const auto* const logits = static_cast<const double*>(in[0].data);
    const std::int64_t* const lengths = sequences::integers(in[1]);
    auto* const labels = static_cast<std::int32_t*>(out[0].data);
    auto* const counts = static_cast<std::int32_t*>(out[1].data);
    auto* const logs = static_cast<double*>(out[2].data);
    const Failure wrong =
        ops::CtcBeamSearch::find_wrong([&](std::int64_t b) { return lengths[b]; }, size, time);
    if (wrong.what != 0) return call.fail(wrong);
    std::fill_n(labels, out[0].size(), -1);
    const std::int64_t cost = time * in[2].extents[0] * classes * 500;  // 5 ns for each extension
    sequences::each_part(call, size, numbers(in), cost, [&](std::int64_t b, void* memory) {
      ctc::BeamSearch search(memory, time, in[2].extents[0], classes, op.blank);
      search.run(lengths[b], [&](std::int64_t t, std::int64_t k) {
        return logits[(t * size + b) * classes + k];
      });
      for (std::int64_t p = 0; p < op.paths; ++p) {
        const std::int64_t row = b * op.paths + p;
        const bool found = p < search.count();
        counts[row] = found ? static_cast<std::int32_t>(search.length(p, op.merge != 0)) : 0;
        logs[row] = found ? search.log_probability(p) : -std::numeric_limits<double>::infinity();
        if (!found) continue;
        search.each_label(p, op.merge != 0, [&](std::int64_t t, std::int32_t label) {
          labels[row * time + t] = label;
        });
      }
    });
  }

 private:
  static std::int64_t numbers(const Tensor* in) {
    return ctc::BeamSearch::memory(in[0].extents[0], in[2].extents[0], in[0].extents[2]);
  }
};

template <>
struct kernel_of<ops::EditDistance> {
  static std::int64_t workspace(const Tensor* in, const Tensor* out) {
    return sequences::workspace_of(out->size(), numbers(in));
  }

  template <class A>
  static void run(const ops::EditDistance& op, const Tensor* in, const Tensor* out,
                  const KernelCall& call) {
    const std::int64_t size = out->size();
    const auto length = [&](int input) {
      return [x = sequences::integers(in[input])](std::int64_t b) { return x[b]; };
    };
    for (const int which : {1, 2}) {
      const std::int64_t most = in[2 * which - 2].extents[1];
      const Failure wrong = ops::EditDistance::check(size, length(2 * which - 1), most, which);
      if (wrong.what != 0) return call.fail(wrong);
    }
    const auto row = [&](int input, std::int64_t b) {
      return [x = sequences::integers(in[input]) + b * in[input].extents[1]](std::int64_t i) {
        return x[i];
      };
    };
    auto* const y = static_cast<float*>(out->data);
    const std::int64_t cost = in[0].extents[1] * in[2].extents[1] * 100;  // 1 ns for each pair
    sequences::each_part(call, size, numbers(in), cost, [&](std::int64_t b, void* memory) {
      y[b] = op.distance(row(0, b), length(1)(b), row(2, b), length(3)(b),
                         static_cast<std::int64_t*>(memory));
    });
  }

 private:
  /// Of a row of the table.
  static std::int64_t numbers(const Tensor* in) { return checked_sum(in[2].extents[1], 1); }
};

}  // namespace typeflow::inline TYPEFLOW_ISA::cpu_kernels
