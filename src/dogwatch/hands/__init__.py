"""The verbs that change the world: launch today; chain, recover and cancel later.

May start processes; imports model, errors and aboard, never engine or a face, and watching never calls it.
A verb writes its intent before its side effect and never does it twice; a new one gets a file of its own.
"""
