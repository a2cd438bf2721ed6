/* version: the version of the daemon, and the version of Redis that it reports. */
#pragma once

#define EXPIRED_VERSION     "0.2.0"
#define EXPIRED_VERSION_NUM 200      /* of the module, as MODULE LIST shows it */
#define REDIS_VERSION       "7.0.15" /* clients choose features by it */
#define REDIS_VERSION_NUM   0x07000f
