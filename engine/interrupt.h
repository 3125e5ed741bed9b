// SIGINT and SIGTERM end the sample in hand; nothing else asks for signals.
#pragma once

namespace tierscope {

// Installs the handlers. Call once, before any thread starts.
void watch_signals();

// True once a signal came. Async-signal-safe and cheap enough for inner chunk loops.
bool interrupted();

}  // namespace tierscope
