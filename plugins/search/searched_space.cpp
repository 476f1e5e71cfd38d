#include "searched_space.hpp"

#include <algorithm>

#include "tessera/search/tables.hpp"

namespace tessera::search {
namespace {

class TemplateWriter : public PointWriter {
public:
    explicit TemplateWriter(const OpenSpace& open) : worker_(open) {}

    mapping::Mapping mapping(const Point& point) override {
        return worker_.mapping(point);
    }
    bool encode(const mapping::Mapping& mapping, double energy_j, double latency_s,
                Point& point) override {
        return worker_.encode(mapping, energy_j, latency_s, point);
    }
    Outcome evaluate(const Point& point) override {
        return worker_.evaluate(point);
    }

private:
    Worker worker_;
};

class Templates : public SearchedSpace {
public:
    explicit Templates(const OpenSpace& open) : open_(open) {}

    const Space& space() const override {
        return open_;
    }
    std::unique_ptr<SpaceWorker> make_worker() const override {
        return std::make_unique<Worker>(open_);
    }
    std::unique_ptr<PointWriter> make_writer() const override {
        return std::make_unique<TemplateWriter>(open_);
    }

private:
    const OpenSpace& open_;
};

class RowWriter : public PointWriter {
public:
    RowWriter(const OpenSpace& open, const Tables& tables) : worker_(open), tables_(tables) {}

    mapping::Mapping mapping(const Point& point) override {
        return worker_.mapping(tables_.point_of(point));
    }
    bool encode(const mapping::Mapping& mapping, double energy_j, double latency_s,
                Point& point) override {
        Point of_templates;
        return worker_.encode(mapping, energy_j, latency_s, of_templates) &&
               tables_.rows_of(of_templates, point);
    }
    Outcome evaluate(const Point& point) override {
        return worker_.evaluate(tables_.point_of(point));
    }

private:
    Worker worker_;
    const Tables& tables_;
};

class Rows : public SearchedSpace {
public:
    Rows(const OpenSpace& open, const model::CostModel& model, const TablesOptions& options)
        : open_(open), tables_(open, model, options) {}

    const Space& space() const override {
        return tables_.space();
    }
    std::unique_ptr<SpaceWorker> make_worker() const override {
        return tables_.make_worker();
    }
    std::unique_ptr<PointWriter> make_writer() const override {
        return std::make_unique<RowWriter>(open_, tables_);
    }
    std::uint64_t table_rows() const override {
        return tables_.rows();
    }

private:
    const OpenSpace& open_;
    Tables tables_;
};

}  // namespace

std::unique_ptr<SearchedSpace> space_of_templates(const OpenSpace& open) {
    return std::make_unique<Templates>(open);
}

std::unique_ptr<SearchedSpace> space_of_tables(const OpenSpace& open, const model::CostModel& model,
                                               const mapper::Options& options) {
    const auto wants = [&](mapper::Metric metric) {
        return options.metrics.size() > 1 || options.metrics.front() == mapper::Metric::edp ||
               options.metrics.front() == metric;
    };
    return std::make_unique<Rows>(
        open, model,
        TablesOptions{wants(mapper::Metric::energy), wants(mapper::Metric::latency),
                      options.threads, options.stop});
}

}  // namespace tessera::search
