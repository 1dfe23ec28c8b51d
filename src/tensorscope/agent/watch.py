"""`with tensorscope.watch(model, optimizer):` for those who edit their program."""
