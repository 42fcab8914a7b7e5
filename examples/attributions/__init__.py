"""How far can a map be believed? Every attribution of the package, scored."""
