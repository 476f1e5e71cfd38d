// Makes a point whose Einsums fit together out of one whose Einsums may not, changing what it must
// and no more than it must: an Einsum stays as it is, or keeps its template with the nearest tile
// shapes that fit, or gets another template with the nearest tile shapes.
#pragma once

#include <cstdint>
#include <vector>

#include "search/draw/drawing.hpp"
#include "search/join/evaluation.hpp"

namespace tessera::search {

/// Builds a point Einsum after Einsum. Scratch of one thread.
class Repair {
public:
    Repair(const OpenSpace::Data& space, Joiner& joiner, Drawing& drawing, Evaluation& evaluation)
        : space_(space), joiner_(joiner), drawing_(drawing), evaluation_(evaluation) {}

    void start();
    /// With the Einsums of `from` before `einsum`, whose first tile shape is `at`; `before` is what
    /// it finds open.
    void start(const Point& from, std::size_t einsum, std::size_t at, const Followed& before);
    /// Adds the Einsums of `from` from the next one up to `end`, known to run here: their tile
    /// shapes are [at, at_end), and `after` is what later ones see.
    void keep(const Point& from, std::size_t end, std::size_t at, std::size_t at_end,
              const Followed& after);
    /// The Einsum that is to be added next.
    std::size_t next() const {
        return built_.choices.size();
    }
    const Followed& before_next() const {
        return followed_;
    }

    /// Adds the Einsum as it is, `join` first among its ways; false if it cannot run there.
    bool keep(std::uint32_t tmpl, std::uint32_t join, const std::int64_t* tiles);
    enum class Kept : std::uint8_t { yes, no, no_way };
    /// Adds the Einsum as it is, joined as `join` says; no_way: there are not so many, or none.
    Kept keep_as(std::uint32_t tmpl, std::uint32_t join, const std::int64_t* tiles);
    /// Adds the template with tile shapes near `target`; if it can, with the running loops of
    /// `pattern`, unless that is null, and joined as `join` says.
    bool fit(Rng& rng, std::uint32_t tmpl, const std::vector<double>& target,
             const Pattern* pattern = nullptr, std::uint32_t join = 0);
    /// Adds an option of those at `at`, which is what the next Einsum finds, with tile shapes near
    /// those of another template.
    bool fit(Rng& rng, std::uint32_t tmpl, const std::int64_t* tiles, Compatibility& at,
             std::size_t option);
    /// Adds another template, the tile shapes near those of `tmpl`: of several that fit the one of
    /// least energy times latency of the Einsum. Which ones are tried is one of a few choices.
    bool replace(Rng& rng, std::uint32_t tmpl, const std::int64_t* tiles);
    /// Adds any template with any tile shapes.
    bool draw(Rng& rng);
    /// The first of keep, fit and replace that succeeds.
    bool follow(Rng& rng, std::uint32_t tmpl, std::uint32_t join, const std::int64_t* tiles);
    /// The first of keep and fit that succeeds; `link` is one of the next Einsum.
    bool follow(Rng& rng, const Link& link);

    const Point& built() const {
        return built_;
    }

private:
    /// Adds an Einsum that is known to run: `way` is its join, `trips` of its running fused loops.
    void add(std::uint32_t tmpl, std::uint32_t join, const std::int64_t* tiles, const Way& way,
             const std::vector<std::int64_t>& trips);
    /// Adds the option with row_, which choose() gave; false if it gave nothing.
    bool add(const Joiner::Option& option, const EinsumMemo::Entry* chosen);
    /// Adds the option with tile shapes near `target` (of its template).
    bool fit(Rng& rng, const Joiner::Option& option, const std::vector<double>& target);
    /// Tile shapes of the option near `target` into row_, and what they cost; null if none fit.
    /// `no_fit`, unless null, becomes 1 if none fits whatever the target.
    const EinsumMemo::Entry* choose(Rng& rng, const Joiner::Option& option,
                                    const std::vector<double>& target, bool remembered,
                                    char* no_fit = nullptr);
    /// As choose(), near tile shapes of another template.
    const EinsumMemo::Entry* choose(Rng& rng, std::uint32_t tmpl, const std::int64_t* tiles,
                                    Compatibility& at, std::size_t option, bool remembered);
    /// What an Einsum is replaced by; it depends on the question alone.
    struct Replacement {
        bool known = false;
        std::size_t einsum = 0;
        std::uint32_t tmpl = 0;
        std::uint64_t variant = 0;
        Followed before;
        std::vector<std::int64_t> tiles;
        std::uint64_t seed = 0;
        // The answer.
        std::ptrdiff_t option = -1;  ///< of all of the state, -1: there is none
        std::vector<std::int64_t> row;
        std::uint64_t work = 0;
    };
    Replacement& replacement(std::uint32_t tmpl, const std::int64_t* tiles, std::uint64_t variant);
    void find(Replacement& entry);
    const Way& way_of(const Joiner::Option& option);

    const OpenSpace::Data& space_;
    Joiner& joiner_;
    Drawing& drawing_;
    Evaluation& evaluation_;
    Point built_;
    Followed followed_;
    std::vector<Joiner::Option> options_;
    std::vector<std::int64_t> wanted_, row_;
    std::vector<double> target_;
    std::vector<Replacement> replacements_;
};

/// Tile shapes to aim at in template `to` so that it resembles `from`: each loop hands on what
/// the loops of `from` over its variable hand on at the same depth of memories; 0 where there is
/// none.
void carry(const TemplateData& from, const std::int64_t* tiles, const TemplateData& to,
           std::vector<double>& target);

}  // namespace tessera::search
