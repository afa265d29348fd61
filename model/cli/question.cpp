#include "model/cli/question.hpp"

#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "model/study/idle_options.hpp"
#include "model/study/jobs/protocol_choice.hpp"
#include "platforms/tools/placement.hpp"
#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/measure/driver.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/registry.hpp"

namespace twinlink::model {
namespace {

TimesPlan messages_of(const Question& question, const Platform& platform) {
  const bench::WorkloadOptions& asked = question.job.workload;
  const Protocol& protocol = find_protocol(asked.protocol);
  bench::SettingsOptions settings = asked.settings;
  settings.library = platform.library;
  TimesPlan plan{.protocol = &protocol,
                 .settings = make_settings(protocol, settings),
                 .places = read_pair(question.pair, platform),
                 .sizes = bench::size_sweep(asked.sweep.begin, asked.sweep.end, asked.sweep.factor),
                 .pattern = question.pattern,
                 .window = bench::window_of(question.pattern, question.window)};
  if (protocol.cuts_messages(plan.settings)) {
    bench::require_few_pieces(plan.sizes.back(), plan.window, plan.settings.chunk_or_whole(), "the chunk");
  }
  return plan;
}

}  // namespace

void add_question(Program& program, const QuestionText& text, std::initializer_list<const char*> needed,
                  const std::function<std::function<ExitCode()>(CLI::App& command, bool of_workload)>& add) {
  auto* const command = program.app.add_subcommand(text.name, text.of_messages);
  const std::function<ExitCode()> of_messages = add(*command, false);
  for (const char* option : needed) command->get_option(option)->required(false);
  auto* const workload = command->add_subcommand("workload", text.of_workload);
  const std::function<ExitCode()> of_workload = add(*workload, true);
  bench::show_by_workload(*workload);
  const std::vector<const char*> required(needed);
  command->callback([&program, command, workload, required, of_messages, of_workload] {
    const bool below = workload->parsed();
    program.action = below ? of_workload : of_messages;
    for (const char* option : required) {
      if (!below && command->get_option(option)->count() == 0) throw CLI::RequiredError(option);
    }
    for (const CLI::Option* option : command->get_options()) {
      if (!below || option->count() == 0) continue;
      throw UsageError(fmt::format("{} {}: options of '{} workload' stand behind it", command->get_name(),
                                   option->get_name(), command->get_name()));
    }
  });
}

void add_at_once_option(CLI::App& command, int& at_once) {
  const bench::OptionGroup group(command, "Output");
  constexpr int kMost = 1024;
  bench::add_count_option(command, "-j,--jobs", 1, kMost, "one for each core", "Simulations at a time",
                          [&at_once](int jobs) { at_once = jobs; });
}

void add_job_question(CLI::App& command, Question& question) {
  question.of_workload = true;
  add_job_options(command, question.job);
  add_at_once_option(command, question.at_once);
}

Platform prepare(Question& question) {
  SimulatedJob& job = question.job;
  require_writable(job.workload);
  note_estimates(question.platform);
  if (question.of_workload) {
    choose_sum(job.workload);
    if (job.workload.protocol.empty()) {
      const Platform platform = read_platform(question.platform);
      note_choice(choose_protocols(job.workload, platform, places_of_ranks(platform, job.place, job.ranks)));
    }
  }
  if (job.workload.protocol.empty()) return read_platform(question.platform);
  Platform platform = read_platform(question.platform, find_protocol(job.workload.protocol), job.workload.settings);
  if (question.of_workload) {
    const ReadyJob ready = ready_job(platform, job);
    note_idle_faults(platform, ready.places);
    note_all(idle_job_options(job, 1, ready.plan, platform, question.platform.within_node, ready.places));
  } else {
    const std::vector<Place> places = messages_of(question, platform).places;
    note_idle_faults(platform, places);
    note_all(idle_within_node(question.platform.within_node, platform, places));
  }
  return platform;
}

AskedJob asked_job(const Question& question, const Platform& platform) {
  if (!question.of_workload) {
    TimesPlan plan = messages_of(question, platform);
    const std::string from = to_string(plan.places[0]);
    const std::string to = to_string(plan.places[1]);
    const std::string& protocol = question.job.workload.protocol;
    Timed how = timed(plan, question.at_once);
    return {.name = "A message",
            .where = fmt::format("from {} to {}", from, to),
            .by = protocol,
            .places = std::move(plan.places),
            .sizes = std::move(plan.sizes),
            .words = {{"protocol", protocol}, {"from", from}, {"to", to}},
            .timed = std::move(how)};
  }
  SimulatedJob job = question.job;
  ReadyJob ready = ready_job(platform, job);
  job.ranks = static_cast<int>(ready.places.size());
  const std::string name = ready.plan.name();
  const std::string& algorithm = job.workload.algorithm;
  return {.name = name,
          .where = fmt::format("of {} ranks", job.ranks),
          .by = algorithm,
          .places = std::move(ready.places),
          .sizes = {ready.plan.sizes().begin(), ready.plan.sizes().end()},
          .words = {{"workload", name}, {"algorithm", algorithm}, {"ranks", job.ranks}},
          .timed = timed(job, question.at_once, {})};
}

}  // namespace twinlink::model
