"""One search tool a module: VERSION, and `build(material, home)`, which indexes and returns a search for each row."""
