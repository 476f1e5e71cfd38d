// The groups of an Einsum that can follow what is open, without a list of them: groups of a
// structure are sorted by trip counts, so those that fit the open loops are few runs.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "search/join/joiner.hpp"
#include "search/join/link.hpp"
#include "search/tables/table_space.hpp"

namespace tessera::search {

/// A group that can follow, and how.
struct TableOption {
    std::uint32_t group = 0, way = 0;
};

/// In order of structures, ways, groups.
class TableOptions {
public:
    std::uint64_t size() const {
        return runs_.empty() ? 0 : runs_.back().end;
    }
    /// \pre i < size()
    TableOption operator[](std::uint64_t i) const;
    /// How many come before the first of a group `from` or a later one. \pre `from` begins a
    /// structure
    std::uint64_t before(std::uint32_t from) const;

    void add(std::uint32_t first, std::uint32_t last, std::uint32_t way);
    std::size_t n_runs() const {
        return runs_.size();
    }

private:
    /// Groups that follow each other, all of them in one way.
    struct Run {
        std::uint32_t first = 0, way = 0;
        std::uint64_t begin = 0, end = 0;  ///< of its options among all
    };
    std::vector<Run> runs_;
};

/// Of one worker: remembers what was asked. Only facts, so that results do not depend on it.
class TableOptionMemo {
public:
    TableOptionMemo(const TableSpace& space, Joiner& joiner) : space_(space), joiner_(joiner) {}

    /// After which the others can follow, as far as structures tell. Valid until forget().
    const TableOptions& of(std::size_t einsum, const Followed& open);
    /// Where it has become large.
    void forget();

private:
    /// A way to run a structure as the state's next Einsum.
    struct StateWay {
        int structure = 0;
        std::uint32_t index = 0;
        const Way* way = nullptr;
    };
    const std::vector<StateWay>& ways(std::size_t einsum, int state);
    void add_fitting(const EinsumRows& own, const StateWay& w, const Followed& open,
                     TableOptions& out);

    struct Hash {
        std::size_t operator()(const std::vector<std::int64_t>& key) const;
    };
    const TableSpace& space_;
    Joiner& joiner_;
    std::unordered_map<int, std::vector<StateWay>> ways_;
    std::unordered_map<std::vector<std::int64_t>, TableOptions, Hash> options_;
    std::size_t remembered_ = 0;
    std::vector<std::int64_t> key_;
};

}  // namespace tessera::search
