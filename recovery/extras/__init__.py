"""Features beyond phase diagrams: nothing below a command or a public function imports them."""
