// enumerate_templates(): runs the steps of template_internal.hpp and removes what is equal or
// worse.
#include "tessera/mapspace/template.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "model/latency_growth.hpp"
#include "template_internal.hpp"
#include "tessera/base/stop.hpp"

namespace tessera::mapspace {

namespace detail {

Space::Space(const arch::Path& path, const MapSpaceOptions& options)
    : path(path), options(options), first_memory(path.first_memory()) {
    const workload::EinsumView& einsum = path.einsum;
    n_tensors = static_cast<int>(einsum.tensors.size());
    copy = einsum.is_copy_operation;
    all = einsum.all();
    fusable = einsum.fusable();
    intermediates = einsum.intermediates();
    for (std::size_t v = 0; v < einsum.rank_variables.size(); ++v) {
        if (einsum.rank_variables[v].bound > 1) {
            variables |= RankVariableMask{1} << v;
        }
    }
    for (int t = 0; t < n_tensors; ++t) {
        const workload::LocalTensor& tensor = einsum.tensors[t];
        if (tensor.persistent) {
            persistent |= TensorMask{1} << t;
        }
        direct.push_back(tensor.directly_indexing & variables);
        expression.push_back(tensor.expression_indexing & variables);
        indexing.push_back(direct.back() | expression.back());
        relevant.push_back(tensor.relevant & variables);
        sinks.push_back(direct.back() & relevant.back());
        windows.push_back(0);
        for (const workload::Window& s : tensor.windows) {
            windows.back() |= options.line_buffers ? RankVariableMask{1} << s.variable : 0;
        }
        windows.back() &= variables;
        const int v = tensor.state_variable;
        state_variable.push_back(v >= 0 && (variables >> v & 1) ? v : -1);
        states |= state_variable.back() >= 0 ? RankVariableMask{1} << v : 0;
    }
}

std::string Space::names(TensorMask tensors) const {
    std::string text;
    for_each_bit(tensors,
                 [&](int t) { text += (text.empty() ? "'" : ", '") + tensor_name(t) + "'"; });
    return text;
}

std::string Reasons::text() const {
    for (const std::string* reason : {&constraint, &loops, &order, &unstored, &back}) {
        if (!reason->empty()) {
            return *reason;
        }
    }
    return "no storage choice is left";
}

namespace {

/// Most choices of what memories hold for each template that is asked for.
constexpr std::size_t few_choices = 64;

/// There are more templates than are asked for.
struct TooMany {};

class Collector {
public:
    Collector(const Space& space) : space_(space) {}

    void add(const Items& items) {
        std::vector<std::uint8_t> sinks;
        std::string key = structure_key(space_, items, sinks);
        auto& same = by_key_[std::move(key)];
        for (std::size_t i : same) {
            if (covers(found_[i].sinks, sinks)) {
                return;
            }
        }
        std::erase_if(same, [&](std::size_t i) {
            const bool worse = covers(sinks, found_[i].sinks);
            found_[i].dropped |= worse;
            return worse;
        });
        same.push_back(found_.size());
        found_.push_back({items, std::move(sinks), false});
    }

    bool empty() const {
        return found_.empty();
    }

    /// Those that turned out to be worse included.
    std::size_t size() const {
        return found_.size();
    }

    template <class F>
    void for_each(F&& f) const {
        for (const Found& found : found_) {
            if (!found.dropped) {
                f(found.items);
            }
        }
    }

private:
    struct Found {
        Items items;
        std::vector<std::uint8_t> sinks;
        bool dropped = false;
    };

    // The same loops and holders, and every reservation at least as far down: never more occupancy
    // at equal counts.
    static bool covers(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end(), std::greater_equal<>());
    }

