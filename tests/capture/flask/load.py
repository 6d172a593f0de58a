"""Customers of the shop: `load.py URL REQUESTS` prints how many requests ended with which status.

With `self` for URL the shop is served here, by two processes with threads.
"""

import collections
import os
import random
import signal
import socket
import sys
import threading
import urllib.error
import urllib.request

CUSTOMERS = 8


def serve():
    from werkzeug.serving import make_server

    from app import app

    listening = socket.create_server(("127.0.0.1", 0))
    processes = []
    for _ in range(2):
        if not (pid := os.fork()):
            make_server("127.0.0.1", 0, app, threaded=True, fd=listening.fileno()).serve_forever()
        processes.append(pid)
    return f"http://127.0.0.1:{listening.getsockname()[1]}", processes


def customer(seed, url, requests, counts):
    draw = random.Random(seed)
    for _ in range(requests):
        item, what = min(500, int(draw.paretovariate(0.7))), draw.random()
        path = "/" if what < 0.2 else f"/item/{item}"
        request = urllib.request.Request(url + path)
        if what >= 0.6:
            request = urllib.request.Request(f"{url}/buy/{item}?buyer=customer-{draw.randrange(1000)}", method="POST")
        try:
            status = urllib.request.urlopen(request).status
        except urllib.error.HTTPError as error:
            status = error.code
        counts.append(status)


url, processes = serve() if sys.argv[1] == "self" else (sys.argv[1], [])
counts = []
customers = [threading.Thread(target=customer, args=(i, url, int(sys.argv[2]), counts)) for i in range(CUSTOMERS)]
[thread.start() for thread in customers]
[thread.join() for thread in customers]
for pid in processes:
    os.kill(pid, signal.SIGTERM)
    os.waitpid(pid, 0)
print(*(f"{status}: {count}" for status, count in sorted(collections.Counter(counts).items())))
