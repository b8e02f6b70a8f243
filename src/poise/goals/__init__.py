"""Controllers made of goals: what a character wishes, when, and what follows. [Jain2009]_."""
