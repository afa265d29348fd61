#include "validate/nodes/equals.hpp"

#include <algorithm>
#include <cstddef>
#include <ranges>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "validate/nodes/slower.hpp"

namespace twinlink::validate {
namespace {

class Holder {
 public:
  Holder(FleetFiles& files, const EqualsPlan& plan) : files_(files), plan_(plan) {}

  Equals hold() {
    result_.nodes.resize(files_.nodes.size());
    for (std::size_t node = 0; node < files_.nodes.size(); ++node) take_newest(node);
    list_kinds();
    find_middles();
    find_offs();
    find_missing();
    find_slower(result_, plan_);
    return std::move(result_);
  }

 private:
  // --- What counts -------------------------------------------------------------------------------------------------

  std::size_t key_of(const NodeFile& file, const NodeCurve& curve) {
    const auto [place, is_new] =
        places_.try_emplace(CurveKey{file.kind(), curve.test, curve.name, curve.from, curve.to}, result_.keys.size());
    if (is_new) result_.keys.push_back(place->first);
    return place->second;
  }

  void take_newest(std::size_t node) {
    std::map<std::size_t, HeldCurve> newest;
    std::map<std::size_t, std::map<std::string, const NodeCurve*>> days;
    std::set<std::pair<const NodeFile*, const NodeFile*>> alike;
    for (const NodeFile& file : files_.nodes[node].files) {
      for (const NodeCurve& curve : file.curves) {
        const std::size_t key = key_of(file, curve);
        if (!file.to_come && !file.date.empty()) days[key][file.date] = &curve;
        const auto [place, is_new] = newest.try_emplace(key, HeldCurve{.key = key, .file = &file, .curve = &curve});
        if (is_new) continue;
        const NodeFile& other = *place->second.file;
        if (other.date == file.date && &other != &file) alike.insert({&other, &file});
        const auto age = [](const NodeFile& of) { return std::pair(!of.to_come, of.date); };
        if (age(other) < age(file)) place->second = {.key = key, .file = &file, .curve = &curve};
      }
    }
    for (const auto& [one, other] : alike) {
      files_.nodes[node].remarks.push_back(
          fmt::format("{} and {} hold the same measurements, and {}: neither counts in them", one->file, other->file,
                      one->date.empty() ? "no date" : "the same date"));
      std::erase_if(newest, [&, one = one, other = other](const auto& held) {
        return (held.second.file == one || held.second.file == other) && in_both(held.first, *one, *other);
      });
    }
    for (auto& [key, held] : newest) {
      for (const auto& [date, curve] : std::views::reverse(days[key])) {
        if (curve != held.curve && held.days.size() + 1 < plan_.days) held.days.push_back(curve);
      }
      result_.nodes[node].curves.push_back(std::move(held));
    }
  }

  [[nodiscard]] bool in_both(std::size_t key, const NodeFile& one, const NodeFile& other) const {
    const CurveKey& wanted = result_.keys[key];
    const auto has = [&](const NodeFile& file) {
      return std::ranges::any_of(file.curves, [&](const NodeCurve& curve) {
        return std::tie(curve.name, curve.from, curve.to) == std::tie(wanted.name, wanted.from, wanted.to);
      });
    };
    return has(one) && has(other);
  }

  void list_kinds() {
    std::map<std::string, Kind> kinds;
    std::map<std::string, std::set<std::string>> versions;
    for (const HeldNode& node : result_.nodes) {
      std::set<const NodeFile*> files;
      std::set<std::string> own;
      for (const HeldCurve& held : node.curves) files.insert(held.file);
      for (const NodeFile* file : files) {
        Kind& kind = kinds[file->kind()];
        kind.name = file->kind();
        if (!file->software.empty()) kind.software.insert(file->software);
        own.insert(file->kind());
        versions[file->program.substr(0, file->program.find(' '))].insert(file->program);
      }
      for (const std::string& kind : own) ++kinds[kind].nodes;
    }
    for (auto& [name, kind] : kinds) result_.kinds.push_back(std::move(kind));
    for (const auto& [program, all] : versions) {
      if (all.size() < 2) continue;
      result_.remarks.push_back(
          fmt::format("two versions: {}; each is held against its own only", fmt::join(all, ", ")));
    }
    for (const Kind& kind : result_.kinds) {
      if (kind.nodes < kLeastEquals) {
        result_.remarks.push_back(fmt::format("{}: {} {}, and fewer than {} say nothing of each other", kind.name,
                                              kind.nodes, kind.nodes == 1 ? "node" : "nodes", kLeastEquals));
      }
      if (kind.software.size() > 1) {
        result_.remarks.push_back(
            fmt::format("{}: not all nodes have the same software: {}", kind.name, fmt::join(kind.software, "; ")));
      }
    }
  }

