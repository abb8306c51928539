"""Values written for people: texts, pages with styles and links, and the stream of a terminal."""
