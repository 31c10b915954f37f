"""Python's urllib as it comes: prints the body and, on a line of its own, the status."""
import json
import sys
import urllib.error
import urllib.request

call = json.loads(sys.argv[1])
body = call.get("body")
request = urllib.request.Request(
    call["url"],
    method=call["method"],
    headers=call["headers"],
    data=None if body is None else body.encode(),
)
try:
    with urllib.request.urlopen(request, timeout=20) as response:
        print(response.read().decode() + "\n" + str(response.status))
except urllib.error.HTTPError as error:
    print(error.read().decode() + "\n" + str(error.code))
    sys.exit(1)
