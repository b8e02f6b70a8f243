"""Methods: lists of objectives and constraints for the step problem."""
