// What only measurements tell, before there are any.
#pragma once

#include "platforms/machine/platform.hpp"

namespace twinlink::real {

/// Gives `platform`, whose node is complete, all costs and the rates of its host memories, each marked as assumed:
/// those of `base` with a word on where they come from, or, where `base` is null, guesses. Copies that a base lacks are
/// guessed too. A base with a fabric gives that as well if every GPU has an adapter.
void assume_costs(model::Platform& platform, const model::Platform* base);

/// "a guess ...", as the source of a number that nobody has measured yet.
model::Source guess(const std::string& why);

}  // namespace twinlink::real
