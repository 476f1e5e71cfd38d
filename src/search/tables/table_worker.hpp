// Makes and evaluates points of the table space. Only groups that join are ever proposed.
#pragma once

#include <cstdint>
#include <vector>

#include "search/join/evaluation.hpp"
#include "search/tables/table_options.hpp"
#include "tessera/search/rng.hpp"
#include "tessera/search/space_worker.hpp"

namespace tessera::search {

class TableWorker final : public SpaceWorker {
public:
    explicit TableWorker(const TableSpace& space)
        : space_(space),
          states_(space.data()),
          joiner_(space.data(), states_),
          options_(space, joiner_),
          evaluation_(space.data(), joiner_) {}

    /// Einsum after Einsum: each group and way that can follow comes equally often, and each row of
    /// it.
    Outcome draw(std::uint64_t seed, Point& point) override;
    Outcome move(Move move, std::uint64_t seed, std::uint32_t einsum, Point& point) override;
    Outcome cross(std::uint64_t seed, const Point& mate, std::uint32_t einsum, std::uint32_t end,
                  Point& point) override;
    Outcome repair(std::uint64_t seed, Point& point) override;
    Outcome evaluate(const Point& point) override;
    Failures take_failures() override;
    std::uint64_t take_work() override;
    double take_charge() override;

private:
    std::size_t next() const {
        return built_.choices.size();
    }
    const CompatibilityGroup& group(std::uint32_t index) const {
        return space_.group(next(), index);
    }
    /// After which the others can follow, as far as structures tell.
    const TableOptions& options();
    void start();
    void start(std::size_t einsum);
    void add(const TableOption& option, std::int64_t row);
    bool keep(const Choice& choice, std::int64_t row);
    bool add_similar(Rng& rng, int structure, std::uint32_t but);
    bool replace(Rng& rng);
    bool follow(Rng& rng, const Choice& choice, std::int64_t row);
    bool draw_next(Rng& rng);
    bool draw_all(Rng& rng);
    std::int64_t some_row(Rng& rng, const TableOption& option) const;
    bool change_row(Rng& rng, Move move, const TableOption& now, std::int64_t row);
    bool change(Rng& rng, Move move, std::size_t einsum);
    bool attempt(Rng& rng, Move move, std::size_t einsum);
    bool cross_once(Rng& rng, const Point& point, const Point& mate, std::size_t einsum,
                    std::size_t end);
    Outcome look(const Point& point);
    Outcome begin(const Point& point);
    template <class Attempt>
    Outcome make(int attempts, Point& point, const Attempt& attempt);
    void charge_changes(const Point& from, const Point* mate);

    const TableSpace& space_;
    JoinStates states_;
    Joiner joiner_;
    TableOptionMemo options_;
    Evaluation evaluation_;
    Point built_, translated_;
    Followed followed_;
    std::vector<Followed> stages_;
    Point base_;  ///< most moves go out from the same point again
    Outcome of_base_;
    std::vector<Followed> befores_;  ///< of its Einsums
    Failures failures_{};
    std::uint64_t work_ = 0;
    double charge_ = 0;
};

}  // namespace tessera::search
