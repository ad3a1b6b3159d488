"""The surfaces of other libraries over L2C, for code that was written for them."""
