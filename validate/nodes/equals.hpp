// Nodes held against each other: what is slower on one than on all that should be like it.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "validate/compare/spread.hpp"
#include "validate/nodes/node_files.hpp"

namespace twinlink::validate {

/// What is the same measurement on every node of a kind.
struct CurveKey {
  std::string kind{};  ///< of its file: program and machine
  std::string test{};
  std::string name{};
  std::string from{};
  std::string to{};

  friend auto operator<=>(const CurveKey&, const CurveKey&) = default;
};

/// A curve of one node, the newest where there are several, beside those of its equals.
struct HeldCurve {
  std::size_t key = 0;  ///< in Equals::keys
  const NodeFile* file = nullptr;
  const NodeCurve* curve = nullptr;
  std::vector<const NodeCurve*> days{};      ///< of other days, the newest first
  std::vector<std::optional<double>> off{};  ///< by point: the logarithm over the middle of all; empty: too few have it
  std::vector<std::optional<double>> of_days{};  ///< likewise, the mean over the days; empty: only one has it
  std::vector<std::size_t> days_of{};            ///< likewise, how many days `of_days` is of
  std::map<Band, double> band_off{};             ///< the mean of `off` over those of a band that are stable
};

/// Something that is slower than by chance.
struct Slower {
  enum class Of {
    curve,  ///< one curve
    gpu,    ///< all curves of a test that begin or end at one GPU
    test,   ///< all curves of a test
    part    ///< all that a part of the platform would slow, each by as much as it would
  };
  Of of = Of::curve;
  std::string test{};
  std::string curve{};  ///< its name; of a part what it is: "link 'pcie3'"
  std::vector<std::string> places{};
  Band band = Band::small;
  double slower = 0;     ///< 0.5: takes half as long again as the middle of all
  double allowed = 0;    ///< the tolerance, or what chance does where that is more
  std::size_t days = 1;  ///< of whose results it is the mean; of several curves so many have in the mean
  double sure = 0;       ///< the logarithm over what chance may do
};

/// What a part that is slow does to each time: 1 to the one that it slows most.
struct Pattern {
  std::string part{};  ///< "link 'pcie3'"
  std::vector<std::string> places{};
  std::map<std::pair<std::size_t, Bytes>, double> share{};  ///< by key and size; what it leaves alone is not there
};

struct HeldNode {
  std::vector<HeldCurve> curves{};
  std::vector<Slower> slower{};  ///< the worst first
  std::map<std::string, double>
      map{};                           ///< by test: the worst band's mean over its curves, as `slower`; below 0: faster
  std::vector<std::size_t> missing{};  ///< keys that nearly all of its equals have
  std::vector<std::size_t> extra{};    ///< keys that nearly none of them has
  std::size_t unstable = 0;            ///< points that are not judged
  std::size_t unjudged = 0;            ///< curves that too few nodes have
};

struct EqualsPlan {
  double tolerance = 0.1;        ///< of one curve
  double of_many_curves = 0.03;  ///< of the mean of many
  std::size_t days = 7;          ///< of so many results of a curve the mean is judged beside the newest
  /// The patterns of a platform's parts over these keys and sizes; empty: nobody knows any.
  std::function<std::vector<Pattern>(const std::vector<CurveKey>&, const std::vector<std::pair<std::size_t, Bytes>>&)>
      patterns{};
};

/// The nodes that have results of one kind.
struct Kind {
  std::string name{};
  std::size_t nodes = 0;
  std::set<std::string> software{};
};

struct Equals {
  std::vector<CurveKey> keys{};
  std::map<std::pair<std::size_t, Bytes>, double> middle{};  ///< of the logarithms in us, by key and size
  std::map<std::pair<std::size_t, Bytes>, double>
      deviation{};                ///< likewise, at least that of most curves that are like it
  std::vector<HeldNode> nodes{};  ///< as in FleetFiles
  std::vector<Kind> kinds{};
  std::size_t trials = 0;  ///< figures that were looked at: of so many one is off by chance
  double odd = 0;          ///< the share of all times that are far off on nodes that are well otherwise
  std::vector<std::string> remarks{};
};

/// `files` must outlive what is returned. What two files of a node measured on the same day does not count, and is a
/// remark there.
Equals hold_among_equals(FleetFiles& files, const EqualsPlan& plan);

}  // namespace twinlink::validate
