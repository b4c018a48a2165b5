"""The heart: call the model, run the tools it asks for, feed the results back, until it asks for none."""
