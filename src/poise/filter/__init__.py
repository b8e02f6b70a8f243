"""The quasi-physical filter: reference, targets, the machine that steps, the clip run and the stream."""
