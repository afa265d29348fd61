#include "protocols/bench/cli/progress.hpp"

#include <cassert>
#include <cmath>
#include <cstdio>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace twinlink::bench {
namespace {

constexpr Seconds kRedraw{0.2};
constexpr Seconds kLogLine{60.0};
constexpr std::string_view kClearLine = "\r\x1b[K";

std::string in_words(Seconds time) {
  const double seconds = std::ceil(time.value());
  return seconds < 100 ? fmt::format("{:.0f} s", seconds) : fmt::format("{:.0f} min", std::ceil(seconds / 60));
}

}  // namespace

ProgressView ProgressView::standard_error(std::function<Seconds()> now) {
  return {.terminal = isatty(STDERR_FILENO) == 1,
          .write = [](const std::string& text) { fmt::print(stderr, "{}", text); },
          .now = std::move(now)};
}

Progress::Progress(std::string parts, ProgressView view)
    : parts_(std::move(parts)), view_(std::move(view)), began_(view_.now()), shown_(began_) {}

Progress::~Progress() { clear(); }

void Progress::clear() {
  if (drawn_) view_.write(std::string(kClearLine));
  drawn_ = false;
}

void Progress::show(std::size_t done, std::size_t all) {
  assert(done <= all);  // also where nobody looks on
  const Seconds now = view_.now();
  if (done == 0 || now - shown_ < (view_.terminal ? kRedraw : kLogLine)) return;
  shown_ = now;
  const Seconds rest = (now - began_) * (static_cast<double>(all - done) / static_cast<double>(done));
  const std::string text =
      fmt::format("{} of {} {} ({} %), about {} to go", done, all, parts_, done * 100 / all, in_words(rest));
  view_.write(view_.terminal ? std::string(kClearLine) + text : text + '\n');
  drawn_ = view_.terminal;
}

}  // namespace twinlink::bench
