// Mappings before the class bounds are known: beams through a few templates of every class, then
// through more of those classes that the best mapping so far is made of.
#pragma once

#include <chrono>
#include <set>
#include <vector>

#include "../bounds/class_bounds.hpp"
#include "../explorer.hpp"

namespace tessera::ffm {

class EarlySearch {
public:
    using Time = std::chrono::steady_clock::time_point;
    /// A distinct Einsum and one of its classes.
    using ClassOfEinsum = std::pair<std::size_t, std::size_t>;

    /// Both must outlive it.
    EarlySearch(TemplateExplorer& explorer, const ClassBounds& bounds);

    /// One more template of each class, again and again until then; the first time at least one of
    /// each class that has one without fused loops. False: there are no more.
    bool sample(Time until);
    /// All templates of these classes until then, `best_first` by their bounds. False: there are no
    /// more.
    bool explore(const std::set<ClassOfEinsum>& classes, bool best_first, Time until);
    /// Everything found so far, as groups of all Einsums.
    void share_groups();

private:
    /// Rows of a template: good ones or none, or else any.
    enum class Wanted { good, any };
    void sample_unfused();
    void find_rows(std::size_t e, std::size_t i, Wanted wanted, TemplateExplorer::Scratch& scratch);
    void run(std::vector<TemplateExplorer::Job> jobs, Time until, Wanted wanted);

    TemplateExplorer& x_;
    const ClassBounds& bounds_;
    /// By distinct Einsum and class: templates in the order in which they are looked at.
    std::vector<std::vector<std::vector<std::uint32_t>>> order_;
    std::vector<std::vector<std::size_t>> next_;  ///< of each order
    std::vector<std::vector<char>> done_;         ///< by distinct Einsum and template
    bool sampled_ = false;                        ///< sample_unfused()
    struct Kept {
        TemplateExplorer::Result result;
        decltype(TemplateEntry::tiles) tiles;  ///< its groups are rows of these
    };
    std::vector<std::vector<Kept>> kept_;
};

}  // namespace tessera::ffm
