#include "protocols/bench/cli/live_rows.hpp"

#include <ostream>
#include <utility>

#include "protocols/bench/cli/print.hpp"
#include "protocols/bench/results/osu_form.hpp"

namespace twinlink::bench {

LiveRows::LiveRows(Result head, const OutputOptions& options, std::ostream& out)
    : so_far_(std::move(head)), options_(options), out_(out) {}

void LiveRows::show(const Series& so_far) {
  if (options_.format == Format::csv || options_.format == Format::json) return;
  so_far_.series = so_far;
  if (options_.format == Format::osu) {
    print_osu(so_far_, out_, printed_);
  } else {
    print_rows(so_far_, out_, printed_);
  }
  out_.flush();
  printed_ = so_far.points.size();
}

void LiveRows::deliver(const Result& result) {
  if (printed_ == 0) return bench::deliver(result, options_, out_);
  show(result.series);
  if (options_.format == Format::table) print_end(result, out_);
  store(result, options_);
}

}  // namespace twinlink::bench
