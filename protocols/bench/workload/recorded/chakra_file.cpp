#include "protocols/bench/workload/recorded/chakra_file.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>

#include "protocols/core/errors.hpp"

namespace twinlink::bench {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;
using protozero::tag_and_type;

constexpr auto kNumber = pbf_wire_type::varint;
constexpr auto kBytes = pbf_wire_type::length_delimited;

[[noreturn]] void refuse_chakra(const std::string& file, const std::string& what) {
  throw InputError(fmt::format("{}: error: {}", file, what));
}

/// The next message, with its length before it; none at the end of the file.
class Messages {
 public:
  Messages(std::istream& stream, const std::string& file) : stream_(stream), file_(file) {}

  /// Until the next call.
  std::optional<protozero::data_view> next() {
    const int first = stream_.get();
    if (!stream_.good()) return std::nullopt;
    const std::uint64_t length = length_from(first);
    constexpr std::uint64_t kMost = std::uint64_t{64} << 20U;
    if (length > kMost) {
      refuse_chakra(file_, fmt::format("no trace of Chakra: the {}. message is {} bytes long", number_, length));
    }
    // Memory is there as bytes come: a wrong length asks for none.
    constexpr std::uint64_t kPart = std::uint64_t{1} << 16U;
    message_.clear();
    while (message_.size() < length) {
      const std::size_t begin = message_.size();
      message_.resize(std::min(length, begin + kPart));
      stream_.read(message_.data() + begin, static_cast<std::streamsize>(message_.size() - begin));
      if (!stream_.good()) cut();
    }
    ++number_;
    return protozero::data_view(message_.data(), message_.size());
  }

 private:
  std::uint64_t length_from(int byte) {
    constexpr int kGoesOn = 0x80;
    constexpr unsigned kBits = 7;
    constexpr unsigned kLongest = 63;
    std::uint64_t length = 0;
    for (unsigned shift = 0; shift < kLongest; shift += kBits) {
      length |= static_cast<std::uint64_t>(byte % kGoesOn) << shift;
      if (byte < kGoesOn) return length;
      byte = stream_.get();
      if (!stream_.good()) cut();
    }
    refuse_chakra(file_, "no trace of Chakra: a message has a length that is no number");
  }
  [[noreturn]] void cut() const {
    refuse_chakra(file_, fmt::format("it ends within its {}. message: it is cut short", number_));
  }

  std::istream& stream_;
  const std::string& file_;
  std::string message_{};
  std::size_t number_ = 1;
};

/// A whole number of whatever type; or a text, or a list of bools.
struct Attribute {
  std::string name{};
  std::optional<std::uint64_t> number{};
  bool is_negative = false;
  std::string text{};
  bool all = true;
};

void set(Attribute& to, std::int64_t number) {
  to.is_negative = number < 0;
  to.number = static_cast<std::uint64_t>(number);
}

bool all_of(pbf_reader list) {
  bool all = true;
  while (list.next()) {
    switch (list.tag_and_type()) {
      case tag_and_type(1, kBytes):
        for (const bool each : list.get_packed_bool()) all = all && each;
        break;
      case tag_and_type(1, kNumber):
        all = list.get_bool() && all;
        break;
      default:
        list.skip();
    }
  }
  return all;
}

/// The fields are AttributeProto's: one of its values.
Attribute attribute_in(pbf_reader reader) {
  Attribute all;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kBytes):
        all.name = reader.get_string();
        break;
      case tag_and_type(7, kNumber):
        set(all, reader.get_int32());
        break;
      case tag_and_type(9, kNumber):
        set(all, reader.get_int64());
        break;
      case tag_and_type(11, kNumber):
      case tag_and_type(13, kNumber):
        all.number = reader.get_uint64();
        break;
      case tag_and_type(15, kNumber):
      case tag_and_type(17, kNumber):
        set(all, reader.get_sint64());
        break;
      case tag_and_type(19, pbf_wire_type::fixed32):
        all.number = reader.get_fixed32();
        break;
      case tag_and_type(21, pbf_wire_type::fixed64):
        all.number = reader.get_fixed64();
        break;
      case tag_and_type(23, pbf_wire_type::fixed32):
        set(all, reader.get_sfixed32());
        break;
      case tag_and_type(25, pbf_wire_type::fixed64):
        set(all, reader.get_sfixed64());
        break;
      case tag_and_type(27, kNumber):
        all.number = reader.get_bool() ? 1 : 0;
        break;
      case tag_and_type(28, kBytes):
        all.all = all_of(reader.get_message());
        break;
      case tag_and_type(29, kBytes):
        all.text = reader.get_string();
        break;
      default:
        reader.skip();
    }
  }
  return all;
}

class NodeReader {
 public:
  NodeReader(const std::string& file, bool from_pytorch) : file_(file), from_pytorch_(from_pytorch) {}

