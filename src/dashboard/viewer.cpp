#include "dashboard/viewer.hpp"

#include <algorithm>
#include <exception>

#include "base/directory.hpp"
#include "dashboard/settings.hpp"
#include "telemetry/live_socket.hpp"

namespace tessera::dashboard {

using namespace std::chrono_literals;

Viewer::Viewer(View view, Hooks hooks) : view_(std::move(view)), hooks_(std::move(hooks)) {
    view_.control = static_cast<bool>(hooks_.stop);
}

void Viewer::publish(telemetry::SnapshotPtr snapshot) {
    const std::lock_guard guard(lock_);
    newest_ = std::move(snapshot);
}

void Viewer::lost(bool value) {
    lost_.store(value);
}

void Viewer::close() noexcept {
    closed_.store(true);
    Terminal::wake();
}

void Viewer::run(Terminal& terminal) {
    // A new size comes as a storm of events while somebody drags a corner: drawn when it calms
    // down.
    constexpr auto calm = 50ms;
    auto next = Clock::now();
    while (!closed_.load()) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
        const Terminal::Event event = terminal.wait(std::clamp(left, 0ms, 4000ms));
        if (closed_.load()) {
            break;
        }
        const auto period = std::chrono::milliseconds(static_cast<int>(1000 / view_.rate_hz));
        for (std::string& line : terminal.caught()) {
            const double now_s = shown_ ? shown_->elapsed_s : 0;
            caught_.push_back({now_s, telemetry::LogLevel::info, std::move(line)});
            changed_ = true;
        }
        if (event == Terminal::Event::resized) {
            changed_ = true;
            next = Clock::now() + calm;
            continue;
        }
        if (event == Terminal::Event::key) {
            read_keys(terminal);
            changed_ = true;
            next = Clock::now();
        }
        if (Clock::now() >= next) {
            draw(terminal);
            next = Clock::now() + period;
        }
    }
}

telemetry::SnapshotPtr Viewer::as_drawn(bool lost) const {
    if (caught_.empty() && !lost) {
        return shown_;
    }
    auto copy = std::make_shared<telemetry::Snapshot>(*shown_);
    copy->state = lost ? telemetry::RunState::lost : copy->state;
    copy->log.insert(copy->log.end(), caught_.begin(), caught_.end());
    std::stable_sort(copy->log.begin(), copy->log.end(),
                     [](const auto& a, const auto& b) { return a.time_s < b.time_s; });
    return copy;
}

void Viewer::draw(Terminal& terminal) {
    {
        const std::lock_guard guard(lock_);
        if (!view_.paused && newest_ && newest_ != shown_) {
            shown_ = newest_;
            changed_ = true;
        }
    }
    const bool lost = lost_.load();
    changed_ = changed_ || lost != drawn_lost_;
    drawn_lost_ = lost;
    if (!changed_ || !shown_) {
        return;
    }
    constexpr std::size_t most_caught = 200;
    if (caught_.size() > most_caught) {
        caught_.erase(caught_.begin(), caught_.end() - most_caught);
    }
    screen_ = render(terminal.size(), *as_drawn(lost), view_);
    terminal.show(screen_->frame);
    changed_ = false;
}

void Viewer::read_keys(Terminal& terminal) {
    while (const std::optional<Key> key = terminal.key()) {
        if (!screen_) {
            // Nothing is shown yet: only leaving makes sense.
            if (key->kind == Key::Kind::character && key->character == U'q') {
                close();
            }
            continue;
        }
        const View before = view_;
        fulfil(react(view_, *key, *screen_), terminal);
        if (view_.theme != before.theme || view_.symbols != before.symbols) {
            save_settings(view_);
        }
        terminal.mouse(view_.mouse);
    }
}

void Viewer::fulfil(Request request, Terminal& terminal) {
    switch (request) {
        case Request::none:
            break;
        case Request::close:
            close();
            break;
        case Request::stop:
            if (hooks_.stop) {
                hooks_.stop();
            }
            break;
        case Request::checkpoint:
            if (hooks_.checkpoint) {
                hooks_.checkpoint();
            }
            break;
        case Request::export_frame:
            view_.message = export_files();
            break;
        case Request::redraw:
            terminal.repaint();
            break;
        case Request::inspect:
        case Request::overview:
        case Request::stop_search:
        case Request::page_before:
        case Request::page_after:
            steer(request);
            break;
    }
}

void Viewer::steer(Request request) {
    if (!hooks_.inspect || !hooks_.stop_search || !hooks_.page) {
        view_.inspecting = false;
        view_.message = "this view only watches the comparison";
    } else if (request == Request::overview) {
        hooks_.inspect(std::nullopt);
    } else if (request == Request::page_before || request == Request::page_after) {
        hooks_.page(request == Request::page_after ? 1 : -1);
    } else if (request == Request::inspect) {
        hooks_.inspect(screen_->marked->search);
    } else {
        hooks_.stop_search(screen_->marked->search);
    }
}

std::string Viewer::export_files() const {
    if (!shown_ || !screen_) {
        return "nothing to export yet";
    }
    const std::string name =
        "tessera-" + telemetry::run_id(shown_->run.id) + "-" + std::to_string(shown_->serial);
    try {
        const base::Directory here(".");
        here.write(name + ".txt", screen_->frame.text());
        here.write(name + ".ansi", screen_->frame.ansi());
        here.write(name + ".json", telemetry::to_json(*shown_) + "\n");
    } catch (const std::exception& error) {
        return error.what();
    }
    return "written: " + name + ".txt, .ansi, .json";
}

}  // namespace tessera::dashboard
