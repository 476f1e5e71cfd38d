#include "constraints.hpp"

#include <algorithm>
#include <cmath>

#include "spec/quantities.hpp"

namespace tessera::mapspace::infeasible {
namespace {

using arch::LevelKind;
using arch::PathDim;
using arch::PathLevel;
using arch::TensorMask;
using Kind = ConstraintKind;

struct Limit {
    const char* name;
    int MapSpaceOptions::*value;
};
constexpr Limit limits[] = {
    {"max-fused-loops", &MapSpaceOptions::max_fused_loops},
    {"max-fused-loops-per-rank-variable", &MapSpaceOptions::max_fused_loops_per_rank_variable},
    {"max-loops-per-spatial-dimension", &MapSpaceOptions::max_loops_per_spatial_dimension}};
constexpr const char* unfused = "unfused";

void add(NamedConstraint constraint, NamedConstraints& out) {
    if (std::ranges::none_of(out, [&](const auto& c) { return c.same(constraint); })) {
        out.push_back(std::move(constraint));
    }
}

void add_dimension(const arch::Path& path, const PathLevel& level, const PathDim& dim,
                   NamedConstraints& out) {
    const auto take = [&](Kind kind, const Position& where, int index = 0) {
        add({kind, level.name, dim.name, index, where}, out);
    };
    for (std::size_t i = 0; i < dim.loop_bounds.size(); ++i) {
        if (dim.loop_bounds[i].variables != 0) {
            take(Kind::loop_bounds, dim.loop_bounds[i].where, static_cast<int>(i));
        }
    }
    if (dim.fanout > 1) {
        take(Kind::fanout, dim.where);
    }
    if ((dim.reuse & path.einsum.all()) != 0) {
        take(Kind::reuse, dim.where);
    }
    if (dim.min_usage > 0) {
        take(Kind::min_usage, dim.where);
    }
}

/// Whether the expression asks for tensors, or may do so.
bool asks(const spec::Expression& expression, const arch::Path& path) {
    return fixed_tensors(expression, path) != TensorMask{0};
}

/// What passes by when it does not fit need not be kept.
bool must_keep(const PathLevel& level, const arch::Path& path) {
    return level.has_keep && !level.bypass_on_overflow && asks(level.keep, path);
}

bool leaves_out(const PathLevel& level, const arch::Path& path) {
    if (!level.has_keep && !level.has_may_keep) {
        return false;
    }
    const auto keep = fixed_tensors(level.keep, path), may = fixed_tensors(level.may_keep, path);
    return (keep.value_or(0) | may.value_or(0)) != path.einsum.all();
}

void add_holder(const arch::Path& path, const PathLevel& level, NamedConstraints& out) {
    const auto take = [&](Kind kind, const Position& where) {
        add({kind, level.name, "", 0, where.line > 0 ? where : level.where}, out);
    };
    if (must_keep(level, path)) {
        take(Kind::keep, level.keep.position());
    }
    if (leaves_out(level, path)) {
        take(Kind::may_keep, (level.has_may_keep ? level.may_keep : level.keep).position());
    }
    if (asks(level.back, path)) {
        take(Kind::back, level.back.position());
    }
    if (level.no_refetch_from_above != 0) {
        take(Kind::no_refetch_from_above, level.where);
    }
    if (level.no_resend_to_below != 0) {
        take(Kind::no_resend_to_below, level.where);
    }
    if (!level.tensor_order_options.empty()) {
        const auto& first = level.tensor_order_options.front();
        take(Kind::tensor_order_options, first.empty() ? level.where : first.front().position());
    }
    if (level.kind == LevelKind::memory && std::isfinite(level.size_bits)) {
        take(Kind::size, level.where);
    }
    if (level.bank_bits > 0) {
        take(Kind::banks, level.where);
    }
}

class Dropped {
public:
    Dropped(const NamedConstraints& all, const PathLevel& level) : all_(all), level_(level) {}

