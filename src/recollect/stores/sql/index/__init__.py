"""The words of a store as rows of tokens, and the parts of arrays that answer for them."""
