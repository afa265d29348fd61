#include "validate/import/buffers.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/results/json_statistics.hpp"
#include "protocols/bench/results/osu_form.hpp"

namespace twinlink::validate {
namespace {

std::string text_of(const nlohmann::json& origin, const char* name) {
  const auto found = origin.find(name);
  return found != origin.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// "host memory" for HOST; managed memory and all other words are the tool's.
std::string memory_of(const std::string& buffer) {
  if (buffer == "HOST") return "host memory";
  if (buffer == "DEVICE") return "device memory";
  return buffer;
}

std::string from_to(const std::string& from, const std::string& to) {
  return from == to ? fmt::format("messages in {}", memory_of(from))
                    : fmt::format("messages from {} to {}", memory_of(from), memory_of(to));
}

}  // namespace

BufferFinding check_buffers(const nlohmann::json& environment, std::string_view protocol) {
  const auto origin = environment.is_object() ? environment.find(std::string(bench::kOriginMember)) : environment.end();
  if (origin == environment.end() || !origin->is_object()) return {};
  const auto memory = bench::message_memory_of(protocol);
  if (!memory) return {};
  const bool device = *memory == Memory::device;
  const std::string theirs = fmt::format("those of '{}' lie in {} memory", protocol, device ? "device" : "host");
  const std::string from = text_of(*origin, kSendBuffer);
  const std::string to = text_of(*origin, kReceiveBuffer);
  if (from.empty() || to.empty()) {
    const std::string accelerator = text_of(*origin, kAccelerator);
    if (accelerator.empty() || device) return {};
    return {.text = fmt::format("the tool was told of {}, and not where its messages lay; {}", accelerator, theirs)};
  }
  const std::string wanted = device ? "DEVICE" : "HOST";
  if (from == wanted && to == wanted) return {};
  // One end alone may be what an option of the protocol does.
  const bool some = device && (from == wanted || to == wanted);
  const bool told = (from == "HOST" || from == "DEVICE") && (to == "HOST" || to == "DEVICE");
  return {.refused = !some && told, .text = fmt::format("measured with {}; {}", from_to(from, to), theirs)};
}

}  // namespace twinlink::validate
