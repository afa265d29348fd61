// Where the messages of another tool's curve lay, and so which protocols it may be held against.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace twinlink::validate {

/// The facts of an environment's "origin" that tell it: "HOST", "DEVICE" or another word of the tool's.
inline constexpr const char* kSendBuffer = "send_buffer";
inline constexpr const char* kReceiveBuffer = "receive_buffer";
/// The accelerator that the tool was told to use; where it lacks the two above, they may be anywhere.
inline constexpr const char* kAccelerator = "accelerator";

/// What a reader must know of a curve that is held against `protocol`.
struct BufferFinding {
  bool refused = false;  ///< the two are different quantities
  std::string text{};    ///< empty: nothing to say
};

/// `environment` is that of an imported curve. Nothing is found of one of our own, and for a protocol that this program
/// does not know.
BufferFinding check_buffers(const nlohmann::json& environment, std::string_view protocol);

}  // namespace twinlink::validate
