"""Controllers made of goals: what a character aims for, when, and what follows. [Jain2009]_."""
