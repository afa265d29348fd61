// What pages show of a machine and of a message on it: drawings, and the message's steps as bars, each with its table.
#pragma once

#include <vector>

#include "model/cli/observed_message.hpp"
#include "model/engine/flows/platform_names.hpp"
#include "platforms/machine/platform.hpp"
#include "platforms/report/document.hpp"
#include "platforms/tools/drawing.hpp"

namespace twinlink::model {

/// One node of each kind.
Drawing machine_drawing(const Platform& platform);
/// Where the steps of a message go, each way once: pieces of a message follow each other on the same.
Drawing message_drawing(const Platform& platform, const std::vector<Place>& places, const Protocol& protocol,
                        Bytes size, const ObservedMessage& message);

/// The machine with the table of its links. Without Graphviz the table alone, and a note on standard error.
report::Picture machine_picture(const Platform& platform);
/// The way of a warm message, and its steps. It is simulated in a process of its own, before any other simulation of
/// this one.
report::Document message_blocks(const Platform& platform, const std::vector<Place>& places, const Protocol& protocol,
                                const Settings& settings, const Packing& packing, Bytes size);

}  // namespace twinlink::model
