#include "protocols/bench/results/run_facts.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "protocols/core/choices.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/core/text.hpp"

namespace twinlink::bench {
namespace {

using MemoryChoice = OptionChoice<Memory>;
constexpr Choices kMemories{MemoryChoice{"device", Memory::device}, MemoryChoice{"host", Memory::pageable},
                            MemoryChoice{"pinned", Memory::pinned}};

Memory parse_memory(std::string_view text, std::string_view whole) {
  const auto found = std::ranges::find(kMemories, text, &MemoryChoice::name);
  if (found != kMemories.end()) return found->value;
  throw UsageError(fmt::format("'{}' is no FIRST,SECOND, each of them device, host or pinned", whole));
}

std::string_view name_of(Memory memory) { return std::ranges::find(kMemories, memory, &MemoryChoice::value)->name; }

// As result files have them among the options of the settings. No protocol has options of these names.
constexpr const char* kLayout = "layout";
constexpr const char* kPack = "pack";
constexpr const char* kEnds = "ends";
constexpr const char* kCompute = "compute";
constexpr const char* kOneProcess = "one-process";
constexpr const char* kBuffers = "buffers-in-turn";
constexpr std::string_view kYes = "yes";

}  // namespace

std::string to_string(const Ends& ends) { return fmt::format("{},{}", name_of(ends.first), name_of(ends.second)); }

Ends parse_ends(std::string_view text) {
  const std::vector<std::string_view> names = split(text, ',');
  if (names.size() != 2) return {parse_memory("", text), {}};
  return {parse_memory(names[0], text), parse_memory(names[1], text)};
}

std::map<std::string, std::string> named(const RunFacts& facts) {
  std::map<std::string, std::string> texts;
  if (facts.packing.needed()) {
    texts[kLayout] = to_string(facts.packing.layout);
    texts[kPack] = to_string(facts.packing.method);
  }
  if (facts.ends) texts[kEnds] = to_string(*facts.ends);
  if (facts.compute > Seconds{}) texts[kCompute] = fmt::format("{:.9g}us", facts.compute.microseconds());
  if (facts.one_process) texts[kOneProcess] = kYes;
  if (facts.buffers > 1) texts[kBuffers] = std::to_string(facts.buffers);
  return texts;
}

RunFacts take_run_facts(std::map<std::string, std::string>& options) {
  RunFacts facts;
  const auto take = [&](const char* name, const auto& read) {
    const auto text = options.extract(name);
    if (!text.empty()) read(text.mapped());
  };
  take(kLayout, [&](const std::string& text) { facts.packing.layout = parse_layout(text); });
  take(kPack, [&](const std::string& text) { facts.packing.method = find_pack_method(text); });
  take(kEnds, [&](const std::string& text) { facts.ends = parse_ends(text); });
  take(kCompute, [&](const std::string& text) { facts.compute = parse_seconds(text); });
  take(kOneProcess, [&](const std::string& text) {
    if (text != kYes) throw UsageError(fmt::format("one-process is '{}', where only 'yes' has a meaning", text));
    facts.one_process = true;
  });
  take(kBuffers, [&](const std::string& text) {
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), facts.buffers);
    if (problem != std::errc{} || end != text.data() + text.size() || facts.buffers < 1) {
      throw UsageError(fmt::format("buffers-in-turn is '{}', which is no number of buffers", text));
    }
  });
  return facts;
}

}  // namespace twinlink::bench
