"""Files made to harm, and a real process that is watched while it gets them."""
