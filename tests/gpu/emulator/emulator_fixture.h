// Kernels for tests: PTX from a body or a whole text, memory to run on, what a run has found.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "executor.h"

namespace emulated {

class EmulatorTest : public testing::Test {
 protected:
  DeviceMemory memory{kDeviceBase, std::size_t{256} << 20};
  Checks checks{true, true, true};

  std::unique_ptr<Module> loaded(const std::string& text) {
    std::string log;
    auto module = Module::load(text, memory, log);
    EXPECT_TRUE(module) << log;
    return module;
  }
  static std::string text_of(const std::string& rest) {
    return ".version 7.8\n.target sm_80\n.address_size 64\n" + rest;
  }
  // A kernel k(out, in, n) with registers of every kind: %rdo and %rdi are the two addresses, %rn is n, %rt the thread.
  static std::string kernel(const std::string& body, const std::string& before = "") {
    return text_of(before +
                   ".visible .entry k(.param .u64 out, .param .u64 in, .param .u32 n) {\n"
                   ".reg .pred %p<16>; .reg .b16 %h<32>; .reg .b32 %r<64>; .reg .b64 %d<64>; .reg .f32 %f<64>;\n"
                   ".reg .f64 %g<32>; .reg .b64 %o, %i, %a; .reg .b32 %n, %t;\n"
                   "ld.param.u64 %o, [out]; ld.param.u64 %i, [in]; ld.param.u32 %n, [n]; mov.u32 %t, %tid.x;\n" +
                   body + "\nret;\n}\n");
  }
  template <class T>
  Address placed(const std::vector<T>& values) {
    Address at = memory.allocate(values.size() * sizeof(T));
    memory.write(at, values.data(), values.size() * sizeof(T));
    return at;
  }
  template <class T>
  std::vector<T> taken(Address at, std::size_t count) {
    std::vector<T> values(count);
    EXPECT_TRUE(memory.read(values.data(), at, count * sizeof(T)));
    return values;
  }
  LaunchResult launched(Module& module, Address out, Address in, std::uint32_t n, Extent block = {32, 1, 1},
                        Extent grid = {1, 1, 1}, std::size_t dynamic = 0) {
    struct {
      Address out, in;
      std::uint32_t n;
    } arguments{out, in, n};
    return module.run("k", grid, block, dynamic, &arguments, checks);
  }
  // The kind of what is found when the body runs, or "" where nothing is.
  std::string found(const std::string& body, Extent block = {32, 1, 1}, Extent grid = {1, 1, 1},
                    const std::string& before = "") {
    auto module = loaded(kernel(body, before));
    if (!module) return "not loaded";
    if (!out_) {
      out_ = placed(std::vector<std::uint32_t>(4096));
      in_ = placed(std::vector<std::uint32_t>(4096, 1));
    }
    last = launched(*module, out_, in_, 7, block, grid);
    return last.findings.empty() ? "" : last.findings[0].kind;
  }
  LaunchResult last;
  Address out_ = 0, in_ = 0;
};

inline std::string first_finding(const LaunchResult& result) {
  return result.findings.empty() ? "" : result.findings[0].text;
}

}  // namespace emulated
