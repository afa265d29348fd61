#include "platforms/tools/placement.hpp"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>

#include "platforms/topology/topology.hpp"
#include "protocols/bench/results/output_files.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::platforms {
namespace {

std::string trimmed(const std::string& text) {
  constexpr const char* kBlank = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlank);
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

}  // namespace

std::vector<Place> places_of_ranks(const Platform& platform, const std::string& how) {
  if (how != "packed" && how != "spread") return read_places(platform, how);
  std::vector<Place> places = Topology(platform).places();
  if (how == "spread") std::ranges::stable_sort(places, {}, &Place::gpu);
  return places;
}

std::vector<Place> places_of_ranks(const Platform& platform, const std::string& how, int ranks) {
  std::vector<Place> places = places_of_ranks(platform, how);
  const auto count = ranks == 0 ? places.size() : static_cast<std::size_t>(ranks);
  if (count > places.size()) {
    throw UsageError(fmt::format("--ranks {}: --place {} has places for {}", count, how, places.size()));
  }
  places.resize(count);
  return places;
}

std::vector<Place> read_places(const Platform& platform, const std::filesystem::path& file) {
  bench::note_input(file);
  std::ifstream in(file);
  if (!in) throw InputError(fmt::format("--place {}: 'packed', 'spread' or a file that can be read", file.string()));
  constexpr std::size_t kMostRanks = 131'072;
  constexpr int kMostSaid = 200;  // nobody reads more
  const Topology topology(platform);
  std::vector<Place> places;
  std::string wrong;
  int mistakes = 0;
  int number = 0;
  for (std::string line; std::getline(in, line) && mistakes < kMostSaid;) {
    ++number;
    const std::string text = trimmed(line.substr(0, line.find('#')));
    if (text.empty()) continue;
    if (places.size() == kMostRanks) {
      throw InputError(fmt::format("{}:{}: error: more than {} ranks", file.string(), number, kMostRanks));
    }
    try {
      places.push_back(parse_place(text));
      topology.require(places.back());
    } catch (const UsageError& error) {
      ++mistakes;
      wrong += fmt::format("{}{}:{}: error: {}", wrong.empty() ? "" : "\n", file.string(), number, error.what());
    }
  }
  if (mistakes == kMostSaid) wrong += "\nand maybe more errors";
  if (!wrong.empty()) throw InputError(wrong);
  if (places.empty()) throw InputError(fmt::format("{}: error: there is no place in it", file.string()));
  return places;
}

}  // namespace twinlink::platforms
