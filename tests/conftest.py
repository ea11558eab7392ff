"""What all tests share: how Hypothesis searches."""

from hypothesis import settings

# No deadline: the first example may compile kernels. Derandomized: a test that passes here passes
# everywhere, and nothing is kept between runs.
settings.register_profile("unskew", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("unskew")
