"""Runs a command on a pseudo terminal: terminal.py DIALOGUE COMMAND...

DIALOGUE is JSON: pairs of a text to wait for and what is typed then; null closes the terminal. Prints what the terminal
showed, and ends with the command's exit code.
"""
import json
import os
import pty
import select
import sys
import time

dialogue = json.loads(sys.argv[1])
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])

# What is typed at once needs nothing to be shown.
while dialogue and dialogue[0][0] == "":
    os.write(terminal, dialogue.pop(0)[1].encode())

shown = b""
searched = 0
# Before whoever started this gives up: what was shown until then is of use.
deadline = time.monotonic() + 50
while time.monotonic() < deadline:
    if not select.select([terminal], [], [], 0.5)[0]:
        continue
    try:
        part = os.read(terminal, 65536)
    except OSError:
        break
    if not part:
        break
    shown += part
    while dialogue:
        found = shown.find(dialogue[0][0].encode(), searched)
        if found < 0:
            break
        searched = found + len(dialogue[0][0].encode())
        typed = dialogue.pop(0)[1]
        if typed is not None:
            os.write(terminal, typed.encode())
            continue
        os.close(terminal)
        terminal = None
        break
    if terminal is None:
        break
sys.stdout.buffer.write(shown)
sys.stdout.flush()
if time.monotonic() >= deadline:
    os.kill(pid, 9)
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status) % 256)
