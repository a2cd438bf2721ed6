/* Folder server/base: the process and its use of the operating system. loop (libevent: readiness,
 * timers, signals), clock (the only code that reads clocks, real or stepped), log and system_log,
 * process (daemonizing, pid file, messages to systemd), activation (sockets that systemd has
 * opened), thread, page_thread (touches memory before it is used), resolver (addresses of names),
 * host_names (resolved ahead), tzdata (reads files of time zones), sha (hashes). Knows no client,
 * command or data. Start with loop.h, then clock.h.
 *
 * May use: store/base store/mem. */
