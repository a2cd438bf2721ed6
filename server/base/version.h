/* version: what this is, and what it answers like. */
#ifndef SERVER_BASE_VERSION_H
#define SERVER_BASE_VERSION_H

#define EXPIRED_VERSION "0.1.0"
#define REDIS_VERSION   "7.0.15" /* clients gate features on it */

#endif
