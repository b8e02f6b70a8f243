"""What everything stands on: motions, skeletons, rotations, units, errors."""
