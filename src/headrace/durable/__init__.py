"""Files that outlive a crash, and the marks by which two of them agree. Knows no checkpoint and no sink."""
