"""The broker: calls for workers, and the folder that carries them where there is no server."""
