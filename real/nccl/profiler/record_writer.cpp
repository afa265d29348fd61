#include "real/nccl/profiler/record_writer.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace twinlink::profiler {
namespace {

std::string in_quotes(std::string_view text) {
  std::string all = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') all += '\\';
    if (static_cast<unsigned char>(c) >= ' ') all += c;
  }
  return all + "\"";
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

/// The process's rank of the job, as launchers say it: torchrun, Open MPI, MPICH, Slurm; -1: nobody does.
int rank_of_job() {
  for (const char* const name : {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    const char* const said = std::getenv(name);
    if (said == nullptr || *said == 0) continue;
    char* end = nullptr;
    const long rank = std::strtol(said, &end, 10);
    if (*end == 0 && rank >= 0 && rank < 1'000'000) return static_cast<int>(rank);
  }
  return -1;
}

/// Key and value; which object it is in is told by `before`.
void put(std::string& text, std::string_view before, std::string_view key, std::string_view value) {
  text += before;
  text += '"';
  text += key;
  text += "\":";
  text += value;
}

}  // namespace

RecordFile::RecordFile(const std::string& folder, int device) : device_(device) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::string host = host_name();
  const std::string pid = std::to_string(::getpid());
  const std::string stem = folder + "/" + host + "-" + pid + (device < 0 ? "" : "-gpu" + std::to_string(device));
  constexpr int kMostOfAName = 100;  // of processes with the same number, one behind the other
  for (int i = 0; i < kMostOfAName && file_ < 0; ++i) {
    name_ = stem + (i == 0 ? "" : "." + std::to_string(i)) + ".jsonl";
    constexpr int kMode = 0644;
    file_ = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, kMode);
    if (file_ < 0 && errno != EEXIST) break;
  }
  if (file_ < 0) throw std::runtime_error("cannot make " + name_ + ": " + std::strerror(errno));
  put(metadata_, "{", "inspector_output_format_version", "\"v4.2\"");
  put(metadata_, ",", "rec_mechanism", "\"twinlink\"");
  put(metadata_, ",", "hostname", in_quotes(host));
  put(metadata_, ",", "pid", pid);
  put(metadata_, ",", "device", std::to_string(device));
  put(metadata_, ",", "job_rank", std::to_string(rank_of_job()));
  metadata_ += "}";
}

RecordFile::~RecordFile() {
  if (file_ >= 0) ::close(file_);
}

void RecordFile::add(const Call& call) {
  if (file_ < 0) return;
  std::array<char, 24> id{};
  static_cast<void>(
      std::snprintf(id.data(), id.size(), "\"0x%llx\"", static_cast<unsigned long long>(call.member.communicator)));
  // The GPU's own times; else what the host has seen of the kernels, or no more than when the call was made.
  const bool has_gpu = call.gpu_begin > 0 && call.gpu_end >= call.gpu_begin;
  const bool has_kernel = call.host_begin > 0 && call.host_end >= call.host_begin;
  const std::int64_t begin =
      has_gpu ? static_cast<std::int64_t>(call.gpu_begin) : (has_kernel ? call.host_begin : call.called);
  const std::int64_t end =
      has_gpu ? static_cast<std::int64_t>(call.gpu_end) : (has_kernel ? call.host_end : std::max(call.returned, begin));
  const std::string_view source = has_gpu ? "\"kernel_gpu\"" : (has_kernel ? "\"kernel_cpu\"" : "\"collective_cpu\"");
  constexpr std::int64_t kNsPerUs = 1000;
  const std::string kind = call.is_message ? "p2p" : "coll";
  put(text_, "{", "header", "{");
  put(text_, "", "id", id.data());
  put(text_, ",", "rank", std::to_string(call.member.rank));
  put(text_, ",", "n_ranks", std::to_string(call.member.ranks));
  put(text_, ",", "nnodes", std::to_string(call.member.nodes));
  put(text_, "},", "metadata", metadata_);
  put(text_, ",", kind + "_perf", "{");
  put(text_, "", kind, in_quotes(call.function.data()));
  if (!call.is_message) {
    put(text_, ",", "coll_algo", in_quotes(call.algorithm.data()));
    put(text_, ",", "coll_proto", in_quotes(call.format.data()));
  }
  put(text_, ",", kind + "_sn", std::to_string(call.number));
  put(text_, ",", call.is_message ? "p2p_peer" : "coll_root", std::to_string(call.other));
  put(text_, ",", kind + "_msg_size_bytes", std::to_string(call.bytes));
  put(text_, ",", kind + "_exec_time_us", std::to_string((end - begin) / kNsPerUs));
  put(text_, ",", kind + "_timing_source", source);
  put(text_, ",", kind + "_datatype", in_quotes(call.type.data()));
  put(text_, ",", kind + "_channels", std::to_string(call.channels));
  put(text_, ",", kind + "_call_ns", std::to_string(call.called));
  put(text_, ",", kind + "_begin_ns", std::to_string(begin));
  put(text_, ",", kind + "_end_ns", std::to_string(end));
  text_ += "}}\n";
}

