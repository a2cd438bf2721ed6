"""browser: headless Chromium, driven by chromedriver through the WebDriver protocol, which is JSON over
HTTP. Depends on process and oracle."""
import base64
import json
import os
import shutil
import subprocess
import urllib.error
import urllib.request

from oracle import missing
from process import PATIENCE, die_with_parent, folder, free_port, wait_for

SECONDS = 30 * PATIENCE


def programs():
    """The paths of chromium and chromedriver; AssertionError or Skipped where they are missing."""
    found = [shutil.which(name) for name in ("chromium", "chromedriver")]
    if all(found):
        return found
    raise missing("chromium and chromedriver are missing", "ALLOW_NO_BROWSER")


class Browser:
    """One window, from `with` to its end."""

    def __enter__(self):
        chromium, driver = programs()
        self.folder = folder()
        port = free_port()
        self.base = f"http://127.0.0.1:{port}"
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen(
            [driver, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=die_with_parent, start_new_session=True,
            env=dict(os.environ, HOME=self.folder.name))
        try:
            assert wait_for(self.answers), "chromedriver does not answer"
            self.begin(chromium)
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_):
        try:
            self.ask("DELETE", self.base)
        finally:
            self.end()

    def end(self):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()

    def begin(self, chromium):
        options = {"binary": chromium, "args": [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--hide-scrollbars", f"--user-data-dir={self.folder.name}/profile"]}
        wanted = {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"}}}}
        session = self.ask("POST", self.base + "/session", wanted)["sessionId"]
        self.base += "/session/" + session

    def answers(self):
        try:
            return self.ask("GET", self.base + "/status")["ready"]
        except OSError:
            return False

    @staticmethod
    def ask(method, url, body=None):
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"},
                                         method=method)
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {url}: {error.read()[:500]!r}") from None

    def post(self, path, **body):
        return self.ask("POST", self.base + path, body)

    def devtools(self, command, **parameters):
        return self.post("/goog/cdp/execute", cmd=command, params=parameters)

    def open(self, url):
        self.post("/url", url=url)

    def run(self, script, *arguments):
        """The value that the body of a function returns in the page."""
        return self.post("/execute/sync", script=script, args=list(arguments))

    def look(self, width, height, scheme):
        """Sets the size of the window, in CSS pixels, and "light" or "dark"."""
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height,
                      deviceScaleFactor=1, mobile=width < 600)
        self.devtools("Emulation.setEmulatedMedia",
                      features=[{"name": "prefers-color-scheme", "value": scheme}])

    def screenshot(self, width, height, scale=1):
        """The PNG of a window of this size, made smaller by the scale."""
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": scale}
        return base64.b64decode(self.devtools("Page.captureScreenshot", clip=clip)["data"])

    def messages(self):
        """What the console has got since the last call."""
        return [f"{one['level']}: {one['message']}" for one in self.post("/se/log", type="browser")]
