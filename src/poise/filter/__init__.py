"""The quasi-physical filter: reference, targets, the simulated character, the clip run and the stream."""
