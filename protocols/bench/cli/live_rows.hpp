// The rows of a run, printed while the next ones are measured.
#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>

#include "protocols/bench/cli/output_options.hpp"
#include "protocols/bench/results/results.hpp"

namespace twinlink::bench {

/// Rows as they are measured, in the forms that have one for each size: the table and OSU's. Others come at the end.
class LiveRows {
 public:
  /// `head` has all that the result will have but the series. `options` and `out` must outlive this.
  LiveRows(Result head, const OutputOptions& options, std::ostream& out);

  /// For Plan::on_point. This must outlive the measurement.
  std::function<void(const Series&)> listener() {
    return [this](const Series& so_far) { show(so_far); };
  }
  void show(const Series& so_far);
  /// deliver() of output_options.hpp, but for what is printed already.
  void deliver(const Result& result);

 private:
  Result so_far_;
  const OutputOptions& options_;
  std::ostream& out_;
  std::size_t printed_ = 0;  ///< rows
};

}  // namespace twinlink::bench
