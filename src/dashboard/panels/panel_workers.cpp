// Workers: one line per thread; the columns that matter least go first when it gets narrow.
#include "dashboard/numbers.hpp"
#include "dashboard/panels.hpp"

namespace tessera::dashboard {

namespace {

std::string task(const telemetry::WorkerView& worker) {
    if (worker.einsum.empty()) {
        return worker.item >= 0 ? "#" + std::to_string(worker.item) : "";
    }
    return worker.einsum + (worker.item >= 0 ? " #" + std::to_string(worker.item) : "");
}

Table table(int width) {
    return Table({{"id", 3, 0},
                  {"", 1, 0},
                  {"state", 7, 6, true},
                  {"working on", 10, 3, true, true},
                  {"evals", 5, 1},
                  {"per s", 5, 0},
                  {"best", 10, 2},
                  {"age", 4, 4},
                  {"found", 5, 7},
                  {"quiet", 5, 8},
                  {"seen", 5, 9},
                  {"source", 12, 5, true}},
                 width);
}

}  // namespace

int draw_workers(Canvas canvas, const Snapshot& snapshot, const View& view) {
    const Table columns = table(canvas.width());
    draw_line(canvas, 0, 0, columns.header());
    std::vector<Line> lines;
    for (const telemetry::WorkerView& worker : snapshot.workers) {
        const bool stuck = worker.state == telemetry::WorkerState::running && worker.quiet_s >= 10;
        lines.push_back(columns.row(
            {{std::to_string(worker.id), {}},
             worker_mark(worker.state, canvas.symbols()),
             {telemetry::name(worker.state), {}},
             {task(worker), {}},
             {count(static_cast<double>(worker.evaluated)), {}},
             {count(worker.rate_per_s), style::value},
             {worker.best ? quantity(*worker.best, snapshot.run.unit) : "", style::best},
             {worker.age_s ? age(*worker.age_s) : "", {}},
             {count(static_cast<double>(worker.improved)), {}},
             {age(worker.quiet_s), stuck ? style::bad : style::label},
             {count(static_cast<double>(worker.generated)), {}},
             {short_name(worker.source), style::label}}));
    }
    if (lines.empty()) {
        canvas.text(0, 1, "no worker has started yet", style::label);
    }
    return draw_lines(canvas.part({0, 1, canvas.width(), canvas.height() - 1}), lines,
                      view.scroll_of(Panel::workers), view.filter);
}

}  // namespace tessera::dashboard