  // --- How far off each is ---------------------------------------------------------------------------------------

  void find_middles() {
    std::map<std::pair<std::size_t, Bytes>, std::vector<double>> times;
    for (HeldNode& node : result_.nodes) {
      for (const HeldCurve& held : node.curves) {
        for (const NodePoint& point : held.curve->points) {
          if (point.unstable) {
            ++node.unstable;
          } else {
            times[{held.key, point.size}].push_back(point.log_us);
          }
        }
      }
    }
    for (auto& [place, values] : times) {
      if (values.size() < kLeastEquals) continue;
      const Spread spread = spread_of(std::move(values));
      result_.middle[place] = spread.middle;
      result_.deviation[place] = spread.deviation;
    }
    lift_deviations();
  }

  /// A few nodes may be closer together by chance: where there are many curves, what most of those of its test have is
  /// the least, or most of the band's if the test has only a few.
  void lift_deviations() {
    using Name = std::tuple<std::string, std::string, Bytes, Band>;
    const auto names_of = [&](const std::pair<std::size_t, Bytes>& place) {
      const CurveKey& key = result_.keys[place.first];
      const Band band = band_of(place.second);
      return std::pair(Name(key.kind, key.test, place.second, band), Name(key.kind, "", Bytes{}, band));
    };
    std::map<Name, std::vector<double>> alike;
    for (const auto& [place, deviation] : result_.deviation) {
      const auto [of_test, of_band] = names_of(place);
      alike[of_test].push_back(deviation);
      alike[of_band].push_back(deviation);
    }
    std::map<Name, double> typical;
    for (const auto& [name, deviations] : alike) {
      const bool tell = deviations.size() >= (std::get<1>(name).empty() ? kLeastAlike : kLeastOfTest);
      if (tell) typical[name] = spread_of(deviations).middle;
    }
    for (auto& [place, deviation] : result_.deviation) {
      const auto [of_test, of_band] = names_of(place);
      const auto found = typical.contains(of_test) ? typical.find(of_test) : typical.find(of_band);
      if (found != typical.end()) deviation = std::max(deviation, found->second);
    }
  }

  void find_offs() {
    for (HeldNode& node : result_.nodes) {
      for (HeldCurve& held : node.curves) {
        for (const NodePoint& point : held.curve->points) {
          const auto middle = result_.middle.find({held.key, point.size});
          const bool judged = middle != result_.middle.end() && !point.unstable;
          held.off.push_back(judged ? std::optional(point.log_us - middle->second) : std::nullopt);
          std::vector<double> days = judged ? offs_of_days(result_, held, held.off.size() - 1) : std::vector<double>{};
          held.days_of.push_back(days.size());
          held.of_days.push_back(days.size() > 1 ? std::optional(robust_mean(std::move(days))) : std::nullopt);
        }
        held.band_off = means_of_bands(held, held.off);
        if (held.band_off.empty()) ++node.unjudged;
      }
    }
  }

  /// What nine of ten others of a kind have, and what one of ten others has.
  void find_missing() {
    std::vector<std::size_t> have(result_.keys.size());
    std::map<std::string, std::size_t> nodes;
    for (const HeldNode& node : result_.nodes) {
      for (const HeldCurve& held : node.curves) ++have[held.key];
    }
    for (const Kind& kind : result_.kinds) nodes[kind.name] = kind.nodes;
    for (HeldNode& node : result_.nodes) {
      std::set<std::string> kinds;
      std::set<std::size_t> own;
      for (const HeldCurve& held : node.curves) {
        own.insert(held.key);
        kinds.insert(result_.keys[held.key].kind);
      }
      for (std::size_t key = 0; key < have.size(); ++key) {
        const std::string& kind = result_.keys[key].kind;
        if (!kinds.contains(kind) || nodes[kind] < kLeastEquals) continue;
        const std::size_t others = nodes[kind] - 1;
        if (!own.contains(key) && 10 * have[key] >= 9 * others) node.missing.push_back(key);
        if (own.contains(key) && 10 * (have[key] - 1) <= others) node.extra.push_back(key);
      }
    }
  }

  static constexpr std::size_t kLeastOfTest = 8;

  FleetFiles& files_;
  const EqualsPlan& plan_;
  std::map<CurveKey, std::size_t> places_;
  Equals result_{};
};

}  // namespace

Equals hold_among_equals(FleetFiles& files, const EqualsPlan& plan) { return Holder(files, plan).hold(); }

}  // namespace twinlink::validate
