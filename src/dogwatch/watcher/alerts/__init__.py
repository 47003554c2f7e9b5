"""The outbox: from the notifications that a tick wrote with its changes to messages that were delivered.

`dispatch.py` runs the stages in this order, each written down before the next begins:

1. mute, route: `routing.py` reads what a decision rests on, `policy.py` decides for each channel, with the reason
2. group: deliveries that wait on one channel become one message; on the terminal each is a message of its own
3. send: `senders.py`, a thread for each channel; `retries.py` says when a message is tried again
4. record: what came of the try, after it was made

`periodic.py` queues what the clock has to say. `memory_messages.py` holds what is sent while the store takes no writes.
`heartbeat.py` tells a dead-man's switch that all this works.
"""
