"""From kept draws to what is said of documents; knows no model."""
