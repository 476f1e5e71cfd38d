#include "tessera/search/vector_blocks.hpp"

#include <algorithm>
#include <map>
#include <sstream>

#include "search/other_space.hpp"

namespace tessera::search {

namespace {

std::vector<std::string> words_of(const std::string& name) {
    std::istringstream in(name);
    std::vector<std::string> words;
    for (std::string word; in >> word;) {
        words.push_back(word);
    }
    return words;
}

/// The Einsum that a number is about (vector.hpp).
const std::string& einsum_of(const std::vector<std::string>& words) {
    const bool spatial = words.size() > 4 && words[0] == "place" && words[1] == "spread";
    return words[spatial ? 2 : 1];
}

/// A point of the space: first templates, all tile shapes 1.
Point any_point(const Space& space) {
    if (const auto* other = dynamic_cast<const VectorSpace*>(&space)) {
        return other->any_point();
    }
    Point point;
    for (std::uint32_t e = 0; e < space.n_einsums(); ++e) {
        point.choices.push_back({});
        point.tiles.insert(point.tiles.end(), space.tmpl(e, 0).symbols.size(), 1);
    }
    return point;
}

}  // namespace

VectorBlocks::VectorBlocks(const Space& space) : encoding_(space) {
    constexpr float most_ways = 2, absent = -0.5F;
    const std::vector<std::string>& layout = encoding_.layout();
    base_.resize(encoding_.size());
    encoding_.encode(any_point(space), base_);
    std::map<std::string, float> bounds;  // log2, by rank variable
    std::map<std::string, std::size_t> block_of;
    ranges_.resize(layout.size());
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < layout.size(); ++i) {
        const std::vector<std::string> words = words_of(layout[i]);
        if (i < encoding_.n_problem()) {
            bounds[words.back()] = base_[i];
            continue;
        }
        if (words[0] == "trips" || words[0] == "spread") {
            auto bound = bounds.find(words.back());
            if (bound == bounds.end()) {
                bound = bounds.find(words[words.size() - 2]);  // the second loop over it, and so on
            }
            ranges_[i].high = bound != bounds.end() ? bound->second : 1;
        } else if (words[0] == "place") {
            ranges_[i].low = absent;
        } else if (words[0] == "way") {
            ranges_[i].high = most_ways;
        }
        all.push_back(i);
        if (words.size() == 1) {
            continue;  // the order of the Einsums
        }
        const auto [at, fresh] = block_of.try_emplace(einsum_of(words), blocks_.size());
        if (fresh) {
            blocks_.emplace_back();
        }
        blocks_[at->second].push_back(i);
    }
    blocks_.push_back(std::move(all));
}

void VectorBlocks::stand_on(const Point& point) {
    encoding_.encode(point, base_);
}

void VectorBlocks::read(std::size_t block, std::span<double> unit) const {
    for (std::size_t k = 0; k < unit.size(); ++k) {
        const std::size_t i = blocks_[block][k];
        const Range& range = ranges_[i];
        const float wide = range.high - range.low;
        unit[k] = wide > 0 ? std::clamp((base_[i] - range.low) / wide, 0.0F, 1.0F) : 0.0;
    }
}

void VectorBlocks::decode(std::size_t block, std::span<const double> unit, Point& point) {
    changed_ = base_;
    for (std::size_t k = 0; k < unit.size(); ++k) {
        const std::size_t i = blocks_[block][k];
        const Range& range = ranges_[i];
        const double at = std::clamp(unit[k], 0.0, 1.0);
        changed_[i] = range.low + static_cast<float>(at) * (range.high - range.low);
    }
    encoding_.decode(changed_, point);
}

}  // namespace tessera::search
