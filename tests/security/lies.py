"""What a hostile host sends, as the Python that its forced command runs (see forced.py)."""

from __future__ import annotations

EVIL = r"\x1b]52;c;aGk=\x07\x1b[2J\u202eevil\u2066\r\nFAKE: all is well"
WRAPPED = "out(honest + b'\\nDOGWATCH-END ' + nonce + {})\nsys.exit(0)"
# Of each log, or each output, that the answer tells of.
LOG = """
for row in body.get('logs', {{}}).values():
    for path, file in list(row['files'].items()) if isinstance(row, dict) else (): {}
"""
# A host that says it has no python3, and is then asked in sh.
IN_SH = """# before
import re
if 'python3' in command: sys.exit(127)
nonce = re.search(rb"nonce='?([0-9a-f]+)", sys.stdin.buffer.read())[1]
text = b"".join(b"\\n" + nonce + b" " + part for part in [{}])[1:]
out(text + b"\\nDOGWATCH-END " + nonce + b" %d\\n" % len(text))
"""

WHOLE = {
    "60 MB of one text": "body['commands'] = {'ok': False, 'why': 'x' * 60_000_000}",
    "60 MB of empty lists": "text = b'{\"commands\":[' + b'[],' * 20_000_000 + b'[]]}'",
    "endless, without a newline": "# before\nwhile True: out(b'x' * 65536)",
    "endless in the end line": "out(honest + b'\\nDOGWATCH-END ' + nonce + b' ')\nwhile True: out(b'9' * 65536)",
    "depth": "text = b'[' * 500_000 + b']' * 500_000",
    "depth in a section": "text = honest[:-1] + b',\"gpus\":' + b'{\"a\":' * 100_000 + b'1' + b'}' * 100_000 + b'}'",
    "a field twice": "text = honest[:-1] + b',\"nonce\":\"' + nonce + b'\"}'",
    "an end line of another number": "nonce = b'0' * 32",
    "an end line of another length": WRAPPED.format("b' 5\\n'"),
    "an end line of a negative length": WRAPPED.format("b' -5\\n'"),
    "a length of 6000 digits": WRAPPED.format("b' ' + b'9' * 6000 + b'\\n'"),
    "no end line": "out(honest); sys.exit(0)",
    "60 MB on stderr and no answer": "# before\nerr(b'\\x1b]52;c;aGk=\\x07noise' * 4_000_000); sys.exit(1)",
    "exit 1 with words": f"# before\nerr(b'{EVIL}'); sys.exit(1)",
    "exit 255 with the words of ssh": f"# before\nerr(b'Permission denied (publickey){EVIL}'); sys.exit(255)",
    "exit 0 and nothing": "# before\n",
    "bytes that are no text": 'text = honest[:-1] + b\',"boot":"\\xff\\xfe\\xc0"}\'',
    "not a number": 'text = honest.replace(b\'"wall":\', b\'"wall":NaN,"x":\', 1)',
    "an infinite clock": 'text = honest.replace(b\'"wall":\', b\'"wall":1e999,"x":\', 1)',
    "a clock of the year 292277026596": "body['clock'] = {'wall': 9.2e18, 'boottime': 1.0}",
    "an integer of 5000 digits": "text = honest.replace(b'\"wall\":', b'\"wall\":' + b'9' * 5000 + b',\"x\":', 1)",
    "another nonce": "body['nonce'] = 'x'",
    "half of a pair where a number belongs": "body['clock'] = {'wall': '\\ud800', 'boottime': 1.0}",
    "a section that nobody asked for": f"body['{EVIL}'] = 1",
    "escapes in an error": f"body['error'] = '{EVIL}' * 1000",
    "escapes in every word": f"""
for key in ('host', 'boot', 'python'):
    body[key] = '{EVIL}' * 100
body['commands'] = dict(ok=False, why='{EVIL}' * 1000, me='{EVIL}')
""",
    "escapes on a command's stderr": f"""
ran = {{'rc': 1, 'out': '', 'err': '{EVIL}' * 1000, 'seconds': 1, 'why': None}}
body['commands'] = dict(ok=True, ran={{'slurm.queue': ran, 'slurm.config': ran}})
""",
    "a log of a negative size": LOG.format("file['size'] = -5"),
    "a log that is a list": LOG.format("row['files'][path] = [file]"),
    "in sh: a time of other digits": IN_SH.format("'about\\n²\\nme\\nhost\\n'.encode()"),
    "in sh: a command without an end": IN_SH.format("b'about\\n1\\nme\\nhost\\n', b'run0\\nx\\n'"),
    "in sh: an exit code of 6000 digits": IN_SH.format(
        "b'about\\n1\\nme\\nhost\\n', b'run0\\nx\\n', b'said\\nwords\\n' + b'9' * 6000"
    ),
    "in sh: escapes": IN_SH.format(f"b'about\\n1\\n{EVIL}\\n{EVIL}\\n{EVIL}', b'run0\\nx\\n', b'said\\n{EVIL}\\n1'"),
}
# These fit the types of an answer. The poll may succeed, and says nothing that is not so of another job.
FITTING = {
    "60 MB on stderr": "err(b'\\x1b]52;c;aGk=\\x07noise' * 4_000_000)",
    "a banner before it": "out(b'Welcome \\x1b[31m to\\xff\\xfe the host\\nDOGWATCH-END 0 0\\n')",
    "two answers": "text = honest + b'\\nDOGWATCH-END ' + nonce + b' %d\\n' % len(honest) + honest",
    "half of a pair": "body['host'] = body['boot'] = body['python'] = '\\ud800'",
    "a clock of the year 9999": "body['clock'] = {'wall': 253402300799.0, 'boottime': 1.0}",
    "a clock before all time": "body['clock'] = {'wall': -1e14, 'boottime': -5.0}",
    "a log of the year 3 million": LOG.format("file.update(mtime=1e14, size=(1 << 61), skipped=-(1 << 61))"),
    "a log written before all time": LOG.format("file.update(mtime=-1e14, ino=1 << 200, dev=-1)"),
    "a log at another path": LOG.format("row['files'] = {'/../../etc/shadow\\0\\x1b[2J': file, '\\ud800': file}"),
    "logs of another host's job": "body.setdefault('logs', {'ok': True})['honest/slurm:12'] = {'gone': ['/x']}",
    "a log of escapes": LOG.format(f"file.update(text='{EVIL}\\n' * 1000)"),
    "a queue of nonsense": """
if 'commands' in body:
    rows = '\\x1f'.join('9' * 400 for _ in range(400))
    body['commands']['ran']['slurm.queue'] = {'rc': 0, 'out': rows, 'err': '', 'seconds': 0, 'why': None}
""",
}
LIES = {**WHOLE, **FITTING}
