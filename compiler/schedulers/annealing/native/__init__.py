"""What is compiled to machine code; alone in its folder, as every source beside it decides whether to do so anew."""
