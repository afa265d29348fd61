// Texts that are kept, so that a reader of a change sees what it does to them.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "platforms/report/document.hpp"
#include "tests/validate/scratch_folder.hpp"

namespace twinlink::validate::test {

/// Compares with golden/NAME. On a difference the actual text is kept, so that it can be read and taken over.
inline void expect_golden(const std::string& name, const std::string& actual) {
  const std::filesystem::path file(TWINLINK_VALIDATE_GOLDEN "/" + name);
  if (std::filesystem::exists(file) && actual == read_file(file)) return;
  const auto kept = ::testing::TempDir() + "twinlink-validate-" + name;
  std::ofstream(kept, std::ios::binary) << actual;
  ADD_FAILURE() << "differs from tests/validate/golden/" << name << "; the actual text is in " << kept;
}

/// What neither text nor Markdown shows of a document: its curves, its drawings, and the colours of its tables.
inline std::string drawn(const report::Document& document) {
  std::string text;
  const auto add_shades = [&](const report::Table& table) {
    for (const auto& row : table.shades) {
      text += "shades:";
      for (const auto& shade : row) text += shade ? fmt::format(" {:.3f}", *shade) : " -";
      text += "\n";
    }
  };
  for (const report::Block& block : document) {
    if (const auto* plot = std::get_if<report::Plot>(&block)) {
      text += fmt::format("{}, {}{}\n", plot->title, plot->unit, plot->logarithmic ? ", logarithmic" : "");
      for (const std::string& name : plot->names) text += name + (&name == &plot->names.back() ? "\n" : " ");
      for (const report::PlotCurve& curve : plot->curves) {
        text += fmt::format("{} ({}{}):", curve.label, curve.colour, curve.dashed ? ", dashed" : "");
        for (const report::PlotPoint& point : curve.points) {
          text += fmt::format(" {}:{:.4g}", point.x, point.y);
          if (point.low) text += fmt::format("[{:.4g}, {:.4g}]", *point.low, *point.high);
        }
        text += "\n";
      }
      add_shades(plot->table);
    } else if (const auto* picture = std::get_if<report::Picture>(&block)) {
      text += fmt::format("{}\n{}", picture->title, picture->svg);
    } else if (const auto* table = std::get_if<report::Table>(&block)) {
      add_shades(*table);
    }
  }
  return text;
}

}  // namespace twinlink::validate::test
