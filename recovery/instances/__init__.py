"""What is drawn: data ensembles, planted models, arrangement patterns, and one whole instance of them."""