bool RecordFile::write() {
  for (std::size_t done = 0; done < text_.size();) {
    const ssize_t count = ::write(file_, text_.data() + done, text_.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const int error = errno;
      ::close(std::exchange(file_, -1));
      text_ = {};
      errno = error;
      return false;
    }
    done += static_cast<std::size_t>(count);
  }
  text_.clear();
  return true;
}

RecordWriter::RecordWriter() {
  waiting_.reserve(kMostWaiting);
  leaving_.reserve(kMostWaiting);
  // The program's signals are for its own threads.
  sigset_t all{};
  sigset_t before{};
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread([this] { run(); }).detach();
  } catch (...) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

RecordFile* RecordWriter::file_for(const std::string& folder, int device, Log log) {
  const std::lock_guard lock(mutex_);
  log_ = log;
  const auto found = std::ranges::find(files_, device, [](const auto& file) { return file->device(); });
  if (found != files_.end()) return found->get();
  files_.push_back(std::make_unique<RecordFile>(folder, device));
  return files_.back().get();
}

void RecordWriter::add(const Call& call) noexcept {
  const std::lock_guard lock(mutex_);
  if (waiting_.size() == kMostWaiting) {
    ++lost_;
    return;
  }
  waiting_.push_back(call);
  if (waiting_.size() == kMostWaiting / 2) wake_.notify_one();
}

void RecordWriter::flush(int seconds) noexcept {
  std::unique_lock lock(mutex_);
  wake_.notify_one();
  written_.wait_for(lock, std::chrono::seconds(seconds), [this] { return waiting_.empty() && !is_writing_; });
}

void RecordWriter::say(const char* what, const char* why) const noexcept {
  const char* const joint = *why == 0 ? "" : ": nothing more is recorded into it: ";
  if (log_ != nullptr) {
    log_(kWarning, kProfile, "twinlink", 0, "PROFILER/Twinlink: %s%s%s", what, joint, why);
  } else {
    static_cast<void>(std::fprintf(stderr, "PROFILER/Twinlink: %s%s%s\n", what, joint, why));
  }
}

void RecordWriter::run() noexcept {
  constexpr auto kPause = std::chrono::milliseconds(50);
  bool has_told = false;
  std::unique_lock lock(mutex_);
  while (true) {
    is_writing_ = false;
    if (waiting_.empty()) written_.notify_all();
    wake_.wait_for(lock, kPause);
    leaving_.swap(waiting_);
    is_writing_ = true;
    const bool is_lossy = lost_ > 0;
    lock.unlock();
    if (is_lossy && !std::exchange(has_told, true))
      say("calls come faster than they can be written: some are left out");
    try {
      for (const Call& call : leaving_) call.member.file->add(call);
    } catch (const std::exception&) {
      // Without memory lines are lost; the job is not.
    }
    for (const Call& call : leaving_) {
      if (!call.member.file->write()) say(call.member.file->name().c_str(), std::strerror(errno));
    }
    leaving_.clear();
    lock.lock();
  }
}

}  // namespace twinlink::profiler
