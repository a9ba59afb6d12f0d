"""Files that survive a crash, and the marks by which a checkpoint and a sink are compared. Depends on neither of them."""