    const Space& space_;
    std::vector<Found> found_;
    std::unordered_map<std::string, std::vector<std::size_t>> by_key_;
};

std::string states_text(const Space& space) {
    for (int t = 0; t < space.n_tensors; ++t) {
        const int v = space.state_variable[t];
        if (v >= 0) {
            return "the running state '" + space.tensor_name(t) +
                   "' must stand in a memory inside the outermost one, right above a temporal loop "
                   "over '" +
                   space.path.einsum.rank_variables[v].name + "'" +
                   (space.options.line_buffers ? ""
                                               : ", as a line buffer; this mapper or mapspace "
                                                 "makes none (mapper ffm, mapspace full do)");
        }
    }
    return "";
}

[[noreturn]] void none(const Space& space, const Reasons& reasons) {
    throw NoLegalMapping("Einsum '" + space.path.einsum.name + "' has no legal mapping on '" +
                         space.path.compute().name + "': " + reasons.text());
}

/// The rules that leave out loops and holders take it that more actions never take less time.
void check_latencies(const arch::Path& path) {
    for (const arch::PathLevel& level : path.levels) {
        const std::string why = level.enabled ? model::falling_latency(level) : "";
        if (!why.empty()) {
            throw UserError(level.where, "component '" + level.name +
                                             "', key 'total_latency': " + "the time of Einsum '" +
                                             path.einsum.name + "' " + why +
                                             "; a search needs a time that never falls as actions "
                                             "grow in number: write such an expression (tessera "
                                             "model costs a given mapping with this one)");
        }
    }
}

}  // namespace
}  // namespace detail

std::size_t enumerate_templates(const arch::Path& path, const MapSpaceOptions& options,
                                const std::function<void(Template&&)>& sink) {
    return enumerate_templates(path, options, std::numeric_limits<std::size_t>::max(), sink)
        .value();
}

std::optional<std::size_t> enumerate_templates(const arch::Path& path,
                                               const MapSpaceOptions& options, std::size_t most,
                                               const std::function<void(Template&&)>& sink) {
    using namespace detail;
    if (!path.compute().enabled) {
        return 0;
    }
    check_latencies(path);
    const Space space(path, options);
    if (space.first_memory < 0) {
        throw NoLegalMapping("Einsum '" + path.einsum.name + "': no memory on the path to '" +
                             path.compute().name + "'");
    }
    Reasons reasons;
    constexpr std::size_t any = std::numeric_limits<std::size_t>::max();
    // Some choices have no template, none of those that can be told apart by it has the same.
    const std::size_t most_choices = most < any / few_choices ? most * few_choices : any;
    const std::vector<Choice> choices = storage_choices(space, reasons, most_choices);
    if (choices.size() >= most_choices) {
        return std::nullopt;
    }
    if (choices.empty()) {
        none(space, reasons);
    }
    Collector collector(space);
    HolderOrders orders(space, choices);
    bool ordered = false, one_order = false;
    const auto collect = [&](const Choice& choice) {
        orders.enumerate(choice, [&](const Items& holders) {
            ordered = true;
            base::poll_stop();
            insert_temporals(space, holders, [&](Items& items) {
                base::poll_stop();
                insert_spatials(space, items);
                insert_missing(space, items);
                constrain(space, items);
                one_order |= !order_below_networks(space, items, [&](Items& ordered_items) {
                    without_crossings(space, ordered_items, [&](Items& contiguous) {
                        choose_prologues(space, contiguous, [&](const Items& led) {
                            collector.add(led);
                            if (collector.size() > most) {
                                throw TooMany{};
                            }
                        });
                    });
                });
            });
        });
    };
    try {
        std::ranges::for_each(choices, collect);
    } catch (const TooMany&) {
        return std::nullopt;
    }
    if (ordered && collector.empty() && space.states) {
        reasons.loops = states_text(space);
    }
    if (!ordered) {
        reasons.order =
            "no order of the tensor holders meets tensor_order_options and the memory hierarchy";
    }
    std::size_t count = 0;
    collector.for_each([&](const Items& items) {
        base::poll_stop();
        Template out;
        if (finish(space, items, out, reasons)) {
            ++count;
            out.one_order = one_order;
            sink(std::move(out));
        }
    });
    if (count == 0) {
        none(space, reasons);
    }
    return count;
}

}  // namespace tessera::mapspace
