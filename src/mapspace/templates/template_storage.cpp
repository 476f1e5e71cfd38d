// Which level holds which tensor.
//
// Top-down over memories and tolls. Each level holds its `keep` and `back` tensors plus any subset
// of its `may_keep`; the expressions may name the levels above and `Above`, all they hold together.
#include <algorithm>

#include "template_internal.hpp"

namespace tessera::mapspace::detail {

namespace {

/// The sets of one level. Sets that depend on nothing above are evaluated once.
struct Sets {
    TensorMask keep = 0, may_keep = 0, back = 0;
};

class Chooser {
public:
    Chooser(const Space& space, Reasons& reasons,
            std::size_t most = std::numeric_limits<std::size_t>::max());
    std::vector<Choice> run();
    std::vector<StoredSets> possible() const;
    bool allow(Choice& choice) const;

private:
    TensorMask must_of(int index, const Sets& sets) const;
    bool depends_on_above(const arch::PathLevel& level) const;
    Sets evaluate(const arch::PathLevel& level, const spec::Symbols& symbols) const;
    void choose(int index, TensorMask above, const spec::Symbols& symbols);
    void keep_going(int index, TensorMask above, TensorMask stored, TensorMask must,
                    const spec::Symbols& symbols);
    void take();

    const Space& space_;
    Reasons& reasons_;
    std::size_t most_;
    std::vector<char> dynamic_;  ///< per level
    bool any_dynamic_ = false;
    std::vector<Sets> fixed_;  ///< per level, if not dynamic
    Choice current_;
    std::vector<Choice> found_;
};

Chooser::Chooser(const Space& space, Reasons& reasons, std::size_t most)
    : space_(space), reasons_(reasons), most_(most) {
    const auto& levels = space.path.levels;
    current_.stored.assign(levels.size(), 0);
    current_.must.assign(levels.size(), 0);
    dynamic_.assign(levels.size(), false);
    fixed_.resize(levels.size());
    for (std::size_t i = 0; i < levels.size(); ++i) {
        if (!levels[i].holds_tensors() || !levels[i].enabled) {
            continue;
        }
        dynamic_[i] = depends_on_above(levels[i]);
        any_dynamic_ |= dynamic_[i] != 0;
        if (!dynamic_[i]) {
            fixed_[i] = evaluate(levels[i], space.path.symbols);
        }
    }
}

bool Chooser::depends_on_above(const arch::PathLevel& level) const {
    for (const spec::Expression* e : {&level.keep, &level.may_keep, &level.back}) {
        if (e->empty()) {
            continue;
        }
        for (const std::string& name : e->names()) {
            if (name == "Above" || space_.path.find_level(name) >= 0) {
                return true;
            }
        }
    }
    return false;
}

Sets Chooser::evaluate(const arch::PathLevel& level, const spec::Symbols& symbols) const {
    const auto tensors = [&](const spec::Expression& e, TensorMask otherwise) {
        return (e.empty() ? otherwise : arch::evaluate_tensors(e, symbols)) & space_.all;
    };
    Sets sets;
    const bool keep_given = !level.keep.empty();
    sets.keep = tensors(level.keep, 0);
    sets.may_keep = tensors(level.may_keep, keep_given ? 0 : space_.all);
    sets.back = tensors(level.back, 0);
    return sets;
}

std::vector<Choice> Chooser::run() {
    spec::Symbols symbols = space_.path.symbols.child();
    symbols.set("Above", spec::Value(spec::TensorSet{0}));
    choose(0, 0, symbols);
    return std::move(found_);
}

TensorMask Chooser::must_of(int index, const Sets& sets) const {
    const bool all = index == space_.first_memory && space_.options.unfused;
    return all ? space_.all : sets.keep | sets.back;
}

std::vector<StoredSets> Chooser::possible() const {
    std::vector<StoredSets> out(fixed_.size());
    for (std::size_t l = 0; l < out.size(); ++l) {
        const arch::PathLevel& level = space_.path.levels[l];
        if (!level.holds_tensors() || !level.enabled) {
            continue;
        }
        if (dynamic_[l]) {
            out[l] = {space_.all, 0, true};
            continue;
        }
        const TensorMask must = must_of(static_cast<int>(l), fixed_[l]);
        out[l] = {fixed_[l].may_keep | must, must, false};
    }
    return out;
}

/// \pre no tolls, no copy
bool Chooser::allow(Choice& choice) const {
    spec::Symbols symbols = space_.path.symbols.child();
    TensorMask above = 0;
    for (std::size_t l = 0; l < choice.stored.size(); ++l) {
        const arch::PathLevel& level = space_.path.levels[l];
        if (!level.holds_tensors() || !level.enabled) {
            if (choice.stored[l] != 0) {
                return false;
            }
            continue;
        }
        symbols.set("Above", spec::Value(spec::TensorSet{above}));
        const Sets sets = dynamic_[l] ? evaluate(level, symbols) : fixed_[l];
        const TensorMask stored = choice.stored[l];
        choice.must[l] = must_of(static_cast<int>(l), sets);
        if ((sets.back & above) || (choice.must[l] & ~stored) ||
            (stored & ~(sets.may_keep | choice.must[l]))) {
            return false;
        }
        above |= stored;
        symbols.set(level.name, spec::Value(spec::TensorSet{stored}));
    }
    return above == space_.all;
}

void Chooser::choose(int index, TensorMask above, const spec::Symbols& symbols) {
    const auto& levels = space_.path.levels;
    if (found_.size() >= most_) {
        return;
    }
    if (index == static_cast<int>(levels.size())) {
        take();
        return;
    }
    const arch::PathLevel& level = levels[index];
    if (!level.holds_tensors() || !level.enabled) {
        keep_going(index, above, 0, 0, symbols);
        return;
    }
    const Sets sets = dynamic_[index] ? evaluate(level, symbols) : fixed_[index];
    TensorMask must = must_of(index, sets);
    TensorMask may = sets.may_keep & ~must;
    if (sets.back & above) {
        reasons_.back = "'" + level.name + "' must be the outermost holder of " +
                        space_.names(sets.back & above) +
                        " (back), which a level above it already keeps";
        return;
    }
    if (level.kind == arch::LevelKind::toll) {
        // A toll stores nothing, so it cannot be where a tensor comes from.
        must &= above;
        may &= above;
    }
    if (space_.copy) {
        // A copy reuses nothing: a further holder only adds traffic. The reference has those that
        // must be kept, though.
        may &= ~above;
        const bool needless = level.kind == arch::LevelKind::memory &&
                              space_.options.preset == MapSpaceOptions::Preset::full;
        must &= needless ? ~above : space_.all;
    }
    // All subsets of `may`, the empty one first.
    TensorMask subset = 0;
    do {
        keep_going(index, above, must | subset, must, symbols);
        subset = (subset - may) & may;
    } while (subset);
}

void Chooser::keep_going(int index, TensorMask above, TensorMask stored, TensorMask must,
                         const spec::Symbols& symbols) {
    current_.stored[index] = stored;
    current_.must[index] = must;
    const arch::PathLevel& level = space_.path.levels[index];
    if (!any_dynamic_ || !level.holds_tensors()) {
        choose(index + 1, above | stored, symbols);
        return;
    }
    spec::Symbols inner = symbols.child();
    inner.set(level.name, spec::Value(spec::TensorSet{stored}));
    inner.set("Above", spec::Value(spec::TensorSet{above | stored}));
    choose(index + 1, above | stored, inner);
}

void Chooser::take() {
    TensorMask stored = 0;
    for (TensorMask mask : current_.stored) {
        stored |= mask;
    }
    if (stored == space_.all) {
        found_.push_back(current_);
        return;
    }
    const TensorMask missing = space_.all & ~stored;
    reasons_.unstored = "no memory keeps " + space_.names(missing) +
                        "; let `keep` or `may_keep` of one memory on the path include " +
                        (missing & (missing - 1) ? "them" : "it");
}

}  // namespace

std::vector<Choice> storage_choices(const Space& space, Reasons& reasons, std::size_t most) {
    return Chooser(space, reasons, most).run();
}

std::vector<StoredSets> possible_sets(const Space& space) {
    Reasons reasons;
    return Chooser(space, reasons).possible();
}

bool allow_choice(const Space& space, Choice& choice) {
    Reasons reasons;
    return Chooser(space, reasons).allow(choice);
}

}  // namespace tessera::mapspace::detail
