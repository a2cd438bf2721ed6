"""work: what clients do in a simulated world, and the checks of what they see. Each module has one class;
its checks use only calls, replies and instants, and know nothing of the server's code."""
