// The options --layout and --pack, which several commands take.
#pragma once

#include <optional>

#include "protocols/layout/packing.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace twinlink::bench {

/// Messages whose bytes lie apart.
struct LayoutOptions {
  Layout layout{};
  std::optional<PackMethod> method{};  ///< empty: Packing's default
};

/// `options` must live until the command line has been parsed.
void add_layout_options(CLI::App& app, LayoutOptions& options);

/// A UsageError for a method without a layout.
Packing make_packing(const LayoutOptions& options);

/// As parse_layout(), and 'indexed:@FILE' reads the list from a file: DISPLACEMENT+LENGTH, separated by commas, blanks
/// or line ends. An InputError names the file.
Layout read_layout(const std::string& text);

}  // namespace twinlink::bench
