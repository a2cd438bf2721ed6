/* Folder server/base: the process and its use of the operating system. Knows no client, command or
 * data. Start with loop.h, then clock.h.
 *
 *     loop              readiness, timers and signals, through libevent
 *     clock             the only code that reads clocks, real or stepped
 *     log, system_log   the log: a file or standard output, and syslog
 *     process           daemonizing, the pid file, messages to systemd
 *     activation        sockets that systemd has opened
 *     thread            starts and wakes threads
 *     page_thread       touches memory before it is used
 *     resolver          finds the addresses of host names
 *     host_names        addresses that were found ahead of their use
 *     tzdata            reads the system's files of time zones
 *     sha               hashes
 *     version           the versions of the daemon and of the Redis that it reports
 *
 * May use: store/base store/mem. */
