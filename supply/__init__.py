"""What Newfound is made of: the lock file, the licences of all that it names, and its bill of materials."""
