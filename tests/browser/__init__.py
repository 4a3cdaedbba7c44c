"""The page as a person meets it: Debian's Chromium, driven by Playwright, over a service on loopback."""
