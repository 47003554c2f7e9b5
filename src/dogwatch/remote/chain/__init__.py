"""The supervisor of a chain, in POSIX sh: supervise.sh, push.sh and start.sh are one program behind a generated head
(`actions/chain/script.py`); deliver.sh is what writes that program on a machine and starts it."""
