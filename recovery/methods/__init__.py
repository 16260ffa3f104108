"""How recovery is attempted on an instance: one file a method, instance in, measurements out."""
