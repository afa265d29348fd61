// twinlink-validate run as a user runs it, in a folder of the test's own.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "protocols/bench/probe/probe.hpp"
#include "protocols/bench/results/results.hpp"
#include "tests/validate/scratch_folder.hpp"

namespace twinlink::validate::test {

struct Ended {
  int code = -1;
  std::string out{};
  std::string err{};
};

class ValidateProgram : public ::testing::Test {
 protected:
  /// Runs twinlink-validate in the test's folder.
  Ended run(const std::string& arguments);
  /// Runs any program there.
  Ended run(const std::string& program, const std::string& arguments);
  void write(const std::string& name, const bench::Result& result) { bench::write_json(result, folder_.path() / name); }
  void write(const std::string& name, const bench::ProbeFile& probes) {
    bench::write_json(probes, folder_.path() / name);
  }
  [[nodiscard]] std::string read(const std::string& name) const { return read_file(folder_.path() / name); }
  [[nodiscard]] bool exists(const std::string& name) const;

  ScratchFolder folder_;
};

}  // namespace twinlink::validate::test