  ChakraNode node_in(pbf_reader reader) const {
    ChakraNode node;
    std::vector<std::uint64_t> control;
    std::vector<Attribute> attributes;
    // Lists come packed, or number by number.
    const auto add_packed = [&reader](std::vector<std::uint64_t>& list) {
      for (const std::uint64_t each : reader.get_packed_uint64()) list.push_back(each);
    };
    while (reader.next()) {
      switch (reader.tag_and_type()) {
        case tag_and_type(1, kNumber):
          node.id = reader.get_uint64();
          break;
        case tag_and_type(2, kBytes):
          node.name = reader.get_string();
          break;
        case tag_and_type(3, kNumber):
          node.type = type_of(reader.get_int32());
          break;
        case tag_and_type(4, kBytes):
          add_packed(control);
          break;
        case tag_and_type(4, kNumber):
          control.push_back(reader.get_uint64());
          break;
        case tag_and_type(5, kBytes):
          add_packed(node.after);
          break;
        case tag_and_type(5, kNumber):
          node.after.push_back(reader.get_uint64());
          break;
        case tag_and_type(7, kNumber):
          node.duration = reader.get_uint64();
          break;
        case tag_and_type(8, kBytes):
          node.inputs = values_in(reader.get_message());
          break;
        case tag_and_type(10, kBytes):
          attributes.push_back(attribute_in(reader.get_message()));
          break;
        default:
          reader.skip();
      }
    }
    if (!from_pytorch_) std::ranges::copy(control, std::back_inserter(node.after));
    if (node.type != ChakraNode::Type::metadata) node.inputs.clear();
    for (Attribute& each : attributes) set_attribute(node, each);
    return node;
  }

 private:
  [[nodiscard]] ChakraNode::Type type_of(std::int32_t number) const {
    if (number < 0 || number > static_cast<std::int32_t>(ChakraNode::Type::collective)) {
      refuse_chakra(file_, fmt::format("a node is of type {}, which is none of the schema's", number));
    }
    return static_cast<ChakraNode::Type>(number);
  }
  static std::string values_in(pbf_reader reader) {
    std::string values;
    while (reader.next()) {
      if (reader.tag_and_type() == tag_and_type(1, kBytes)) {
        values = reader.get_string();
      } else {
        reader.skip();
      }
    }
    return values;
  }

  void set_attribute(ChakraNode& node, Attribute& each) const {
    const std::array<std::pair<std::string_view, std::optional<std::uint64_t>*>, 6> counts{
        {{"num_ops", &node.operations},
         {"comm_type", &node.collective},
         {"comm_size", &node.bytes},
         {"comm_src", &node.source},
         {"comm_dst", &node.destination},
         {"comm_tag", &node.tag}}};
    if (each.name == "pg_name") node.group = std::move(each.text);
    if (each.name == "involved_dim") node.leaves_dimensions_out = !each.all;
    if (each.name == "is_cpu_op") node.of_host = each.number.value_or(0) != 0;
    if (each.name == "tid") node.thread = each.number.value_or(0);
    if (each.name == "stream") node.stream = each.number.value_or(0);
    const auto* const count = std::ranges::find_if(counts, [&](const auto& known) { return known.first == each.name; });
    if (count == counts.end()) return;
    if (!each.number || each.is_negative) {
      refuse_chakra(file_,
                    fmt::format("'{}' of node {} '{}' is no whole number from 0 on", each.name, node.id, node.name));
    }
    *count->second = each.number;
  }

  const std::string& file_;
  bool from_pytorch_;  ///< control names who has called, and data all that is waited for
};

/// Is it from PyTorch? The converter writes no version, but the schema of what it has read: in a field of 0.0.4.
bool is_from_pytorch(pbf_reader reader, const std::string& file) {
  std::string version;
  bool from_pytorch = false;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
      case tag_and_type(1, kBytes):
        version = reader.get_string();
        break;
      case tag_and_type(2, kBytes):
        from_pytorch = attribute_in(reader.get_message()).name == "schema" || from_pytorch;
        break;
      case tag_and_type(1, kNumber):
        refuse_chakra(file, "it begins with a node, and does not say its schema: that is older than 0.0.4");
      default:
        reader.skip();
    }
  }
  if (version == "0.0.4" || version == "1.0.0" || (version.empty() && from_pytorch)) return from_pytorch;
  refuse_chakra(file, version.empty() ? std::string("it does not say its schema; 0.0.4 and 1.0.0 are understood")
                                      : fmt::format("its schema is '{}'; 0.0.4 and 1.0.0 are understood", version));
}

}  // namespace

void read_chakra_file(std::istream& stream, const std::string& file, const std::function<void(ChakraNode&&)>& take) {
  try {
    Messages messages(stream, file);
    const auto metadata = messages.next();
    if (!metadata) refuse_chakra(file, "it is empty");
    const NodeReader reader(file, is_from_pytorch(pbf_reader(*metadata), file));
    while (const auto message = messages.next()) take(reader.node_in(pbf_reader(*message)));
  } catch (const protozero::exception& error) {
    refuse_chakra(file, fmt::format("no trace of Chakra: {}", error.what()));
  }
}

}  // namespace twinlink::bench
