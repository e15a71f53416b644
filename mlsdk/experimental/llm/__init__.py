"""Language models with static shapes: left-padded prompts, a key/value cache of fixed length that shifts by one, and
models cut into stages.

Nothing here imports `transformers`; models and caches are known by their attributes.
"""
