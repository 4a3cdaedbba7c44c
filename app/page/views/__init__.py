"""One file a part of the page; each asks the API and renders a template."""
