#include "repair.hpp"

#include <algorithm>
#include <limits>

#include "search/draw/hash.hpp"
#include "tessera/base/stop.hpp"

namespace tessera::search {

namespace {

// Options that are tried before the next way to add an Einsum.
constexpr std::size_t most_fits = 6, most_replacements = 32;
// Of these many replacements that fit the cheapest is taken: Einsums that read one fused tensor
// leave its fusion together, and a walk gets over that only if none of them becomes much worse.
constexpr std::size_t enough_fitting = 8;
// So many choices of replacements there are for the same question; they are remembered.
constexpr std::uint64_t replacement_variants = 4;
constexpr std::size_t most_remembered = 1024;

}  // namespace

void carry(const TemplateData& from, const std::int64_t* tiles, const TemplateData& to,
           std::vector<double>& target) {
    target.assign(to.symbols.size(), 0.0);
    for (std::size_t s = 0; s < target.size(); ++s) {
        const mapping::TileSymbol& own = to.tmpl.symbols[s];
        const LoopPlace place = to.places[s];
        int best_level = -1;
        for (std::size_t o = 0; o < from.symbols.size(); ++o) {
            const mapping::TileSymbol& other = from.tmpl.symbols[o];
            const LoopPlace there = from.places[o];
            // Of several at the same depth the innermost: symbols of a variable are in order.
            if (other.rank_variable == own.rank_variable && there.level <= place.level &&
                there.level >= best_level) {
                best_level = there.level;
                target[s] = static_cast<double>(tiles[o]);
                if (other.spatial == own.spatial && there.level == place.level &&
                    there.dim == place.dim) {
                    break;  // the same loop
                }
            }
        }
        if (best_level < 0) {
            target[s] = static_cast<double>(to.symbols[s].bound);
        }
    }
}

void Repair::start() {
    built_.choices.clear();
    built_.tiles.clear();
    followed_.start();
    drawing_.followers().trim();
}

void Repair::start(const Point& from, std::size_t einsum, std::size_t at, const Followed& before) {
    built_.choices.assign(from.choices.begin(),
                          from.choices.begin() + static_cast<std::ptrdiff_t>(einsum));
    built_.tiles.assign(from.tiles.begin(), from.tiles.begin() + static_cast<std::ptrdiff_t>(at));
    followed_ = before;
    drawing_.followers().trim();
}

void Repair::keep(const Point& from, std::size_t end, std::size_t at, std::size_t at_end,
                  const Followed& after) {
    built_.choices.insert(built_.choices.end(),
                          from.choices.begin() + static_cast<std::ptrdiff_t>(next()),
                          from.choices.begin() + static_cast<std::ptrdiff_t>(end));
    built_.tiles.insert(built_.tiles.end(), from.tiles.begin() + static_cast<std::ptrdiff_t>(at),
                        from.tiles.begin() + static_cast<std::ptrdiff_t>(at_end));
    followed_ = after;
}

void Repair::add(std::uint32_t tmpl, std::uint32_t join, const std::int64_t* tiles, const Way& way,
                 const std::vector<std::int64_t>& trips) {
    const TemplateData& t = space_.einsums[next()].templates[tmpl];
    built_.choices.push_back({tmpl, join});
    built_.tiles.insert(built_.tiles.end(), tiles, tiles + t.symbols.size());
    followed_.join(way, trips);
}

bool Repair::add(const Joiner::Option& option, const EinsumMemo::Entry* chosen) {
    if (chosen != nullptr) {
        add(option.tmpl, option.way, row_.data(), way_of(option), chosen->trips);
    }
    return chosen != nullptr;
}

bool Repair::keep(std::uint32_t tmpl, std::uint32_t join, const std::int64_t* tiles) {
    const EinsumMemo::Entry& found = evaluation_.memo().of(next(), tmpl, tiles);
    if (found.verdict != Verdict::legal) {
        return false;
    }
    const std::vector<Way>& ways = joiner_.ways(followed_.state, found.pattern->structure);
    const std::size_t way = followed_.way_in(ways, found.trips, join);
    if (way == ways.size()) {
        return false;
    }
    add(tmpl, static_cast<std::uint32_t>(way), tiles, ways[way], found.trips);
    return true;
}

Repair::Kept Repair::keep_as(std::uint32_t tmpl, std::uint32_t join, const std::int64_t* tiles) {
    const EinsumMemo::Entry& found = evaluation_.memo().of(next(), tmpl, tiles);
    if (found.verdict != Verdict::legal) {
        return Kept::no_way;
    }
    const std::vector<Way>& ways = joiner_.ways(followed_.state, found.pattern->structure);
    if (join >= ways.size()) {
        return Kept::no_way;
    }
    if (!followed_.fits(ways[join], found.trips)) {
        return Kept::no;
    }
    add(tmpl, join, tiles, ways[join], found.trips);
    return Kept::yes;
}

const EinsumMemo::Entry* Repair::choose(Rng& rng, const Joiner::Option& option,
                                        const std::vector<double>& target, bool remembered,
                                        char* no_fit) {
    const std::size_t e = next();
    const TemplateData& t = space_.einsums[e].templates[option.tmpl];
    const Pattern& pattern = t.patterns[option.pattern];
    demanded_trips(t, pattern, way_of(option).plan, followed_.open_trips, wanted_);
    const Fit fit{e, option.tmpl, pattern.loops, wanted_, target};
    const Found fitted = drawing_.fit_tiles(rng, fit, remembered);
    if (fitted != Found::yes) {
        if (no_fit != nullptr && fitted == Found::none) {
            *no_fit = 1;
        }
        return nullptr;
    }
    row_.assign(drawing_.values().begin(), drawing_.values().end());
    const EinsumMemo::Entry& found = evaluation_.memo().of(e, option.tmpl, row_.data());
    return found.verdict == Verdict::legal ? &found : nullptr;
}

const EinsumMemo::Entry* Repair::choose(Rng& rng, std::uint32_t tmpl, const std::int64_t* tiles,
                                        Compatibility& at, std::size_t option, bool remembered) {
    if (at.no_fit[option] != 0) {
        ++drawing_.work;
        return nullptr;
    }
    const std::vector<TemplateData>& templates = space_.einsums[next()].templates;
    const Joiner::Option& chosen = drawing_.followers().options(at)[option];
    carry(templates[tmpl], tiles, templates[chosen.tmpl], target_);
    return choose(rng, chosen, target_, remembered, &at.no_fit[option]);
}

const Way& Repair::way_of(const Joiner::Option& option) {
    const TemplateData& t = space_.einsums[next()].templates[option.tmpl];
    return joiner_.ways(followed_.state, t.patterns[option.pattern].structure)[option.way];
}

bool Repair::fit(Rng& rng, const Joiner::Option& option, const std::vector<double>& target) {
    return add(option, choose(rng, option, target, true));
}

bool Repair::fit(Rng& rng, std::uint32_t tmpl, const std::int64_t* tiles, Compatibility& at,
                 std::size_t option) {
    return add(drawing_.followers().options(at)[option],
               choose(rng, tmpl, tiles, at, option, true));
}

bool Repair::fit(Rng& rng, std::uint32_t tmpl, const std::vector<double>& target,
                 const Pattern* pattern, std::uint32_t join) {
    const TemplateData& t = space_.einsums[next()].templates[tmpl];
    const std::span<const Joiner::Option> all = joiner_.remembered_options(followed_.state, tmpl);
    options_.assign(all.begin(), all.end());
    const std::size_t n = options_.size();
    std::size_t i = 0;
    for (Joiner::Option& option : options_) {
        if (&t.patterns[option.pattern] == pattern && option.way == join) {
            std::swap(option, options_[i++]);
            break;
        }
    }
    if (i > 0 && fit(rng, options_[0], target)) {
        return true;
    }
    for (; i < std::min(n, most_fits); ++i) {
        std::swap(options_[i], options_[i + rng.below(n - i)]);
        if (fit(rng, options_[i], target)) {
            return true;
        }
    }
    return false;
}

bool Repair::draw(Rng& rng) {
    Compatibility& at = drawing_.followers().after(static_cast<int>(next()), followed_);
    const Joiner::Option* const option = drawing_.draw_einsum(rng, at);
    if (option == nullptr) {
        return false;
    }
    const TemplateData& t = space_.einsums[next()].templates[option->tmpl];
    row_.assign(drawing_.values().begin(), drawing_.values().end());
    const EinsumMemo::Entry& found = evaluation_.memo().of(next(), option->tmpl, row_.data());
    if (found.verdict != Verdict::legal) {
        return false;
    }
    const Way& way =
        joiner_.ways(followed_.state, t.patterns[option->pattern].structure)[option->way];
    add(option->tmpl, option->way, row_.data(), way, found.trips);
    return true;
}

/// The entry of a question; if it is not known, the answer is to be filled in.
Repair::Replacement& Repair::replacement(std::uint32_t tmpl, const std::int64_t* tiles,
                                         std::uint64_t variant) {
    const std::size_t e = next();
    const std::size_t n = space_.einsums[e].templates[tmpl].symbols.size();
    RowHash hash((static_cast<std::uint64_t>(e) << 40) ^ (variant << 32) ^ tmpl);
    hash.add(tiles, n);
    hash.add(followed_.open_trips.data(), followed_.open_trips.size());
    replacements_.resize(most_remembered);
    Replacement& entry = replacements_[hash.place(most_remembered)];
    if (entry.known && entry.einsum == e && entry.tmpl == tmpl && entry.variant == variant &&
        entry.before == followed_ && std::equal(tiles, tiles + n, entry.tiles.begin())) {
        return entry;
    }
    entry.known = false;
    entry.einsum = e;
    entry.tmpl = tmpl;
    entry.variant = variant;
    entry.before = followed_;
    entry.tiles.assign(tiles, tiles + n);
    // Nothing here depends on what this thread numbered the states.
    entry.seed = hash.sum();
    return entry;
}

/// Of several options that fit the one of least energy times latency.
void Repair::find(Replacement& entry) {
    const std::vector<Joiner::Option>& options = joiner_.all_options(followed_.state);
    Compatibility& at = drawing_.followers().after(static_cast<int>(next()), followed_);
    const std::uint64_t work = drawing_.work;
    double least = std::numeric_limits<double>::infinity();
    entry.option = -1;
    Rng rng(entry.seed);
    std::size_t fitting = 0;
    for (std::size_t i = 0; i < most_replacements && fitting < enough_fitting && !options.empty();
         ++i) {
        const std::size_t index = rng.below(options.size());
        const EinsumMemo::Entry* const found =
            choose(rng, entry.tmpl, entry.tiles.data(), at, index, false);
        if (found == nullptr) {
            continue;
        }
        ++fitting;
        const double cost = found->energy_j * found->latency_s;
        if (entry.option < 0 || cost < least) {
            least = cost;
            entry.option = static_cast<std::ptrdiff_t>(index);
            entry.row = row_;
        }
    }
    entry.work = drawing_.work - work;
    drawing_.work = work;
    entry.known = true;
}

bool Repair::replace(Rng& rng, std::uint32_t tmpl, const std::int64_t* tiles) {
    Replacement& entry = replacement(tmpl, tiles, rng.below(replacement_variants));
    if (!entry.known) {
        find(entry);
    }
    drawing_.work += entry.work;
    if (entry.option < 0) {
        return false;
    }
    const Joiner::Option& option =
        joiner_.all_options(followed_.state)[static_cast<std::size_t>(entry.option)];
    const EinsumMemo::Entry& found = evaluation_.memo().of(next(), option.tmpl, entry.row.data());
    add(option.tmpl, option.way, entry.row.data(), way_of(option), found.trips);
    return true;
}

bool Repair::follow(Rng& rng, const Link& link) {
    base::poll_stop();
    if (keep(link.tmpl, link.join, link.tiles.data())) {
        return true;
    }
    target_.assign(link.tiles.begin(), link.tiles.end());
    return fit(rng, link.tmpl, target_, link.pattern, link.join);
}

bool Repair::follow(Rng& rng, std::uint32_t tmpl, std::uint32_t join, const std::int64_t* tiles) {
    base::poll_stop();
    if (keep(tmpl, join, tiles)) {
        return true;
    }
    const std::size_t n = space_.einsums[next()].templates[tmpl].symbols.size();
    const std::vector<double> target(tiles, tiles + n);
    return fit(rng, tmpl, target) || replace(rng, tmpl, tiles);
}

}  // namespace tessera::search
