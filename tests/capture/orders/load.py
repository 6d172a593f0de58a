"""Four customers of the shop, and its tax office: `load.py URL SECONDS PORT` prints requests by kind and status."""

import collections
import http.server
import itertools
import random
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

TIMES = itertools.cycle([0.3, 2.0, 6.5, 0.8])


class TaxOffice(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(next(TIMES))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"TX-1")

    def log_message(self, *_):
        pass


def customer(seed, url, end, counts):
    draw = random.Random(seed)
    while time.monotonic() < end:
        kind = draw.choices(["orders", "report", "products"], [4, 1, 5])[0]
        form = urllib.parse.urlencode({"product": draw.randint(1, 500), "email": "someone@example.org"}).encode()
        try:
            with urllib.request.urlopen(f"{url}/{kind}", form if kind == "orders" else None) as answer:
                counts.append((kind, answer.status))
        except urllib.error.HTTPError as error:
            counts.append((kind, error.code))
        time.sleep(draw.random() * 0.3)


url, seconds, port = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
office = http.server.ThreadingHTTPServer(("127.0.0.1", port), TaxOffice)
threading.Thread(target=office.serve_forever, daemon=True).start()
counts = []
end = time.monotonic() + seconds
customers = [threading.Thread(target=customer, args=(i, url, end, counts)) for i in range(4)]
[thread.start() for thread in customers]
[thread.join() for thread in customers]
print(*(f"{kind} {status}: {count}" for (kind, status), count in sorted(collections.Counter(counts).items())), sep="\n")
