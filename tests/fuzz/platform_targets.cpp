// Platform files, what --set changes of them, and where ranks are placed on them.
#include <algorithm>
#include <span>
#include <vector>

#include "platforms/machine/platform_numbers.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/reader/platform_writer.hpp"
#include "platforms/reader/release_reader.hpp"
#include "platforms/reader/yaml_override.hpp"
#include "platforms/tools/placement.hpp"
#include "platforms/yaml/diagnostics.hpp"
#include "platforms/yaml/yaml_document.hpp"
#include "protocols/gpu/choice.hpp"
#include "tests/fuzz/targets.hpp"

namespace twinlink::fuzz {

using platforms::Platform;

namespace {

/// The platform of the corpus' overrides and placements.
const std::string kShipped = TWINLINK_SOURCE_DIR "/platforms/keeneland-kids.yaml";

void promise_written_alike(const Platform& platform) {
  static_cast<void>(platforms::all_numbers(platform));
  const std::string written = platforms::platform_text(platform);
  promise_same(written, platforms::platform_text(promise_read_back(written)), "a platform written and read again");
}

}  // namespace

Platform promise_read_back(const std::string& written) {
  try {
    return platforms::read_platform_text(written, "written");
  } catch (const UsageError& error) {
    throw BrokenPromise(std::string("an accepted platform is refused once it is written: ") + error.what() + "\n" +
                        written);
  }
}

void read_platform_alone(const std::string& text) {
  promise_written_alike(platforms::read_platform_text(text, "input"));
}

/// What stands before and after a line "%%%" are the files platform.yaml and part.yaml of one folder.
void read_platform_with_part(const std::string& text) {
  const std::string separator = "\n%%%\n";
  const std::size_t at = text.find(separator);
  const std::string file = scratch_file("platform.yaml", text.substr(0, at));
  scratch_file("part.yaml", at == std::string::npos ? "" : text.substr(at + separator.size()));
  promise_written_alike(platforms::read_platform(file));
}

/// What a release says otherwise than NCCL 2.28. Whatever its tables are, there is a choice, and it can be made.
void read_release(const std::string& text) {
  const std::string shipped = TWINLINK_SOURCE_DIR "/platforms/parts/ccl/nccl-2.28.yaml";
  const auto release = platforms::find_release(scratch_file("release.yaml", "include: " + shipped + "\n" + text));
  for (const int capability : {35, 70, 86, 90, 120}) {
    for (const int nodes : {1, 2, 5}) {
      gpu::Ground ground{.release = release.get(), .capability = capability, .within = Level::nvl};
      ground.links_of_gpu = ground.ring = Rate{300e9};
      ground.nodes = nodes;
      ground.per_node = 8;
      ground.reduces.open = true;
      if (nodes > 1) gpu::look_between_nodes(ground, 4, Rate{25e9}, Rate{});
      gpu::double_channels(ground);
      ground.heads = gpu::look_for_heads(ground, 4);
      ground.switch_channels = gpu::of_capability(release->switch_channels, capability);
      for (const Bytes bytes : {8_B, 1_MiB, 1_GiB}) {
        const auto operation = [&](gpu::Operation what) { return gpu::choose(ground, what, bytes, 8 * nodes, {}); };
        const gpu::Choice choice = operation(gpu::Operation::all_reduce);
        promise(choice.channels >= 1 && choice.channels <= 64, "a collective has 1 to 64 channels");
        promise(choice.predicted && choice.predicted->value() >= 0, "a collective takes some time");
        const gpu::Choice messages = operation(gpu::Operation::all_to_all);
        promise(messages.parts >= 1 && messages.parts <= messages.channels, "a message has a part of the channels");
        gpu::Ground alone = ground;
        alone.per_node = 1;
        const gpu::Choice parts = gpu::choose(alone, gpu::Operation::all_gather, bytes, nodes, {});
        promise(parts.predicted && parts.predicted->value() >= 0, "a gathering takes some time");
      }
    }
  }
}

/// An override on each line. Reading a file takes long, so the overrides are tried on its document first.
void read_overrides(const std::string& text) {
  static const platforms::YamlValue document = [] {
    platforms::Diagnostics diagnostics;
    return *platforms::load_yaml(kShipped, diagnostics);
  }();
  std::vector<std::string> overrides;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) overrides.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  platforms::YamlValue changed = document;
  for (const std::string& assignment : overrides) platforms::apply_override(changed, assignment);
  promise_written_alike(platforms::read_platform(kShipped, overrides));
}

void read_placement(const std::string& text) {
  static const Platform platform = platforms::read_platform(kShipped);
  const std::vector<Place> places = platforms::read_places(platform, scratch_file("places", text));
  promise(!places.empty(), "a placement has ranks");
}

}  // namespace twinlink::fuzz
