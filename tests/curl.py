"""Stands in for curl on a machine that has none: as much of it as the README uses."""

import argparse
import sys
from pathlib import Path

import httpx2


def main() -> None:
    """Send one request and print the body of its answer."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-s", action="store_true")
    parser.add_argument("-X", dest="method")
    parser.add_argument("-H", dest="headers", action="append", default=[])
    parser.add_argument("-d", "--data-binary", dest="data")
    parser.add_argument("url")
    options = parser.parse_args()
    headers = dict(header.split(": ", 1) for header in options.headers)
    body = options.data and (
        Path(options.data[1:]).read_bytes() if options.data.startswith("@") else options.data.encode()
    )
    answer = httpx2.request(
        options.method or ("POST" if body else "GET"), options.url, headers=headers, content=body, timeout=None
    )
    sys.stdout.write(answer.text)


if __name__ == "__main__":
    main()
