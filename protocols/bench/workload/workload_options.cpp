#include "protocols/bench/workload/workload_options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <ostream>
#include <ranges>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/print.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/json_statistics.hpp"
#include "protocols/bench/results/output_files.hpp"
#include "protocols/bench/workload/array_job.hpp"
#include "protocols/bench/workload/job_heap.hpp"
#include "protocols/bench/workload/measure_workload.hpp"
#include "protocols/registry.hpp"
#include "protocols/workloads/goal/collectives.hpp"
#include "protocols/workloads/goal/recording.hpp"

namespace twinlink::bench {
namespace {

/// Of all GPUs' results on rank 0: a reduction, on the GPUs or on the host.
constexpr const char* kSum = "sum";
constexpr const char* kOnCpu = "cpu";
constexpr const char* kOnGpu = "gpu";

/// As the machine's MPI library chooses.
constexpr const char* kTuned = "tuned";

constexpr const char* kTrace = "FILE.goal";
constexpr const char* kArgument = "workload";
constexpr const char* kElse = "else for each size the one with the least predicted time";

struct Named {
  std::string_view name;
  std::string_view description;
};
/// Workloads that are not in the catalogue of schedules.
constexpr std::array kOthers{
    Named{kSum, "the sum of all GPUs' results on rank 0, --on cpu or --on gpu: as reduce"},
    Named{"reshape", "an array from one distribution over the ranks to another: --global, --from, --to"},
    Named{"fft", "a Fourier transform of an array that is shared out: --global, --kind, --decomposition"},
    Named{kTrace, "a recorded job, as LogGOPSim, Schedgen and ATLAHS write it"}};

bool has_schedules(const std::string& workload) { return !is_trace(workload) && !is_array_job(workload); }

const workloads::Workload& catalogued(const std::string& workload) {
  try {
    return workloads::find_workload(workload == kSum ? "reduce" : workload);
  } catch (const UsageError& error) {
    std::string others;
    for (const Named& other : kOthers) others += fmt::format("{}{}", others.empty() ? "" : ", ", other.name);
    throw UsageError(fmt::format("{}, and besides {}", error.what(), others));
  }
}

/// A UsageError where there is no such workload.
std::string_view description_of(const std::string& workload) {
  const auto* const other = std::ranges::find(kOthers, is_trace(workload) ? kTrace : workload, &Named::name);
  return other == kOthers.end() ? catalogued(workload).description : other->description;
}

/// Options that some workloads alone take.
constexpr std::string_view kScheduled = "collectives and patterns";
constexpr std::string_view kWithAlgorithms = "collectives, patterns and recorded jobs";
struct Takers {
  std::string_view workloads;
  std::string_view options;
};
constexpr std::array kTakers{
    Takers{kScheduled, "--begin --end --factor --graph"},
    Takers{kWithAlgorithms, "--algorithm"},
    Takers{"training-step",
           "--layers --layer-time --bucket --tensor-parallel --expert-parallel --data-parallel --pipeline-parallel "
           "--micro-batches --activations --gradients"},
    Takers{"dispatch, combine, training-step", "--experts --top --skew --seed"},
    Takers{"kv-cache", "--prefill --block"},
    Takers{kSum, "--on"},
    Takers{"reshape", "--from --to --element --in-place"},
    Takers{"fft", "--kind --decomposition --parts"},
    Takers{"reshape, fft", "--global --pack --shares"}};

bool has_word(std::string_view list, std::string_view word) {
  for (const auto part : std::views::split(list, ' ')) {
    if (std::ranges::equal(part, word) || std::ranges::equal(part, std::string(word) + ",")) return true;
  }
  return false;
}

/// Empty: all.
std::string_view takers_of(std::string_view option) {
  const auto* const found =
      std::ranges::find_if(kTakers, [&](const Takers& each) { return has_word(each.options, option); });
  return found == kTakers.end() ? "" : found->workloads;
}

bool is_among(std::string_view takers, const std::string& workload) {
  if (takers == kWithAlgorithms) return !is_array_job(workload);
  return takers.empty() || (takers == kScheduled ? has_schedules(workload) : has_word(takers, workload));
}

Settings settings_of(const Protocol& protocol, const SettingsOptions& options, Seconds timeout) {
  Settings settings = make_settings(protocol, options);
  settings.timeout = timeout;
  check_settings(protocol, settings);
  return settings;
}

bool has_default_sizes(const WorkloadOptions& options) {
  const WorkloadOptions defaults;
  return options.sweep.begin == defaults.sweep.begin && options.sweep.end == defaults.sweep.end &&
         options.sweep.factor == defaults.sweep.factor;
}

workloads::TrainingStep training_of(const WorkloadOptions& options) {
  workloads::TrainingStep training = options.training;
  const workloads::Degrees& degrees = training.degrees;
  training.micro_batches = options.micro_batches.value_or(degrees.pipeline > 1 ? 4 * degrees.pipeline : 1);
  training.activations = options.activations.value_or(training.activations);
  training.sharded = options.gradients == "sharded";
  if (degrees.expert == 1 && options.experts != workloads::Experts{}) {
    throw UsageError("--experts, --top, --skew, --seed: of a training step with --expert-parallel");
  }
  if (options.activations && degrees.tensor == 1 && degrees.expert == 1 && degrees.pipeline == 1) {
    throw UsageError("--activations: no ranks share tensors, experts or a pipeline, so none are sent");
  }
  return training;
}

/// Each block is a message, or a copy.
void require_few_blocks(Bytes cache, Bytes block) {
  constexpr std::uint64_t kMost = 131072;
  if (cache.count() <= block.count() * kMost) return;
  throw UsageError(fmt::format("--block {} cuts {} of a rank into more than {} blocks: at least {} is needed",
                               format_size(block), format_size(cache), kMost,
                               format_size(Bytes{(cache.count() + kMost - 1) / kMost})));
}

/// Each bucket is a collective of its own.
void require_few_buckets(Bytes gradients, Bytes bucket) {
  constexpr std::uint64_t kMost = 8192;
  if (gradients.count() <= bucket.count() * kMost) return;
  throw UsageError(fmt::format("--bucket {} cuts gradients of {} into more than {} buckets: at least {} is needed",
                               format_size(bucket), format_size(gradients), kMost,
                               format_size(Bytes{(gradients.count() + kMost - 1) / kMost})));
}

Scheduled schedules_of(const WorkloadOptions& options) {
  Scheduled work{.workload = &catalogued(options.workload),
                 .experts = options.experts,
                 .kv = options.kv,
                 .sizes = size_sweep(options.sweep.begin, options.sweep.end, options.sweep.factor),
                 .graph = options.graph};
  if (options.workload == kSum) {
    work.title = kSum;
    if (options.on == kOnCpu) work.sums = Sums::copied_to_host;
  }
  if (options.algorithm == kTuned) {
    // The library chooses, size by size.
  } else if (options.algorithm == "all") {
    for (const auto& algorithm : work.workload->algorithms) work.algorithms.push_back(&algorithm);
  } else if (!options.algorithm.empty()) {
    work.algorithms = {&find_algorithm(*work.workload, options.algorithm)};
  }
  // More would not fit into any GPU of today, and its elements into no buffer of a test.
  constexpr Bytes kMost{std::uint64_t{1} << 40U};
  if (work.sizes.back() > kMost) throw UsageError(fmt::format("a workload has {} at most", format_size(kMost)));
  if (work.workload->name == "training-step") {
    // A small model's gradients, in numbers of 64 bits or not.
    constexpr Bytes kGradients = 256_MiB;
    if (has_default_sizes(options)) work.sizes = {kGradients};
    work.training = training_of(options);
    require_few_buckets(work.sizes.back(), work.training->bucket);
  }
  if (work.workload->name == "kv-cache") require_few_blocks(work.sizes.back(), work.kv.block);
  if (work.workload->name == "barrier") work.sizes = {workloads::kElement};
  return work;
}

void add_training_options(CLI::App& app, WorkloadOptions& options) {
  const OptionGroup group(app, "Training step");
  const workloads::TrainingStep defaults;
  constexpr int kMostLayers = 10'000;
  add_count_option(app, "--layers", 1, kMostLayers, std::to_string(defaults.layers), "How many layers there are",
                   [&options](int layers) { options.training.layers = layers; });
  add_read_option(app, "--layer-time", "TIME", format_seconds(defaults.layer),
                  "What a layer takes forward, with unit; backward takes twice as long",
                  [&options](const std::string& text) { options.training.layer = parse_seconds(text); });
  add_read_option(app, "--bucket", "SIZE", format_size(defaults.bucket),
                  "How many bytes of gradients are all-reduced at a time; the sizes are those of all gradients",
                  [&options](const std::string& text) {
                    options.training.bucket = parse_size(text);
                    if (options.training.bucket < workloads::kElement) throw UsageError("a bucket has 8 B at least");
                  });
}

void add_degree_options(CLI::App& app, WorkloadOptions& options) {
  const OptionGroup group(app, "Training step");
  constexpr int kMostRanks = 1 << 16;
  workloads::Degrees& degrees = options.training.degrees;
  const auto add = [&](const char* name, const char* unsaid, const char* what, auto& degree) {
    add_count_option(app, name, 1, kMostRanks, unsaid, what, [&degree](int ranks) { degree = ranks; });
  };
  add("--tensor-parallel", "1", "So many ranks share the tensors of a layer, and add up its activations",
      degrees.tensor);
  add("--expert-parallel", "1", "So many ranks share the experts of a layer, to which tokens go and come back",
      degrees.expert);
  add("--data-parallel", "what is left", "So many ranks have the same part of the model, and add up its gradients",
      degrees.data);
  add("--pipeline-parallel", "1", "So many stages share the layers, and pass activations on", degrees.pipeline);
  add("--micro-batches", "1; 4 for each stage of a pipeline", "So many micro-batches follow each other in a step",
      options.micro_batches);
  add_read_option(app, "--activations", "SIZE", format_size(workloads::TrainingStep{}.activations),
                  "What a layer makes of a micro-batch, which is what stages send and tensors' ranks add up",
                  [&options](const std::string& text) {
                    options.activations = parse_size(text);
                    if (*options.activations < workloads::kElement) throw UsageError("activations have 8 B at least");
                  });
  app.add_option("--gradients", options.gradients,
                 "Are they all-reduced, or does each rank keep its part of the sum, and gather parameters")
      ->check(CLI::IsMember({"all-reduce", "sharded"}))
      ->type_name("all-reduce|sharded")
      ->default_str("all-reduce");
}

void add_expert_options(CLI::App& app, WorkloadOptions& options) {
  const OptionGroup group(app, "Experts");
  const workloads::Experts defaults;
  constexpr int kMostExperts = 1 << 16;
  constexpr int kMostSeed = 1'000'000'000;
  add_count_option(app, "--experts", 1, kMostExperts, std::to_string(defaults.count),
                   "How many experts there are; ranks have as many each, or one more",
                   [&options](int count) { options.experts.count = count; });
  add_count_option(app, "--top", 1, kMostExperts, std::to_string(defaults.top), "To how many of them a token goes",
                   [&options](int top) { options.experts.top = top; });
  add_read_option(app, "--skew", "NUMBER", "0",
                  "How unlike they are: the exponent of Zipf's law, of which 0 has all as popular",
                  [&options](const std::string& text) {
                    const char* const end = text.data() + text.size();
                    double skew = 0;
                    const auto [stop, error] = std::from_chars(text.data(), end, skew);
                    constexpr double kMostSkew = 10;
                    if (error != std::errc{} || stop != end || !(skew >= 0) || skew > kMostSkew) {
                      throw UsageError(fmt::format("'{}' is no number from 0 to {}", text, kMostSkew));
                    }
                    options.experts.skew = skew;
                  });
  add_count_option(app, "--seed", 0, kMostSeed, std::to_string(defaults.seed), "Which of them are popular",
                   [&options](int seed) { options.experts.seed = seed; });
}

void add_kv_options(CLI::App& app, WorkloadOptions& options) {
  const OptionGroup group(app, "KV cache");
  constexpr int kMostRanks = 1 << 20;
  add_count_option(app, "--prefill", 1, kMostRanks, "half of all",
                   "How many ranks, the first ones, have read the prompt; the others go on with it",
                   [&options](int ranks) { options.kv.prefill = ranks; });
  add_read_option(app, "--block", "SIZE", format_size(workloads::KvCache{}.block),
                  "What the server keeps together: a message each, or a copy before and after one",
                  [&options](const std::string& text) {
                    options.kv.block = parse_size(text);
                    if (options.kv.block < workloads::kElement) throw UsageError("a block has 8 B at least");
                  });
}

void add_way_options(CLI::App& app, WorkloadOptions& options) {
  const OptionGroup group(app, "Protocol");
  add_protocol_option(app, options.protocol, "How messages travel");
  app.add_option("--between-nodes", options.between, "Another protocol for pairs on different nodes")
      ->type_name("NAME")
      ->default_str("the same");
  add_named_values(app, options.settings_between.options, "An option of that protocol; may be repeated",
                   "--between-option")
      ->needs("--between-nodes");
  app.add_option("--between-domains", options.between_domains,
                 "Another protocol for pairs on nodes that no NVLink domain joins; groups of ranks are domains then")
      ->type_name("NAME")
      ->default_str("that of nodes");
  add_named_values(app, options.settings_between_domains.options, "An option of that protocol; may be repeated",
                   "--between-domains-option")
      ->needs("--between-domains");
  app.add_option(
         "--algorithm", options.algorithm,
         fmt::format("One of 'list workloads', or all of them; tuned: as the machine's MPI library chooses; {}; of a "
                     "recorded job all-reduce=tree,...",
                     kElse))
      ->type_name("NAME|all|tuned");
  add_settings_options(app, options.settings);
}

void add_round_options(CLI::App& app, WorkloadOptions& options) {
  const OptionGroup group(app, "Rounds");
  constexpr int kMost = 1'000'000;
  add_count_option(app, "-i,--iterations", 1, kMost, "10; 1 where it is simulated, 3 on a symmetric heap",
                   "Timed iterations at each size", [&options](int number) { options.sweep.iterations = number; });
  add_count_option(app, "-x,--warmup", 0, kMost, "2; 1 where it is simulated",
                   "Iterations before them, at least; more while connections are set up",
                   [&options](int number) { options.sweep.warmup = number; });
  constexpr int kMostInGraph = 1000;
  add_count_option(
      app, "--graph", 1, kMostInGraph, "1",
      "So many of a collective by one kernel follow each other in a CUDA graph, and the time is that of one",
      [&options](int number) { options.graph = number; });
  add_read_option(
      app, "--timeout", "TIME",
      fmt::format("{}; {} where it is simulated", format_seconds(kMeasuredTimeout), format_seconds(kSimulatedTimeout)),
      "How long a message, or a rank that shows no sign of life, is waited for; in a trace beside its calcs",
      [&options](const std::string& text) {
        options.timeout = parse_seconds(text);
        if (*options.timeout > Seconds{}) return;
        throw UsageError(fmt::format("'{}' is not longer than zero", text));
      });
  app.add_flag("--no-verify", options.sweep.no_verify, "Do not check every element before and after the timed rounds");
}

}  // namespace

void add_workload_options(CLI::App& app, WorkloadOptions& options) {
  app.add_option(kArgument, options.workload,
                 "What the ranks do: a workload, or a recorded job in the text form of GOAL")
      ->type_name("NAME|FILE.goal")
      ->required();
  add_way_options(app, options);
  add_size_options(app, options.sweep);
  add_training_options(app, options);
  add_degree_options(app, options);
  add_expert_options(app, options);
  add_kv_options(app, options);
  {
    const OptionGroup group(app, "Sum");
    app.add_option(
           "--on", options.on,
           "Where the results of all GPUs are summed, for rank 0: on the host, to which they are copied first, or "
           "on the GPUs")
        ->type_name("cpu|gpu");
  }
  add_array_options(app, options.array);
  add_round_options(app, options);
  const OptionGroup group(app, "Output");
  app.add_option("--json", options.json, "Also write the result to this file")->type_name("FILE");
  app.add_option("--csv", options.csv, "Also write a row for each size to this file")->type_name("FILE");
}

void show_by_workload(CLI::App& app) {
  const std::string examples = app.get_footer();
  std::string names = "Workloads (each has a --help of its own):";
  const auto add = [&](std::string_view name, std::string_view description) {
    names += fmt::format("\n  {:<15} {}", name, description);
  };
  for (const auto& workload : workloads::all_workloads()) add(workload.name, workload.description);
  for (const auto& [name, description] : kOthers) add(name, description);
  app.footer(names + "\n\n" + examples);

  std::vector<std::pair<CLI::Option*, std::string>> groups;
  for (CLI::Option* option : app.get_options()) {
    if (option == app.get_help_ptr() || option->get_name() == kArgument) continue;
    groups.emplace_back(option, option->get_group());
    option->group(kHidden);
  }
  app.get_option(kArgument)->each([&app, examples, groups](const std::string& workload) {
    app.description(fmt::format("{}\n\n{}: {}", app.get_description(), workload, description_of(workload)));
    app.footer(examples);
    const bool helps = app.get_help_ptr()->count() > 0;
    for (const auto& [option, group] : groups) {
      const std::string_view takers = takers_of(option->get_name());
      if (is_among(takers, workload)) {
        option->group(group);
      } else if (option->count() > 0 && !helps) {
        throw UsageError(fmt::format("{}: only of {}, and not of {}", option->get_name(), takers, workload));
      }
    }
    if (!has_schedules(workload)) return;
    std::vector<std::string_view> algorithms;
    for (const auto& algorithm : catalogued(workload).algorithms) algorithms.push_back(algorithm.name);
    app.get_option("--algorithm")
        ->description(fmt::format("{}, or all of them; tuned: as the machine's MPI library chooses; {}",
                                  fmt::join(algorithms, ", "), kElse));
  });
}

void choose_sum(WorkloadOptions& options) {
  if (options.workload != kSum) return;
  const bool on_cpu = options.on == kOnCpu;
  if (!on_cpu && options.on != kOnGpu) throw UsageError("sum needs --on cpu or --on gpu");
  if (options.protocol.empty()) options.protocol = on_cpu ? "host" : "cuda-aware";
  const bool others = !options.between.empty() || !options.between_domains.empty();
  if (on_cpu && (options.protocol != "host" || others)) {
    throw UsageError("sum --on cpu: what is on the host goes by the protocol host");
  }
}

namespace {

constexpr const char* kHost = "host";
/// As messages of MPI libraries go.
constexpr std::array<std::string_view, 5> kWaysOfMpi{kHost, "cuda-aware", "cuda-ipc", "gpudirect-v1", "gpudirect-v3"};

/// The machine's, by whose rules algorithms are chosen. A UsageError where these are not known, or messages are not
/// MPI's.
const workloads::mpi::Library& library_of(const WorkloadOptions& options) {
  if (!options.mpi) {
    throw UsageError("--algorithm tuned: of twinlink-sim, whose platform says which MPI library runs");
  }
  const bool of_mpi = std::ranges::find(kWaysOfMpi, options.protocol) != kWaysOfMpi.end();
  if (!of_mpi || !options.between.empty() || !options.between_domains.empty()) {
    throw UsageError(fmt::format("--algorithm tuned needs messages of MPI alone: -p {}", fmt::join(kWaysOfMpi, ", ")));
  }
  return workloads::mpi::find_library(options.mpi->said, options.mpi->preset);
}

/// "all-reduce=tree,all-gather=ring": for each collective of a recorded job.
workloads::goal::Algorithms algorithms_of_job(const WorkloadOptions& options) {
  const std::string& list = options.algorithm;
  workloads::goal::Algorithms algorithms{.on_gpus = options.protocol != kHost};
  if (list.empty()) return algorithms;
  if (list == kTuned) {
    algorithms.library = &library_of(options);
    return algorithms;
  }
  for (const auto part : std::views::split(list, ',')) {
    const std::string text(part.begin(), part.end());
    const std::size_t sign = text.find('=');
    const std::string what = text.substr(0, sign);
    if (sign == std::string::npos || !workloads::goal::is_recordable(what)) {
      throw UsageError(fmt::format("--algorithm {}: a recorded job takes COLLECTIVE=NAME, as all-reduce=tree", text));
    }
    if (text.substr(sign + 1) == kTuned) {
      algorithms.library = &library_of(options);
      algorithms.tuned.insert(what);
      continue;
    }
    const auto& algorithm = find_algorithm(workloads::find_workload(what), text.substr(sign + 1));
    if (algorithm.together) throw UsageError(fmt::format("--algorithm {}: it has no messages", text));
    if (const std::string why = algorithm.refuses({.ranks = 2}); !why.empty()) {
      throw UsageError(fmt::format("--algorithm {}: {}, and groups may lie in any way", text, why));
    }
    algorithms.named[what] = &algorithm;
  }
  return algorithms;
}

/// Those of a recorded job that its protocol does without messages of ours.
std::function<bool(std::string_view)> collectives_by_itself(const WorkloadOptions& options,
                                                            const workloads::goal::Algorithms& algorithms) {
  if (!options.between.empty() || !options.between_domains.empty()) return [](std::string_view) { return false; };
  const Protocol& protocol = options.stand_in != nullptr ? *options.stand_in : find_protocol(options.protocol);
  if (protocol.wants_same_places()) return [](std::string_view) { return false; };  // its collectives are on a heap
  return
      [&protocol, &algorithms, settings = settings_of(protocol, options.settings, Seconds{1})](std::string_view what) {
        const workloads::Algorithm* const how = workloads::together_of(what);
        return how != nullptr && !algorithms.says(what) && protocol.does(*how->together, settings);
      };
}

}  // namespace

namespace {

/// Messages of the library's own, which are the host's whatever has the buffers.
void go_by_host(const WorkloadOptions& options, WorkloadPlan& plan, std::string_view what) {
  if (options.protocol == kHost) return;
  const SettingsOptions& said = options.settings;
  if (!said.preset.empty() || said.chunk || said.depth || !said.options.empty()) {
    throw UsageError(fmt::format("--algorithm tuned: {} has its messages on the host, where {} has no options", what,
                                 options.protocol));
  }
  plan.ways.within = plan.ways.between = &find_protocol(kHost);
  plan.ways.settings_within = plan.ways.settings_between = settings_of(*plan.ways.within, {}, plan.timeout);
}

/// CPUs add up what is in host memory. What GPUs have is copied there first, and goes by messages of the host.
void sum_as_library(const WorkloadOptions& options, WorkloadPlan& plan, Scheduled& work) {
  const std::string_view what = work.workload->name;
  if (options.workload == kSum && options.on == kOnGpu) {
    throw UsageError(fmt::format("--algorithm tuned: sum --on gpu adds up on the GPUs, and {} by the CPU; --on cpu",
                                 plan.tuned->name));
  }
  if (options.protocol == kHost) {
    if (work.sums == Sums::on_gpus) work.sums = Sums::on_host;
    return;
  }
  if (!copies_gpus(*plan.tuned, what)) {
    throw UsageError(
        fmt::format("--algorithm tuned: {} adds up by the CPU, and {} has buffers of GPUs, of which no copy to the "
                    "host is known here; -p host has them there",
                    plan.tuned->name, what));
  }
  work.sums = Sums::copied_and_back;
  go_by_host(options, plan, what);
}

}  // namespace

WorkloadPlan make_plan(const WorkloadOptions& options, const PlanDefaults& defaults) {
  WorkloadPlan plan{.warmup = options.sweep.warmup.value_or(defaults.warmup),
                    .iterations = options.sweep.iterations.value_or(defaults.iterations),
                    .verify = !options.sweep.no_verify,
                    .timeout = options.timeout.value_or(defaults.timeout)};
  if (is_array_job(options.workload)) {
    plan.work = make_array_job(options.workload, options.array);
  } else if (is_trace(options.workload)) {
    const workloads::goal::Algorithms algorithms = algorithms_of_job(options);
    plan.tuned = algorithms.library;
    // All ranks of a simulation ask for the same.
    const auto read = [options, algorithms, known = std::make_shared<std::map<std::uint64_t, RecordedJob>>()](
                          std::uint64_t iterations_of_body) {
      RecordedJob& job = (*known)[iterations_of_body];
      if (job == nullptr) {
        const auto stays = collectives_by_itself(options, algorithms);
        job = read_job(options.workload, algorithms, stays, iterations_of_body);
      }
      return job;
    };
    plan.work = read(defaults.shortened ? 1 : kWhole);
    if (plan.trace()->left_out() > 0) plan.longer = read;
    plan.timeout += plan.trace()->longest_path();  // a message may come after all that its job computes
  } else {
    plan.work = schedules_of(options);
  }
  plan.ways.within = options.stand_in != nullptr ? options.stand_in : &find_protocol(options.protocol);
  plan.ways.settings_within = settings_of(*plan.ways.within, options.settings, plan.timeout);
  plan.ways.between = options.between.empty() ? plan.ways.within : &find_protocol(options.between);
  plan.ways.settings_between = options.between.empty()
                                   ? plan.ways.settings_within
                                   : settings_of(*plan.ways.between, options.settings_between, plan.timeout);
  if (!options.between_domains.empty()) {
    plan.ways.between_domains = &find_protocol(options.between_domains);
    plan.ways.settings_between_domains =
        settings_of(*plan.ways.between_domains, options.settings_between_domains, plan.timeout);
  }
  if (!options.sweep.iterations && workloads::wants_heap(plan.ways)) {
    plan.iterations = std::max(plan.iterations, kHeapTurn);
  }
  if (auto* const work = std::get_if<Scheduled>(&plan.work); work != nullptr && options.algorithm == kTuned) {
    plan.tuned = &library_of(options);
    if (adds_up(*plan.tuned, work->workload->name)) sum_as_library(options, plan, *work);
    if (workloads::mpi::has_no_buffer(work->workload->name)) go_by_host(options, plan, work->workload->name);
  }
  return plan;
}

void require_writable(const WorkloadOptions& options) {
  require_output("--json", options.json);
  require_output("--csv", options.csv);
}

void print_workloads(std::ostream& out) {
  for (const auto& workload : workloads::all_workloads()) {
    out << fmt::format("{:<15} {}\n", workload.name, workload.description);
    for (const auto& algorithm : workload.algorithms) {
      out << fmt::format("  {:<17} {}; {}\n", algorithm.name, algorithm.description, algorithm.closed_form);
    }
  }
  for (const auto& [name, description] : kOthers) out << fmt::format("{:<15} {}\n", name, description);
  out << fmt::format("  {:<17} {}\n", "trace",
                     "what each rank sends, receives and computes; its longest chain where nothing is shared");
}

nlohmann::json workloads_to_json() {
  nlohmann::json all = nlohmann::json::array();
  for (const auto& workload : workloads::all_workloads()) {
    nlohmann::json algorithms = nlohmann::json::array();
    for (const auto& algorithm : workload.algorithms) {
      algorithms.push_back(
          {{"name", algorithm.name}, {"description", algorithm.description}, {"closed_form", algorithm.closed_form}});
    }
    all.push_back({{"name", workload.name}, {"description", workload.description}, {"algorithms", algorithms}});
  }
  return all;
}

}  // namespace twinlink::bench
