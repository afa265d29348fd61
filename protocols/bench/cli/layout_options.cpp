#include "protocols/bench/cli/layout_options.hpp"

#include <sstream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "protocols/bench/cli/options.hpp"
#include "protocols/bench/results/files.hpp"

namespace twinlink::bench {

void add_layout_options(CLI::App& app, LayoutOptions& options) {
  add_read_option(
      app, "--layout", "LAYOUT", to_string(options.layout),
      "Where a message's bytes lie: contiguous, vector:BLOCK,STRIDE (blocks that begin STRIDE bytes apart), "
      "indexed:DISPLACEMENT+LENGTH,... (repeated where it ends) or indexed:@FILE; message sizes count no "
      "gaps, and the last block may be cut short",
      [&options](const std::string& text) { options.layout = read_layout(text); });
  add_read_option(app, "--pack", "NAME", std::string(to_string(Packing{}.method)),
                  "How a layout is packed: copies (one for each block), 2d (one 2-D copy), kernel",
                  [&options](const std::string& text) { options.method = find_pack_method(text); });
}

Packing make_packing(const LayoutOptions& options) {
  if (options.layout.contiguous() && options.method) {
    throw UsageError("--pack says how blocks that lie apart are packed: it needs --layout vector:... or indexed:...");
  }
  return {options.layout, options.method.value_or(Packing{}.method)};
}

Layout read_layout(const std::string& text) {
  constexpr std::string_view kFromFile = "indexed:@";
  if (!text.starts_with(kFromFile)) return parse_layout(text);
  const std::string file = text.substr(kFromFile.size());
  std::string list = read_file(file);
  for (char& c : list) c = c == ',' ? ' ' : c;
  std::istringstream words(list);
  std::string layout;
  for (std::string word; words >> word;) layout += (layout.empty() ? "indexed:" : ",") + word;
  try {
    return parse_layout(layout.empty() ? "indexed:" : layout);
  } catch (const UsageError& error) {
    throw InputError(fmt::format("{}: error: {}", file, error.what()));
  }
}

}  // namespace twinlink::bench
