"""Parts of the API that are still in motion: helpers for language models (mlsdk.md 13)."""
