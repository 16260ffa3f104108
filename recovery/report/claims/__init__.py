"""What a config claims, tested on its grid."""