    bool has(Kind kind, const std::string& dim = "", int index = 0) const {
        const NamedConstraint wanted{kind, level_.name, dim, index, {}};
        return std::ranges::any_of(all_, [&](const auto& c) { return c.same(wanted); });
    }

private:
    const NamedConstraints& all_;
    const PathLevel& level_;
};

void drop_of(const Dropped& dropped, PathDim& dim) {
    std::vector<arch::LoopBound> bounds;
    for (std::size_t i = 0; i < dim.loop_bounds.size(); ++i) {
        if (!dropped.has(Kind::loop_bounds, dim.name, static_cast<int>(i))) {
            bounds.push_back(dim.loop_bounds[i]);
        }
    }
    dim.loop_bounds = std::move(bounds);
    if (dropped.has(Kind::fanout, dim.name)) {
        dim.fanout = spec::largest_extent;
        dim.usage_scale = std::min(dim.usage_scale, 1.0);
    }
    if (dropped.has(Kind::reuse, dim.name)) {
        dim.reuse = 0;
    }
    if (dropped.has(Kind::min_usage, dim.name)) {
        dim.min_usage = 0;
    }
}

spec::Expression tensors(TensorMask mask, const PathLevel& level) {
    return spec::Expression::constant(spec::TensorSet{mask}, level.where);
}

spec::Expression either(const std::vector<spec::Expression>& parts) {
    std::string text;
    for (const spec::Expression& part : parts) {
        text += (text.empty() ? "(" : " | (") + part.text() + ")";
    }
    return spec::Expression::parse_text(text, parts.front().position());
}

void drop_storage(const Dropped& dropped, TensorMask all, PathLevel& level) {
    const bool keep = dropped.has(Kind::keep), back = dropped.has(Kind::back);
    const bool open = !level.has_keep && !level.has_may_keep;
    std::vector<spec::Expression> may;
    if (level.has_may_keep || level.bypass_on_overflow) {
        may.push_back(level.may_keep);
    }
    if (keep) {
        may.push_back(level.keep);
        level.keep = tensors(0, level);
    }
    if (back) {
        may.push_back(level.back);
        level.back = tensors(0, level);
    }
    if (dropped.has(Kind::may_keep)) {
        level.may_keep = tensors(all, level);
    } else if (!open && (keep || back)) {
        level.may_keep = either(may);
    }
}

bool names_it(const spec::Expression& expression, const std::string& name) {
    return !expression.empty() && std::ranges::count(expression.names(), name) > 0;
}

/// " | T" for tensors that some level may not send twice: a holder below it allows loops.
std::string resent(const arch::Path& path) {
    TensorMask mask = 0;
    for (const PathLevel& level : path.levels) {
        mask |= level.no_resend_to_below & path.einsum.all();
    }
    std::string text;
    for (std::size_t t = 0; t < path.einsum.tensors.size(); ++t) {
        text += mask >> t & 1 ? " | " + path.einsum.tensors[t].name : "";
    }
    return text;
}

void drop_of(const Dropped& dropped, TensorMask all, PathLevel& level) {
    for (PathDim& dim : level.spatial) {
        drop_of(dropped, dim);
    }
    if (dropped.has(Kind::compute)) {
        level.enabled = true;
        level.lacks_operation.clear();
    }
    if (!level.holds_tensors()) {
        return;
    }
    drop_storage(dropped, all, level);
    if (dropped.has(Kind::size)) {
        level.size_bits = std::numeric_limits<double>::infinity();
    }
    if (dropped.has(Kind::banks)) {
        level.bank_bits = 0;
    }
    if (dropped.has(Kind::no_refetch_from_above)) {
        level.no_refetch_from_above = 0;
    }
    if (dropped.has(Kind::no_resend_to_below)) {
        level.no_resend_to_below = 0;
    }
    if (dropped.has(Kind::tensor_order_options)) {
        level.tensor_order_options.clear();
    }
}

}  // namespace

std::optional<TensorMask> fixed_tensors(const spec::Expression& expression,
                                        const arch::Path& path) {
    if (expression.empty()) {
        return TensorMask{0};
    }
    for (const std::string& name : expression.names()) {
        if (name == "Above" || path.find_level(name) >= 0) {
            return std::nullopt;
        }
    }
    return arch::evaluate_tensors(expression, path.symbols) & path.einsum.all();
}

void add_constraints(const arch::Path& path, NamedConstraints& out) {
    for (const PathLevel& level : path.levels) {
        for (const PathDim& dim : level.spatial) {
            add_dimension(path, level, dim, out);
        }
        if (level.holds_tensors() && level.enabled) {
            add_holder(path, level, out);
        }
        if (level.kind == LevelKind::compute && !level.enabled) {
            add({Kind::compute, level.name, "", 0, level.where}, out);
        }
    }
}

void add_constraints(const MapSpaceOptions& options, NamedConstraints& out) {
    if (options.unfused) {
        add({Kind::option, unfused, "", 0, {}}, out);
    }
    for (const Limit& limit : limits) {
        if (options.*limit.value != MapSpaceOptions().*limit.value) {
            add({Kind::option, limit.name, "", 0, {}}, out);
        }
    }
}

void drop(const NamedConstraints& dropped, arch::Path& path) {
    const TensorMask all = path.einsum.all();
    for (PathLevel& level : path.levels) {
        drop_of(Dropped(dropped, level), all, level);
    }
}

void keep_no_more_than_needed(arch::Path& path) {
    if (std::ranges::any_of(path.levels, &PathLevel::distributed)) {
        return;  // a holder below frees spatial loops from those of a distributed one
    }
    const std::string needed = "(~Above" + resent(path) + ")";
    for (PathLevel& level : path.levels) {
        const auto asks_for = [&](const PathLevel& other) {
            return names_it(other.keep, level.name) || names_it(other.may_keep, level.name) ||
                   names_it(other.back, level.name);
        };
        const auto may = fixed_tensors(level.may_keep, path);
        if (!level.holds_tensors() || may == TensorMask{0} ||
            std::ranges::any_of(path.levels, asks_for)) {
            continue;
        }
        const std::string given =
            may == path.einsum.all() ? "" : "(" + level.may_keep.text() + ") & ";
        level.may_keep = spec::Expression::parse_text(given + needed, level.may_keep.position());
    }
}

void drop(const NamedConstraints& dropped, MapSpaceOptions& options) {
    for (const NamedConstraint& c : dropped) {
        if (c.kind != Kind::option) {
            continue;
        }
        if (c.component == unfused) {
            options.unfused = false;
        }
        for (const Limit& limit : limits) {
            if (c.component == limit.name) {
                options.*limit.value = MapSpaceOptions::unlimited;
            }
        }
    }
}

}  // namespace tessera::mapspace::infeasible
