#include "platforms/tools/platform_schema.hpp"

#include <array>
#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

#include "platforms/machine/platform.hpp"
#include "platforms/machine/platform_fields.hpp"

namespace twinlink::platforms {
namespace {

using Json = nlohmann::ordered_json;

Json reference(std::string_view name) { return {{"$ref", "#/definitions/" + std::string(name)}}; }
Json text() { return {{"type", "string"}}; }
Json texts() { return {{"type", "array"}, {"items", text()}}; }
Json one_or_more() { return {{"anyOf", {text(), texts()}}}; }
Json matching(const std::string& pattern) { return {{"type", "string"}, {"pattern", pattern}}; }
Json count() { return {{"type", "integer"}, {"minimum", 1}}; }

Json object(Json properties) {
  return {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
}

/// Names may stand for many: "gpu[0-7]".
Json named(Json each) {
  return {
      {"type", "object"}, {"propertyNames", {{"pattern", "^[^./ \\t]+$"}}}, {"additionalProperties", std::move(each)}};
}

template <class Words>
Json one_of(const Words& words) {
  Json choices = Json::array();
  for (const auto word : words) choices.push_back(to_string(word));
  return {{"enum", std::move(choices)}};
}

// ---- numbers --------------------------------------------------------------------------------------------------------

Json quantity(const std::string& units) { return matching("^[0-9]*\\.?[0-9]+([eE][-+]?[0-9]+)? *(" + units + ")$"); }

constexpr std::string_view kSizeUnits = "B|kB|MB|GB|TB|KiB|MiB|GiB|TiB";
constexpr std::string_view kTimeUnits = "ns|us|ms|s";
constexpr std::string_view kRateUnits = "B/s|kB/s|MB/s|GB/s|TB/s|KiB/s|MiB/s|GiB/s|Mbit/s|Gbit/s";

/// A value and exactly one source.
Json number(const std::string& description, Json value) {
  Json properties{{"value", std::move(value)}};
  for (const Quality quality : kQualities) properties[std::string(to_string(quality))] = text();
  Json result = object(std::move(properties));
  result["description"] = description;
  result["required"] = Json::array({"value"});
  result["minProperties"] = result["maxProperties"] = 2;
  return result;
}

Json by_size() {
  const Json point{{"type", "array"},
                   {"items", {reference("size"), reference("duration")}},
                   {"minItems", 2},
                   {"additionalItems", false}};
  return {{"anyOf", {reference("duration"), {{"type", "array"}, {"items", point}, {"minItems", 1}}}}};
}

Json definitions_of_numbers() {
  return {{"size", quantity(std::string(kSizeUnits))},
          {"duration", quantity(std::string(kTimeUnits))},
          {"rate", quantity(std::string(kRateUnits))},
          {"size_number", number("A size and its source", reference("size"))},
          {"duration_number", number("A duration and its source", reference("duration"))},
          {"rate_number", number("A rate and its source", reference("rate"))},
          {"ratio", quantity("%")},
          {"ratio_number", number("A ratio and its source", reference("ratio"))},
          {"flops", quantity("TFLOP/s")},
          {"flops_number", number("A rate of operations and its source", reference("flops"))},
          {"curve_number", number("A duration, or a list of [size, duration], and its source", by_size())}};
}

// ---- parts ----------------------------------------------------------------------------------------------------------

Json schema_of(const Sourced<Bytes>& /*number*/) { return reference("size_number"); }
Json schema_of(const Sourced<Seconds>& /*number*/) { return reference("duration_number"); }
Json schema_of(const Sourced<Rate>& /*number*/) { return reference("rate_number"); }
Json schema_of(const Sourced<Ratio>& /*number*/) { return reference("ratio_number"); }
Json schema_of(const Sourced<Flops>& /*number*/) { return reference("flops_number"); }
Json schema_of(const Sourced<Piecewise>& /*number*/) { return reference("curve_number"); }
template <HasFields Part>
Json schema_of(const Part& part);
template <class T>
Json schema_of(const std::optional<T>& /*field*/) {
  return schema_of(T{});
}

/// The numbers of a part by their keys.
template <HasFields Part>
Json numbers_of(const Part& part) {
  Json properties = Json::object();
  each_field(part, [&](std::string_view key, const auto& field) { properties[std::string(key)] = schema_of(field); });
  return properties;
}

template <HasFields Part>
Json schema_of(const Part& part) {
  return object(numbers_of(part));
}

/// A part with its numbers and `others`, which come first.
template <HasFields Part>
Json part(Json others) {
  others.update(numbers_of(Part{}));
  return object(std::move(others));
}

Json copies() {
  Json kinds = Json::object();
  for (int i = 0; i < kCopyKinds; ++i) {
    const auto kind = static_cast<CopyKind>(i);
    kinds[std::string(to_string(kind))] = reference(reads_host_memory(kind) ? "copy_from_host" : "copy");
  }
  return object(std::move(kinds));
}

Json copy() {
  Json numbers = numbers_of(Cost{});
  numbers.erase("cpu_written");
  return object(std::move(numbers));
}

Json nodes() {
  const Json forwards = one_of(kForwards);
  return object(
      {{"count", count()},
       {"domain", count()},
       {"memories", named(part<HostMemory>({{"forwards", forwards}}))},
       {"hubs", named(part<Hub>({{"forwards", forwards}}))},
       {"nics", named(part<Nic>(Json::object()))},
       {"gpus", named(object({{"type", text()}, {"memory_near", text()}, {"nic", one_or_more()}}))},
       {"links", named(part<Link>(
                     {{"from", text()}, {"to", text()}, {"count", count()}, {"bandwidth", reference("rate_number")}}))},
       {"ways", named(object({{"from", text()}, {"to", text()}, {"via", one_or_more()}}))},
       {"host_buffers", one_of(kHostBuffers)},
       {"cpu", one_of(kCpus)},
       {"peers", {{"type", "array"}, {"items", matching("^[^ ]+ [^ ]+$")}}}});
}

Json fabric() {
  const Json ratio{{"anyOf", {count(), matching("^[1-9][0-9]*(:[1-9][0-9]*)?$")}}};
  Json result = part<Fabric>({{"shape", one_of(kFabricShapes)},
                              {"size", {{"type", "array"}, {"items", count()}}},
                              {"routing", one_of(kFabricRoutings)},
                              {"oversubscription", {{"anyOf", {ratio, {{"type", "array"}, {"items", ratio}}}}}},
                              {"radix", count()},
                              {"seed", {{"type", "integer"}, {"minimum", 0}}}});
  result["properties"]["rdma"] = part<Rdma>({{"hypothetical", text()}, {"by_gpu", text()}});
  return result;
}

Json driver() {
  return object({{"copies", reference("copies")},
                 {"fallback", part<Fallback>({{"through", text()}, {"in_flight", count()}})},
                 {"runtime", schema_of(RuntimeCosts{})}});
}

Json mpi() {
  Json between = numbers_of(NetworkCosts{});
  for (const char* within_only : {"fragment", "uncached"}) between.erase(within_only);
  between["host_adapters"] = count();
  Json within = part<NetworkCosts>({{"copied_by", one_of(kCopiedBy)}});
  for (const char* between_only : {"striped_from", "inline_limit"}) within["properties"].erase(between_only);
  return object({{"library", {{"enum", Json(kLibraries)}}},
                 {"network", object(std::move(between))},
                 {"intra_node", std::move(within)}});
}

Json software() {
  const Json version = matching("^[0-9]+(\\.[0-9]+)*(-.*)?$");
  const Json flag{{"type", "boolean"}};
  return object({{"cuda", version},
                 {"driver", version},
                 {"kernel", version},
                 {"mpi", matching("^[^ ]+[ -][0-9]+(\\.[0-9]+)*(-.*)?$")},
                 {"kernel_patch", flag},
                 {"nic_interop", flag}});
}

Json gpu_type() {
  return part<GpuType>({{"model", text()},
                        {"capability", matching("^[0-9]+\\.[0-9]+$")},
                        {"unified_addressing", {{"type", "boolean"}}},
                        {"copies", reference("copies")}});
}

}  // namespace

std::string platform_schema() {
  Json schema = object({{"schema", {{"const", 2}}},
                        {"name", text()},
                        {"description", text()},
                        {"include", one_or_more()},
                        {"sources", {{"type", "object"}, {"additionalProperties", text()}}},
                        {"software", software()},
                        {"gpu_types", named(gpu_type())},
                        {"nodes", reference("nodes")},
                        {"kinds", named(object({{"machine", text()},
                                                {"replaces", {{"type", "integer"}, {"minimum", 0}}},
                                                {"nodes", reference("nodes")}}))},
                        {"fabric", fabric()},
                        {"driver", driver()},
                        {"mpi", mpi()},
                        {"ccl", text()}});
  Json definitions = definitions_of_numbers();
  definitions["nodes"] = nodes();
  definitions["copies"] = copies();
  definitions["copy"] = copy();
  definitions["copy_from_host"] = schema_of(Cost{});
  schema["definitions"] = std::move(definitions);
  Json document{{"$schema", "http://json-schema.org/draft-07/schema#"},
                {"title", "Twinlink platform, schema 2"},
                {"description",
                 "A platform file or a part of one: SCHEMA.md and COSTS.md say what each key means. What must be there "
                 "besides, twinlink-sim check says."}};
  document.update(schema);
  return document.dump(2) + "\n";
}

}  // namespace twinlink::platforms
