// Which Einsums can run inside one loop in the same steps.
//
// All Einsums on the way of the data from one of them to the other then run inside it, too. A
// writer and a reader inside one loop either make the same steps along one rank of the tensor, or a
// line buffer moves with the loop: the writer then is ahead by what the reader's pieces overlap
// (J4, J5 of docs/mapspace.md). So walking along the data from the first Einsum tells over which
// variables the loop may be in the others, and how far at least the first one is ahead of them.
#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "workload/prologues/prologues.hpp"

namespace tessera::workload {

namespace {

/// By variable of an Einsum: how many values the first Einsum is ahead at least.
using Lead = std::map<int, std::int64_t>;

class Walk {
public:
    Walk(const Workload& w, int first, int second)
        : w_(w),
          first_(first),
          leads_(static_cast<std::size_t>(second - first) + 1),
          on_way_(leads_.size()) {
        on_way_.back() = true;
        for (int e = second; e > first; --e) {
            for_each_writer(e, [&](int writer, const TensorAccess&) {
                at(on_way_, writer) = at(on_way_, writer) || at(on_way_, e);
            });
        }
    }

    /// Nothing if no data come from the first to the second; empty if no loop can be around both.
    std::optional<Lead> lead(int variable) {
        if (!on_way_.front()) {
            return std::nullopt;
        }
        std::vector<bool> reached(leads_.size());
        reached.front() = true;
        leads_.front() = {{variable, 0}};
        for (std::size_t i = 1; i < leads_.size(); ++i) {
            bool any = false;
            for_each_writer(first_ + static_cast<int>(i),
                            [&](int writer, const TensorAccess& read) {
                                if (!on_way_[i] || !at(reached, writer)) {
                                    return;
                                }
                                const Lead next = behind(writer, read);
                                leads_[i] = any ? both(leads_[i], next) : next;
                                any = true;
                            });
            reached[i] = any;
        }
        return leads_.back();
    }

private:
    template <class Items>
    typename Items::reference at(Items& items, int einsum) const {
        return items[static_cast<std::size_t>(einsum - first_)];
    }

    /// Calls `f` with each writer of what the Einsum reads, from the first Einsum on. The older
    /// states of a running state bind nobody.
    template <class F>
    void for_each_writer(int einsum, F&& f) const {
        for (const TensorAccess& read : w_.einsums[static_cast<std::size_t>(einsum)].accesses) {
            if (read.output || read.state != StateAccess::none) {
                continue;
            }
            for (const int writer : w_.tensors[static_cast<std::size_t>(read.tensor)].producers) {
                if (writer >= first_ && writer < einsum) {
                    f(writer, read);
                }
            }
        }
    }

    /// What the lead over the writer says of the reader.
    Lead behind(int writer, const TensorAccess& read) {
        const TensorAccess* const written =
            access_of(w_.einsums[static_cast<std::size_t>(writer)], read.tensor);
        Lead result;
        for (std::size_t r = 0; written != nullptr && r < written->ranks.size(); ++r) {
            if (!plain(written->ranks[r])) {
                continue;
            }
            const Lead& own = at(leads_, writer);
            const auto from = own.find(written->ranks[r].terms[0].rank_variable);
            if (from == own.end()) {
                continue;
            }
            for (const Window& s : windows_along(w_, read, static_cast<int>(r))) {
                // Where steps of the two differ, so do their bases.
                const std::int64_t ahead =
                    s.factor == 1 ? s.need : std::max<std::int64_t>(s.need, 1);
                const auto [to, fresh] = result.try_emplace(s.variable, from->second + ahead);
                to->second = std::min(to->second, from->second + ahead);
            }
        }
        return result;
    }

    /// Both hold, over the same variable.
    static Lead both(const Lead& a, const Lead& b) {
        Lead result;
        for (const auto& [variable, ahead] : a) {
            const auto other = b.find(variable);
            if (other != b.end()) {
                result[variable] = std::max(ahead, other->second);
            }
        }
        return result;
    }

    const Workload& w_;
    const int first_;
    std::vector<Lead> leads_;
    std::vector<bool> on_way_;
};

}  // namespace

bool may_keep_step(const Workload& workload, const Place& first, const Place& second) {
    const std::optional<Lead> lead = Walk(workload, first.first, second.first).lead(first.second);
    if (!lead) {
        return true;
    }
    const auto found = lead->find(second.second);
    return found != lead->end() && found->second == 0;
}

}  // namespace tessera::workload
