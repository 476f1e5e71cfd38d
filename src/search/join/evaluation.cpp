#include "evaluation.hpp"

#include <algorithm>
#include <utility>

namespace tessera::search {

/// The facts of an Einsum's template with its tile shapes.
Verdict Evaluation::look_up(std::size_t einsum, std::uint32_t tmpl, const std::int64_t* tiles,
                            std::size_t n_tiles) {
    Link& link = links_[einsum];
    if (link.known && link.tmpl == tmpl && std::equal(tiles, tiles + n_tiles, link.tiles.begin())) {
        ++work_;
        return Verdict::legal;
    }
    const EinsumMemo::Entry& found = memo_.of(einsum, tmpl, tiles);
    work_ += found.checked;
    if (found.verdict == Verdict::legal) {
        const bool seen = !link.known || link.pattern->structure != found.pattern->structure ||
                          link.reserved.outward != found.reserved.outward;
        if (seen) {
            capacity_.forget();
        }
        const Way* const way = link.way;
        const bool same_way = !seen && link.trips == found.trips;
        link.take(found);
        link.way = same_way ? way : nullptr;
    }
    return found.verdict;
}

/// Joins the Einsum with those before it.
bool Evaluation::join(std::size_t einsum, std::uint32_t join) {
    Link& link = links_[einsum];
    if (link.way == nullptr || link.join != join || !(link.before == followed_)) {
        const std::vector<Way>& ways = joiner_.ways(followed_.state, link.pattern->structure);
        if (join >= ways.size() || !followed_.fits(ways[join], link.trips)) {
            return false;
        }
        link.way = nullptr;
        if (link.shared != ways[join].plan.n_left) {
            capacity_.forget();
            link.shared = ways[join].plan.n_left;
        }
        link.before = followed_;
        link.join = join;
        link.way = &ways[join];
    }
    followed_.join(*link.way, link.trips);
    return true;
}

Verdict Evaluation::follow(const Point& point) {
    if (point.choices.size() != space_.einsums.size()) {
        return Verdict::tile_shape;
    }
    followed_.start();
    std::size_t at = 0;
    for (std::size_t e = 0; e < space_.einsums.size(); ++e) {
        const std::vector<TemplateData>& templates = space_.einsums[e].templates;
        const Choice& choice = point.choices[e];
        if (choice.tmpl >= templates.size()) {
            return Verdict::incompatible;
        }
        const std::size_t n = templates[choice.tmpl].symbols.size();
        if (at + n > point.tiles.size()) {
            return Verdict::tile_shape;
        }
        const Verdict verdict = look_up(e, choice.tmpl, point.tiles.data() + at, n);
        if (verdict != Verdict::legal) {
            return verdict;
        }
        if (!join(e, choice.join)) {
            return Verdict::incompatible;
        }
        at += n;
    }
    return at == point.tiles.size() ? Verdict::legal : Verdict::tile_shape;
}

Outcome Evaluation::evaluate(const Point& point) {
    Outcome out;
    joined_ = false;
    out.verdict = follow(point);
    joined_ = out.legal();
    if (!joined_) {
        return out;
    }
    for (const Link& link : links_) {
        out.energy_j += link.energy_j;
        out.latency_s += link.latency_s;
    }
    if (!capacity_.fits(links_)) {
        out.verdict = Verdict::capacity;
    }
    return out;
}

std::uint64_t Evaluation::take_work() {
    return std::exchange(work_, 0);
}

}  // namespace tessera::search
