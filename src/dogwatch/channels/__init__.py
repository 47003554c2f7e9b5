"""Where notifications go. One file per kind with `PLUGIN = ChannelPlugin(...)`; `interface.py` says what a channel must
offer, `plugin.py` what its plug-in says of it and which rules hold for all of them.

A channel only says what it is given and tells truthfully whether it was taken; what to say, to whom and how often is
decided before it is asked. To add one, add a file; another package uses the entry point group `dogwatch.channels`. The
terminal has no plug-in: nobody configures it, and whoever watches has one or none.
"""
