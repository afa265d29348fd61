// LibraryProtocol: NCCL itself in place of the protocol "nccl", so that both are measured alike. It lives in a process
// with one rank, whose device's queue it fills.
#pragma once

#include <memory>
#include <string>

#include "protocols/core/protocol.hpp"
#include "real/nccl/nccl_library.hpp"
#include "real/rank/real_rank.hpp"

namespace twinlink::real {

class LibraryProtocol final : public Protocol {
 public:
  /// An UnavailableError where there is no such library. `rank` is the process's own and outlives it.
  LibraryProtocol(RealRank& rank, const std::string& library) : real_(rank), library_(library) {}

  [[nodiscard]] std::string_view name() const override { return "nccl-library"; }
  [[nodiscard]] std::string_view description() const override { return "NCCL itself"; }
  [[nodiscard]] Memory message_memory() const override { return Memory::device; }
  [[nodiscard]] bool does_collectives() const override { return true; }
  [[nodiscard]] Support supports(const Path& path) const override;
  [[nodiscard]] std::unique_ptr<Channel> connect(Rank& rank, RankId peer, const Settings& settings) const override;
  [[nodiscard]] std::unique_ptr<Communicator> join(Rank& rank, const Settings& settings) const override;

 private:
  RealRank& real_;
  NcclLibrary library_;
};

}  // namespace twinlink::real
