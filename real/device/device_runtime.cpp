#include "real/device/device_runtime.hpp"

#include <fmt/format.h>

#include <cstring>

namespace twinlink::real {

std::string to_string(const Uuid& uuid) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", std::to_integer<unsigned>(uuid[i]));
  }
  return text;
}

Answer DeviceRuntime::runs_programs() const {
  return Answer::refused("these devices run no programs of thread blocks");
}

Answer DeviceRuntime::runs_libraries() const {
  return Answer::refused("libraries of GPUs do not run on emulated devices: --device cuda");
}
Event DeviceRuntime::enqueue(Stream, int, std::string_view, const Enqueue&) {
  throw UnavailableError(runs_libraries().reason);
}

Event DeviceRuntime::launch(DeviceProgram, Stream) { throw UnavailableError(runs_programs().reason); }

void DeviceRuntime::know_host_memory(std::byte*, Memory, Locality, const Uuid&) {}

void DeviceRuntime::forget_host_memory(std::byte*) {}

void DeviceRuntime::register_memory(std::byte*, Bytes) {}

void DeviceRuntime::deregister_memory(std::byte*) {}

Answer DeviceRuntime::cpu_reaches_device() const {
  if (host_addressable()) return Answer::granted();
  return Answer::refused("the CPU has no device memory mapped here: GDRCopy is not used");
}

void DeviceRuntime::copy_on_host(std::byte* to, const std::byte* from, Bytes size, Stream stream, Engine) {
  synchronize(stream);
  std::memmove(to, from, size.count());
}

}  // namespace twinlink::real
