// SPDX-License-Identifier: Apache-2.0
#pragma once

// A convolution or a gradient of one by oneDNN, in the memory formats that it likes best.

#include <unordered_map>
#include <vector>

#include <omp.h>
#include <dnnl.hpp>

#include "convolution_layer.hpp"

namespace bench {

/// oneDNN's threads are OpenMP's.
inline void use_one_thread() { omp_set_num_threads(1); }

class OneDnnConvolution {
  using Memory = dnnl::memory;
  using Tag = dnnl::memory::format_tag;

 public:
  /// x (N,H,W,C), w (KH,KW,C/groups,F) and dy (N,H',W',F), of which two are read.
  OneDnnConvolution(const Layer& layer, int batch, Direction direction, const Floats& x,
                    const Floats& w, const Floats& dy)
      : image_({batch, layer.channels, layer.size, layer.size}, type, Tag::nhwc),
        kernel_(kernel_of(layer)),
        places_({batch, layer.filters, layer.height().out(), layer.width().out()}, type,
                Tag::nhwc) {
    const Memory::dims strides{layer.stride, layer.stride};
    const Memory::dims before{layer.height().before(), layer.width().before()};
    const Memory::dims after{layer.height().after(), layer.width().after()};
    constexpr auto direct = dnnl::algorithm::convolution_direct;
    const dnnl::convolution_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, direct, any(image_), any(kernel_), any(places_),
         strides, before, after},
        engine_);
    switch (direction) {
      case Direction::forward:
        primitive_ = dnnl::convolution_forward(forward);
        read(DNNL_ARG_SRC, image_, forward.src_desc(), x);
        read(DNNL_ARG_WEIGHTS, kernel_, forward.weights_desc(), w);
        write(DNNL_ARG_DST, places_, forward.dst_desc());
        break;
      case Direction::input_gradient: {
        const dnnl::convolution_backward_data::primitive_desc d(
            {direct, any(image_), any(kernel_), any(places_), strides, before, after}, engine_,
            forward);
        primitive_ = dnnl::convolution_backward_data(d);
        read(DNNL_ARG_DIFF_DST, places_, d.diff_dst_desc(), dy);
        read(DNNL_ARG_WEIGHTS, kernel_, d.weights_desc(), w);
        write(DNNL_ARG_DIFF_SRC, image_, d.diff_src_desc());
        break;
      }
      case Direction::filter_gradient: {
        const dnnl::convolution_backward_weights::primitive_desc d(
            {direct, any(image_), any(kernel_), any(places_), strides, before, after}, engine_,
            forward);
        primitive_ = dnnl::convolution_backward_weights(d);
        read(DNNL_ARG_SRC, image_, d.src_desc(), x);
        read(DNNL_ARG_DIFF_DST, places_, d.diff_dst_desc(), dy);
        write(DNNL_ARG_DIFF_WEIGHTS, kernel_, d.diff_weights_desc());
        break;
      }
    }
  }

  void run() {
    primitive_.execute(stream_, arguments_);
    stream_.wait();
  }
  /// As we lay it out.
  Floats result() {
    Floats out(plain_.get_size() / sizeof(float));
    Memory to(plain_, engine_, out.data());
    dnnl::reorder(result_, to).execute(stream_, result_, to);
    stream_.wait();
    return out;
  }

 private:
  static constexpr auto type = Memory::data_type::f32;

  /// (KH,KW,C/groups,F), whose F has the groups in front.
  static Memory::desc kernel_of(const Layer& layer) {
    const int height = layer.height().kernel;
    const int width = layer.width().kernel;
    if (layer.depthwise) return {{layer.channels, 1, 1, height, width}, type, Tag::hwigo};
    return {{layer.filters, layer.channels, height, width}, type, Tag::hwio};
  }
  static Memory::desc any(const Memory::desc& desc) { return {desc.dims(), type, Tag::any}; }
  void read(int argument, const Memory::desc& plain, const Memory::desc& chosen,
            const Floats& data) {
    Memory from(plain, engine_, const_cast<float*>(data.data()));
    Memory to(chosen, engine_);
    dnnl::reorder(from, to).execute(stream_, from, to);
    stream_.wait();
    arguments_.insert({argument, to});
  }
  void write(int argument, const Memory::desc& plain, const Memory::desc& chosen) {
    plain_ = plain;
    result_ = Memory(chosen, engine_);
    arguments_.insert({argument, result_});
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  Memory::desc image_;
  Memory::desc kernel_;
  Memory::desc places_;
  dnnl::primitive primitive_;
  std::unordered_map<int, Memory> arguments_;
  Memory::desc plain_;
  Memory result_;
};

}  // namespace bench
