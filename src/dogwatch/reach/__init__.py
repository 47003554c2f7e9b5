"""How a request gets to a place and comes back, with a deadline. Only here and in hands/ do processes start.

May import model, clock and the paths in aboard. A way of reaching is one file with one class that fits
`interface.Reach`: not being able to look is a value (`Dark`), never an exception.
"""
