"""The checks of `ostinato doctor`: each looks at one thing and gives lines of ok, warn or fail, with a hint."""
