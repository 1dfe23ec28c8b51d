"""Session store and view state: Qt-free, torch-free, tested without a window."""
