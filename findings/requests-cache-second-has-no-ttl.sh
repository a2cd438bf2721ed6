#!/bin/sh
# requests-cache with Redis stores a response that is fresh for one second without a TTL, so its key stays for ever.
#
# It cuts the time that is left to whole seconds; a moment after a response with expire_after=1 or max-age=1 was made
# that is 0, which it takes for "no expiry". Cached answers stay correct, since the response says itself when it ends,
# but each URL that is not asked for again leaves a key behind: short caches fill the server, and long ones do not.
cd "$(dirname "$0")" && exec python3 -B - <<'END'
import os
import subprocess

from lib import debians, redis_server, verdict

root = debians({f"python3-{package}": version for package, version in {
    "requests-cache": "0.9.8-1", "requests": "2.28.1+dfsg-1", "urllib3": "1.26.12-1+deb12u4", "cattr": "22.2.0-1",
    "attr": "22.2.0-1", "url-normalize": "1.4.3-2", "appdirs": "1.4.4-3", "six": "1.16.0-4", "idna": "3.3-1+deb12u1",
    "chardet": "5.1.0+dfsg-2", "charset-normalizer": "3.0.1-2", "certifi": "2022.9.24-1", "redis": "4.3.4-3",
    "async-timeout": "4.0.2-1", "packaging": "23.0-1", "deprecated": "1.2.13-3", "wrapt": "1.14.1-2+b2"}.items()})
PROGRAM = """
import http.server
import os
import threading
import redis
import requests_cache
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Page)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = redis.Redis(unix_socket_path=os.environ["SOCKET"])
for seconds in (5, 1):
    backend = requests_cache.RedisCache(f"for-{seconds}", connection=client)
    requests_cache.CachedSession(backend=backend, expire_after=seconds).get(f"http://127.0.0.1:{server.server_port}/")
    [key] = client.keys(f"for-{seconds}:*")
    print(client.ttl(key))
"""
env = {**os.environ, "SOCKET": redis_server(), "PYTHONPATH": os.path.join(root, "usr/lib/python3/dist-packages")}
done = subprocess.run(["/usr/bin/python3", "-c", PROGRAM], env=env, capture_output=True, text=True, check=True)
long, short = map(int, done.stdout.split())
verdict("a TTL of 4 s or 5 s with expire_after=5, and of at most 1 s with expire_after=1",
        f"{long} with expire_after=5, {short} with expire_after=1", long > 0 and short == -1)
END
