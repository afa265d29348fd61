// What all ranks of a job must be started with alike, for otherwise rank 0's name stands over what others ran.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace twinlink::real {

struct Setting {
  std::string name{};   ///< as the user writes it, such as --chunk
  std::string value{};  ///< what was given, else the default as --help shows it
};

/// The command, the program's version, and each option of a parsed command that decides what runs. Not what each rank
/// may have of its own: its device and memory, its output files, what only rank 0 reads.
std::vector<Setting> settings_of(const CLI::App& command, std::string_view program);

/// For the other ranks. None of a process that runs no command is an empty text.
std::string to_text(std::span<const Setting> settings);

/// Which setting differs between ranks that sent these texts, in their order, with its values; empty: none does.
std::string difference(std::span<const std::string> texts);

}  // namespace twinlink::real
