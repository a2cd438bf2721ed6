/* version: expired's version, and the version of Redis that it is compatible with. */
#ifndef SERVER_BASE_VERSION_H
#define SERVER_BASE_VERSION_H

#define EXPIRED_VERSION "0.1.0"
#define REDIS_VERSION   "7.0.15" /* clients choose features by it */

#endif
