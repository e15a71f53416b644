"""Static rules of one PE line and of its context (isa.md 5.3, 8.4, 3.11, 13); hazard distances are `hw.sanitizer`'s."""
